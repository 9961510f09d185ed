"""What GitLab's events wake: for each kind the few lines that read it. Pure.

What an event says is used for two things: which keys it wakes, and what it says exists (the hint),
as in `bot.forges.github.events`. The same event may come by the hooks of a project, of its group
and of the instance: then it wakes the same keys three times, which is harmless.

| Event | wakes |
| --- | --- |
| push, `repository_update` of a system hook: each branch | its draft or proposal; outside `drafts/` the base branch of that name too; for the default branch all that is open |
| the same of a tag | the repository |
| merge request, an approval of one | its head branch; merged: the base branch and all that is open |
| note on a merge request | the merge request by its number: its branch may be gone |
| note on an issue of ours, and a box that is ticked in it | the dashboard |
| pipeline or job of others ended | the proposals at that commit |
| project renamed, moved, changed | the repository, rediscovery |
| member of a project added, changed, removed | the repository |
| group or its members changed, project made or removed | rediscovery |
| a token of the bot ends soon | the look at how we are registered |
| any of a project that is called otherwise by now | the repository too (`Delivered.called`) |

A quick action in a note is executed by GitLab, and may leave no note: its effect comes as an event
of its own. A withdrawn "request changes" comes as none, nor does a push that changes more than
three refs: sweeps find those.

Source: https://docs.gitlab.com/user/project/integrations/webhook_events/,
https://docs.gitlab.com/administration/system_hooks/
"""  # noqa: E501 (a table)

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bot.forges.port import BotIdentity
from bot.forges.webhooks import moment, wakes_of_branch
from bot.keys import (
    BaseKey,
    CommitKey,
    DashboardKey,
    Key,
    ProposalKey,
    PullKey,
    RepositoryKey,
    Sweep,
    SweepKey,
)
from bot.store.hints import NOBODY, NOTHING, Hint, Press
from lifecycle import boxes, names, records
from lifecycle.identity import RepositoryId

JSONObject = Mapping[str, Any]
Wakes = Iterable[tuple[Key, Hint]]

UNHEARD = frozenset(
    {
        "assignees",
        "discussion_locked",
        "head_pipeline_id",
        "last_edited_at",
        "last_edited_by_id",
        "milestone_id",
        "time_change",
        "time_estimate",
        "total_time_spent",
        "updated_at",
        "updated_by_id",
    }
)
"""What may change of a merge request that a decision does not know."""

NEW_HEAD = frozenset({"open", "reopen"})
"""Actions after which the head must be there, beside `update` with `oldrev`."""

MOST_REFS = 50
"""Refs of one push that are woken one by one; who pushes more has the repository looked through."""

ENDED = frozenset({"success", "failed", "canceled", "skipped", "manual"})
"""States of a pipeline or job after which it says something."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event.

    Attributes:
        forge: Name of the instance.
        guid: The delivery's.
        kind: Such as "merge_request".
        payload: What was sent.
    """

    forge: str
    guid: str
    kind: str
    payload: JSONObject

    @property
    def of(self) -> JSONObject:
        """What it is about."""
        found: JSONObject = self.payload.get("object_attributes") or {}
        return found

    @property
    def action(self) -> str:
        """What happened to it; "" where that is not told."""
        return str(self.of.get("action") or "")

    @property
    def repository(self) -> RepositoryId | None:
        """Which project; None for what is about none, or about one that nobody serves yet.

        What is stored of a project that is not served wakes nothing: a new one would not be found.
        """
        if self.kind == "project_create":
            return None
        project = self.payload.get("project") or {}
        number = project.get("id") or self.payload.get("project_id")
        if number is None and self.kind == "merge_request":
            number = self.of["target_project_id"]  # older ones name the project without its number
        if number is None:
            return None
        if type(number) is not int:
            raise TypeError("the project's id is no number")
        return RepositoryId(self.forge, number)

    @property
    def here(self) -> RepositoryId:
        """Which project, of an event that has one.

        Raises:
            KeyError: It has none.
        """
        if self.repository is None:
            raise KeyError("project.id")
        return self.repository

    @property
    def full_name(self) -> str:
        """The project's path; "" where it is not told."""
        project = self.payload.get("project") or {}
        names = (project.get("path_with_namespace"), self.payload.get("path_with_namespace"))
        return str(next((name for name in names if name), ""))

    @property
    def sender(self) -> tuple[int, str]:
        """Number and login of who caused it; 0 and "" where it does not say."""
        user = self.payload.get("user")
        user = user if isinstance(user, Mapping) else {}
        author = self.of.get("author_id") if self.kind == "note" else None
        number = user.get("id") or self.payload.get("user_id") or author
        login = user.get("username") or self.payload.get("user_username")
        return (number if type(number) is int else 0), str(login or "")

    def is_by(self, me: BotIdentity | None) -> bool:
        """Whether we caused it; not while we are not known."""
        return me is not None and me.is_us(*self.sender, app=False)

    def is_in_issue_of_others(self, me: BotIdentity) -> bool:
        """Whether somebody else opened the issue that it is about, which is no dashboard then."""
        issue = self.payload["issue"] if self.kind == "note" else self.of
        author = issue.get("author_id")
        return type(author) is int and not me.is_us(author, "", app=False)


