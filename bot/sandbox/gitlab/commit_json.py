"""GitLab's JSON for commits, diffs, branches and tags.

Source: https://docs.gitlab.com/api/commits/, https://docs.gitlab.com/api/branches/,
https://docs.gitlab.com/api/tags/
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from bot.sandbox import refnames
from bot.sandbox.api import Links
from bot.sandbox.git import history
from bot.sandbox.git.diffs import FileDiff
from bot.sandbox.git.objects import Commit
from bot.sandbox.gitlab import protection
from bot.sandbox.gitlab.json import Json, project_html, stamp
from bot.sandbox.records.accounts import User
from bot.sandbox.records.gitlab import AccessLevel, ProtectedRef
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules.context import Context

_TRAILER = re.compile(r"([A-Za-z0-9][A-Za-z0-9-]*): (.*)")
_NO_MODE = "0"  # GitLab's word for the mode of a side that has no file
_FILE = "100644"


def zoned(when: datetime) -> str:
    """A commit's time in its own zone: `2019-09-10T16:05:10.000+02:00`."""
    return when.isoformat(timespec="milliseconds")


def commit(links: Links, repo: Repository, made: Commit) -> Json:
    """Entity `Commit`, as lists hold it."""
    trailers = _trailers(made.message)
    return {
        "id": made.sha,
        "short_id": made.sha[:8],
        "created_at": zoned(made.committer.when),
        "parent_ids": list(made.parents),
        "title": made.subject,
        "message": made.message,
        "author_name": made.author.name,
        "author_email": made.author.email,
        "authored_date": zoned(made.author.when),
        "committer_name": made.committer.name,
        "committer_email": made.committer.email,
        "committed_date": zoned(made.committer.when),
        "trailers": {key: values[-1] for key, values in trailers.items()},
        "extended_trailers": trailers,
        "web_url": f"{project_html(links, repo)}/-/commit/{made.sha}",
    }


def _trailers(message: str) -> dict[str, list[str]]:
    """Lines `Key: value` of the message's last paragraph, if it has no other lines."""
    paragraphs = message.strip().split("\n\n")
    lines = paragraphs[-1].splitlines() if len(paragraphs) > 1 else []
    matches = [_TRAILER.fullmatch(line) for line in lines]
    made: dict[str, list[str]] = {}
    for match in matches:
        if match is None:
            return {}
        made.setdefault(match[1], []).append(match[2])
    return made


def stats(files: tuple[FileDiff, ...]) -> Json:
    """How many lines a commit adds and takes away."""
    added, gone = sum(f.additions for f in files), sum(f.deletions for f in files)
    return {"additions": added, "deletions": gone, "total": added + gone}


def diff(file: FileDiff) -> Json:
    """Entity `Diff`: a file that differs, its patch from the first `@@` on."""
    new, gone = file.status == "added", file.status == "removed"
    return {
        "old_path": file.old_path or file.path,
        "new_path": file.path,
        "a_mode": _NO_MODE if new else _FILE,
        "b_mode": _NO_MODE if gone else _FILE,
        "diff": f"{file.patch}\n" if file.patch else "",
        "collapsed": False,
        "too_large": False,
        "new_file": new,
        "renamed_file": file.status == "renamed",
        "deleted_file": gone,
        "generated_file": None,
    }


def branch(state: Context, links: Links, repo: Repository, name: str, viewer: User | None) -> Json:
    """Entity `Branch`."""
    git, sha = state.git(repo), repo.refs[refnames.branch_ref(name)]
    rules = protection.branch_rules(repo, name)
    base = repo.branch(repo.default_branch)
    default = name == repo.default_branch
    merged = not default and base is not None and history.contains(git, base, sha)
    return {
        "name": name,
        "commit": commit(links, repo, git.commit(sha)),
        "merged": merged,
        "protected": bool(rules),
        "developers_can_push": _developers(rules, "push"),
        "developers_can_merge": _developers(rules, "merge"),
        "can_push": protection.may_push(state, repo, name, viewer),
        "default": default,
        "web_url": f"{project_html(links, repo)}/-/tree/{name}",
    }


def _developers(rules: list[ProtectedRef], what: str) -> bool:
    return any(a.level is AccessLevel.DEVELOPER for rule in rules for a in getattr(rule, what))


def tag(state: Context, links: Links, repo: Repository, name: str) -> Json:
    """Entity `Tag`; the message of an annotated one, "" for a light one."""
    git, sha = state.git(repo), repo.refs[refnames.tag_ref(name)]
    target = git.commit(state.peel(repo, sha))
    message, created = "", None
    if git.kind(sha) == "tag":
        annotation = git.tag(sha)
        message, created = annotation.message.removesuffix("\n"), annotation.tagger.when
    found = next((r for r in repo.releases.values() if r.tag == name and not r.draft), None)
    release: Any = {"tag_name": name, "description": found.body} if found else None
    return {
        "name": name,
        "message": message,
        "target": sha,
        "commit": commit(links, repo, target),
        "release": release,
        "protected": bool(protection.tag_rules(repo, name)),
        "created_at": stamp(created) if created else None,
    }
