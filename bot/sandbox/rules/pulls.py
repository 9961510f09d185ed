"""Pull requests: opened, edited, closed, merged."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bot.sandbox import refnames
from bot.sandbox.errors import RefusedError, custom, invalid, not_found, plain, unprocessable
from bot.sandbox.git import history
from bot.sandbox.git.diffs import FileDiff
from bot.sandbox.git.objects import Commit
from bot.sandbox.git.protocol import NewCommit
from bot.sandbox.records.accounts import Role, User
from bot.sandbox.records.refs import ActivityKind, RefChange
from bot.sandbox.records.repository import Pull, Repository
from bot.sandbox.records.talk import LastEdit
from bot.sandbox.rules import limits, merging
from bot.sandbox.rules.context import Context
from bot.sandbox.rules.protection import BranchRules

NO_DRAFTS = "Draft pull requests are not supported in this repository."


class Pulls:
    """Pull requests of a forge; the caller holds `ForgeState.lock`."""

    def __init__(self, state: Context, rules: BranchRules) -> None:
        self._state = state
        self._rules = rules

    def find(self, repo: Repository, number: int) -> Pull:
        """A pull request by its number; 404 when there is none."""
        found = repo.pulls.get(number)
        if found is None:
            raise not_found()
        return found

    def open(
        self,
        repo: Repository,
        user: User,
        *,
        title: str,
        head: str,
        base: str,
        body: str | None = None,
        draft: bool = False,
        maintainer_can_modify: bool = True,
    ) -> Pull:
        """Open a pull request.

        Args:
            repo: Where it shall be merged.
            user: Who opens it; needs write access to the head's repository.
            title: One line.
            head: `branch`, or `owner:branch` of a fork.
            base: Branch of `repo`.
            body: Text, or None.
            draft: Whether it starts as a draft.
            maintainer_can_modify: Kept and shown; pushes to forks are not widened by it.

        Raises:
            RefusedError: 422 for a branch that is not there, no commits, or one open already.
        """
        if not title:
            raise invalid("PullRequest", "title", "missing_field")
        if draft and repo.limited:
            raise custom("PullRequest", NO_DRAFTS)
        limits.check_title("PullRequest", title)
        limits.check_body("PullRequest", body)
        head_repo, head_ref = self._head(repo, head)
        head_sha, base_sha = head_repo.branch(head_ref), repo.branch(base)
        if head_sha is None:
            raise invalid("PullRequest", "head")
        if base_sha is None:
            raise invalid("PullRequest", "base")
        if self._state.role(head_repo, user) < Role.WRITE and user.app is None:
            raise RefusedError(403, "Must have push access to the head repository.")
        self._refuse_double(repo, head_repo, head_ref, base)
        self.bring(repo, head_repo, head_sha)
        if history.contains(self._state.git(repo), base_sha, head_sha):
            raise custom("PullRequest", f"No commits between {base} and {head}")
        now = self._state.now()
        pull = Pull(
            id=self._state.next_id(),
            number=repo.next_number(),
            repo=repo,
            user=user,
            title=title,
            body=body,
            head_repo=head_repo,
            head_ref=head_ref,
            head_sha=head_sha,
            base_ref=base,
            base_sha=base_sha,
            draft=draft,
            created_at=now,
            updated_at=now,
            maintainer_can_modify=maintainer_can_modify and head_repo is not repo,
        )
        repo.pulls[pull.number] = repo.open_pulls[pull.number] = pull
        repo.pulls_by_head.setdefault(head_ref, []).append(pull)
        self.publish_head(pull)
        self._state.note(pull, user, "opened", "opened this pull request")
        self._state.emit("pull_request", "opened", repo, user, pull=pull)
        return pull

    def edit(
        self,
        pull: Pull,
        user: User,
        *,
        title: str | None = None,
        body: str | None = None,
        base: str | None = None,
        state: str | None = None,
    ) -> None:
        """Change title, text, base or state; None leaves a field as it is."""
        if pull.user is not user and user.app is None:
            self._state.need(pull.repo, user, Role.WRITE)
        limits.check_title("PullRequest", title)
        limits.check_body("PullRequest", body)
        if title is not None and not title.strip():
            raise invalid("PullRequest", "title", "missing_field")
        changes: dict[str, object] = {}
        if title is not None and title != pull.title:
            self._state.note(
                pull,
                user,
                "renamed",
                f"changed the title from {pull.title} to {title}",
                before=pull.title,
                after=title,
            )
            changes["title"], pull.title = {"from": pull.title}, title
        if body is not None and body != pull.body:
            changes["body"], pull.body = {"from": pull.body or ""}, body
            pull.edit = LastEdit(user, self._state.now())
        if base is not None and base != pull.base_ref:
            changes["base"] = self._retarget(pull, user, base)
        if changes:
            pull.updated_at = self._state.now()
            self._state.emit("pull_request", "edited", pull.repo, user, pull=pull, changes=changes)
        if state == "closed" and pull.state == "open":
            self.close(pull, user)
        elif state == "open" and pull.state == "closed":
            self._reopen(pull, user)
        elif state not in (None, "open", "closed"):
            raise invalid("PullRequest", "state")

    def close(self, pull: Pull, user: User) -> None:
        """Close without merging."""
        pull.state, pull.closed_at = "closed", self._state.now()
        pull.repo.open_pulls.pop(pull.number, None)
        pull.updated_at = pull.closed_at
        self._state.note(pull, user, "closed", "closed this pull request")
        self._state.emit("pull_request", "closed", pull.repo, user, pull=pull)

    def set_draft(self, pull: Pull, user: User, draft: bool) -> None:
        """Turn a pull request into a draft, or a draft into one that is ready."""
        if draft and pull.repo.limited:
            raise custom("PullRequest", NO_DRAFTS)
        if pull.user is not user and user.app is None:
            self._state.need(pull.repo, user, Role.WRITE)
        if pull.state != "open":
            raise unprocessable("Pull request is closed")
        if pull.draft == draft:
            return
        pull.draft, pull.updated_at = draft, self._state.now()
        action = "converted_to_draft" if draft else "ready_for_review"
        words = "marked this as a draft" if draft else "marked this as ready for review"
        self._state.note(pull, user, "convert_to_draft" if draft else action, words)
        self._state.emit("pull_request", action, pull.repo, user, pull=pull)

    def merge(
        self,
        pull: Pull,
        user: User,
        *,
        sha: str | None = None,
        method: str = "merge",
        title: str | None = None,
        message: str | None = None,
    ) -> str:
        """Merge; returns the commit that the base branch stands at.

        Raises:
            RefusedError: 405 where it may not be merged now, 409 where the head is not `sha`.
        """
        if method not in ("merge", "squash", "rebase"):
            raise invalid("PullRequest", "merge_method")
        base = pull.repo.branch(pull.base_ref)
        if pull.state != "open" or base is None:
            raise RefusedError(405, "Pull Request is not mergeable")
        if sha is not None and sha != pull.head_sha:
            raise RefusedError(409, "Head branch was modified. Review and try the merge again.")
        if pull.draft:
            raise RefusedError(405, "Pull Request is still a draft")
        if self._state.git(pull.repo).merge_tree(base, pull.head_sha) is None:
            raise RefusedError(405, "Pull Request is not mergeable")
        self._rules.check_merge(pull, user)
        merger = merging.PlannedMerge(
            self._state, pull, user, base, title, message, partial(self.commits, pull)
        )
        done = merger.perform(method)
        change = RefChange(ref=refnames.branch_ref(pull.base_ref), before=base, after=done)
        if not self._state.git(pull.repo).move([change]):
            raise RefusedError(405, "Base branch was modified. Review and try the merge again.")
        self.merged(pull, user, done, base)
        self._state.refs_changed(pull.repo, [change], user, ActivityKind.PR_MERGE)
        return done

    def merge_queue(self, pulls: Sequence[Pull], user: User) -> str:
        """Merge several pull requests of one base as a merge queue does: one move of the base.

        Returns:
            The commit that the base branch stands at; each pull request names its own merge.
        """
        repo, base_ref = pulls[0].repo, pulls[0].base_ref
        start = tip = repo.refs[refnames.branch_ref(base_ref)]
        merges = []
        for pull in pulls:
            if self._state.git(repo).merge_tree(tip, pull.head_sha) is None:
                raise RefusedError(405, "Pull Request is not mergeable")
            made = merging.PlannedMerge(
                self._state, pull, user, tip, None, None, partial(self.commits, pull)
            ).perform("merge")
            merges.append((pull, made, tip))
            tip = made
        change = RefChange(ref=refnames.branch_ref(base_ref), before=start, after=tip)
        if not self._state.git(repo).move([change]):
            raise RefusedError(405, "Base branch was modified. Review and try the merge again.")
        for pull, made, before in merges:
            self.merged(pull, user, made, before)
        self._state.refs_changed(repo, [change], user, ActivityKind.MERGE_QUEUE_MERGE)
        return tip

    def update_branch(self, pull: Pull, user: User, expected: str | None) -> None:
        """Merge the base branch into the head branch."""
        if expected is not None and expected != pull.head_sha:
            raise custom("PullRequest", "expected head sha didn't match current head ref.")
        base, head_repo = pull.repo.branch(pull.base_ref), pull.head_repo
        if base is None or head_repo is None or pull.state != "open":
            raise not_found()
        git = self._state.git(pull.repo)
        if history.contains(git, pull.head_sha, base):
            raise plain("There are no new commits on the base branch.")
        tree = git.merge_tree(pull.head_sha, base)
        if tree is None:
            raise plain("merge conflict between base and head")
        made = git.write_commit(
            NewCommit(
                tree=tree,
                parents=(pull.head_sha, base),
                message=f"Merge branch '{pull.base_ref}' into {pull.head_ref}",
                author=self._state.person(user),
                committer=self._state.web_flow(),
            )
        )
        if head_repo is not pull.repo:
            self._state.git(head_repo).fetch(git, made)
        self._state.update_ref(head_repo, refnames.branch_ref(pull.head_ref), made, user)

    def files(self, pull: Pull) -> Sequence[FileDiff]:
        """Files that the head changes since it left the base branch."""
        git = self._state.git(pull.repo)
        return git.diff(self.merge_base(pull), pull.head_sha)

    def commits(self, pull: Pull) -> list[Commit]:
        """Commits of the pull request, oldest first."""
        git = self._state.git(pull.repo)
        base = pull.base_sha if pull.merged else pull.repo.branch(pull.base_ref) or pull.base_sha
        return [git.commit(sha) for sha in history.commits_between(git, base, pull.head_sha)]

    def merge_base(self, pull: Pull) -> str | None:
        """The commit where the head left the base; for a merged one, as it was at the merge."""
        if pull.merged:
            return pull.merge_base
        base = pull.repo.branch(pull.base_ref) or pull.base_sha
        return history.merge_base(self._state.git(pull.repo), base, pull.head_sha)

    def merged(self, pull: Pull, user: User, commit: str, base: str) -> None:
        """Take note of a merge as `commit`, into a base that stood at `base`."""
        pull.merge_base = history.merge_base(self._state.git(pull.repo), base, pull.head_sha)
        pull.base_sha = base
        pull.state, pull.merge_commit_sha = "closed", commit
        pull.repo.open_pulls.pop(pull.number, None)
        pull.repo.contributors.add(pull.user.id)
        pull.merged_at = pull.closed_at = pull.updated_at = self._state.now()
        pull.merged_by = user
        words = f"merged commit {commit[:7]} into {pull.base_ref}"
        self._state.note(pull, user, "merged", words, commit=commit)
        self._state.emit("pull_request", "closed", pull.repo, user, pull=pull)

    def _reopen(self, pull: Pull, user: User) -> None:
        tip = pull.head_repo.branch(pull.head_ref) if pull.head_repo else None
        if pull.merged or tip is None or pull.repo.branch(pull.base_ref) is None:
            gone = pull.head_ref if tip is None else pull.base_ref
            words = f"The {gone} branch has been deleted."
            if pull.merged:
                words = "The pull request was merged."
            raise custom("PullRequest", f"state cannot be changed. {words}", "state")
        if pull.head_repo is not None:
            self.bring(pull.repo, pull.head_repo, tip)
        if not history.contains(self._state.git(pull.repo), tip, pull.head_sha):
            words = f"The {pull.head_ref} branch was force-pushed or recreated."
            raise custom("PullRequest", f"state cannot be changed. {words}", "state")
        if pull.head_repo is not None:
            self._refuse_double(pull.repo, pull.head_repo, pull.head_ref, pull.base_ref)
        pull.state, pull.closed_at, pull.head_sha = "open", None, tip
        pull.repo.open_pulls[pull.number] = pull
        pull.updated_at = self._state.now()
        self._state.note(pull, user, "reopened", "reopened this pull request")
        self._state.emit("pull_request", "reopened", pull.repo, user, pull=pull)

    def _retarget(self, pull: Pull, user: User, base: str) -> dict[str, object]:
        sha = pull.repo.branch(base)
        if sha is None:
            raise invalid("PullRequest", "base")
        self._state.note(
            pull,
            user,
            "base_ref_changed",
            f"changed the base branch from {pull.base_ref} to {base}",
            before=pull.base_ref,
            after=base,
        )
        before: dict[str, object] = {
            "ref": {"from": pull.base_ref},
            "sha": {"from": pull.base_sha},
        }
        pull.base_ref, pull.base_sha = base, sha
        return before

    def _head(self, repo: Repository, head: str) -> tuple[Repository, str]:
        owner, colon, branch = head.partition(":")
        if not colon or owner.lower() == repo.owner.login.lower():
            return repo, branch or owner
        for other in self._state.data.repositories.values():
            kin = other.parent is repo or repo.parent is other
            if kin and other.owner.login.lower() == owner.lower():
                return other, branch
        raise invalid("PullRequest", "head")

    def _refuse_double(
        self, repo: Repository, head_repo: Repository, head_ref: str, base: str
    ) -> None:
        for other in repo.pulls_by_head.get(head_ref, ()):
            same = other.head_repo is head_repo
            if same and other.base_ref == base and other.state == "open":
                raise custom(
                    "PullRequest",
                    f"A pull request already exists for {head_repo.owner.login}:{head_ref}.",
                )

    def bring(self, repo: Repository, head_repo: Repository, sha: str) -> None:
        """Bring a commit over from a fork."""
        if head_repo is not repo:
            self._state.git(repo).fetch(self._state.git(head_repo), sha)

    def publish_head(self, pull: Pull) -> None:
        """Let the ref of a pull request stand at its head."""
        self._state.git(pull.repo).point(self._state.pull_ref.format(pull.number), pull.head_sha)
