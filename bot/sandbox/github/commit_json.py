"""GitHub's JSON for commits, their files, and refs."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from bot.sandbox.api import Links
from bot.sandbox.git.diffs import FileDiff
from bot.sandbox.git.objects import Commit, Ident
from bot.sandbox.git.protocol import Git
from bot.sandbox.github import json as basic
from bot.sandbox.github.json import Json, repo_html, repo_url, stamp, user_or_none
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules.state import ForgeState


def git_person(who: Ident) -> Json:
    """A commit's author or committer."""
    return {"name": who.name, "email": who.email, "date": stamp(who.when)}


def verification(commit: Commit) -> Json:
    """Schema `verification`: the sandbox checks no signatures."""
    return {
        "verified": False,
        "reason": "unknown_key" if commit.signed else "unsigned",
        "signature": None,
        "payload": None,
        "verified_at": None,
    }


def commit(state: ForgeState, links: Links, repo: Repository, found: Commit) -> Json:
    """Schema `commit`, without files."""
    url, html = repo_url(links, repo), repo_html(links, repo)
    return {
        "sha": found.sha,
        "node_id": f"C_{found.sha}",
        "commit": {
            "author": git_person(found.author),
            "committer": git_person(found.committer),
            "message": found.message.rstrip("\n"),
            "tree": {"sha": found.tree, "url": f"{url}/git/trees/{found.tree}"},
            "url": f"{url}/git/commits/{found.sha}",
            "comment_count": 0,
            "verification": verification(found),
        },
        "url": f"{url}/commits/{found.sha}",
        "html_url": f"{html}/commit/{found.sha}",
        "comments_url": f"{url}/commits/{found.sha}/comments",
        "author": user_or_none(links, state.account_of(found.author.email)),
        "committer": user_or_none(links, state.account_of(found.committer.email)),
        "parents": [
            {"sha": p, "url": f"{url}/commits/{p}", "html_url": f"{html}/commit/{p}"}
            for p in found.parents
        ],
    }


def git_commit(links: Links, repo: Repository, found: Commit) -> Json:
    """Schema `git-commit`."""
    url, html = repo_url(links, repo), repo_html(links, repo)
    return {
        "sha": found.sha,
        "node_id": f"C_{found.sha}",
        "url": f"{url}/git/commits/{found.sha}",
        "html_url": f"{html}/commit/{found.sha}",
        "author": git_person(found.author),
        "committer": git_person(found.committer),
        "message": found.message.rstrip("\n"),
        "tree": {"sha": found.tree, "url": f"{url}/git/trees/{found.tree}"},
        "parents": [
            {"sha": p, "url": f"{url}/git/commits/{p}", "html_url": f"{html}/commit/{p}"}
            for p in found.parents
        ],
        "verification": verification(found),
    }


def simple_commit(state: ForgeState, found: Commit) -> Json:
    """Schema `simple-commit`."""
    return {
        "id": found.sha,
        "tree_id": found.tree,
        "message": found.message.rstrip("\n"),
        "timestamp": stamp(found.committer.when),
        "author": _named(state, found.author),
        "committer": _named(state, found.committer),
    }


def push_commit(state: ForgeState, links: Links, repo: Repository, git: Git, found: Commit) -> Json:
    """A commit as webhook `push` lists it, with the names of its files."""
    parent = found.parents[0] if found.parents else None
    files = git.diff(parent, found.sha)
    return {
        **simple_commit(state, found),
        "distinct": True,
        "url": f"{repo_html(links, repo)}/commit/{found.sha}",
        "author": _named(state, found.author, username=True),
        "committer": _named(state, found.committer, username=True),
        "added": [f.path for f in files if f.status == "added"],
        "removed": [f.path for f in files if f.status == "removed"]
        + [f.old_path for f in files if f.old_path],
        "modified": [f.path for f in files if f.status not in ("added", "removed")],
    }


def git_ref(links: Links, repo: Repository, git: Git, ref: str, sha: str) -> Json:
    """Schema `git-ref`."""
    url = repo_url(links, repo)
    kind = git.kind(sha) or "commit"
    return {
        "ref": ref,
        "node_id": f"REF_{repo.id}:{ref}",
        "url": f"{url}/git/{ref}",
        "object": {"type": kind, "sha": sha, "url": f"{url}/git/{kind}s/{sha}"},
    }


def _named(state: ForgeState, who: Ident, *, username: bool = False) -> Json:
    made: Json = {"name": who.name, "email": who.email}
    if username:
        made["date"] = stamp(who.when)
        account = state.account_of(who.email)
        if account is not None:
            made["username"] = account.login
    return made


def file(links: Links, repo: Repository, head: str, found: FileDiff) -> Json:
    """Schema `diff-entry`."""
    html, path = basic.repo_html(links, repo), quote(found.path)
    made: Json = {
        "sha": found.sha,
        "filename": found.path,
        "status": found.status,
        "additions": found.additions,
        "deletions": found.deletions,
        "changes": found.additions + found.deletions,
        "blob_url": f"{html}/blob/{head}/{path}",
        "raw_url": f"{html}/raw/{head}/{path}",
        "contents_url": f"{basic.repo_url(links, repo)}/contents/{path}?ref={head}",
    }
    if found.patch:
        made["patch"] = found.patch
    if found.old_path is not None:
        made["previous_filename"] = found.old_path
    return made


def commit_files(
    state: ForgeState, links: Links, repo: Repository, found: Commit, files: Sequence[FileDiff]
) -> Json:
    """Schema `commit` with its files and counts."""
    added, gone = sum(f.additions for f in files), sum(f.deletions for f in files)
    return commit(state, links, repo, found) | {
        "stats": {"total": added + gone, "additions": added, "deletions": gone},
        "files": [file(links, repo, found.sha, f) for f in files],
    }
