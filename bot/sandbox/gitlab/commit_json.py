"""GitLab's JSON for commits."""

from __future__ import annotations

from bot.sandbox.api import Links
from bot.sandbox.git.objects import Commit
from bot.sandbox.gitlab import json as basic
from bot.sandbox.gitlab.json import Json, stamp
from bot.sandbox.records.repository import Repository


def commit(links: Links, repo: Repository, found: Commit) -> Json:
    """Entity `Commit`, as lists hold it."""
    return {
        "id": found.sha,
        "short_id": found.sha[:8],
        "created_at": stamp(found.committer.when),
        "parent_ids": list(found.parents),
        "title": found.subject,
        "message": found.message,
        "author_name": found.author.name,
        "author_email": found.author.email,
        "authored_date": stamp(found.author.when),
        "committer_name": found.committer.name,
        "committer_email": found.committer.email,
        "committed_date": stamp(found.committer.when),
        "trailers": {},
        "extended_trailers": {},
        "web_url": f"{basic.project_html(links, repo)}/-/commit/{found.sha}",
    }
