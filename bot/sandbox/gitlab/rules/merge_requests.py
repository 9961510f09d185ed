"""Merge requests: opened, edited, closed, opened again, and the versions of their diffs.

Source: https://docs.gitlab.com/api/merge_requests/
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bot.sandbox import refnames
from bot.sandbox.git import history
from bot.sandbox.gitlab import levels
from bot.sandbox.gitlab.errors import forbidden, missing, refused
from bot.sandbox.gitlab.rules import drafts, issues, labels, scheduled, threads
from bot.sandbox.records.accounts import User
from bot.sandbox.records.gitlab import AccessLevel
from bot.sandbox.records.merge_requests import DiffVersion, MergeRequest
from bot.sandbox.records.refs import ActivityKind
from bot.sandbox.records.repository import Issue, Repository
from bot.sandbox.records.talk import LastEdit
from bot.sandbox.rules.context import Context

LONGEST_TITLE = 255
LONGEST_DESCRIPTION = 1_048_576
Changes = dict[str, dict[str, Any]]
"""What changed, as payloads tell: a field's name, and what it was and is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceAndTarget:
    """Where a merge request comes from, and where it goes."""

    source: Repository
    source_branch: str
    target: Repository
    target_branch: str


def find(repo: Repository, number: int) -> MergeRequest:
    """A merge request by its iid; 404 where there is none."""
    found = repo.pulls.get(number)
    if not isinstance(found, MergeRequest):
        raise missing()
    return found


def of(repo: Repository) -> list[MergeRequest]:
    """All merge requests of a project, newest first."""
    return [mr for mr in reversed(repo.pulls.values()) if isinstance(mr, MergeRequest)]


def open(  # noqa: A001 - the verb of the domain, as in `Pulls.open`
    state: Context,
    user: User,
    branches: SourceAndTarget,
    *,
    title: str,
    description: str | None = None,
    squash: bool = False,
    remove_source: bool = False,
    allow_collaboration: bool = False,
) -> MergeRequest:
    """Open a merge request.

    Raises:
        RefusedError: 403 for who may not, 409 for one that is open already, 400 for a branch that
            is not there.
    """
    repo, source = branches.target, branches.source
    if levels.level(state, source, user) < AccessLevel.DEVELOPER:
        raise forbidden()
    if not levels.reads_code(state, repo, user):
        raise missing("Project")
    _check_title(title)
    head, base = source.branch(branches.source_branch), repo.branch(branches.target_branch)
    same = source is repo and branches.source_branch == branches.target_branch
    if same:
        raise refused(400, ["You can't use same project/branch for source and target"])
    if head is None:
        raise refused(400, [f'Source branch "{branches.source_branch}" does not exist'])
    if base is None:
        raise refused(400, [f'Target branch "{branches.target_branch}" does not exist'])
    _refuse_double(branches)
    bring(state, repo, source, head)
    now = state.now()
    repo.gitlab.last_merge_request += 1
    made = MergeRequest(
        id=state.next_id(),
        number=repo.gitlab.last_merge_request,
        repo=repo,
        user=user,
        title=title,
        body=description,
        head_repo=source,
        head_ref=branches.source_branch,
        head_sha=head,
        base_ref=branches.target_branch,
        base_sha=base,
        draft=drafts.is_draft(title),
        created_at=now,
        updated_at=now,
        maintainer_can_modify=allow_collaboration and source is not repo,
        squash=squash,
        remove_source=remove_source,
        preparing=state.null_reads > 0,
    )
    repo.pulls[made.number] = repo.open_pulls[made.number] = made
    repo.pulls_by_head.setdefault(made.head_ref, []).append(made)
    add_version(state, made)
    state.emit("merge_request", "open", repo, user, merge_request=made)
    return made