def kind_of(payload: JSONObject) -> str:
    """Return the kind of an event: system hooks name it otherwise. "" where it is not told."""
    return str(payload.get("object_kind") or payload.get("event_name") or "")


def wakes(event: Event) -> Wakes:
    """Return which keys an event wakes; one that is not in the table wakes none."""
    reader = _READERS.get(event.kind)
    return reader(event) if reader else ()


def own_wakes(event: Event) -> Wakes:
    """Return what wakes an event that the bot itself caused: its merge all that is open.

    And the end of a pipeline: one that our statuses made is ours, and holds those of others too.
    """
    if event.kind == "merge_request" and event.action == "merge":
        return [(RepositoryKey(event.here), NOTHING)]
    if event.kind in {"pipeline", "build"}:
        return wakes(event)
    return ()


def is_heard(kind: str) -> bool:
    """Tell whether events of a kind wake anything."""
    return kind in _READERS


def _push(event: Event) -> Wakes:
    return _ref(event, event.payload)


def _many(event: Event) -> Iterator[tuple[Key, Hint]]:
    changes = event.payload["changes"]
    if len(changes) > MOST_REFS:
        yield RepositoryKey(event.here), NOTHING  # its sweep finds what changed
        return
    for change in changes:
        yield from _ref(event, change)


def _ref(event: Event, change: JSONObject) -> Wakes:
    ref, after = change["ref"], change["after"]
    if not names.is_branch(ref):
        return [(RepositoryKey(event.here), NOTHING)]
    hint = Hint(heads=frozenset({after})) if after.strip("0") else NOTHING
    default = event.payload["project"].get("default_branch") or ""
    return wakes_of_branch(event.here, names.branch_name(ref), default, hint)


def _merge_request(event: Event) -> Iterator[tuple[Key, Hint]]:
    changes = event.payload.get("changes") or {}
    moved = bool(event.of.get("oldrev"))
    if event.action == "update" and not moved and changes and set(changes) <= UNHEARD:
        return
    head = (event.of.get("last_commit") or {}).get("id")
    heads = frozenset({head} if head and (moved or event.action in NEW_HEAD) else ())
    hint = Hint(heads=heads, numbers=frozenset({event.of["iid"]}))
    source = event.of.get("source_project_id")
    if source is None:  # the fork is gone
        yield PullKey(event.here, event.of["iid"]), hint
    else:
        yield ProposalKey(event.here, source, event.of["source_branch"]), hint
    if event.action == "merge":
        yield BaseKey(event.here, event.of["target_branch"]), NOTHING
        yield RepositoryKey(event.here), NOTHING  # others may be outdated by it


def _note(event: Event) -> Iterator[tuple[Key, Hint]]:
    hint = Hint(comments=frozenset({event.of["id"]}))
    if event.of.get("system") or event.of.get("internal"):
        return  # GitLab's own words about what came as an event; or what no answer is given to
    match event.of["noteable_type"]:
        case "MergeRequest":
            yield PullKey(event.here, event.payload["merge_request"]["iid"]), hint
        case "Issue" if records.holds_one(event.payload["issue"].get("description") or ""):
            numbered = frozenset({int(event.payload["issue"]["iid"])})
            yield DashboardKey(event.here), replace(hint, numbers=numbered)


