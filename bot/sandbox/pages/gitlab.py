"""The forge's pages in GitLab's dialect: merge requests with threads, approvals and pipelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from bot.sandbox.errors import RefusedError, not_found
from bot.sandbox.gitlab.rules import (
    approvals,
    drafts,
    issues,
    merge_requests,
    merge_status,
    merging,
    pipelines,
    quick_actions,
    threads,
)
from bot.sandbox.pages import threads as shown_threads
from bot.sandbox.pages import views
from bot.sandbox.pages.asked import PageRequest
from bot.sandbox.pages.routes import Pages
from bot.sandbox.pages.words import GITLAB
from bot.sandbox.records.accounts import User
from bot.sandbox.records.merge_requests import MergeRequest, Note
from bot.sandbox.records.pipelines import Pipeline
from bot.sandbox.records.repository import Thread
from bot.sandbox.records.talk import TimelineEvent
from bot.sandbox.rules.state import ForgeState

_PROJECT = "/{owner:path}/{name}"
_MR = f"{_PROJECT}/-/merge_requests/{{number:int}}"
_ISSUE = f"{_PROJECT}/-/issues/{{number:int}}"
_MOST = 100
"""Pipelines that are listed."""
_TABS = ("overview", "commits", "pipelines", "diffs")
_BLOCKED = {
    "not_open": "This merge request is not open.",
    "draft_status": "Merge blocked: merge request must not be in draft mode.",
    "commits_status": "Merge blocked: the source branch is gone.",
    "broken_status": "Merge blocked: the target branch is gone.",
    "discussions_not_resolved": "Merge blocked: all threads must be resolved.",
    "ci_must_pass": "Merge blocked: pipeline must succeed.",
    "ci_still_running": "Merge blocked: the pipeline is still running.",
    "approvals_syncing": "Merge blocked: approvals are being updated.",
    "requested_changes": "Merge blocked: a reviewer requested changes.",
    "not_approved": "Merge blocked: all required approvals must be given.",
    "conflict": "Merge blocked: merge conflicts must be resolved.",
    "need_rebase": "Merge blocked: the source branch must be rebased onto the target branch.",
}
_LIGHTS = {
    "success": views.Light.GOOD,
    "failed": views.Light.BAD,
    "canceled": views.Light.BAD,
    "skipped": views.Light.QUIET,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Widget:
    """The box at the end of a merge request: whether it can be merged, and who may do what.

    Attributes:
        blocked: Why it cannot be merged; "" where it can.
        pipeline: The one that counts.
    """

    blocked: str
    pipeline: Pipeline | None
    may_approve: bool
    may_change: bool
    may_merge: bool


class GitLabPages(Pages):
    """The pages of a forge that speaks GitLab's dialect."""

    words = GITLAB

    def routes(self) -> list[Route]:
        """Pages of merge requests and issues, and the others' addresses as GitLab writes them."""
        act = self._takes(_act)
        return [
            Route(f"{_PROJECT}/-/merge_requests", self._shows(self._list)),
            Route(_MR, self._shows(self._one)),
            Route(f"{_MR}/{{tab}}", self._shows(self._one), methods=["GET"]),
            Route(f"{_MR}/{{act}}", act, methods=["POST"]),
            Route(f"{_PROJECT}/-/issues", self._shows(self._issues)),
            Route(_ISSUE, self._shows(self._issue)),
            Route(f"{_ISSUE}/{{act}}", self._takes(_act_on_issue), methods=["POST"]),
            Route(f"{_PROJECT}/-/pipelines", self._shows(self._pipelines)),
            Route(f"{_PROJECT}/-/pipelines/{{pipeline:int}}", self._shows(self._pipeline)),
            Route(f"{_PROJECT}/-/commit/{{sha}}", self._shows(self._commit)),
            Route(f"{_PROJECT}/-/tree/{{address:path}}", self._shows(self._code)),
            Route(f"{_PROJECT}/-/blob/{{address:path}}", self._shows(self._code)),
            Route(f"{_PROJECT}/-/branches", self._shows(self._refs)),
            Route(f"{_PROJECT}/-/tags", self._shows(self._refs)),
            Route(f"{_PROJECT}/-/tags/{{tag:path}}", self._shows(self._tag)),
            Route(f"{_PROJECT}/-/releases", self._shows(self._releases)),
            Route(f"{_PROJECT}/-/releases/{{tag:path}}", self._shows(self._tag)),
            *(route for route in super().routes() if not _of_github(route.path)),
            Route(_PROJECT, self._shows(self._code)),
        ]

    def _list(self, asked: PageRequest) -> Response:
        repo, shown = asked.repo, asked.request.query_params.get("state", "opened")
        found = merge_requests.of(repo)
        counts = {word: sum(mr.word == word for mr in found) for word in _WORDS}
        chosen = [mr for mr in found if mr.word == shown]
        return self._page(
            asked, "merge-requests.html", repo=repo, shown=shown, found=chosen, counts=counts
        )

    def _one(self, asked: PageRequest) -> Response:
        tab = asked.request.path_params.get("tab", "overview")
        if tab not in _TABS:
            raise not_found()
        mr, state = _found(asked), asked.state
        shown = shown_threads.shown(state, mr)
        return self._page(
            asked,
            "merge-request.html",
            repo=mr.repo,
            mr=mr,
            tab=tab,
            entries=entries(mr),
            shown=shown,
            at_lines=shown_threads.at_lines(shown),
            widget=widget(state, mr, asked.user),
            light=light,
            commits=merging.commits(state, mr),
            files=views.diffs(state, mr, ()),
        )

    def _issue(self, asked: PageRequest) -> Response:
        issue = issues.find(asked.repo, asked.request.path_params["number"])
        return self._page(
            asked,
            "issue.html",
            repo=issue.repo,
            issue=issue,
            may_comment=asked.user is not None,
            may_change=issues.can_edit(asked.state, issue, asked.user),
        )

    def _pipelines(self, asked: PageRequest) -> Response:
        repo, git = asked.repo, asked.state.git(asked.repo)
        heads = {mr.head_sha: mr for mr in merge_requests.of(repo)}
        newest = sorted(repo.gitlab.pipelines.values(), key=lambda each: -each.id)
        found = [(each, git.commit(each.sha), heads.get(each.sha)) for each in newest[:_MOST]]
        return self._page(asked, "pipelines.html", repo=repo, found=found, light=light)

    def _pipeline(self, asked: PageRequest) -> Response:
        """A pipeline's address leads to the merge request whose head it stands at."""
        repo = asked.repo
        found = repo.gitlab.pipelines.get(asked.request.path_params["pipeline"])
        if found is None:
            raise not_found()
        for mr in merge_requests.of(repo):
            if mr.head_sha == found.sha:
                address = f"/{repo.full_name}/-/merge_requests/{mr.number}/pipelines"
                return RedirectResponse(address, status_code=302)
        return RedirectResponse(f"/{repo.full_name}/-/commit/{found.sha}", status_code=302)


