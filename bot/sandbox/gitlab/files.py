"""GitLab's operations on files, trees and blobs.

Source: https://docs.gitlab.com/api/repository_files/, https://docs.gitlab.com/api/repositories/
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator

from bot.sandbox.api import ApiResponse
from bot.sandbox.git import trees
from bot.sandbox.git.protocol import Git
from bot.sandbox.gitlab.commits import commit_actions, last_commit
from bot.sandbox.gitlab.errors import missing
from bot.sandbox.gitlab.inputs import Inputs
from bot.sandbox.gitlab.json import Json
from bot.sandbox.gitlab.routing import AccessRequirement, ApiRequest, at_least, listed, route
from bot.sandbox.records.gitlab import AccessLevel

_FILE = "/projects/{id}/repository/files/{file_path}"
_READ = AccessRequirement(code=True, scopes=("api", "read_api", "read_repository"))
_DEVELOPER = at_least(AccessLevel.DEVELOPER)


@route("GET", _FILE, _READ)
def get_file(request: ApiRequest) -> ApiResponse:
    """A file with its content in Base64."""
    made, content = _file(request)
    made |= {"content": base64.b64encode(content).decode()}
    return ApiResponse(body=made, headers=_headers(made))


@route("GET", f"{_FILE}/raw", _READ)
def get_raw(request: ApiRequest) -> ApiResponse:
    """A file's bytes."""
    made, content = _file(request)
    return ApiResponse(body=content, headers=_headers(made), media_type="text/plain")


@route("POST", _FILE, _DEVELOPER)
def create_file(request: ApiRequest) -> ApiResponse:
    """Make a file as one commit."""
    return _commit(request, "create", 201)


@route("PUT", _FILE, _DEVELOPER)
def update_file(request: ApiRequest) -> ApiResponse:
    """Write a file as one commit."""
    return _commit(request, "update", 200)


@route("DELETE", _FILE, _DEVELOPER)
def delete_file(request: ApiRequest) -> ApiResponse:
    """Take a file away as one commit."""
    _commit(request, "delete", 204)
    return ApiResponse(status=204)


@route("GET", "/projects/{id}/repository/tree", _READ)
def get_tree(request: ApiRequest) -> ApiResponse:
    """A folder of a commit, folders first; `recursive` goes below them."""
    repo, state = request.project, request.state
    ref, path = request.input.text("ref"), (request.input.text("path") or "").strip("/")
    sha = state.resolve(repo, ref or repo.default_branch)
    if sha is None:
        raise missing("Tree")
    entry = trees.entry_at(state.git(repo), sha, path)
    if entry is None or entry.kind != "tree":
        raise missing("invalid revision or path")
    below = bool(request.input.flag("recursive"))
    found = list(_walk(state.git(repo), entry.sha, path, below=below))
    return listed(request, found, lambda e: str(e["id"]), lambda e: e, cursor="page_token")


@route("GET", "/projects/{id}/repository/blobs/{sha}", _READ)
def get_blob(request: ApiRequest) -> ApiResponse:
    """A blob with its content in Base64."""
    content, sha = _blob(request)
    made = {"size": len(content), "encoding": "base64", "sha": sha}
    return ApiResponse(body=made | {"content": base64.b64encode(content).decode()})


@route("GET", "/projects/{id}/repository/blobs/{sha}/raw", _READ)
def get_raw_blob(request: ApiRequest) -> ApiResponse:
    """A blob's bytes."""
    return ApiResponse(body=_blob(request)[0], media_type="text/plain")


def _blob(request: ApiRequest) -> tuple[bytes, str]:
    git, sha = request.state.git(request.project), request.params["sha"]
    if len(sha) != 40 or git.kind(sha) != "blob":
        raise missing("Blob")
    return git.blob(sha), sha


def _file(request: ApiRequest) -> tuple[Json, bytes]:
    repo, state, path = request.project, request.state, request.params["file_path"]
    git, ref = state.git(repo), request.input.text("ref") or "HEAD"
    sha = state.resolve(repo, ref)
    if sha is None:
        raise missing("Commit")
    entry = trees.entry_at(git, sha, path)
    if entry is None or entry.kind != "blob":
        raise missing("File")
    content = git.blob(entry.sha)
    made: Json = {
        "file_name": path.rpartition("/")[2],
        "file_path": path,
        "size": len(content),
        "encoding": "base64",
        "content_sha256": hashlib.sha256(content).hexdigest(),
        "ref": ref,
        "blob_id": entry.sha,
        "commit_id": sha,
        "last_commit_id": last_commit(git, sha, path),
        "execute_filemode": entry.mode == "100755",
    }
    return made, content


def _headers(made: Json) -> dict[str, str]:
    """What a file is, as headers; `HEAD` answers with these alone."""
    return {
        f"X-Gitlab-{name.replace('_', '-').title()}": str(value).lower()
        if isinstance(value, bool)
        else str(value)
        for name, value in made.items()
        if name != "content" and str(value).isascii()
    }


def _commit(request: ApiRequest, action: str, status: int) -> ApiResponse:
    path, branch = request.params["file_path"], request.input.filled("branch")
    if action != "delete":
        request.input.required("content")
    acted = Inputs({**request.input.plain(), "action": action, "file_path": path})
    commit_actions(request, branch, request.input.filled("commit_message"), [acted])
    return ApiResponse(status=status, body={"file_path": path, "branch": branch})


def _walk(git: Git, tree: str, path: str, *, below: bool) -> Iterator[Json]:
    """Entries of a tree, folders before files; with `below` what they hold after each."""
    entries = sorted(git.tree(tree), key=lambda e: e.kind != "tree")
    for entry in entries:
        place = f"{path}/{entry.name}".lstrip("/")
        yield {
            "id": entry.sha,
            "name": entry.name,
            "type": entry.kind,
            "path": place,
            "mode": entry.mode.rjust(6, "0"),
        }
        if below and entry.kind == "tree":
            yield from _walk(git, entry.sha, place, below=True)