def edit(
    state: Context,
    mr: MergeRequest,
    user: User,
    *,
    title: str | None = None,
    description: str | None = None,
    target: str | None = None,
    others: Changes | None = None,
) -> None:
    """Change title, description or target branch; None leaves a field as it is.

    Args:
        state: The forge.
        mr: The merge request.
        user: Who changes it.
        title: One line.
        description: Markdown.
        target: A branch of the project.
        others: What was changed besides, to be told by the same webhook.
    """
    may_edit(state, mr, user)
    changes: Changes = dict(others or {})
    if title is not None and title != mr.title:
        _check_title(title)
        changes |= _retitle(state, mr, user, title)
    if description is not None and description != (mr.body or ""):
        if len(description) > LONGEST_DESCRIPTION:
            raise refused(400, {"description": ["is too long"]})
        changes["description"] = {"previous": mr.body, "current": description}
        mr.body, mr.edit = description, LastEdit(user, state.now())
        threads.system(state, mr, user, "changed the description", "description")
    if target is not None and target != mr.base_ref:
        changes["target_branch"] = _retarget(state, mr, user, target)
    if changes:
        before, mr.updated_at = mr.updated_at, state.now()
        changes["updated_at"] = {"previous": before, "current": mr.updated_at}
        state.emit("merge_request", "update", mr.repo, user, merge_request=mr, changes=changes)


def may_edit(state: Context, mr: MergeRequest, user: User) -> None:
    """Refuse who may not change a merge request: neither its author nor a Developer."""
    if not can_edit(state, mr, user):
        raise forbidden()


def can_edit(state: Context, mr: MergeRequest, user: User) -> bool:
    """Whether somebody may change a merge request: its author may, and Developers."""
    return mr.user is user or levels.level(state, mr.repo, user) >= AccessLevel.DEVELOPER


def close(state: Context, mr: MergeRequest, user: User) -> None:
    """Close without merging; what is not open stays as it is."""
    may_edit(state, mr, user)
    if mr.state != "open":
        return
    now = state.now()
    mr.state, mr.closed_at, mr.closed_by, mr.updated_at = "closed", now, user, now
    scheduled.give_up(state, mr, user, "merge request was closed")
    mr.repo.open_pulls.pop(mr.number, None)
    state.note(mr, user, "closed", "closed this merge request")
    state.emit("merge_request", "close", mr.repo, user, merge_request=mr)


def reopen(state: Context, mr: MergeRequest, user: User) -> None:
    """Open a closed one again, at the head that its branch has now."""
    may_edit(state, mr, user)
    if mr.state == "open" or mr.merged:
        return
    tip = mr.head_repo.branch(mr.head_ref) if mr.head_repo else None
    if mr.head_repo is None or tip is None:
        raise refused(422, ["Source branch does not exist"])
    _refuse_double(
        SourceAndTarget(
            source=mr.head_repo,
            source_branch=mr.head_ref,
            target=mr.repo,
            target_branch=mr.base_ref,
        )
    )
    mr.state, mr.closed_at, mr.closed_by, mr.updated_at = "open", None, None, state.now()
    mr.repo.open_pulls[mr.number] = mr
    if tip != mr.head_sha:
        bring(state, mr.repo, mr.head_repo, tip)
        mr.head_sha = tip
        add_version(state, mr)
    state.note(mr, user, "reopened", "reopened this merge request")
    state.emit("merge_request", "reopen", mr.repo, user, merge_request=mr)


def told(state: Context, mr: MergeRequest, user: User) -> None:
    """Tell webhooks of a change that payloads do not name."""
    mr.updated_at = state.now()
    state.emit("merge_request", "update", mr.repo, user, merge_request=mr, changes={})


