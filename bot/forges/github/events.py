"""What GitHub's events wake: for each kind the few lines that read it. Pure.

What an event says is used for two things: which keys it wakes, and what it says exists (the hint),
so that a look that sees less is known to be too early: `head` (commit), `comment`, `review`,
`number` (a pull request that matters even if it is closed), `rerun` and `pressed` (the delivery in
which Re-run or a button of ours was pressed, and by whom). Nothing is decided here.

| Event | wakes |
| --- | --- |
| push, create, delete of a branch | its draft or proposal; outside `drafts/` the base branch of that name too; for the default branch all that is open; of a merge group the group |
| the same of a tag | the repository |
| pull request, review, thread | its head branch; merged: the base branch and all that is open |
| comment on a pull request | the pull request by its number: the event has no head |
| comment on an issue of ours, and a box that is ticked in it | the dashboard |
| check or status of others ended, Re-run, a button of ours | the proposals at that commit |
| merge group | the group; destroyed: the base branch too |
| repository renamed …, rule or member changed | the repository |
| installation changed | rediscovery |

Source: https://docs.github.com/webhooks/webhook-events-and-payloads
"""  # noqa: E501 (a table)

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from bot.forges.webhooks import moment, wakes_of_branch
from bot.keys import (
    BaseKey,
    CommitKey,
    DashboardKey,
    GroupKey,
    Key,
    ProposalKey,
    PullKey,
    RepositoryKey,
    Sweep,
    SweepKey,
)
from bot.store.hints import NOBODY, NOTHING, Hint, Press, Rerun
from lifecycle import boxes, names, records
from lifecycle.facts.checks import Button
from lifecycle.identity import GITHUB, RepositoryId

JSONObject = Mapping[str, Any]

UNHEARD = frozenset(
    {
        "assigned",
        "unassigned",
        "locked",
        "unlocked",
        "milestoned",
        "demilestoned",
        "review_requested",
        "review_request_removed",
    }
)
"""What happens to a pull request and changes nothing that a decision knows."""

NEW_HEAD = frozenset({"opened", "reopened", "synchronize"})
"""Actions after which the head must be there; later it may be gone with its branch."""

RERUN, PRESSED = "rerequested", "requested_action"
"""What a press on Re-run, and on a button of our own, is called."""


Wakes = Iterable[tuple[Key, Hint]]


def wakes(guid: str, event: str, payload: JSONObject) -> Wakes:
    """Return which keys a delivery wakes; an event that is not in the table wakes none."""
    if event in _COUNTED:
        return _COUNTED[event](guid, payload)
    reader = _READERS.get(event)
    return reader(payload) if reader else ()


def repository_id(payload: JSONObject) -> RepositoryId:
    """Return the repository that an event is about.

    Raises:
        KeyError, TypeError: It names none, or not by a number.
    """
    number = payload["repository"]["id"]
    if not isinstance(number, int):
        raise TypeError("repository.id is no number")
    return RepositoryId(GITHUB, number)


def _push(payload: JSONObject) -> Wakes:
    ref = payload["ref"]
    if not names.is_branch(ref):
        return _whole(payload)
    hint = NOTHING if payload.get("deleted") else Hint(heads=frozenset({payload["after"]}))
    return _branch(payload, names.branch_name(ref), hint)


def _ref(payload: JSONObject) -> Wakes:
    """Of `create` and `delete`, which spell the ref in short and its kind apart."""
    if payload["ref_type"] != "branch":
        return _whole(payload)
    return _branch(payload, payload["ref"], NOTHING)


def _branch(payload: JSONObject, branch: str, hint: Hint) -> Wakes:
    default = payload["repository"]["default_branch"]
    return wakes_of_branch(repository_id(payload), branch, default, hint)


def _pull_request(payload: JSONObject) -> Wakes:
    if payload["action"] in UNHEARD:
        return
    pull = payload["pull_request"]
    heads = {pull["head"]["sha"]} if payload["action"] in NEW_HEAD else ()
    yield _head(payload, Hint(heads=frozenset(heads)))
    if _is_merge(payload):
        yield BaseKey(repository_id(payload), pull["base"]["ref"]), NOTHING
        yield RepositoryKey(repository_id(payload)), NOTHING  # others may be outdated by it


