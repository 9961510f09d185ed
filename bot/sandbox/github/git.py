"""GitHub's operations on git's own objects (blobs, trees, commits), and on merges of branches."""

from __future__ import annotations

import base64
from collections.abc import Iterator

from bot.sandbox import refnames
from bot.sandbox.api import ApiResponse
from bot.sandbox.errors import RefusedError, not_found, plain
from bot.sandbox.fields import BodyFields
from bot.sandbox.git import history, trees
from bot.sandbox.git.objects import TreeEntry
from bot.sandbox.git.protocol import Git, NewCommit
from bot.sandbox.github import commit_json
from bot.sandbox.github import json as basic
from bot.sandbox.github.repos import person
from bot.sandbox.github.routing import ApiRequest, route
from bot.sandbox.records.refs import RefChange
from bot.sandbox.rules import limits, refs, workflows

_GIT = "/repos/{owner}/{repo}/git"
_MOST_ENTRIES = 100_000  # GitHub's limit of a recursive tree
_KINDS = {
    "100644": "blob",
    "100755": "blob",
    "120000": "blob",
    "040000": "tree",
    "160000": "commit",
}


def _git(request: ApiRequest) -> Git:
    return request.state.git(request.repo)


def _url(request: ApiRequest, kind: str, sha: str) -> str:
    return f"{basic.repo_url(request.links, request.repo)}/git/{kind}/{sha}"


@route("POST", f"{_GIT}/blobs")
def create_blob(request: ApiRequest) -> ApiResponse:
    """Store a file's content."""
    sha = _git(request).write_blob(_content(request.fields))
    url = _url(request, "blobs", sha)
    return ApiResponse(status=201, body={"sha": sha, "url": url}, headers={"Location": url})


def _content(fields: BodyFields) -> bytes:
    text, encoding = fields.required("content"), fields.text("encoding") or "utf-8"
    if encoding not in ("utf-8", "base64"):
        raise plain(f"Invalid request.\n\n{encoding} is not a possible encoding.")
    if encoding == "utf-8":
        return text.encode()
    try:
        return base64.b64decode(text)
    except ValueError:
        raise plain("content is not valid Base64") from None


@route("GET", f"{_GIT}/blobs/{{file_sha}}")
def get_blob(request: ApiRequest) -> ApiResponse:
    """A file's content."""
    git, sha = _git(request), request.params["file_sha"]
    if git.kind(sha) != "blob":
        raise not_found()
    content = git.blob(sha)
    body = {
        "sha": sha,
        "node_id": f"B_{sha}",
        "size": len(content),
        "url": _url(request, "blobs", sha),
        "content": base64.encodebytes(content).decode(),
        "encoding": "base64",
    }
    return ApiResponse(body=body)


@route("GET", f"{_GIT}/trees/{{tree_sha}}")
def get_tree(request: ApiRequest) -> ApiResponse:
    """A tree by its object id, or that of a branch, tag or commit; `recursive` goes all down."""
    git, name = _git(request), request.params["tree_sha"]
    if git.kind(name) == "tree":
        sha = name
    else:
        commit = request.state.resolve(request.repo, name)
        if commit is None:
            raise not_found()
        sha = git.commit(commit).tree
    return ApiResponse(body=_tree(request, sha, deep="recursive" in request.query))


def _tree(request: ApiRequest, sha: str, *, deep: bool) -> basic.Json:
    entries: list[basic.Json] = []
    for path, entry in _walk(_git(request), sha, "", deep=deep):
        if len(entries) == _MOST_ENTRIES:
            break
        entries.append(_entry(request, path, entry))
    return {
        "sha": sha,
        "url": _url(request, "trees", sha),
        "tree": entries,
        "truncated": len(entries) == _MOST_ENTRIES,
    }


def _walk(git: Git, tree: str, folder: str, *, deep: bool) -> Iterator[tuple[str, TreeEntry]]:
    for entry in git.tree(tree):
        yield folder + entry.name, entry
        if deep and entry.kind == "tree":
            yield from _walk(git, entry.sha, f"{folder}{entry.name}/", deep=True)


