"""GitHub's operations on repositories: contents, refs, tags, commits, branches, activity."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import quote, urlencode

from bot.sandbox import refnames
from bot.sandbox.api import ApiResponse
from bot.sandbox.errors import RefusedError, invalid, not_found, plain
from bot.sandbox.git import history, trees
from bot.sandbox.git.objects import Ident, TagObject, TreeEntry
from bot.sandbox.git.protocol import Git
from bot.sandbox.github import commit_json
from bot.sandbox.github import json as basic
from bot.sandbox.github import pull_json as more
from bot.sandbox.github.routing import ApiRequest, page, route
from bot.sandbox.records.accounts import Role
from bot.sandbox.records.refs import ZERO, RefChange
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules import limits, refs, workflows
from bot.sandbox.rules.context import FileChange

_REPO = "/repos/{owner}/{repo}"
_UNMADE = "1" * 40  # stands for a commit that is about to be made
_MOST_FILES = 300  # GitHub lists no more files of a comparison
_LARGEST_INLINE = 1_000_000  # GitHub sends larger files without content


@route("GET", _REPO)
def get_repository(request: ApiRequest) -> ApiResponse:
    """A repository."""
    token = request.caller.token
    role = request.state.role(request.repo, request.caller.user)
    if token is not None and token.permissions.get("contents") == "write":
        role = max(role, Role.WRITE)
    return ApiResponse(body=basic.full_repository(request.links, request.repo, role))


@route("GET", f"{_REPO}/contents/{{path}}")
def get_contents(request: ApiRequest) -> ApiResponse:
    """A file, a folder or a link at a path of a commit."""
    repo, path = request.repo, request.params["path"].strip("/")
    ref = request.query.get("ref") or repo.default_branch
    sha = request.state.resolve(repo, ref)
    if sha is None:
        raise RefusedError(404, f"No commit found for the ref {ref}")
    git = request.state.git(repo)
    entry = trees.entry_at(git, sha, path)
    if entry is None:
        raise not_found()
    if entry.kind == "tree":
        listed = [
            _content(request, ref, f"{path}/{e.name}".lstrip("/"), e) for e in git.tree(entry.sha)
        ]
        return ApiResponse(body=listed)
    if "raw" in request.headers.get("accept", "") and entry.kind == "blob":
        return ApiResponse(
            body=git.blob(entry.sha), media_type="application/vnd.github.raw; charset=utf-8"
        )
    return ApiResponse(body=_content(request, ref, path, entry, whole=True))


def _content(
    request: ApiRequest, ref: str, path: str, entry: TreeEntry, *, whole: bool = False
) -> dict[str, Any]:
    repo, git = request.repo, request.state.git(request.repo)
    api, html = basic.repo_url(request.links, repo), basic.repo_html(request.links, repo)
    kinds = {"40000": "dir", "120000": "symlink", "160000": "submodule"}
    kind = kinds.get(entry.mode, "file")
    blob = git.blob(entry.sha) if entry.kind == "blob" else b""
    quoted = quote(path)
    url = f"{api}/contents/{quoted}?{urlencode({'ref': ref})}"
    part = "trees" if kind == "dir" else "blobs"
    place = f"{html}/{'tree' if kind == 'dir' else 'blob'}/{quote(ref)}/{quoted}"
    made: dict[str, Any] = {
        "name": path.rsplit("/", 1)[-1],
        "path": path,
        "sha": entry.sha,
        "size": len(blob),
        "url": url,
        "html_url": place,
        "git_url": f"{api}/git/{part}/{entry.sha}",
        "download_url": f"{html}/raw/{quote(ref)}/{quoted}" if kind == "file" else None,
        "type": kind,
        "_links": {"self": url, "git": f"{api}/git/{part}/{entry.sha}", "html": place},
    }
    if whole and kind == "symlink":
        made["target"] = blob.decode(errors="replace")
    elif whole and kind == "submodule":
        made["submodule_git_url"] = ""
    elif whole and len(blob) > _LARGEST_INLINE:
        made |= {"content": "", "encoding": "none"}
    elif whole:
        made |= {"content": base64.encodebytes(blob).decode(), "encoding": "base64"}
    return made


@route("PUT", f"{_REPO}/contents/{{path}}")
def put_contents(request: ApiRequest) -> ApiResponse:
    """Write a file as one commit; `sha` must name the file that is replaced."""
    path = request.params["path"]
    try:
        content = base64.b64decode(request.required("content"))
    except ValueError:
        raise plain("content is not valid Base64") from None
    return _change_file(request, FileChange(path=path, content=content))


@route("DELETE", f"{_REPO}/contents/{{path}}")
def delete_contents(request: ApiRequest) -> ApiResponse:
    """Remove a file as one commit."""
    return _change_file(request, FileChange(path=request.params["path"], content=None))


def _change_file(request: ApiRequest, change: FileChange) -> ApiResponse:
    repo, state = request.repo, request.state
    limits.check_path(change.path)
    branch = request.text("branch") or repo.default_branch
    tip = repo.branch(branch)
    if tip is None and repo.refs:
        raise RefusedError(404, f"Branch {branch} not found")
    old = trees.entry_at(state.git(repo), tip, change.path) if tip else None
    _check_old(request, change, old)
    workflows.check_file(request.caller, change.path)
    moved = RefChange(ref=refnames.branch_ref(branch), before=tip or ZERO, after=_UNMADE)
    state.rules.check_api(repo, moved, request.user, status=409)
    commit = state.commit_files(
        repo,
        branch,
        [change],
        request.required("message"),
        actor=request.user,
        author=person(request, "author"),
        committer=person(request, "committer"),
    )
    body: dict[str, Any] = {
        "commit": commit_json.git_commit(request.links, repo, commit),
        "content": None,
    }
    entry = trees.entry_at(state.git(repo), commit.sha, change.path)
    if entry is not None:
        body["content"] = _content(request, branch, change.path, entry)
    return ApiResponse(status=201 if old is None else 200, body=body)


def _check_old(request: ApiRequest, change: FileChange, old: TreeEntry | None) -> None:
    sha = request.text("sha")
    if change.content is None and old is None:
        raise not_found()
    if old is not None and sha is None:
        raise plain('Invalid request.\n\n"sha" wasn\'t supplied.')
    if old is not None and sha != old.sha:
        raise RefusedError(409, f"{change.path} does not match {sha}")


def person(request: ApiRequest, field: str) -> Ident | None:
    """An author, committer or tagger of the body; None where it is not given."""
    given = request.fields.inner(field)
    if given is None:
        return None
    name, email = given.text("name"), given.text("email")
    if not name or not email:
        raise invalid("Commit", field)
    return Ident(name, email, given.when("date") or request.state.now())


@route("GET", f"{_REPO}/git/ref/{{ref}}")
def get_ref(request: ApiRequest) -> ApiResponse:
    """One ref; 404 when it is not there in full."""
    ref = f"refs/{request.params['ref']}"
    sha = request.repo.refs.get(ref)
    if sha is None:
        raise not_found()
    return ApiResponse(body=_ref(request, ref, sha))


@route("GET", f"{_REPO}/git/matching-refs/{{ref}}")
def list_matching_refs(request: ApiRequest) -> ApiResponse:
    """Refs that begin with a text; an empty list when none does."""
    prefix = f"refs/{request.params['ref']}"
    known = request.repo.refs
    found = page(request, known.below(prefix))
    body = [_ref(request, ref, known[ref]) for ref in found.body]
    return ApiResponse(body=body, headers=found.headers)


@route("POST", f"{_REPO}/git/refs")
def create_ref(request: ApiRequest) -> ApiResponse:
    """Make a ref."""
    if not request.repo.refs:
        raise RefusedError(409, "Git Repository is empty.")
    ref, sha = request.required("ref"), request.required("sha")
    refs.create(request.state, request.repo, ref, sha, request.caller)
    body = _ref(request, ref, sha)
    return ApiResponse(status=201, body=body, headers={"Location": body["url"]})


@route("PATCH", f"{_REPO}/git/refs/{{ref}}")
def update_ref(request: ApiRequest) -> ApiResponse:
    """Move a ref; by force only where asked."""
    ref, sha = f"refs/{request.params['ref']}", request.required("sha")
    force = request.fields.flag("force")
    refs.move(request.state, request.repo, ref, sha, request.caller, force=force)
    return ApiResponse(body=_ref(request, ref, sha))


@route("DELETE", f"{_REPO}/git/refs/{{ref}}")
def delete_ref(request: ApiRequest) -> ApiResponse:
    """Remove a ref."""
    refs.delete(request.state, request.repo, f"refs/{request.params['ref']}", request.caller)
    return ApiResponse(status=204)


def _ref(request: ApiRequest, ref: str, sha: str) -> basic.Json:
    git = request.state.git(request.repo)
    return commit_json.git_ref(request.links, request.repo, git, ref, sha)


@route("POST", f"{_REPO}/git/tags")
def create_tag(request: ApiRequest) -> ApiResponse:
    """Write an annotated tag object; no ref points at it yet."""
    git = request.state.git(request.repo)
    target, kind = request.required("object"), request.required("type")
    if git.kind(target) != kind:
        raise plain("Object does not exist" if git.kind(target) is None else "type is wrong")
    user = request.user
    tagger = person(request, "tagger") or request.state.person(user)
    tag = TagObject(
        name=request.required("tag"),
        target=target,
        kind=kind,
        tagger=tagger,
        message=request.required("message"),
    )
    body = _tag(request, git.write_tag(tag), tag)
    return ApiResponse(status=201, body=body, headers={"Location": body["url"]})


@route("GET", f"{_REPO}/git/tags/{{tag_sha}}")
def get_tag(request: ApiRequest) -> ApiResponse:
    """Read an annotated tag object."""
    git, sha = request.state.git(request.repo), request.params["tag_sha"]
    if git.kind(sha) != "tag":
        raise not_found()
    return ApiResponse(body=_tag(request, sha, git.tag(sha)))


def _tag(request: ApiRequest, sha: str, tag: TagObject) -> basic.Json:
    url = basic.repo_url(request.links, request.repo)
    return {
        "node_id": f"TA_{sha}",
        "tag": tag.name,
        "sha": sha,
        "url": f"{url}/git/tags/{sha}",
        "message": tag.message,
        "tagger": commit_json.git_person(tag.tagger),
        "object": {
            "sha": tag.target,
            "type": tag.kind,
            "url": f"{url}/git/{tag.kind}s/{tag.target}",
        },
        "verification": {
            "verified": False,
            "reason": "unsigned",
            "signature": None,
            "payload": None,
            "verified_at": None,
        },
    }


@route("GET", f"{_REPO}/git/commits/{{commit_sha}}")
def get_git_commit(request: ApiRequest) -> ApiResponse:
    """A commit as git stores it."""
    git, sha = request.state.git(request.repo), request.params["commit_sha"]
    if git.kind(sha) != "commit":
        raise not_found()
    return ApiResponse(body=commit_json.git_commit(request.links, request.repo, git.commit(sha)))


@route("GET", f"{_REPO}/commits")
def list_commits(request: ApiRequest) -> ApiResponse:
    """History from a branch, tag or commit, newest first; `path` keeps those that touch it."""
    repo, state = request.repo, request.state
    start = state.resolve(repo, request.query.get("sha") or repo.default_branch)
    if start is None:
        raise RefusedError(409, "Git Repository is empty.") if not repo.refs else not_found()
    git = state.git(repo)
    path = request.query.get("path")
    shas = list(history.ancestors(git, start))
    if path:
        shas = [sha for sha in shas if _touches(git, sha, path)]
    author = request.query.get("author")
    if author:
        shas = [sha for sha in shas if _by(request, git.commit(sha).author.email, author)]
    found = page(request, shas)
    body = [commit_json.commit(state, request.links, repo, git.commit(sha)) for sha in found.body]
    return ApiResponse(body=body, headers=found.headers)


def _touches(git: Git, sha: str, path: str) -> bool:
    here = trees.entry_at(git, sha, path)
    parents = git.commit(sha).parents
    if not parents:
        return here is not None
    return all(trees.entry_at(git, parent, path) != here for parent in parents)


def _by(request: ApiRequest, email: str, author: str) -> bool:
    account = request.state.account_of(email)
    return author == email or (account is not None and account.login.lower() == author.lower())


@route("GET", f"{_REPO}/commits/{{commit_sha}}/pulls")
def list_pulls_of_commit(request: ApiRequest) -> ApiResponse:
    """Pull requests that hold a commit, or that were merged as it."""
    repo, state, sha = request.repo, request.state, request.params["commit_sha"]
    git = state.git(repo)
    if git.kind(sha) != "commit":
        raise plain(f"No commit found for SHA: {sha}")
    found = [
        pull
        for pull in repo.pulls.values()
        if (pull.merged and pull.merge_commit_sha == sha)
        or any(commit.sha == sha for commit in state.pulls.commits(pull))
    ]
    return page(request, [more.simple_pull(request.links, pull) for pull in found])


@route("GET", f"{_REPO}/compare/{{basehead}}")
def compare(request: ApiRequest) -> ApiResponse:
    """What `base...head` brings: commits, files, how far apart they are."""
    repo, state = request.repo, request.state
    base_name, dots, head_name = request.params["basehead"].partition("...")
    base, head = _resolve(request, base_name), _resolve(request, head_name)
    if not dots or base is None or head is None:
        raise not_found()
    git = state.git(repo)
    fork_point = history.merge_base(git, base, head)
    if fork_point is None:
        raise not_found()
    ahead, behind = (
        history.commits_between(git, base, head),
        history.commits_between(git, head, base),
    )
    status = {(0, 0): "identical", (1, 0): "ahead", (0, 1): "behind"}.get(
        (min(1, len(ahead)), min(1, len(behind))), "diverged"
    )
    html = f"{basic.repo_html(request.links, repo)}/compare/{base_name}...{head_name}"
    listed = page(request, ahead)

    def shown(sha: str) -> basic.Json:
        return commit_json.commit(state, request.links, repo, git.commit(sha))

    body = {
        "url": f"{basic.repo_url(request.links, repo)}/compare/{base_name}...{head_name}",
        "html_url": html,
        "permalink_url": f"{html}?permalink",
        "diff_url": f"{html}.diff",
        "patch_url": f"{html}.patch",
        "base_commit": shown(base),
        "merge_base_commit": shown(fork_point),
        "status": status,
        "ahead_by": len(ahead),
        "behind_by": len(behind),
        "total_commits": len(ahead),
        "commits": [shown(sha) for sha in listed.body],
        "files": [
            commit_json.file(request.links, repo, head, f)
            for f in git.diff(fork_point, head)[:_MOST_FILES]
        ],
    }
    return ApiResponse(body=body, headers=listed.headers)


def _resolve(request: ApiRequest, name: str) -> str | None:
    owner, colon, branch = name.partition(":")
    if colon:
        for pull in request.repo.pulls_by_head.get(branch, ()):
            if pull.head_owner.lower() == owner.lower():
                return pull.head_sha
    return request.state.resolve(request.repo, branch if colon else name)


def commit_of(request: ApiRequest, repo: Repository, name: str) -> str:
    """The commit a `{ref}` of a path names; 422 "No commit found for SHA" when there is none."""
    sha = request.state.resolve(repo, name)
    if sha is None:
        raise plain(f"No commit found for SHA: {name}")
    return sha
