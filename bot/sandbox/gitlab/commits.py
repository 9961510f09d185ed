"""GitLab's operations on commits: reading, comparing, and making them from actions.

Source: https://docs.gitlab.com/api/commits/, https://docs.gitlab.com/api/repositories/
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from itertools import islice

from bot.sandbox import refnames
from bot.sandbox.api import ApiResponse
from bot.sandbox.git import history, trees
from bot.sandbox.git.diffs import FileDiff
from bot.sandbox.git.objects import Ident
from bot.sandbox.git.protocol import Git, NewCommit
from bot.sandbox.gitlab import commit_json, status_json
from bot.sandbox.gitlab.branches import change
from bot.sandbox.gitlab.errors import bad_parameter, bad_request, missing
from bot.sandbox.gitlab.inputs import Inputs
from bot.sandbox.gitlab.json import Json, project_html
from bot.sandbox.gitlab.routing import CODE, ApiRequest, at_least, last_shown, page, route
from bot.sandbox.gitlab.rules.pipelines import on_commit
from bot.sandbox.records.gitlab import AccessLevel
from bot.sandbox.records.refs import ZERO, RefChange

_COMMITS = "/projects/{id}/repository/commits"
_COMMIT = f"{_COMMITS}/{{sha}}"
_ACTIONS = ("create", "delete", "move", "update", "chmod")
_MOST_LISTED = 1_000  # commits of a comparison, and those that a list looks at for a path


@route("GET", _COMMITS, CODE)
def list_commits(request: ApiRequest) -> ApiResponse:
    """Commits of a ref, newest first; `path`, `since` and `until` choose, `a..b` too."""
    repo, state = request.project, request.state
    git, name = state.git(repo), request.input.text("ref_name") or repo.default_branch
    base, dots, head = name.partition("..")
    if dots:
        ends = [state.resolve(repo, base), state.resolve(repo, head.lstrip("."))]
        if None in ends:
            raise missing("Commit")
        between = history.commits_between(git, str(ends[0]), str(ends[1]))
        found: Iterable[str] = between[::-1]
    else:
        tip = state.resolve(repo, name)
        if tip is None and not repo.refs:
            found = ()
        elif tip is None:
            raise missing("Commit")
        else:
            found = history.ancestors(git, tip)
    since, until = request.input.when("since"), request.input.when("until")
    path = request.input.text("path")

    def wanted(sha: str) -> bool:
        when = git.commit(sha).committer.when
        timely = (since is None or when >= since) and (until is None or when <= until)
        return timely and (not path or _touches(git, sha, path))

    def shown(sha: str) -> Json:
        made = commit_json.commit(request.links, repo, git.commit(sha))
        if request.input.flag("with_stats"):
            made["stats"] = commit_json.stats(_files(git, sha))
        return made

    # GitLab never counts them, and reads no more than it shows.
    shas = list(islice(filter(wanted, found), last_shown(request) + 1))
    return page(request, shas, shown, counted=False)


@route("POST", _COMMITS, at_least(AccessLevel.DEVELOPER))
def create_commit(request: ApiRequest) -> ApiResponse:
    """Make a commit from actions on files, at a branch or at a new one."""
    branch, message = request.input.filled("branch"), request.input.filled("commit_message")
    actions = request.input.objects("actions")
    if actions is None:
        raise bad_parameter("actions is missing")
    sha = commit_actions(request, branch, message, actions)
    return ApiResponse(status=201, body=_whole(request, sha))


def commit_actions(request: ApiRequest, branch: str, message: str, actions: list[Inputs]) -> str:
    """Commit actions on files to a branch, and answer the commit's id.

    Raises:
        RefusedError: 400 for an action that cannot be done, a branch that is none, a `start_sha`
            that is none; 403 where the branch's rules refuse the caller.
    """
    repo, state = request.project, request.state
    git, given = state.git(repo), request.input
    tip, start = repo.branch(branch), _start(request, branch)
    tree: str | None = git.commit(start).tree if start else None
    for action in actions:
        tree = _acted(git, tree, action, start)
    now, person = state.now(), state.person(request.user)
    author = Ident(
        given.text("author_name") or person.name, given.text("author_email") or person.email, now
    )
    new = NewCommit(
        tree=tree or git.write_tree(()),
        parents=(start,) if start else (),
        message=message,
        author=author,
        committer=person,
    )
    ref = refnames.branch_ref(branch)
    sha = git.write_commit(new)
    change(request, RefChange(ref=ref, before=tip or ZERO, after=sha))
    return sha


def _start(request: ApiRequest, branch: str) -> str | None:
    """The commit that a new one stands on; None for the first of a repository."""
    repo, given = request.project, request.input
    tip = repo.branch(branch)
    from_sha, from_branch = given.text("start_sha"), given.text("start_branch")
    if from_sha and from_branch:
        raise bad_parameter("start_branch, start_sha are mutually exclusive")
    if from_sha or from_branch:
        start = request.state.resolve(repo, from_sha or str(from_branch))
        if start is None:
            raise bad_request(f"Cannot find start_{'sha' if from_sha else 'branch'}")
        if tip is not None and not given.flag("force") and branch != from_branch:
            text = "A branch called '{}' already exists. Switch to that branch in order to"
            raise bad_request(f"{text.format(branch)} make changes")
        return start
    if tip is None and repo.refs:
        raise bad_request("You can only create or edit files when you are on a branch")
    return tip


def _acted(git: Git, tree: str | None, action: Inputs, start: str | None) -> str | None:
    """The tree after one action."""
    kind = action.choice("action", _ACTIONS)
    if kind is None:
        raise bad_parameter("actions[0][action] is missing")
    path = action.filled("file_path")
    if any(part in ("", ".", "..", ".git") for part in path.split("/")):
        raise bad_request("invalid path")
    old = _entry(git, tree, path)
    if kind == "create" and old is not None:
        raise bad_request("A file with this name already exists")
    previous = action.text("previous_path") if kind == "move" else None
    if kind == "move" and previous is None:
        raise bad_parameter("previous_path is missing")
    source = _entry(git, tree, previous) if previous else old
    if kind != "create" and source is None:
        raise bad_request("A file with this name doesn't exist")
    last = action.text("last_commit_id")
    if last and start and last not in (start, last_commit(git, start, path)):
        raise bad_request(
            "You are attempting to update a file that has changed since you started editing it."
        )
    if kind == "delete":
        return trees.put(git, tree, path, None)
    mode = source[0] if source else "100644"
    executable = action.flag("execute_filemode")
    if executable is not None:
        mode = "100755" if executable else "100644"
    sha = source[1] if source else ""
    if kind in ("create", "update") or "content" in action:
        sha = git.write_blob(_content(action))
    if previous:
        tree = trees.put(git, tree, previous, None)
    return trees.put(git, tree, path, (mode, sha))


def _content(action: Inputs) -> bytes:
    text = action.text("content") or ""
    if action.choice("encoding", ("text", "base64")) != "base64":
        return text.encode()
    try:
        return base64.b64decode(text)
    except (binascii.Error, ValueError):
        raise bad_request("content is not valid Base64") from None


def _entry(git: Git, tree: str | None, path: str) -> tuple[str, str] | None:
    """Mode and object of the file at a path of a tree."""
    for part in path.split("/")[:-1]:
        below = next((e for e in git.tree(tree) if e.name == part), None) if tree else None
        tree = below.sha if below and below.kind == "tree" else None
    name = path.rpartition("/")[2]
    found = next((e for e in git.tree(tree) if e.name == name), None) if tree else None
    return (found.mode, found.sha) if found else None


@route("GET", _COMMIT, CODE)
def get_commit(request: ApiRequest) -> ApiResponse:
    """A commit, by its id, a branch or a tag."""
    return ApiResponse(body=_whole(request, known(request)))


@route("GET", f"{_COMMIT}/diff", CODE)
def get_diff(request: ApiRequest) -> ApiResponse:
    """What a commit changes."""
    git = request.state.git(request.project)
    return page(request, _files(git, known(request)), commit_json.diff)


@route("GET", f"{_COMMIT}/refs", CODE)
def list_refs(request: ApiRequest) -> ApiResponse:
    """Branches and tags that hold a commit."""
    repo, state, sha = request.project, request.state, known(request)
    git, wanted = state.git(repo), request.input.choice("type", ("branch", "tag", "all"))
    found = []
    for kind, folder in (("branch", refnames.branch_ref("")), ("tag", refnames.tag_ref(""))):
        if wanted in (None, "all", kind):
            for ref in repo.refs.below(folder):
                tip = state.peel(repo, repo.refs[ref])
                if git.kind(tip) == "commit" and history.contains(git, tip, sha):
                    found.append({"type": kind, "name": ref.removeprefix(folder)})
    return page(request, found)


@route("GET", f"{_COMMIT}/signature", CODE)
def get_signature(request: ApiRequest) -> ApiResponse:
    """Never one: the forge knows nobody's keys, and does not sign."""
    known(request)
    raise missing("Signature")