def closed_as_merged(
    state: Context, mr: MergeRequest, user: User, commit: str | None, base: str
) -> None:
    """Take note of a merge into a target branch that stood at `base`; closes issues it names."""
    now = state.now()
    mr.merge_base = history.merge_base(state.git(mr.repo), base, mr.head_sha)
    mr.base_sha, mr.merge_commit_sha = base, commit
    mr.state, mr.merged_at, mr.merged_by, mr.updated_at = "closed", now, user, now
    mr.merge_error = None
    scheduled.done(mr)
    mr.repo.open_pulls.pop(mr.number, None)
    mr.repo.contributors.add(mr.user.id)
    state.note(mr, user, "merged", "merged")
    state.emit("merge_request", "merge", mr.repo, user, merge_request=mr)
    if mr.base_ref == mr.repo.default_branch:
        for issue in closes(mr):
            if issue.state == "open":
                issues.close(state, issue, user)


def closes(mr: MergeRequest) -> list[Issue]:
    """Issues that a merge closes: those that the description says so of."""
    found = labels.CLOSING.findall(mr.body or "")
    return [mr.repo.issues[int(n)] for n in dict.fromkeys(found) if int(n) in mr.repo.issues]


def add_version(state: Context, mr: MergeRequest) -> DiffVersion:
    """Remember the diff as it stands, and where `refs/merge-requests/N/head` points."""
    base = mr.repo.branch(mr.base_ref) or mr.base_sha
    mr.base_sha = base
    made = DiffVersion(
        id=state.next_id(),
        head_sha=mr.head_sha,
        base_sha=history.merge_base(state.git(mr.repo), base, mr.head_sha) or base,
        start_sha=base,
        created_at=state.now(),
    )
    mr.versions.append(made)
    state.git(mr.repo).point(f"refs/merge-requests/{mr.number}/head", mr.head_sha)
    return made


def bring(state: Context, repo: Repository, source: Repository, sha: str) -> None:
    """Bring a commit over from a fork."""
    if source is not repo:
        state.git(repo).fetch(state.git(source), sha)


def delete_source(state: Context, mr: MergeRequest, user: User) -> None:
    """Remove the source branch after a merge, unless it has moved on or is the default one."""
    source = mr.head_repo
    if source is None or mr.head_ref == source.default_branch:
        return
    if source.branch(mr.head_ref) == mr.head_sha:
        ref = refnames.branch_ref(mr.head_ref)
        state.update_ref(source, ref, "0" * 40, user, ActivityKind.BRANCH_DELETION)


def _retitle(state: Context, mr: MergeRequest, user: User, title: str) -> Changes:
    before, was = mr.title, mr.draft
    mr.title, mr.draft = title, drafts.is_draft(title)
    mr.edit = LastEdit(user, state.now())
    changes: Changes = {"title": {"previous": before, "current": title}}
    if was != mr.draft:
        word = "draft" if mr.draft else "ready"
        changes["draft"] = {"previous": was, "current": mr.draft}
        threads.system(state, mr, user, f"marked this merge request as **{word}**", "title")
    if drafts.ready(before) != drafts.ready(title):
        words = f"changed title from **{before}** to **{title}**"
        threads.system(state, mr, user, words, "title")
    return changes


def _retarget(state: Context, mr: MergeRequest, user: User, target: str) -> dict[str, Any]:
    if mr.repo.branch(target) is None:
        raise refused(400, [f'Target branch "{target}" does not exist'])
    before, mr.base_ref = mr.base_ref, target
    words = f"changed target branch from `{before}` to `{target}`"
    threads.system(state, mr, user, words, "branch")
    scheduled.give_up(state, mr, user, "target branch was changed")
    add_version(state, mr)
    return {"previous": before, "current": target}


def _refuse_double(branches: SourceAndTarget) -> None:
    for other in branches.target.pulls_by_head.get(branches.source_branch, ()):
        same = other.head_repo is branches.source and other.base_ref == branches.target_branch
        if same and other.state == "open":
            words = "Another open merge request already exists for this source branch"
            raise refused(409, [f"{words}: !{other.number}"])


def _check_title(title: str) -> None:
    if not title.strip():
        raise refused(400, {"title": ["can't be blank"]})
    if len(title) > LONGEST_TITLE:
        raise refused(400, {"title": [f"is too long (maximum is {LONGEST_TITLE} characters)"]})
