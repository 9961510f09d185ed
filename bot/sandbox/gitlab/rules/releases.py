"""Releases of tags, and deployments to environments.

Source: https://docs.gitlab.com/api/releases/ and https://docs.gitlab.com/api/deployments/
"""

from __future__ import annotations

from datetime import datetime

from bot.sandbox import refnames
from bot.sandbox.git.objects import TagObject
from bot.sandbox.gitlab import protection
from bot.sandbox.gitlab.errors import bad_request, conflict, forbidden, missing, unprocessable
from bot.sandbox.records.accounts import User
from bot.sandbox.records.pipelines import Deployment, Environment
from bot.sandbox.records.refs import ZERO, RefChange
from bot.sandbox.records.repository import Release, Repository
from bot.sandbox.rules.context import Context

STATUSES = ("created", "running", "success", "failed", "canceled", "blocked")
_OVER = ("success", "failed", "canceled")


def find(repo: Repository, tag: str) -> Release:
    """The release of a tag; 404 where there is none."""
    found = next((one for one in repo.releases.values() if one.tag == tag), None)
    if found is None:
        raise missing()
    return found


def create(
    state: Context,
    repo: Repository,
    user: User,
    tag: str,
    *,
    name: str | None,
    description: str | None,
    ref: str | None,
    tag_message: str | None,
    released_at: datetime | None,
) -> Release:
    """Make a release.

    Raises:
        RefusedError: 409 for one that is there, 422 where neither tag nor `ref` is, 403 where
            the tag may not be made.
    """
    if any(one.tag == tag for one in repo.releases.values()):
        raise conflict("Release already exists")
    if refnames.tag_ref(tag) not in repo.refs:
        if ref is None:
            raise unprocessable("Ref is not specified")
        _make_tag(state, repo, user, tag, ref, tag_message)
    now = state.now()
    made = Release(
        id=state.next_id(),
        tag=tag,
        target=state.peel(repo, repo.refs[refnames.tag_ref(tag)]),
        name=name or tag,
        body=description,
        draft=False,
        prerelease=False,
        author=user,
        created_at=now,
        published_at=released_at or now,
    )
    repo.releases[made.id] = made
    state.emit("release", "create", repo, user, release=made)
    return made


def edit(
    state: Context, repo: Repository, user: User, found: Release, name: str | None, text: str | None
) -> None:
    """Change a release; None leaves a field as it is."""
    found.name = found.name if name is None else name
    found.body = found.body if text is None else text
    state.emit("release", "update", repo, user, release=found)


def delete(state: Context, repo: Repository, user: User, found: Release) -> None:
    """Take a release away."""
    del repo.releases[found.id]
    state.emit("release", "delete", repo, user, release=found)


def create_environment(state: Context, repo: Repository, name: str) -> Environment:
    """Make an environment; 400 for a name that is taken."""
    if any(one.name == name for one in repo.gitlab.environments.values()):
        raise bad_request("Name has already been taken")
    made = Environment(id=state.next_id(), name=name, created_at=state.now())
    repo.gitlab.environments[made.id] = made
    return made


def deploy(
    state: Context,
    repo: Repository,
    user: User,
    environment: str,
    sha: str,
    ref: str,
    *,
    tag: bool,
    status: str,
) -> Deployment:
    """Take note of a deployment of a commit."""
    if state.git(repo).kind(sha) != "commit":
        raise bad_request("The commit does not exist")
    known = (one for one in repo.gitlab.environments.values() if one.name == environment)
    place = next(known, None) or create_environment(state, repo, environment)
    now = state.now()
    made = Deployment(
        id=state.next_id(),
        iid=len(repo.gitlab.deployments) + 1,
        environment=place,
        sha=sha,
        ref=ref,
        tag=tag,
        status=status,
        user=user,
        created_at=now,
        updated_at=now,
    )
    repo.gitlab.deployments[made.id] = made
    state.emit("deployment", status, repo, user, deployment=made)
    return made


def turn(state: Context, repo: Repository, user: User, found: Deployment, status: str) -> None:
    """Let a deployment go on; one that is over stays so, unless it says the same."""
    if found.status in _OVER and status != found.status:
        raise bad_request(f"Cannot transition status via :{status} from :{found.status}")
    changed, found.status = found.status != status, status
    found.updated_at = state.now()
    if changed:
        state.emit("deployment", status, repo, user, deployment=found)


def _make_tag(
    state: Context, repo: Repository, user: User, tag: str, ref: str, message: str | None
) -> None:
    sha = state.resolve(repo, ref)
    if sha is None:
        raise unprocessable(f"Target {ref} is invalid")
    change = RefChange(ref=refnames.tag_ref(tag), before=ZERO, after=sha)
    if protection.refusal(state, repo, change, user, lambda: False, web=True):
        raise forbidden()
    if message:
        person = state.person(user)
        sha = state.git(repo).write_tag(
            TagObject(name=tag, target=sha, kind="commit", tagger=person, message=message)
        )
    state.update_ref(repo, change.ref, sha, user)