@route("GET", "/projects/{id}/repository/compare", CODE)
def compare(request: ApiRequest) -> ApiResponse:
    """Commits and files between two refs, from their merge base unless `straight`."""
    repo, state = request.project, request.state
    git = state.git(repo)
    base, head = (state.resolve(repo, request.input.filled(n)) for n in ("from", "to"))
    if base is None or head is None:
        raise missing("Ref")
    fork = base if request.input.flag("straight") else history.merge_base(git, base, head)
    found = history.commits_between(git, base, head)[:_MOST_LISTED]
    shown = [commit_json.commit(request.links, repo, git.commit(sha)) for sha in found]
    url = f"{project_html(request.links, repo)}/-/compare/{base}...{head}"
    return ApiResponse(
        body={
            "commit": shown[-1] if shown else None,
            "commits": shown,
            "diffs": [commit_json.diff(file) for file in git.diff(fork, head)],
            "compare_timeout": False,
            "compare_same_ref": base == head,
            "web_url": url,
        }
    )


@route("GET", "/projects/{id}/repository/merge_base", CODE)
def merge_base(request: ApiRequest) -> ApiResponse:
    """The newest commit that all of some refs hold."""
    repo, state = request.project, request.state
    git, refs = state.git(repo), request.input.texts("refs") or []
    if len(refs) < 2:
        raise bad_request("Provide at least 2 refs")
    shas = [state.resolve(repo, ref) for ref in refs]
    unknown = [ref for ref, sha in zip(refs, shas, strict=True) if sha is None]
    if unknown:
        raise bad_request(f"Could not find ref: {', '.join(unknown)}")
    found = shas[0]
    for sha in shas[1:]:
        found = history.merge_base(git, found, sha) if found and sha else None
    if found is None:
        raise missing("Merge Base")
    return ApiResponse(body=commit_json.commit(request.links, repo, git.commit(found)))