def _entry(request: ApiRequest, path: str, entry: TreeEntry) -> basic.Json:
    made: basic.Json = {
        "path": path,
        "mode": entry.mode.zfill(6),
        "type": entry.kind,
        "sha": entry.sha,
    }
    if entry.kind == "blob":
        made["size"] = len(_git(request).blob(entry.sha))
    if entry.kind != "commit":
        made["url"] = _url(request, f"{entry.kind}s", entry.sha)
    return made


@route("POST", f"{_GIT}/trees")
def create_tree(request: ApiRequest) -> ApiResponse:
    """Write a tree: entries over a tree that is there, or alone."""
    git, base = _git(request), request.text("base_tree")
    if base is not None and git.kind(base) == "commit":
        base = git.commit(base).tree
    if base is not None and git.kind(base) != "tree":
        raise RefusedError(404, "Not Found")
    entries = request.fields.objects("tree")
    if not entries:
        raise plain("Invalid tree info")
    tree: str | None = base
    for entry in entries:
        tree = trees.put(git, tree, *_wanted(git, entry))
    body = _tree(request, tree or git.write_tree(()), deep=False)
    return ApiResponse(status=201, body=body, headers={"Location": body["url"]})


def _wanted(git: Git, entry: BodyFields) -> tuple[str, tuple[str, str] | None]:
    """Path, and mode with object, of an entry; None for a path that is taken out."""
    path, mode = entry.required("path"), entry.text("mode") or "100644"
    limits.check_path(path)
    if mode not in _KINDS:
        raise plain(f"Invalid request.\n\n{mode} is not a possible mode.")
    content, sha = entry.text("content"), entry.text("sha")
    if content is not None and sha is not None:
        raise plain("Must supply either tree.sha or tree.content, not both.")
    if content is not None:
        return path, (mode, git.write_blob(content.encode()))
    if sha is None:
        return path, None
    if _KINDS[mode] != "commit" and git.kind(sha) != _KINDS[mode]:
        raise plain(f"tree.sha {sha} is not a valid {_KINDS[mode]}")
    return path, (mode.removeprefix("0"), sha)


@route("POST", f"{_GIT}/commits")
def create_commit(request: ApiRequest) -> ApiResponse:
    """Write a commit; no ref points at it yet."""
    git, tree = _git(request), request.required("tree")
    if git.kind(tree) != "tree":
        raise plain("Tree SHA does not exist")
    parents = request.fields.texts("parents") or []
    for parent in parents:
        if git.kind(parent) != "commit":
            raise plain("Parent SHA does not exist or is not a commit object")
    author = person(request, "author")
    new = NewCommit(
        tree=tree,
        parents=tuple(parents),
        message=request.required("message"),
        author=author or request.state.person(request.user),
        committer=person(request, "committer") or author or request.state.web_flow(),
    )
    body = commit_json.git_commit(request.links, request.repo, git.commit(git.write_commit(new)))
    return ApiResponse(status=201, body=body, headers={"Location": body["url"]})


@route("POST", "/repos/{owner}/{repo}/merges")
def merge(request: ApiRequest) -> ApiResponse:
    """Merge a branch or commit into a branch, without a pull request."""
    repo, state, git = request.repo, request.state, _git(request)
    base, head = request.required("base"), request.required("head")
    tip, other = repo.branch(base), state.resolve(repo, head)
    if tip is None or other is None:
        raise RefusedError(404, f"{'Base' if tip is None else 'Head'} does not exist")
    if history.contains(git, tip, other):
        return ApiResponse(status=204)
    tree = git.merge_tree(tip, other)
    if tree is None:
        raise RefusedError(409, "Merge conflict")
    new = NewCommit(
        tree=tree,
        parents=(tip, other),
        message=request.text("commit_message") or f"Merge {head} into {base}",
        author=state.person(request.user),
        committer=state.web_flow(),
    )
    change = RefChange(ref=refnames.branch_ref(base), before=tip, after=git.write_commit(new))
    workflows.check_ref(state, repo, change, request.caller)
    state.rules.check_api(repo, change, request.user, status=409)
    state.update_ref(repo, change.ref, change.after, refs.acting(request.caller))
    body = commit_json.commit(state, request.links, repo, git.commit(change.after))
    return ApiResponse(status=201, body=body)
