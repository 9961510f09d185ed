"""Webhooks of the simulated forge, without what the bot does not read: most of what GitHub sends.

A test holds each field, and what the bot makes of all of them, to the sandbox's own payloads.
"""

from collections.abc import Callable, Mapping
from typing import Any

from bot.sandbox.api import Links
from bot.sandbox.github.json import stamp
from bot.sandbox.records.accounts import User
from bot.sandbox.records.memory import Happening
from bot.sandbox.records.repository import CheckSuite, Pull, Repository
from bot.sandbox.rules.state import ForgeState

Json = dict[str, Any]


def payload(state: ForgeState, _links: Links, happening: Happening) -> Json:
    """The body of a webhook, without `installation` where the event's own is not it."""
    made: Json = {} if happening.action is None else {"action": happening.action}
    build = BUILDERS.get(happening.kind)
    if build is not None:
        made |= build(state, happening)
    if happening.repo is not None:
        made["repository"] = _repository(happening.repo)
    made["sender"] = _user(happening.sender)
    return made


def _user(who: User) -> Json:
    return {"login": who.login, "id": who.id, "type": who.kind}


def _repository(repo: Repository) -> Json:
    return {"id": repo.id, "full_name": repo.full_name, "default_branch": repo.default_branch}


def _push(_: ForgeState, happening: Happening) -> Json:
    change = happening.extra["change"]
    return {
        "ref": change.ref,
        "before": change.before,
        "after": change.after,
        "deleted": change.deletes,
    }


def _ref(_: ForgeState, happening: Happening) -> Json:
    _, folder, name = happening.extra["change"].ref.split("/", 2)
    return {"ref": name, "ref_type": "tag" if folder == "tags" else "branch"}


def _pull(_: ForgeState, happening: Happening) -> Json:
    pull = happening.extra["pull"]
    return {"number": pull.number, "pull_request": _simple(pull) | {"merged": pull.merged}}


def _merge_group(_: ForgeState, happening: Happening) -> Json:
    group = happening.extra["group"]
    told = {"head_sha": group.head_sha, "head_ref": group.ref, "base_sha": group.base_sha}
    return {"merge_group": told | {"base_ref": happening.extra["base"]}}


def _simple(pull: Pull) -> Json:
    head = pull.head_repo
    return {
        "number": pull.number,
        "head": {
            "ref": pull.head_ref,
            "sha": pull.head_sha,
            "repo": None if head is None else {"id": head.id},
        },
        "base": {"ref": pull.base_ref, "repo": {"id": pull.repo.id}},
    }


def _review(_: ForgeState, happening: Happening) -> Json:
    review = happening.extra["review"]
    return {"review": {"id": review.id}, "pull_request": _simple(review.pull)}


def _comment(_: ForgeState, happening: Happening) -> Json:
    comment = happening.extra["comment"]
    issue: Json = {"number": comment.thread.number, "body": comment.thread.body}
    if isinstance(comment.thread, Pull):
        issue["pull_request"] = {}
    return {"issue": issue, "comment": {"id": comment.id}}


def _issue(_: ForgeState, happening: Happening) -> Json:
    issue = happening.extra["issue"]
    at = stamp(issue.updated_at)
    told: Json = {"issue": {"number": issue.number, "body": issue.body, "updated_at": at}}
    changes = happening.extra.get("changes")
    return told | ({"changes": changes} if changes else {})


def _run(state: ForgeState, happening: Happening) -> Json:
    suite = happening.extra["run"].suite
    about = {"head_sha": suite.head_sha, "pull_requests": _pulls(state, suite)}
    run = {"check_run": about | {"check_suite": {"head_branch": suite.head_branch}}}
    pressed = happening.extra.get("pressed")
    return run | ({"requested_action": pressed} if pressed else {})


def _suite(state: ForgeState, happening: Happening) -> Json:
    suite = happening.extra["suite"]
    about = {"head_sha": suite.head_sha, "pull_requests": _pulls(state, suite)}
    return {"check_suite": about | {"head_branch": suite.head_branch}}


def _pulls(state: ForgeState, suite: CheckSuite) -> list[Json]:
    return [_simple(pull) for pull in state.checks.pulls_of(suite)]


def _status(_: ForgeState, happening: Happening) -> Json:
    repo, sha = happening.repo, happening.extra["status"].sha
    names = repo.refs.branches_at(sha) if repo is not None else []
    return {"sha": sha, "branches": [{"name": n, "commit": {"sha": sha}} for n in names[:10]]}


def _installation(_: ForgeState, happening: Happening) -> Json:
    return {"installation": {"id": happening.extra["installation"].id}}


BUILDERS: Mapping[str, Callable[[ForgeState, Happening], Json]] = {
    "push": _push,
    "create": _ref,
    "delete": _ref,
    "merge_group": _merge_group,
    "pull_request": _pull,
    "pull_request_review": _review,
    "issue_comment": _comment,
    "issues": _issue,
    "check_run": _run,
    "check_suite": _suite,
    "status": _status,
    "installation": _installation,
    "installation_repositories": _installation,
    "installation_target": _installation,
}
