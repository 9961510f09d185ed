"""Quick actions: lines of a note that GitLab carries out and does not keep.

A line that begins with `/` and the name of an action is taken out of the text, whoever wrote it and
whether the action can be done; lines in code, quotes and HTML are left. Unknown names are text.
Source: https://docs.gitlab.com/user/project/quick_actions/ and `QuickActions::InterpretService`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from bot.sandbox.errors import RefusedError
from bot.sandbox.gitlab import levels
from bot.sandbox.gitlab.rules import (
    approvals,
    drafts,
    emoji,
    issues,
    labels,
    merge_requests,
    merging,
    pipelines,
    threads,
)
from bot.sandbox.records.accounts import User
from bot.sandbox.records.gitlab import AccessLevel
from bot.sandbox.records.merge_requests import MergeRequest, Note, ReviewerState
from bot.sandbox.records.repository import Issue, Thread
from bot.sandbox.rules.context import Context

_LINE = re.compile(r"/(\w+)(?:[ \t]+(.*?))?[ \t]*")
_FENCE = re.compile(r"(`{3,}|~{3,}|>>>)")
_NAME = re.compile(r"@([\w.-]+(?:/[\w.-]+)*)")
_LABEL = re.compile(r'~"([^"]+)"|~([^\s,~]+)')


@dataclass(slots=True)
class QuickActionReport:
    """What came of the quick actions of one note, as the API tells.

    Attributes:
        text: The note without them.
        changes: What they changed, by GitLab's names.
        summary: What people are told, a sentence for each.
        found: Whether there were any.
    """

    text: str
    changes: dict[str, Any] = field(default_factory=dict)
    summary: list[str] = field(default_factory=list)
    found: bool = False


@dataclass(frozen=True, slots=True)
class _Call:
    """One quick action that somebody wrote."""

    state: Context
    thread: Thread
    user: User
    rest: str

    @property
    def mr(self) -> MergeRequest:
        """The merge request it is about; on an issue it cannot be done."""
        if not isinstance(self.thread, MergeRequest):
            raise _UnavailableError
        return self.thread

    def names(self) -> list[User]:
        """People that it names; `me` is who wrote it."""
        logins = _NAME.findall(self.rest)
        found = [self.state.data.users.get(login.lower()) for login in logins]
        own = [self.user] if re.search(r"(?:^|\s)@?me\b", self.rest) else []
        return [*own, *(one for one in found if one is not None)]

    def labels(self) -> list[str]:
        """Labels that it names, with `~` or without."""
        named = [quoted or plain for quoted, plain in _LABEL.findall(self.rest)]
        return named or [n.strip(' "') for n in self.rest.split() if n.strip(' "')]


class _UnavailableError(Exception):
    """The action cannot be done here, now, by this person."""


Action = Callable[[_Call], tuple[dict[str, Any], str]]


def run(state: Context, thread: Thread, user: User, text: str) -> QuickActionReport:
    """Carry out the quick actions of a note and take them out of its text."""
    kept: list[str] = []
    report = QuickActionReport("")
    wanted: list[tuple[str, str]] = []
    for line, plain in _lines(text):
        match = _LINE.fullmatch(line) if plain else None
        name = match[1].lower() if match else ""
        if match is not None and name in KNOWN:
            wanted.append((name, (match[2] or "").strip()))
        else:
            kept.append(line)
    report.text, report.found = "\n".join(kept).strip("\n") if wanted else text, bool(wanted)
    for name, rest in wanted:
        action = _ACTIONS.get(name)
        if name in _SILENT:
            continue
        try:
            if action is None:
                raise _UnavailableError
            changes, words = action(_Call(state, thread, user, rest))
        except (_UnavailableError, RefusedError):
            changes, words = {}, f"Could not apply {name} command."
        report.changes |= changes
        report.summary += [words] if words else []
    return report


def say(
    state: Context,
    thread: Thread,
    user: User,
    text: str,
    *,
    internal: bool = False,
    answers: Sequence[Note] = (),
) -> tuple[QuickActionReport, Note | None]:
    """Write a note without its quick actions, which are carried out.

    Returns:
        What they did, and the note; None where nothing but quick actions was written.
    """
    report = run(state, thread, user, text)
    if report.found and not report.text.strip():
        report.summary = report.summary or ["Failed to apply commands."]
        return report, None
    made = threads.write(state, thread, user, report.text, internal=internal, answers=answers)
    return report, made


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Lines of a text, and whether each is plain: not code, quoted, or in a block of HTML."""
    fence, html = "", False
    for line in text.replace("\r\n", "\n").split("\n"):
        mark = _FENCE.match(line)
        if fence:
            yield line, False
            if (
                mark is not None
                and line.strip().startswith(fence)
                and not line.strip(fence[0] + " ")
            ):
                fence = ""
            continue
        if mark is not None:
            fence = mark[1]
            yield line, False
            continue
        if re.match(r"<(?!!--)[a-zA-Z]", line) or line.startswith("<!--"):
            html = not re.search(r"</[a-zA-Z]+>\s*$|-->\s*$", line)
            yield line, False
            continue
        yield line, not html
        if html and re.search(r"</[a-zA-Z]+>\s*$|-->\s*$", line):
            html = False