def known(request: ApiRequest) -> str:
    """The commit that the path names, by its id, a branch or a tag; 404."""
    sha = request.state.resolve(request.project, request.params["sha"])
    if sha is None:
        raise missing("Commit")
    return sha


def _whole(request: ApiRequest, sha: str) -> Json:
    repo = request.project
    git = request.state.git(repo)
    made = commit_json.commit(request.links, repo, git.commit(sha))
    pipelines = on_commit(repo, sha)
    last = status_json.simple_pipeline(request.links, pipelines[0], repo) if pipelines else None
    made |= {
        "status": last and last["status"],
        "project_id": repo.id,
        "last_pipeline": last,
    }
    if request.input.flag("stats") is not False:
        made["stats"] = commit_json.stats(_files(git, sha))
    return made


def _files(git: Git, sha: str) -> tuple[FileDiff, ...]:
    parents = git.commit(sha).parents
    return git.diff(parents[0] if parents else None, sha)


def _touches(git: Git, sha: str, path: str) -> bool:
    here = trees.entry_at(git, sha, path)
    parents = git.commit(sha).parents
    before = [trees.entry_at(git, parent, path) for parent in parents] or [None]
    return all((e and e.sha) != (here and here.sha) for e in before)


def last_commit(git: Git, tip: str, path: str) -> str:
    """The newest commit that changed a file."""
    looked = islice(history.ancestors(git, tip), _MOST_LISTED)
    return next((sha for sha in looked if _touches(git, sha, path)), tip)
