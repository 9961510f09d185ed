"""GitHub's webhook payloads, one builder for each event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bot.sandbox import refnames
from bot.sandbox.api import Links
from bot.sandbox.git import history
from bot.sandbox.github import check_json, commit_json
from bot.sandbox.github import json as basic
from bot.sandbox.github import pull_json as more
from bot.sandbox.github.json import Json
from bot.sandbox.records.memory import Happening, Installation
from bot.sandbox.records.refs import RefChange
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules.ids import node_id
from bot.sandbox.rules.state import ForgeState

_MOST_COMMITS = 2048  # GitHub lists no more commits in one push


def payload(state: ForgeState, links: Links, happening: Happening) -> Json:
    """The body of a webhook, without `installation` where the event's own is not it."""
    made: Json = {} if happening.action is None else {"action": happening.action}
    made |= _BUILDERS[happening.kind](state, links, happening)
    if happening.repo is not None and "repository" not in made:
        made["repository"] = basic.repository(links, happening.repo)
    owner = happening.repo.owner if happening.repo else None
    if owner is not None and owner.kind == "Organization":
        made["organization"] = basic.organization(links, owner)
    made["sender"] = basic.user(links, happening.sender)
    return made


def tells_of(kind: str) -> bool:
    """Tell whether there is an event for a kind of happening."""
    return kind in _BUILDERS


def installation_node_id(installation: Installation) -> str:
    """Node id of an installation, as webhooks name it."""
    return node_id("MDIz", installation.id)


def _push(state: ForgeState, links: Links, happening: Happening) -> Json:
    repo, change = _repo(happening), happening.extra["change"]
    git, html = state.git(repo), basic.repo_html(links, repo)
    before, after = change.before[:12], change.after[:12]
    head = None if change.deletes else git.commit(state.peel(repo, change.after))
    shas = _pushed(state, repo, change)
    return {
        "ref": change.ref,
        "before": change.before,
        "after": change.after,
        "repository": basic.push_repository(links, repo),
        "pusher": {"name": happening.sender.login, "email": happening.sender.email},
        "created": change.creates,
        "deleted": change.deletes,
        "forced": state.forced(repo, change),
        "base_ref": None,
        "compare": f"{html}/compare/{before}...{after}",
        "commits": [
            commit_json.push_commit(state, links, repo, git, git.commit(sha))
            for sha in shas[:_MOST_COMMITS]
        ],
        "head_commit": commit_json.push_commit(state, links, repo, git, head) if head else None,
    }


def _pushed(state: ForgeState, repo: Repository, change: RefChange) -> list[str]:
    if change.deletes or not refnames.is_branch(change.ref):
        return []
    git = state.git(repo)
    base = change.before
    if change.creates:
        # A new branch brings what the default branch lacks.
        base = repo.branch(repo.default_branch) or change.after
    if git.kind(base) != "commit":
        return [change.after]
    return history.commits_between(git, base, change.after)


def _ref(_state: ForgeState, _links: Links, happening: Happening) -> Json:
    repo, change = _repo(happening), happening.extra["change"]
    _, folder, name = change.ref.split("/", 2)
    made: Json = {
        "ref": name,
        "ref_type": "tag" if folder == "tags" else "branch",
        "pusher_type": "user",
    }
    if happening.kind == "create":
        made |= {"master_branch": repo.default_branch, "description": repo.description}
    return made


def _pull_request(state: ForgeState, links: Links, happening: Happening) -> Json:
    pull = happening.extra["pull"]
    made: Json = {
        "number": pull.number,
        "pull_request": more.pull(state, links, pull) | _settings(),
    }
    for key in ("before", "after", "changes", "reason"):
        if key in happening.extra:
            made[key] = happening.extra[key]
    if "reviewer" in happening.extra:
        made["requested_reviewer"] = basic.user(links, happening.extra["reviewer"])
    return made | _label_or_assignee(links, happening)


def _merge_group(state: ForgeState, _links: Links, happening: Happening) -> Json:
    group, extra = happening.extra["group"], happening.extra
    made: Json = {
        "merge_group": {
            "head_sha": group.head_sha,
            "head_ref": group.ref,
            "base_sha": group.base_sha,
            "base_ref": extra["base"],
            "head_commit": commit_json.simple_commit(
                state, state.git(_repo(happening)).commit(group.head_sha)
            ),
        }
    }
    return made | ({"reason": extra["reason"]} if "reason" in extra else {})


def _issues(_state: ForgeState, links: Links, happening: Happening) -> Json:
    made: Json = {"issue": more.issue(links, happening.extra["issue"])}
    if "changes" in happening.extra:
        made["changes"] = happening.extra["changes"]
    return made | _label_or_assignee(links, happening)


def _label_or_assignee(links: Links, happening: Happening) -> Json:
    extra, made = happening.extra, {}
    if "label" in extra:
        made["label"] = more.label(links, _repo(happening), extra["label"])
    if "assignee" in extra:
        made["assignee"] = basic.user(links, extra["assignee"])
    return made