def own_wakes(event: str, payload: JSONObject) -> Wakes:
    """Return what wakes an event that the bot itself caused: its merge all that is open.

    The look that merged goes on to the tag, and then wakes the proposal. Where it dies before, its
    key is wanted still.
    """
    if event == "pull_request" and _is_merge(payload):
        return [(RepositoryKey(repository_id(payload)), NOTHING)]
    return ()


def _is_merge(payload: JSONObject) -> bool:
    return payload.get("action") == "closed" and payload["pull_request"].get("merged") is True


def _review(payload: JSONObject) -> Wakes:
    return [_head(payload, Hint(reviews=frozenset({payload["review"]["id"]})))]


def _thread(payload: JSONObject) -> Wakes:
    return [_head(payload, NOTHING)]


def _head(payload: JSONObject, hint: Hint) -> tuple[Key, Hint]:
    """The head branch of a pull request; by its number once the fork is gone."""
    pull = payload["pull_request"]
    head, numbered = pull["head"], replace(hint, numbers=frozenset({pull["number"]}))
    if head.get("repo") is None:
        return PullKey(repository_id(payload), pull["number"]), numbered
    return ProposalKey(repository_id(payload), head["repo"]["id"], head["ref"]), numbered


def _comment(payload: JSONObject) -> Wakes:
    issue = payload["issue"]
    there = {payload["comment"]["id"]} if payload["action"] != "deleted" else ()
    if issue.get("pull_request") is None:
        if there and records.holds_one(issue.get("body") or ""):  # as the dashboard does
            hint = Hint(comments=frozenset(there), numbers=frozenset({issue["number"]}))
            yield DashboardKey(repository_id(payload)), hint
        return
    yield PullKey(repository_id(payload), issue["number"]), Hint(comments=frozenset(there))


def _issue(guid: str, payload: JSONObject) -> Wakes:
    """Somebody ticked boxes of a dashboard: the only edit of an issue that means anything."""
    issue = payload["issue"]
    before = ((payload.get("changes") or {}).get("body") or {}).get("from")
    after = issue.get("body") or ""
    if payload["action"] != "edited" or before is None or not records.holds_one(after):
        return []
    at = moment(issue.get("updated_at"))
    ticks = boxes.newly_ticked(issue["number"], before or "", after, at)
    who = payload.get("sender") or {}
    known = who.get("type") == "User" and who.get("id")
    pressed = (
        Press(guid, who["id"] if known else 0, who["login"] if known else NOBODY, each)
        for each in map(str, ticks)
    )
    hint = Hint(pressed=frozenset(map(str, pressed)))
    return [(DashboardKey(repository_id(payload)), hint)] if ticks else []


def _check(event: str, guid: str, payload: JSONObject) -> Wakes:
    """A check of others ended, or somebody pressed Re-run or a button on one of ours."""
    if payload["action"] not in {RERUN, PRESSED, "completed"}:
        return []
    hint = _clicked(guid, payload)
    check, repository = payload[event], repository_id(payload)
    pulls: list[tuple[Key, Hint]] = [
        (ProposalKey(repository, pull["head"]["repo"]["id"], pull["head"]["ref"]), hint)
        for pull in check.get("pull_requests") or []
        if pull["base"]["repo"]["id"] == repository.number
    ]
    if pulls:
        return pulls
    suite = check["check_suite"] if event == "check_run" else check
    if suite.get("head_branch"):
        return _branch_of_check(repository, suite["head_branch"], hint)
    # For a fork GitHub names neither the branch nor the pull requests.
    return [(CommitKey(repository, check["head_sha"]), hint)]


def _branch_of_check(repository: RepositoryId, branch: str, hint: Hint) -> Wakes:
    if names.group_of(branch) is not None:
        return [(GroupKey(repository, branch), hint)]
    return [(ProposalKey(repository, repository.number, branch), hint)]


def _clicked(guid: str, payload: JSONObject) -> Hint:
    """Who clicked on what; what a machine, or nobody known, presses is none of our buttons."""
    who = payload.get("sender") or {}
    if payload["action"] == RERUN:
        clicked = Rerun(guid, who["id"], who["login"]) if who.get("id") else Rerun(guid)
        return Hint(rerun=frozenset({str(clicked)}))
    name = (payload.get("requested_action") or {}).get("identifier")
    if payload["action"] != PRESSED or name not in set(Button) or who.get("type") != "User":
        return NOTHING
    return Hint(pressed=frozenset({str(Press(guid, who["id"], who["login"], name))}))