def _approve(call: _Call) -> tuple[dict[str, Any], str]:
    approvals.approve(call.state, call.mr, call.user)
    return {}, "Approved the current merge request."


def _unapprove(call: _Call) -> tuple[dict[str, Any], str]:
    approvals.unapprove(call.state, call.mr, call.user)
    return {}, "Unapproved the current merge request."


def _draft(call: _Call) -> tuple[dict[str, Any], str]:
    merge_requests.edit(call.state, call.mr, call.user, title=drafts.draft(call.mr.title))
    return {"wip_event": "draft"}, "Marked this merge request as a draft."


def _ready(call: _Call) -> tuple[dict[str, Any], str]:
    merge_requests.edit(call.state, call.mr, call.user, title=drafts.ready(call.mr.title))
    return {"wip_event": "ready"}, "Marked this merge request as ready."


def _merge(call: _Call) -> tuple[dict[str, Any], str]:
    mr, pipeline = call.mr, pipelines.head_pipeline(call.mr)
    going = pipeline is not None and pipeline.state in ("created", "pending", "running")
    sha = mr.head_sha
    merging.merge(call.state, mr, call.user, merging.MergeOptions(sha=sha, auto=going))
    words = "Merged this merge request." if mr.merged else "Scheduled to merge this merge request."
    return {"merge": sha}, words


def _rebase(call: _Call) -> tuple[dict[str, Any], str]:
    merging.rebase(call.state, call.mr, call.user)
    return {"rebase": True}, f"Scheduled a rebase of branch {call.mr.head_ref}."


def _close(call: _Call) -> tuple[dict[str, Any], str]:
    if call.thread.state != "open":
        raise _UnavailableError
    _turn(call, merge_requests.close, "close")
    return {"state_event": "close"}, f"Closed this {_noun(call.thread)}."


def _reopen(call: _Call) -> tuple[dict[str, Any], str]:
    if call.thread.state == "open":
        raise _UnavailableError
    _turn(call, merge_requests.reopen, "reopen")
    return {"state_event": "reopen"}, f"Reopened this {_noun(call.thread)}."


def _turn(call: _Call, of_mr: Callable[[Context, MergeRequest, User], None], event: str) -> None:
    if isinstance(call.thread, MergeRequest):
        of_mr(call.state, call.thread, call.user)
    elif isinstance(call.thread, Issue):
        issues.edit(call.state, call.thread, call.user, state_event=event)


def _noun(thread: Thread) -> str:
    return "merge request" if isinstance(thread, MergeRequest) else "issue"


def _label(call: _Call) -> tuple[dict[str, Any], str]:
    names = [n for n in call.labels() if n.lower() in call.thread.repo.labels]
    if not names:
        raise _UnavailableError
    _relabeled(call, add=names)
    shown = " ".join(f"~{name}" for name in names)
    ids = [call.thread.repo.labels[n.lower()].id for n in names]
    return {"add_label_ids": ids}, f"Added {shown} label{'s' if len(names) > 1 else ''}."


def _unlabel(call: _Call) -> tuple[dict[str, Any], str]:
    names = call.labels() or [label.name for label in call.thread.labels]
    ids = [one.id for one in call.thread.labels if one.name in names]
    _relabeled(call, remove=names)
    shown = " ".join(f"~{name}" for name in names)
    return {"remove_label_ids": ids}, f"Removed {shown} label{'s' if len(names) > 1 else ''}."


def _relabel(call: _Call) -> tuple[dict[str, Any], str]:
    names = call.labels()
    _relabeled(call, exactly=names)
    ids = [one.id for one in call.thread.labels]
    return {"label_ids": ids}, f"Replaced all labels with {' '.join(f'~{n}' for n in names)}."


def _relabeled(call: _Call, **how: Any) -> None:
    if levels.level(call.state, call.thread.repo, call.user) < AccessLevel.REPORTER:
        raise _UnavailableError
    changed = labels.change(call.state, call.thread, call.user, **how)
    _changed(call, {"labels": changed} if changed else {})


def _changed(call: _Call, changes: dict[str, Any]) -> None:
    if not changes:
        return
    if isinstance(call.thread, MergeRequest):
        merge_requests.edit(call.state, call.thread, call.user, others=changes)
    elif isinstance(call.thread, Issue):
        issues.edit(call.state, call.thread, call.user, others=changes)


