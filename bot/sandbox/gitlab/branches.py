"""GitLab's operations on branches and tags.

Source: https://docs.gitlab.com/api/branches/, https://docs.gitlab.com/api/tags/
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.sandbox import refnames
from bot.sandbox.api import ApiResponse
from bot.sandbox.errors import RefusedError
from bot.sandbox.git import history
from bot.sandbox.git.objects import TagObject
from bot.sandbox.gitlab import commit_json, protection
from bot.sandbox.gitlab.errors import bad_request, forbidden, missing, not_allowed
from bot.sandbox.gitlab.routing import CODE, ApiRequest, at_least, listed, route
from bot.sandbox.records.gitlab import AccessLevel
from bot.sandbox.records.refs import ZERO, RefChange
from bot.sandbox.rules.refs import well_formed

_BRANCHES = "/projects/{id}/repository/branches"
_BRANCH = f"{_BRANCHES}/{{branch}}"
_TAGS = "/projects/{id}/repository/tags"
_TAG = f"{_TAGS}/{{tag_name}}"
_DEVELOPER = at_least(AccessLevel.DEVELOPER)


@route("GET", _BRANCHES, CODE)
def list_branches(request: ApiRequest) -> ApiResponse:
    """Branches by name; `search` is a part of it, `^begin` or `end$`."""
    names = _searched(request, refnames.branch_ref(""))

    def shown(ref: str) -> object:
        return _branch(request, refnames.branch_name(ref))

    return listed(request, names, refnames.branch_name, shown, cursor="page_token")


@route("GET", _BRANCH, CODE)
def get_branch(request: ApiRequest) -> ApiResponse:
    """A branch."""
    return ApiResponse(body=_branch(request, _known(request)))


@route("POST", _BRANCHES, _DEVELOPER)
def create_branch(request: ApiRequest) -> ApiResponse:
    """Make a branch at a branch, a tag or a commit."""
    repo, name, ref = request.project, request.input.filled("branch"), request.input.filled("ref")
    if repo.branch(name) is not None:
        raise bad_request("Branch already exists")
    if not well_formed(refnames.branch_ref(name)):
        raise bad_request("Branch name is invalid")
    sha = request.state.resolve(repo, ref)
    if sha is None:
        raise bad_request(f"Invalid reference name: {ref}")
    change(request, RefChange(ref=refnames.branch_ref(name), before=ZERO, after=sha))
    return ApiResponse(status=201, body=_branch(request, name))


@route("DELETE", _BRANCH, _DEVELOPER)
def delete_branch(request: ApiRequest) -> ApiResponse:
    """Take a branch away."""
    repo, name = request.project, _known(request)
    if name == repo.default_branch:
        raise not_allowed("Cannot remove HEAD branch")
    ref = refnames.branch_ref(name)
    change(request, RefChange(ref=ref, before=repo.refs[ref], after=ZERO))
    return ApiResponse(status=204)


@route("DELETE", "/projects/{id}/repository/merged_branches", _DEVELOPER)
def delete_merged(request: ApiRequest) -> ApiResponse:
    """Take all branches away that are in the default branch and not protected."""
    repo = request.project
    base = repo.branch(repo.default_branch)
    git = request.state.git(repo)
    for ref in list(repo.refs.below(refnames.branch_ref(""))):
        name = refnames.branch_name(ref)
        free = name != repo.default_branch and not protection.branch_rules(repo, name)
        if free and base and history.contains(git, base, repo.refs[ref]):
            change(request, RefChange(ref=ref, before=repo.refs[ref], after=ZERO))
    return ApiResponse(status=202, body={"message": "202 Accepted"})


@route("GET", _TAGS, CODE)
def list_tags(request: ApiRequest) -> ApiResponse:
    """Tags, the newest first unless `order_by` and `sort` say otherwise."""
    repo, state = request.project, request.state
    names = _searched(request, refnames.tag_ref(""))
    order = request.input.choice("order_by", ("name", "updated", "version")) or "updated"
    ascending = request.input.choice("sort", ("asc", "desc")) == "asc"
    if order == "updated":
        git = state.git(repo)
        age = {n: git.commit(state.peel(repo, repo.refs[n])).committer.when for n in names}
        names = sorted(names, key=lambda n: (age[n], n), reverse=not ascending)
    elif not ascending:
        names = names[::-1]
    return listed(request, names, refnames.tag_name, lambda ref: _tag(request, ref), "page_token")


@route("GET", _TAG, CODE)
def get_tag(request: ApiRequest) -> ApiResponse:
    """A tag."""
    return ApiResponse(body=_tag(request, _known_tag(request)))


@route("POST", _TAGS, _DEVELOPER)
def create_tag(request: ApiRequest) -> ApiResponse:
    """Make a tag at a branch, a tag or a commit; with a `message` an annotated one."""
    repo, state = request.project, request.state
    name, target = request.input.filled("tag_name"), request.input.filled("ref")
    ref = refnames.tag_ref(name)
    if ref in repo.refs:
        raise bad_request(f"Tag {name} already exists")
    if not well_formed(ref):
        raise bad_request("Tag name invalid")
    sha = state.resolve(repo, target)
    if sha is None:
        raise bad_request(f"Target {target} is invalid")
    if not protection.may_create_tag(state, repo, name, request.user):
        raise forbidden("You are not allowed to create this tag as it is protected.")
    message = request.input.text("message")
    if message:
        made = TagObject(
            name=name,
            target=sha,
            kind="commit",
            tagger=state.person(request.user),
            message=f"{message}\n",
        )
        sha = state.git(repo).write_tag(made)
    change(request, RefChange(ref=ref, before=ZERO, after=sha))
    return ApiResponse(status=201, body=_tag(request, ref))


@route("DELETE", _TAG, _DEVELOPER)
def delete_tag(request: ApiRequest) -> ApiResponse:
    """Take a tag away."""
    ref = _known_tag(request)
    change(request, RefChange(ref=ref, before=request.project.refs[ref], after=ZERO))
    return ApiResponse(status=204)


def change(request: ApiRequest, moved: RefChange) -> None:
    """Change a ref if the rules let the caller.

    Raises:
        RefusedError: 403 with GitLab's reason; 409 where git's own ref moved meanwhile.
    """
    state, repo = request.state, request.project
    reason = protection.refusal(
        state, repo, moved, request.user, lambda: state.forced(repo, moved), web=True
    )
    if reason:
        raise forbidden(reason)
    try:
        state.update_ref(repo, moved.ref, moved.after, request.user)
    except RefusedError:
        # A name cannot be a folder of names too: git refuses what nothing else does.
        raise bad_request(f"Invalid reference name: {moved.ref}") from None


def _searched(request: ApiRequest, folder: str) -> Sequence[str]:
    """Full names below a folder that `search` finds; `^begin` reads no others."""
    refs, search = request.project.refs, (request.input.text("search") or "").lower()
    if search.startswith("^"):
        return refs.below(folder + (request.input.text("search") or "")[1:])
    names = refs.below(folder)
    if not search:
        return names
    if search.endswith("$"):
        return [n for n in names if n.lower().endswith(search[:-1])]
    return [n for n in names if search in n.removeprefix(folder).lower()]


def _branch(request: ApiRequest, name: str) -> object:
    return commit_json.branch(
        request.state, request.links, request.project, name, request.caller.user
    )


def _tag(request: ApiRequest, ref: str) -> object:
    return commit_json.tag(request.state, request.links, request.project, refnames.tag_name(ref))


def _known(request: ApiRequest) -> str:
    name = request.params["branch"]
    if request.project.branch(name) is None:
        raise missing("Branch")
    return name


def _known_tag(request: ApiRequest) -> str:
    ref = refnames.tag_ref(request.params["tag_name"])
    if ref not in request.project.refs:
        raise missing("Tag")
    return ref