def _status(payload: JSONObject) -> Wakes:
    repository, sha = repository_id(payload), payload["sha"]
    # `branches` holds every branch that contains the commit; those that end in it are meant.
    ending = [b["name"] for b in payload.get("branches") or [] if b["commit"]["sha"] == sha]
    if not ending:
        return [(CommitKey(repository, sha), NOTHING)]
    return [each for name in ending for each in _branch_of_check(repository, name, NOTHING)]


def _merge_group(payload: JSONObject) -> Wakes:
    group = payload["merge_group"]
    hint = Hint(heads=frozenset({group["head_sha"]}))
    if payload["action"] != "checks_requested":
        hint = NOTHING
        yield BaseKey(repository_id(payload), names.branch_name(group["base_ref"])), NOTHING
    yield GroupKey(repository_id(payload), names.branch_name(group["head_ref"])), hint


def _repository(guid: str, payload: JSONObject) -> Wakes:
    yield SweepKey(Sweep.CHANGES, GITHUB), NOTHING
    if payload["action"] != "deleted":
        yield RepositoryKey(repository_id(payload)), Hint(everything=frozenset({guid}))


def _whole(payload: JSONObject) -> Wakes:
    """Everything in a repository; nothing for what an organization has."""
    return [(RepositoryKey(repository_id(payload)), NOTHING)] if payload.get("repository") else []


def _rights(guid: str, payload: JSONObject) -> Wakes:
    """Rules and roles: no list of proposals tells that they changed (ADR 23)."""
    return [(key, Hint(everything=frozenset({guid}))) for key, _ in _whole(payload)]


def _installations(_: JSONObject) -> Wakes:
    return [(SweepKey(Sweep.CHANGES, GITHUB), NOTHING)]


_READERS: Mapping[str, Callable[[JSONObject], Wakes]] = {
    "push": _push,
    "create": _ref,
    "delete": _ref,
    "pull_request": _pull_request,
    "pull_request_review": _review,
    "pull_request_review_comment": _thread,
    "pull_request_review_thread": _thread,
    "issue_comment": _comment,
    "status": _status,
    "merge_group": _merge_group,
    "installation": _installations,
    "installation_repositories": _installations,
}

_COUNTED: Mapping[str, Callable[[str, JSONObject], Wakes]] = {
    "check_run": partial(_check, "check_run"),
    "issues": _issue,
    "check_suite": partial(_check, "check_suite"),
    "repository": _repository,
    "branch_protection_rule": _rights,
    "repository_ruleset": _rights,
    "member": _rights,
}
"""What counts each time that it comes, even while a look deals with the last: the delivery tells
one from the next, and is the same when redelivered."""


def is_heard(event: str) -> bool:
    """Tell whether events of a kind wake anything."""
    return event in _READERS or event in _COUNTED


_NOTHING_TO_DO: Mapping[str, str] = {
    "ping": "It says that the webhook works, and nothing else.",
    "issues": "Of issues only boxes of the dashboard count, when somebody ticks them.",
    "issue_comment": "It is on an issue that is not the dashboard, or a comment there was deleted.",
    "label": "Labels show the stage of a pull request; nothing follows from them.",
    "membership": "It names no repository. Teams are read when somebody approves.",
    "team": "Teams are read when somebody approves.",
    "deployment": "Deployments are not followed.",
    "deployment_status": "Deployments are not followed.",
    "pull_request": "What happened to the pull request changes nothing that is decided.",
    "check_run": "A check counts when it has ended, and ours when Re-run or a button is pressed.",
    "check_suite": "A suite counts when it has ended, and ours when Re-run is pressed.",
}
"""Why events are left alone that GitHub sends and that wake nothing."""


def why_ignored(event: str, payload: JSONObject, *, ours: bool) -> str:
    """Return why an event wakes nothing, as a sentence; whoever reads the forge's log is told."""
    if ours:
        return "The bot did that itself, and goes on by itself."
    if event in _NOTHING_TO_DO:
        return _NOTHING_TO_DO[event]
    if is_heard(event) and not payload.get("repository"):
        return "It is about no repository."
    return "Events of this kind are not used."
