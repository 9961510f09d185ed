"""GitLab's JSON for merge requests: one function for each entity of its API."""

from __future__ import annotations

from bot.sandbox.api import Links
from bot.sandbox.git.diffs import FileDiff
from bot.sandbox.gitlab import json as basic
from bot.sandbox.gitlab import levels, status_json
from bot.sandbox.gitlab.json import Json, stamp, stamp_or_none
from bot.sandbox.gitlab.rules import approvals, merge_status, merging, pipelines, settings, threads
from bot.sandbox.records.accounts import User
from bot.sandbox.records.merge_requests import DiffVersion, LabelEvent, MergeRequest
from bot.sandbox.records.premium import ApprovalRule
from bot.sandbox.records.repository import Repository, Thread
from bot.sandbox.records.talk import Label, TimelineEvent
from bot.sandbox.rules.context import Context

_NO_TIMES = {
    "time_estimate": 0,
    "total_time_spent": 0,
    "human_time_estimate": None,
    "human_total_time_spent": None,
}


def url(links: Links, mr: MergeRequest) -> str:
    """Address of a merge request's page."""
    return f"{basic.project_html(links, mr.repo)}/-/merge_requests/{mr.number}"


def merge_request(
    state: Context, links: Links, mr: MergeRequest, *, labels_details: bool = False
) -> Json:
    """Entity `MergeRequestBasic`, as lists hold it."""
    settled = not mr.preparing
    people = [basic.user(links, one) for one in mr.assignees]
    return {
        "id": mr.id,
        "iid": mr.number,
        "project_id": mr.repo.id,
        "title": mr.title,
        "description": mr.body,
        "state": mr.word,
        "created_at": stamp(mr.created_at),
        "updated_at": stamp(mr.updated_at),
        "merged_by": basic.user_or_none(links, mr.merged_by),
        "merge_user": basic.user_or_none(links, mr.merged_by or _auto_user(mr)),
        "merged_at": stamp_or_none(mr.merged_at),
        "closed_by": basic.user_or_none(links, mr.closed_by),
        "closed_at": None if mr.merged else stamp_or_none(mr.closed_at),
        "target_branch": mr.base_ref,
        "source_branch": mr.head_ref,
        "user_notes_count": sum(not note.system for note in threads.notes(mr)),
        "upvotes": votes(mr, "thumbsup"),
        "downvotes": votes(mr, "thumbsdown"),
        "author": basic.user(links, mr.user),
        "assignees": people,
        "assignee": people[0] if people else None,
        "reviewers": [basic.user(links, one) for one in mr.requested_reviewers],
        "source_project_id": mr.head_repo.id if mr.head_repo else None,
        "target_project_id": mr.repo.id,
        "labels": [label(mr.repo, one) if labels_details else one.name for one in mr.labels],
        "draft": mr.draft,
        "imported": False,
        "imported_from": "none",
        "work_in_progress": mr.draft,
        "milestone": None,
        "merge_when_pipeline_succeeds": mr.order is not None,
        "merge_status": merge_status.merge_status(state, mr),
        "detailed_merge_status": merge_status.detailed(state, mr),
        "merge_after": None,
        "sha": mr.head_sha,
        "merge_commit_sha": mr.merge_commit_sha if mr.merged else None,
        "squash_commit_sha": mr.squash_commit_sha,
        "discussion_locked": mr.locked or None,
        "should_remove_source_branch": None,
        "force_remove_source_branch": mr.remove_source,
        "prepared_at": stamp(mr.created_at) if settled else None,
        "allow_collaboration": mr.maintainer_can_modify,
        "allow_maintainer_to_push": mr.maintainer_can_modify,
        "reference": f"!{mr.number}",
        "references": references(mr, "!"),
        "web_url": url(links, mr),
        "time_stats": _NO_TIMES,
        "squash": mr.squash,
        "squash_on_merge": mr.squash or settings.text(mr.repo, "squash_option") == "always",
        "task_completion_status": tasks(mr),
        "has_conflicts": merge_status.has_conflicts(state, mr) if settled else False,
        "blocking_discussions_resolved": threads.all_resolved(mr),
        "approvals_before_merge": None,
    }