_WORDS = ("opened", "merged", "closed")


def light(word: str) -> views.Light:
    """The colour of a pipeline's or a status's state."""
    return _LIGHTS.get(word, views.Light.WAITING)


def entries(mr: MergeRequest) -> list[list[Note] | TimelineEvent]:
    """Discussions, system notes and changes of the state, in the order they began."""
    found: list[list[Note] | TimelineEvent] = [*threads.discussions(mr), *mr.events]
    return sorted(found, key=_began)


def widget(state: ForgeState, mr: MergeRequest, viewer: User | None) -> Widget:
    """What the box at the end of a merge request says."""
    word = merge_status.blocker(state, mr)
    opened = mr.state == "open"
    return Widget(
        blocked=_BLOCKED.get(word, f"Merge blocked: {word}.") if word else "",
        pipeline=pipelines.head_pipeline(mr),
        may_approve=viewer is not None and approvals.can_approve(state, mr, viewer),
        may_change=viewer is not None and merge_requests.can_edit(state, mr, viewer),
        may_merge=opened and viewer is not None and merging.may_merge(state, mr, viewer),
    )


def _began(one: Sequence[Note] | TimelineEvent) -> datetime:
    return one.at if isinstance(one, TimelineEvent) else one[0].created_at


def _of_github(path: str) -> bool:
    folders = ("/pull", "/issues", "/runs/", "/apps", "/settings/apps")
    return any(folder in path for folder in folders)


def _found(asked: PageRequest) -> MergeRequest:
    return merge_requests.find(asked.repo, asked.request.path_params["number"])


def _text(form: Mapping[str, str]) -> str:
    return form.get("body", "").replace("\r\n", "\n").strip()


def _act(asked: PageRequest, form: Mapping[str, str]) -> str:
    """What the forms of a merge request do, by the rules that the API keeps."""
    mr, user, state = _found(asked), asked.user, asked.state
    here = f"/{mr.repo.full_name}/-/merge_requests/{mr.number}"
    if user is None:
        raise not_found()
    match asked.request.path_params["act"]:
        case "note":
            return here + _said(state, mr, user, form)
        case "approve":
            approvals.approve(state, mr, user)
        case "unapprove":
            approvals.unapprove(state, mr, user)
        case "request_changes":
            approvals.request_changes(state, mr, user)
        case "draft" | "ready" as word:
            title = drafts.draft(mr.title) if word == "draft" else drafts.ready(mr.title)
            merge_requests.edit(state, mr, user, title=title)
        case "close":
            merge_requests.close(state, mr, user)
        case "reopen":
            merge_requests.reopen(state, mr, user)
        case "rebase":
            merging.rebase(state, mr, user)
            merging.end_rebase(state, mr)
        case "merge":
            mr.preparing = False  # who presses the button has waited for it
            merging.merge(state, mr, user, merging.MergeOptions(sha=form.get("head")))
        case "resolve":
            found = threads.discussion(mr, form.get("discussion", ""))
            threads.resolve(state, mr, found, user, not threads.is_resolved(found))
            return f"{here}#note_{found[0].id}"
        case _:
            raise not_found()
    return here


def _act_on_issue(asked: PageRequest, form: Mapping[str, str]) -> str:
    issue, user = issues.find(asked.repo, asked.request.path_params["number"]), asked.user
    here = f"/{issue.repo.full_name}/-/issues/{issue.number}"
    if user is None:
        raise not_found()
    match asked.request.path_params["act"]:
        case "comment":
            return here + _said(asked.state, issue, user, form)
        case "close" | "reopen" as event:
            issues.edit(asked.state, issue, user, state_event=event)
        case _:
            raise not_found()
    return here


def _said(state: ForgeState, thread: Thread, user: User, form: Mapping[str, str]) -> str:
    """Write a note, into the discussion that the form names; return where it stands."""
    named = form.get("discussion", "")
    answers = threads.discussion(thread, named) if named else ()
    text = _text(form)
    if not text:
        raise RefusedError(400, "Write something first.")
    _, made = quick_actions.say(state, thread, user, text, answers=answers)
    return f"#note_{made.id}" if made else ""