def _issue(event: Event) -> Wakes:
    """Somebody ticked boxes of a dashboard: the only edit of an issue that means anything."""
    change = (event.payload.get("changes") or {}).get("description") or {}
    after = event.of.get("description") or ""
    if event.action != "update" or not change or not records.holds_one(after):
        return []
    at = moment(event.of.get("updated_at"))
    before = change.get("previous") or ""
    ticks = boxes.newly_ticked(-int(event.of["iid"]), before, after, at, shows=True)
    person, login = event.sender
    known = bool(person and login)
    pressed = (
        Press(event.guid, person if known else 0, login if known else NOBODY, each)
        for each in map(str, ticks)
    )
    hint = Hint(pressed=frozenset(map(str, pressed)))
    return [(DashboardKey(event.here), hint)] if ticks else []


def _pipeline(event: Event) -> Iterator[tuple[Key, Hint]]:
    if event.of["status"] not in ENDED or event.of.get("tag"):
        return
    if request := event.payload.get("merge_request"):
        yield PullKey(event.here, request["iid"]), NOTHING  # it may have run at the merge result
    yield CommitKey(event.here, event.of["sha"]), NOTHING


def _job(event: Event) -> Wakes:
    if event.payload["build_status"] not in ENDED or event.payload.get("tag"):
        return ()
    return [(CommitKey(event.here, event.payload["sha"]), NOTHING)]


def _project(event: Event) -> Wakes:
    everything = Hint(everything=frozenset({event.guid}))
    return [*_discover(event), (RepositoryKey(event.here), everything)]


def _discover(event: Event) -> Wakes:
    return [(SweepKey(Sweep.CHANGES, event.forge), NOTHING)]


def _members(event: Event) -> Wakes:
    """Roles: no list of proposals tells that they changed (ADR 23)."""
    if event.repository is None:
        return _discover(event)
    return [(RepositoryKey(event.here), Hint(everything=frozenset({event.guid})))]


def _token(event: Event) -> Wakes:
    return [(SweepKey(Sweep.HEALTH, event.forge), NOTHING)]


_READERS: Mapping[str, Callable[[Event], Wakes]] = {
    "push": _push,
    "tag_push": _push,
    "repository_update": _many,
    "merge_request": _merge_request,
    "issue": _issue,
    "note": _note,
    "pipeline": _pipeline,
    "build": _job,
    "project_create": _discover,
    "project_destroy": _discover,
    "project_rename": _project,
    "project_transfer": _project,
    "project_update": _project,
    "group_rename": _discover,
    "group_destroy": _discover,
    "user_add_to_team": _members,
    "user_update_for_team": _members,
    "user_remove_from_team": _members,
    "user_add_to_group": _members,
    "user_update_for_group": _members,
    "user_remove_from_group": _members,
    "access_token": _token,
}

_NOTHING_TO_DO: Mapping[str, str] = {
    "issue": "Of issues only boxes of the dashboard count, when somebody ticks them.",
    "note": "It is internal, or on an issue that is not the dashboard, or on a commit, or GitLab"
    " wrote it.",
    "emoji": "Nothing follows from reactions.",
    "release": "Releases are made from tags; nothing follows from them.",
    "deployment": "Deployments are not followed.",
    "merge_request": "What happened to the merge request changes nothing that is decided.",
    "pipeline": "A pipeline of a branch counts when it has ended.",
    "build": "A job of a branch counts when it has ended.",
}
"""Why events are left alone that GitLab sends and that wake nothing."""


def why_ignored(event: Event, *, ours: bool) -> str:
    """Return why an event wakes nothing, as a sentence; whoever reads the hook's log is told."""
    if ours:
        return "The bot did that itself, and goes on by itself."
    return _NOTHING_TO_DO.get(event.kind, "Events of this kind are not used.")
