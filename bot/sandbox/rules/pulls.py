"""The forge's rules of pull requests: from opening to merge, with reviews and mergeability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bot.sandbox.errors import RefusedError, custom, invalid, not_found, plain, unprocessable
from bot.sandbox.git import history
from bot.sandbox.git.diffs import FileDiff
from bot.sandbox.git.objects import Commit
from bot.sandbox.git.protocol import NewCommit
from bot.sandbox.model import (
    ActivityKind,
    Edit,
    Pull,
    Repository,
    Review,
    Role,
    TimelineEvent,
    User,
)
from bot.sandbox.records.refs import RefChange
from bot.sandbox.rules import limits, merging

if TYPE_CHECKING:
    from bot.sandbox.rules.state import State

_REVIEW_STATES = {
    "APPROVE": "APPROVED",
    "REQUEST_CHANGES": "CHANGES_REQUESTED",
    "COMMENT": "COMMENTED",
}


class Pulls:
    """Pull requests of a forge; the caller holds `State.lock`."""

    def __init__(self, state: State) -> None:
        self._state = state

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
        self.note(pull, user, "opened", "opened this pull request")
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
            self._need(pull.repo, user, Role.WRITE)
        limits.check_title("PullRequest", title)
        limits.check_body("PullRequest", body)
        if title is not None and not title.strip():
            raise invalid("PullRequest", "title", "missing_field")
        changes: dict[str, object] = {}
        if title is not None and title != pull.title:
            self.note(
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
            pull.edit = Edit(user, self._state.now())
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
        self.note(pull, user, "closed", "closed this pull request")
        self._state.emit("pull_request", "closed", pull.repo, user, pull=pull)

    def set_draft(self, pull: Pull, user: User, draft: bool) -> None:
        """Turn a pull request into a draft, or a draft into one that is ready."""
        if pull.user is not user and user.app is None:
            self._need(pull.repo, user, Role.WRITE)
        if pull.state != "open":
            raise unprocessable("Pull request is closed")
        if pull.draft == draft:
            return
        pull.draft, pull.updated_at = draft, self._state.now()
        action = "converted_to_draft" if draft else "ready_for_review"
        words = "marked this as a draft" if draft else "marked this as ready for review"
        self.note(pull, user, "convert_to_draft" if draft else action, words)
        self._state.emit("pull_request", action, pull.repo, user, pull=pull)

    def review(
        self, pull: Pull, user: User, event: str, body: str, commit_id: str | None = None
    ) -> Review:
        """Submit a review: APPROVE, REQUEST_CHANGES or COMMENT."""
        state = _REVIEW_STATES.get(event)
        if state is None:
            raise plain(f"Invalid request.\n\n{event} is not a possible event.")
        if user is pull.user and state != "COMMENTED":
            what = "approve" if state == "APPROVED" else "request changes on"
            raise unprocessable(f"Review Can not {what} your own pull request")
        limits.check_review(body)
        if state != "APPROVED" and not body:
            raise unprocessable("Body can't be blank")
        now = self._state.now()
        made = Review(
            id=self._state.next_id(),
            pull=pull,
            user=user,
            body=body,
            state=state,
            commit_id=commit_id or pull.head_sha,
            submitted_at=now,
            updated_at=now,
        )
        pull.reviews.append(made)
        if user in pull.requested_reviewers:
            pull.requested_reviewers.remove(user)
        pull.updated_at = now
        self._state.emit("pull_request_review", "submitted", pull.repo, user, review=made)
        return made

    def ask_review(self, pull: Pull, user: User, logins: Sequence[str]) -> None:
        """Ask people for a review; 422 for who cannot read here, and for the author."""
        people = []
        for login in logins:
            found = self._state.data.users.get(login.lower())
            if found is None or self._state.role(pull.repo, found) < Role.READ or found.app:
                raise plain(
                    "Reviews may only be requested from collaborators. One or more of the users"
                    f" or teams you specified is not a collaborator of the {pull.repo.full_name}"
                    " repository."
                )
            if found is pull.user:
                raise plain("Review cannot be requested from pull request author.")
            people.append(found)
        for found in people:
            if found not in pull.requested_reviewers:
                pull.requested_reviewers.append(found)
                pull.updated_at = self._state.now()
                self._state.talk.tell(pull, "review_requested", user, reviewer=found)

    def unask_review(self, pull: Pull, user: User, logins: Sequence[str]) -> None:
        """Ask people no more."""
        gone = {login.lower() for login in logins}
        for found in [one for one in pull.requested_reviewers if one.login.lower() in gone]:
            pull.requested_reviewers.remove(found)
            self._state.talk.tell(pull, "review_request_removed", user, reviewer=found)

    def dismiss(self, review: Review, user: User, message: str) -> None:
        """Dismiss an approving or refusing review."""
        if user.app is None:
            self._need(review.pull.repo, user, Role.WRITE)
        if review.state not in ("APPROVED", "CHANGES_REQUESTED"):
            raise unprocessable(f"Can not dismiss a {review.state.lower()} pull request review")
        note = {"review": review.id, "message": message, "state": review.state.lower()}
        review.state, review.updated_at = "DISMISSED", self._state.now()
        words = f"dismissed a review: {message}"
        self.note(review.pull, user, "review_dismissed", words, **note)
        self._state.emit("pull_request_review", "dismissed", review.pull.repo, user, review=review)

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
        self._state.rules.check_merge(pull, user)
        merger = merging.Merge(self._state, pull, user, base, title, message)
        done = merger.perform(method)
        change = RefChange(ref=f"refs/heads/{pull.base_ref}", before=base, after=done)
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
        start = tip = repo.refs[f"refs/heads/{base_ref}"]
        merges = []
        for pull in pulls:
            if self._state.git(repo).merge_tree(tip, pull.head_sha) is None:
                raise RefusedError(405, "Pull Request is not mergeable")
            made = merging.Merge(self._state, pull, user, tip, None, None).perform("merge")
            merges.append((pull, made, tip))
            tip = made
        change = RefChange(ref=f"refs/heads/{base_ref}", before=start, after=tip)
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
        self._state.update_ref(head_repo, f"refs/heads/{pull.head_ref}", made, user)

    def mergeable(self, pull: Pull) -> tuple[bool | None, str]:
        """What a reader is told: `mergeable` and `mergeable_state`.

        The first reading after a change of head or base says (None, "unknown") and starts the
        search, as on GitHub; `State.null_reads` says how many readings do.
        """
        base = pull.repo.branch(pull.base_ref)
        if pull.state != "open" or base is None:
            return None, "unknown"
        self._refresh(pull, base)
        if pull.mergeable_reads < self._state.null_reads:
            pull.mergeable_reads += 1
            return None, "unknown"
        if not self.test_merge(pull):
            return False, "dirty"
        return True, self._mergeable_word(pull)

    def test_merge(self, pull: Pull) -> bool:
        """Whether head and base merge; makes the test merge commit. Counts no reading."""
        base = pull.repo.branch(pull.base_ref)
        if base is None:
            return False
        self._refresh(pull, base)
        if pull.mergeable is None:
            git = self._state.git(pull.repo)
            tree = git.merge_tree(base, pull.head_sha)
            pull.mergeable = tree is not None
            if tree is not None:
                pull.merge_commit_sha = git.write_commit(
                    NewCommit(
                        tree=tree,
                        parents=(base, pull.head_sha),
                        message=f"Merge {pull.head_sha} into {base}",
                        author=self._state.person(pull.user),
                        committer=self._state.web_flow(),
                    )
                )
        return pull.mergeable

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
        self.note(pull, user, "merged", words, commit=commit)
        self._state.emit("pull_request", "closed", pull.repo, user, pull=pull)

    def _refresh(self, pull: Pull, base: str) -> None:
        if pull.mergeable_for != (base, pull.head_sha):
            pull.mergeable_for = (base, pull.head_sha)
            pull.mergeable, pull.mergeable_reads, pull.merge_commit_sha = None, 0, None

    def _mergeable_word(self, pull: Pull) -> str:
        if pull.draft:
            return "draft"
        reasons = self._state.rules.blockers(pull)
        if any("up to date" in reason for reason in reasons):
            return "behind"
        if reasons:
            return "blocked"
        runs = self._state.checks.runs_on(pull.repo, pull.head_sha)
        statuses = self._state.checks.statuses_on(pull.repo, pull.head_sha, latest=True)
        good = all(run.conclusion in ("success", "neutral", "skipped") for run in runs)
        return "clean" if good and all(s.state == "success" for s in statuses) else "unstable"

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
        self.note(pull, user, "reopened", "reopened this pull request")
        self._state.emit("pull_request", "reopened", pull.repo, user, pull=pull)

    def _retarget(self, pull: Pull, user: User, base: str) -> dict[str, object]:
        sha = pull.repo.branch(base)
        if sha is None:
            raise invalid("PullRequest", "base")
        self.note(
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
        """Let `refs/pull/N/head` stand at the head."""
        self._state.git(pull.repo).point(f"refs/pull/{pull.number}/head", pull.head_sha)

    def _need(self, repo: Repository, user: User, role: Role) -> None:
        if self._state.role(repo, user) < role:
            raise RefusedError(403, "Must have admin rights to Repository.")

    def note(self, pull: Pull, actor: User, kind: str, text: str, **detail: object) -> None:
        """Write an event into the timeline; see `TimelineEvent`."""
        pull.events.append(
            TimelineEvent(
                id=self._state.next_id(),
                kind=kind,
                actor=actor,
                at=self._state.now(),
                text=text,
                detail=detail,
            )
        )