def whole(state: Context, links: Links, mr: MergeRequest, viewer: User | None) -> Json:
    """Entity `MergeRequest`, of one that was asked for."""
    found = pipelines.head_pipeline(mr)
    source = mr.head_repo or mr.repo
    simple = None if found is None else status_json.simple_pipeline(links, found, source)
    shown = None if found is None else status_json.pipeline(links, found, source)
    version = mr.versions[-1]
    can_merge = viewer is not None and merging.may_merge(state, mr, viewer)
    return merge_request(state, links, mr) | {
        "subscribed": viewer is mr.user,
        "changes_count": str(len(files(state, mr))) if not mr.preparing else None,
        "latest_build_started_at": shown["started_at"] if shown else None,
        "latest_build_finished_at": shown["finished_at"] if shown else None,
        "first_deployed_to_production_at": None,
        "pipeline": simple,
        "head_pipeline": shown,
        "diff_refs": {
            "base_sha": version.base_sha,
            "head_sha": version.head_sha,
            "start_sha": version.start_sha,
        },
        "merge_error": mr.merge_error,
        "first_contribution": False,
        "user": {"can_merge": can_merge},
    }


def files(state: Context, mr: MergeRequest) -> tuple[FileDiff, ...]:
    """Files that the newest version changes."""
    version = mr.versions[-1]
    return state.git(mr.repo).diff(version.base_sha, version.head_sha)


def version(mr: MergeRequest, made: DiffVersion) -> Json:
    """Entity `MergeRequestDiff`."""
    return {
        "id": made.id,
        "head_commit_sha": made.head_sha,
        "base_commit_sha": made.base_sha,
        "start_commit_sha": made.start_sha,
        "created_at": stamp(made.created_at),
        "merge_request_id": mr.id,
        "state": "collected",
        "real_size": "1",
        "patch_id_sha": None,
    }


def approval_state(state: Context, links: Links, mr: MergeRequest, viewer: User | None) -> Json:
    """Entity `MergeRequestApprovals`; with Premium also how many are needed."""
    made: Json = {
        "user_has_approved": viewer is not None and mr.approved_by(viewer),
        "user_can_approve": viewer is not None and approvals.can_approve(state, mr, viewer),
        "approved": approvals.left(state, mr) == 0,
        "approved_by": [
            {"user": basic.user(links, one.user), "approved_at": stamp(one.at)}
            for one in mr.approvals
        ],
    }
    if levels.has_tier(state, mr.repo):
        made |= {
            "id": mr.id,
            "iid": mr.number,
            "project_id": mr.repo.id,
            "title": mr.title,
            "description": mr.body or "",
            "state": mr.word,
            "created_at": stamp(mr.created_at),
            "updated_at": stamp(mr.updated_at),
            "merge_status": merge_status.merge_status(state, mr),
            "approvals_required": approvals.required(state, mr),
            "approvals_left": approvals.left(state, mr),
            "require_password_to_approve": False,
            "suggested_approvers": [],
            "approvers": [],
            "approver_groups": [],
            "approval_rules_left": [],
            "has_approval_rules": approvals.required(state, mr) > 0,
            "merge_request_approvers_available": True,
            "multiple_approval_rules_available": True,
            "invalid_approvers_rules": [],
        }
    return made