def _settings() -> Json:
    """What webhooks add to a pull request about its repository's merge settings."""
    return {
        "allow_auto_merge": False,
        "allow_update_branch": True,
        "delete_branch_on_merge": False,
        "merge_commit_message": "PR_TITLE",
        "merge_commit_title": "MERGE_MESSAGE",
        "squash_merge_commit_message": "COMMIT_MESSAGES",
        "squash_merge_commit_title": "COMMIT_OR_PR_TITLE",
        "use_squash_pr_title_as_default": False,
    }


def _review(_state: ForgeState, links: Links, happening: Happening) -> Json:
    review = happening.extra["review"]
    made: Json = {
        "review": more.webhook_review(links, review),
        "pull_request": more.simple_pull(links, review.pull),
    }
    if "changes" in happening.extra:
        made["changes"] = happening.extra["changes"]
    return made


def _issue_comment(_state: ForgeState, links: Links, happening: Happening) -> Json:
    comment = happening.extra["comment"]
    made: Json = {
        "issue": more.issue(links, comment.thread),
        "comment": more.comment(links, comment),
    }
    if "changes" in happening.extra:
        made["changes"] = happening.extra["changes"]
    return made


def _check_run(state: ForgeState, links: Links, happening: Happening) -> Json:
    run = check_json.webhook_check_run(state, links, happening.extra["run"])
    pressed = happening.extra.get("pressed")
    return {"check_run": run} | ({"requested_action": pressed} if pressed else {})


def _check_suite(state: ForgeState, links: Links, happening: Happening) -> Json:
    whole = check_json.check_suite(state, links, happening.extra["suite"])
    del whole["repository"]  # it stands beside the suite in a webhook
    return {"check_suite": whole}


def _status(state: ForgeState, links: Links, happening: Happening) -> Json:
    repo, status = _repo(happening), happening.extra["status"]
    commit = state.git(repo).commit(status.sha)
    url = f"{basic.repo_url(links, repo)}/commits/{status.sha}"
    branches = [
        {
            "name": name,
            "commit": {"sha": status.sha, "url": url},
            "protected": name in repo.protections,
        }
        for name in repo.refs.branches_at(status.sha)
    ]
    return {
        "id": status.id,
        "sha": status.sha,
        "name": repo.full_name,
        "target_url": status.target_url,
        "avatar_url": f"{links.web}/avatars/u/{status.creator.id}",
        "context": status.context,
        "description": status.description,
        "state": status.state,
        "commit": commit_json.commit(state, links, repo, commit),
        "branches": branches[:10],
        "created_at": basic.stamp(status.created_at),
        "updated_at": basic.stamp(status.created_at),
    }


def _installation(_state: ForgeState, links: Links, happening: Happening) -> Json:
    installation = happening.extra["installation"]
    made: Json = {"installation": basic.installation(links, installation)}
    if happening.action in ("created", "deleted"):
        made["repositories"] = [_short(repo) for repo in installation.repositories]
        made["requester"] = None
    return made


def _installation_repositories(_state: ForgeState, links: Links, happening: Happening) -> Json:
    return {
        "installation": basic.installation(links, happening.extra["installation"]),
        "repository_selection": "selected",
        "repositories_added": [_short(repo) for repo in happening.extra.get("added", ())],
        "repositories_removed": [_short(repo) for repo in happening.extra.get("removed", ())],
        "requester": None,
    }


def _installation_target(_state: ForgeState, links: Links, happening: Happening) -> Json:
    installation = happening.extra["installation"]
    return {
        "account": basic.user(links, installation.account),
        "changes": happening.extra["changes"],
        "target_type": installation.account.kind,
        "installation": {
            "id": installation.id,
            "node_id": installation_node_id(installation),
        },
    }


def _repository(_state: ForgeState, links: Links, happening: Happening) -> Json:
    made: Json = {"repository": basic.repository(links, _repo(happening))}
    if "changes" in happening.extra:
        made["changes"] = happening.extra["changes"]
    if "old_owner" in happening.extra:
        old = happening.extra["old_owner"]
        key = "organization" if old.kind == "Organization" else "user"
        made["changes"] = {"owner": {"from": {key: basic.user(links, old)}}}
    return made


def _short(repo: Repository) -> Json:
    return {
        "id": repo.id,
        "node_id": node_id("R", repo.id),
        "name": repo.name,
        "full_name": repo.full_name,
        "private": repo.private,
    }


def _repo(happening: Happening) -> Repository:
    if happening.repo is None:
        raise ValueError(f"{happening.kind} is about a repository, and has none")
    return happening.repo


_BUILDERS: dict[str, Callable[[ForgeState, Links, Happening], dict[str, Any]]] = {
    "push": _push,
    "create": _ref,
    "delete": _ref,
    "pull_request": _pull_request,
    "pull_request_review": _review,
    "issue_comment": _issue_comment,
    "issues": _issues,
    "merge_group": _merge_group,
    "check_run": _check_run,
    "check_suite": _check_suite,
    "status": _status,
    "installation": _installation,
    "installation_repositories": _installation_repositories,
    "installation_target": _installation_target,
    "repository": _repository,
}
