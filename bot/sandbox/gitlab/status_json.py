"""GitLab's JSON for commit statuses and pipelines."""

from __future__ import annotations

from datetime import datetime

from bot.sandbox.api import Links
from bot.sandbox.gitlab import json as basic
from bot.sandbox.gitlab.json import Json, stamp, stamp_or_none
from bot.sandbox.records.pipelines import FINISHED, JobStatus, Pipeline
from bot.sandbox.records.repository import Repository

_WORDS = {"success": "passed"}


def status(links: Links, found: JobStatus) -> Json:
    """Entity `CommitStatus`."""
    return {
        "id": found.id,
        "sha": found.pipeline.sha,
        "ref": found.pipeline.ref,
        "status": found.state,
        "name": found.name,
        "target_url": found.target_url,
        "description": found.description,
        "created_at": stamp(found.created_at),
        "started_at": stamp_or_none(found.started_at),
        "finished_at": stamp_or_none(found.finished_at),
        "allow_failure": False,
        "coverage": found.coverage,
        "pipeline_id": found.pipeline.id,
        "author": basic.user(links, found.user),
    }


def simple_pipeline(links: Links, found: Pipeline, repo: Repository) -> Json:
    """Entity `PipelineBasic`, as lists hold it."""
    return {
        "id": found.id,
        "iid": found.iid,
        "project_id": repo.id,
        "sha": found.sha,
        "ref": found.ref,
        "status": found.state,
        "source": found.source,
        "created_at": stamp(found.created_at),
        "updated_at": stamp(found.updated_at),
        "web_url": f"{basic.project_html(links, repo)}/-/pipelines/{found.id}",
        "name": None,
    }


def pipeline(links: Links, found: Pipeline, repo: Repository) -> Json:
    """Entity `Pipeline`."""
    word, over = _WORDS.get(found.state, found.state), finished(found)
    return simple_pipeline(links, found, repo) | {
        "before_sha": "0" * 40,
        "tag": False,
        "yaml_errors": None,
        "user": basic.user(links, found.user),
        "started_at": stamp_or_none(_started(found)),
        "finished_at": stamp(over or found.updated_at),
        "committed_at": None,
        "duration": None,
        "queued_duration": None,
        "coverage": None,
        "archived": False,
        "detailed_status": {
            "icon": f"status_{found.state}",
            "text": word.capitalize(),
            "label": word,
            "group": found.state,
            "tooltip": word,
            "has_details": False,
            "details_path": f"/{repo.full_name}/-/pipelines/{found.id}",
            "illustration": None,
            "favicon": f"/assets/ci_favicons/favicon_status_{found.state}.png",
        },
    }


def finished(found: Pipeline) -> datetime | None:
    """When a pipeline ended; None while it goes on."""
    if found.state not in FINISHED:
        return None
    ends = [status.finished_at for status in found.latest if status.finished_at]
    return max(ends, default=found.updated_at)


def _started(found: Pipeline) -> datetime | None:
    return min((s.started_at for s in found.statuses if s.started_at), default=None)