def rules_state(state: Context, links: Links, mr: MergeRequest) -> Json:
    """How the rules of approvals stand, that for any approver first."""
    rule = {
        "id": mr.id,
        "name": "All Members",
        "rule_type": "any_approver",
        "eligible_approvers": [],
        "approvals_required": approvals.required(state, mr),
        "users": [],
        "groups": [],
        "contains_hidden_groups": False,
        "approved_by": [basic.user(links, one.user) for one in mr.approvals],
        "source_rule": None,
        "approved": approvals.left(state, mr) == 0,
        "overridden": False,
    }
    named = [
        approval_rule(links, each)
        | {
            "approved_by": [basic.user(links, who) for who in approvals.given(each, mr)],
            "source_rule": None,
            "approved": len(approvals.given(each, mr)) >= each.required,
            "overridden": False,
        }
        for each in approvals.rules(state, mr)
    ]
    shown = [rule, *named] if levels.has_tier(state, mr.repo) else []
    return {"approval_rules_overwritten": False, "rules": shown}


def approval_rule(links: Links, rule: ApprovalRule) -> Json:
    """Entity `ApprovalSettingRule`, but for the branches that it is for."""
    people = [basic.user(links, who) for who in rule.users]
    return {
        "id": rule.id,
        "name": rule.name,
        "rule_type": "regular" if rule.users else "any_approver",
        "eligible_approvers": people,
        "approvals_required": rule.required,
        "users": people,
        "groups": [],
        "contains_hidden_groups": False,
    }


def reviewer(links: Links, mr: MergeRequest, who: User) -> Json:
    """Entity `MergeRequestReviewer`: how somebody's review stands."""
    review = mr.reviews_by.get(who.id)
    return {
        "user": basic.user(links, who),
        "state": review.state if review else "unreviewed",
        "created_at": stamp(review.at if review else mr.created_at),
    }


def label(repo: Repository, found: Label) -> Json:
    """Entity `Label`."""
    on = [t for t in repo.threads if found in t.labels and t.state == "open"]
    opened = sum(isinstance(t, MergeRequest) for t in on)
    return {
        "id": found.id,
        "name": found.name,
        "description": found.description,
        "description_html": found.description or "",
        "text_color": "#FFFFFF",
        "color": found.color,
        "open_issues_count": len(on) - opened,
        "closed_issues_count": 0,
        "open_merge_requests_count": opened,
        "subscribed": False,
        "priority": None,
        "is_project_label": True,
    }


def label_event(links: Links, mr: MergeRequest, event: LabelEvent) -> Json:
    """Entity `ResourceLabelEvent`."""
    return {
        "id": event.id,
        "user": basic.user(links, event.user),
        "created_at": stamp(event.at),
        "resource_type": "MergeRequest",
        "resource_id": mr.id,
        "label": {
            "id": event.label.id,
            "name": event.label.name,
            "color": event.label.color,
            "description": event.label.description,
        },
        "action": event.action,
    }


def state_event(links: Links, mr: MergeRequest, event: TimelineEvent) -> Json:
    """Entity `ResourceStateEvent`."""
    return {
        "id": event.id,
        "user": basic.user(links, event.actor),
        "created_at": stamp(event.at),
        "resource_type": "MergeRequest",
        "resource_id": mr.id,
        "source_commit": None,
        "source_merge_request_id": None,
        "state": event.kind,
    }


def references(thread: Thread, mark: str) -> Json:
    """How people name a merge request or an issue: `!1`, and in full."""
    short = f"{mark}{thread.number}"
    return {"short": short, "relative": short, "full": f"{thread.repo.full_name}{short}"}


def votes(thread: Thread, name: str) -> int:
    """How many reacted with a thumb."""
    return sum(one.content == name for one in thread.reactions)


def tasks(thread: Thread) -> Json:
    """How many tasks a description lists, and how many are done."""
    lines = (thread.body or "").lower().splitlines()
    done = sum(line.lstrip("-*+ ").startswith("[x]") for line in lines)
    left = sum(line.lstrip("-*+ ").startswith("[ ]") for line in lines)
    return {"count": done + left, "completed_count": done}


def _auto_user(mr: MergeRequest) -> User | None:
    return mr.order.user if mr.order else None