def _people(role: str, words: str, *, take_off: bool = False, whole: bool = False) -> Action:
    def act(call: _Call) -> tuple[dict[str, Any], str]:
        thread = call.mr if role == "reviewers" else call.thread
        there = list(call.mr.requested_reviewers if role == "reviewers" else thread.assignees)
        named = call.names()
        if not named and not take_off:
            raise _UnavailableError
        if take_off:
            wanted = [one for one in there if named and one not in named]
        else:
            wanted = named if whole else list(dict.fromkeys([*there, *named]))
        changed = labels.set_people(call.state, thread, call.user, role, wanted)
        _changed(call, {role: changed} if changed else {})
        shown = " ".join(f"@{one.login}" for one in named)
        return {f"{role[:-1]}_ids": [one.id for one in wanted]}, words.format(shown)

    return act


def _target_branch(call: _Call) -> tuple[dict[str, Any], str]:
    branch = call.rest.strip("`")
    merge_requests.edit(call.state, call.mr, call.user, target=branch)
    return {"target_branch": branch}, f"Set target branch to {branch}."


def _title(call: _Call) -> tuple[dict[str, Any], str]:
    if not call.rest:
        raise _UnavailableError
    if isinstance(call.thread, MergeRequest):
        merge_requests.edit(call.state, call.thread, call.user, title=call.rest)
    elif isinstance(call.thread, Issue):
        issues.edit(call.state, call.thread, call.user, title=call.rest)
    return {"title": call.rest}, f'Changed the title to "{call.rest}".'


def _submit_review(call: _Call) -> tuple[dict[str, Any], str]:
    word = call.rest.lower() or "reviewed"
    if word == "approve":
        approvals.approve(call.state, call.mr, call.user)
    elif word == "request_changes":
        return _request_changes(call)
    else:
        call.mr.reviews_by[call.user.id] = ReviewerState("reviewed", call.state.now())
    return {"submit_review": word}, "Submitted the current review."


def _request_changes(call: _Call) -> tuple[dict[str, Any], str]:
    approvals.request_changes(call.state, call.mr, call.user)
    return {}, "Changes requested to the current merge request."


def _react(call: _Call) -> tuple[dict[str, Any], str]:
    name = call.rest.strip(": ")
    emoji.award(call.state, call.thread, call.user, name)
    return {"emoji_award": name}, f"Toggled :{name}: emoji award."


def _lock(locked: bool) -> Action:
    def act(call: _Call) -> tuple[dict[str, Any], str]:
        if levels.level(call.state, call.thread.repo, call.user) < AccessLevel.REPORTER:
            raise _UnavailableError
        call.thread.locked = locked
        words = "Locked the discussion." if locked else "Unlocked the discussion."
        return {"discussion_locked": locked}, words

    return act


_ACTIONS: dict[str, Action] = {
    "approve": _approve,
    "unapprove": _unapprove,
    "merge": _merge,
    "draft": _draft,
    "ready": _ready,
    "rebase": _rebase,
    "close": _close,
    "reopen": _reopen,
    **dict.fromkeys(("label", "labels"), _label),
    **dict.fromkeys(("unlabel", "remove_label"), _unlabel),
    "relabel": _relabel,
    "assign": _people("assignees", "Assigned {}."),
    "reassign": _people("assignees", "Reassigned this to {}.", whole=True),
    **dict.fromkeys(
        ("unassign", "remove_assignee"), _people("assignees", "Removed assignee {}.", take_off=True)
    ),
    **dict.fromkeys(
        ("assign_reviewer", "reviewer", "request_review"),
        _people("reviewers", "Assigned {} as reviewer."),
    ),
    **dict.fromkeys(
        ("unassign_reviewer", "remove_reviewer"),
        _people("reviewers", "Removed reviewer {}.", take_off=True),
    ),
    "target_branch": _target_branch,
    "title": _title,
    "submit_review": _submit_review,
    "request_changes": _request_changes,
    **dict.fromkeys(("react", "award"), _react),
    "lock": _lock(locked=True),
    "unlock": _lock(locked=False),
}
_SILENT = ("cc",)
_NOT_HERE = """
    add_child add_contacts add_email add_parent blocked_by blocks board_move child_of
    clear_health_status clear_weight clone confidential convert_to_ticket copy_metadata
    create_merge_request done due duplicate epic estimate estimate_time health_status iteration
    link milestone move page promote promote_to promote_to_incident publish q reassign_reviewer
    relate remove_child remove_contacts remove_due_date remove_email remove_epic
    remove_estimate remove_iteration remove_milestone remove_parent remove_time_estimate
    remove_time_spent remove_zoom run_pipeline set_parent severity ship shrug spend spend_time
    spent status subscribe tableflip timeline todo type unlink unsubscribe weight zoom
"""
"""Names that GitLab knows too; they are taken out of the text, and the sandbox cannot do them."""
KNOWN = frozenset([*_ACTIONS, *_SILENT, *_NOT_HERE.split()])
"""Names of quick actions, in small letters."""
