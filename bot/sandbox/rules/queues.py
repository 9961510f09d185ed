"""Merge queues: pull requests wait in line, are merged in trial, and land when that is green.

Each entry is built on the one before it, at a branch `gh-readonly-queue/<base>/pr-<n>-<sha>` where
the sha is what it is built on. Apps hear of each such merge, and report checks on its commit. What
fails leaves the queue, and those behind it are built anew; so they are when the base moves.

Source: https://docs.github.com/repositories/configuring-branches-and-merges-in-your-repository/configuring-pull-request-merges/managing-a-merge-queue
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import partial

from bot.sandbox import refnames
from bot.sandbox.errors import RefusedError, unprocessable
from bot.sandbox.records.accounts import Role, User
from bot.sandbox.records.memory import Happening
from bot.sandbox.records.protection import QueueRule
from bot.sandbox.records.refs import ZERO, ActivityKind, RefChange
from bot.sandbox.records.repository import MergeGroup, Pull, QueueEntry, Repository
from bot.sandbox.rules import merging
from bot.sandbox.rules.checks import Checks
from bot.sandbox.rules.context import Context
from bot.sandbox.rules.protection import BranchRules
from bot.sandbox.rules.pulls import Pulls

FOLDER = "gh-readonly-queue"
"""Where the branches of merge groups stand; nobody pushes there."""

LOGIN = "github-merge-queue[bot]"
"""The account by which a queue acts."""


class MergeQueues:
    """Merge queues of a forge; the caller holds `ForgeState.lock`."""

    def __init__(self, state: Context, rules: BranchRules, checks: Checks, pulls: Pulls) -> None:
        self._state = state
        self._rules = rules
        self._checks = checks
        self._pulls = pulls
        self._working: set[tuple[int, str]] = set()
        state.listeners.append(self._heard)

    def entry(self, pull: Pull) -> QueueEntry | None:
        """Where a pull request stands in its queue; None when it is in none."""
        waiting = pull.repo.queues.get(pull.base_ref, ())
        return next((entry for entry in waiting if entry.pull is pull), None)

    def enqueue(
        self, pull: Pull, user: User, expected: str | None = None, *, jump: bool = False
    ) -> QueueEntry:
        """Put a pull request into the queue of its base branch.

        Args:
            pull: It has to meet the rules of the base branch already.
            user: Who asks; needs write access.
            expected: The head that it must have; None for any.
            jump: To the front of the queue.

        Raises:
            RefusedError: 422, in GitHub's words.
        """
        repo, base = pull.repo, pull.base_ref
        if user.app is None and self._state.role(repo, user) < Role.WRITE:
            raise RefusedError(403, "You do not have permission to add this to the merge queue")
        if self._rules.queue(repo, base) is None:
            raise unprocessable(f"Merge queue is not enabled for {base}")
        if pull.state != "open":
            raise unprocessable("Pull request is closed")
        if expected is not None and expected != pull.head_sha:
            raise unprocessable("Expected head oid does not match the pull request's head oid")
        if pull.draft:
            raise unprocessable("Pull request is in draft state")
        if self.entry(pull) is not None:
            raise unprocessable("Pull request is already in the queue")
        tip = repo.branch(base)
        if tip is None or self._state.git(repo).merge_tree(tip, pull.head_sha) is None:
            raise unprocessable("Pull request is not mergeable")
        missing = self._rules.blockers(pull, queued=True)
        if missing:
            raise unprocessable(missing[0])
        made = QueueEntry(
            id=self._state.next_id(), pull=pull, user=user, enqueued_at=self._state.now()
        )
        waiting = repo.queues.setdefault(base, [])
        waiting.insert(0 if jump else len(waiting), made)
        self._state.note(pull, user, "added_to_merge_queue", "added this to the merge queue")
        self._state.emit("pull_request", "enqueued", repo, user, pull=pull)
        self.work(repo, base)
        return made

    def dequeue(self, pull: Pull, user: User, reason: str = "MANUAL") -> QueueEntry:
        """Take a pull request out of its queue; those behind it are built anew.

        Raises:
            RefusedError: 422 where it is in none.
        """
        found = self.entry(pull)
        if found is None:
            raise unprocessable("Pull request is not in the merge queue")
        self._remove(found, user, reason)
        self.work(pull.repo, pull.base_ref)
        return found

    def work(self, repo: Repository, base: str) -> None:
        """Build what is to be built, and merge what is green, until there is nothing to do."""
        if (repo.id, base) in self._working:
            return  # what happens meanwhile is seen before the work ends
        self._working.add((repo.id, base))
        try:
            while self._step(repo, base):
                pass
        finally:
            self._working.discard((repo.id, base))

    def time_passes(self) -> None:
        """Look whether checks took too long, or a group waited long enough for others."""
        with self._state.lock:
            for repo in list(self._state.data.repositories.values()):
                for base in list(repo.queues):
                    self.work(repo, base)

    def _step(self, repo: Repository, base: str) -> bool:
        waiting, rule = repo.queues.get(base, []), self._rules.queue(repo, base)
        tip = repo.branch(base)
        if rule is None or tip is None:
            for entry in list(waiting):
                self._remove(entry, self._account(), "QUEUE_CLEARED")
            return False
        below = tip
        for entry in waiting[: rule.max_entries_to_build]:
            if entry.group is None or entry.group.base_sha != below:
                return self._build(entry, below, rule)
            verdict = self._verdict(entry)
            late = entry.group.built_at + timedelta(minutes=rule.check_response_timeout_minutes)
            if verdict == "failing" or (verdict != "good" and self._state.now() >= late):
                reason = "CI_FAILURE" if verdict == "failing" else "CI_TIMEOUT"
                if not self._covered(entry, waiting, rule):
                    self._remove(entry, self._account(), reason)
                    return True
            below = entry.group.head_sha
        return self._land(repo, base, tip, waiting, rule)

    def _covered(self, entry: QueueEntry, waiting: Sequence[QueueEntry], rule: QueueRule) -> bool:
        """Where only the head of a group counts, what stands before it may be red."""
        after = waiting[waiting.index(entry) + 1 : rule.max_entries_to_merge]
        return rule.grouping_strategy == "HEADGREEN" and any(
            each.group is not None and self._verdict(each) != "failing" for each in after
        )

    def _verdict(self, entry: QueueEntry) -> str:
        """The worst of the required checks at the entry's merge."""
        if entry.group is None:
            return "expected"
        repo, base = entry.pull.repo, entry.pull.base_ref
        found = {
            self._checks.verdict(repo, entry.group.head_sha, context, app)
            for context, app in self._rules.required_checks(repo, base)
        }
        return next((word for word in ("failing", "pending", "expected") if word in found), "good")

    def _build(self, entry: QueueEntry, below: str, rule: QueueRule) -> bool:
        repo, pull, git = entry.pull.repo, entry.pull, self._state.git(entry.pull.repo)
        self._destroy(entry, "invalidated")
        if git.merge_tree(below, pull.head_sha) is None:
            self._remove(entry, self._account(), "MERGE_CONFLICT")
            return True
        made = merging.PlannedMerge(
            self._state, pull, entry.user, below, None, None, partial(self._pulls.commits, pull)
        ).perform(rule.merge_method.lower())
        ref = refnames.branch_ref(f"{FOLDER}/{pull.base_ref}/pr-{pull.number}-{below}")
        entry.group = MergeGroup(ref=ref, base_sha=below, head_sha=made, built_at=self._state.now())
        self._state.update_ref(repo, ref, made, self._account())
        self._tell(entry, "checks_requested")
        return True

    def _land(
        self,
        repo: Repository,
        base: str,
        tip: str,
        waiting: list[QueueEntry],
        rule: QueueRule,
    ) -> bool:
        """Merge the longest part of the queue, from its front, that is green."""
        group: list[QueueEntry] = []
        for place, entry in enumerate(waiting[: rule.max_entries_to_merge], 1):
            good = self._verdict(entry) == "good"
            if good:
                group = waiting[:place]
            elif rule.grouping_strategy == "ALLGREEN":
                break
        if not group or group[-1].group is None or not self._enough(group, rule):
            return False
        done = group[-1].group.head_sha
        change = RefChange(ref=refnames.branch_ref(base), before=tip, after=done)
        if not self._state.git(repo).move([change]):
            return False
        del waiting[: len(group)]
        for entry in group:
            if entry.group is not None:
                self._pulls.merged(
                    entry.pull, self._account(), entry.group.head_sha, entry.group.base_sha
                )
        self._state.refs_changed(repo, [change], self._account(), ActivityKind.MERGE_QUEUE_MERGE)
        for entry in group:
            self._left(entry, self._account(), "MERGE")
            self._destroy(entry, "merged")
        return True

    def _enough(self, group: Sequence[QueueEntry], rule: QueueRule) -> bool:
        waits = timedelta(minutes=rule.min_entries_to_merge_wait_minutes)
        long = self._state.now() >= group[0].enqueued_at + waits
        return long or len(group) >= rule.min_entries_to_merge

    def _remove(self, entry: QueueEntry, user: User, reason: str) -> None:
        entry.pull.repo.queues[entry.pull.base_ref].remove(entry)
        self._left(entry, user, reason)
        self._destroy(entry, "dequeued")

    def _left(self, entry: QueueEntry, user: User, reason: str) -> None:
        words = "removed this from the merge queue"
        self._state.note(entry.pull, user, "removed_from_merge_queue", words, reason=reason)
        extra = {"pull": entry.pull, "reason": reason}
        self._state.emit("pull_request", "dequeued", entry.pull.repo, user, **extra)

    def _destroy(self, entry: QueueEntry, reason: str) -> None:
        """Take a group away, with its branch; nothing where there is none."""
        group = entry.group
        if group is None:
            return
        self._tell(entry, "destroyed", reason=reason)
        entry.group = None
        if entry.pull.repo.refs.get(group.ref) == group.head_sha:
            self._state.update_ref(entry.pull.repo, group.ref, ZERO, self._account())

    def _tell(self, entry: QueueEntry, action: str, **extra: object) -> None:
        repo = entry.pull.repo
        extra |= {"group": entry.group, "base": refnames.branch_ref(entry.pull.base_ref)}
        self._state.emit("merge_group", action, repo, self._account(), **extra)

    def _account(self) -> User:
        found = self._state.data.users.get(LOGIN)
        if found is None:
            made = User(self._state.next_id(), LOGIN, LOGIN, self._state.now(), None, "Bot")
            found = self._state.data.users[LOGIN] = made
        return found

    def _heard(self, happening: Happening) -> None:
        """What changes a queue: a check that ended, a status, a pull request that is another."""
        repo, kind, extra = happening.repo, happening.kind, happening.extra
        if repo is None or not repo.queues:
            return
        pull = extra.get("pull")
        left = ("synchronize", "closed", "converted_to_draft", "edited")
        if kind == "pull_request" and isinstance(pull, Pull) and happening.action in left:
            found = self.entry(pull)
            if found is not None:
                self._remove(found, happening.sender, "MANUAL")
                self.work(repo, pull.base_ref)
        elif (kind, happening.action) == ("check_run", "completed") or kind == "status":
            for base in list(repo.queues):
                self.work(repo, base)

    def branch_moved(self, repo: Repository, change: RefChange, _actor: User) -> None:
        """Build anew what stood on a base that moved."""
        base = refnames.branch_name(change.ref)
        if repo.queues.get(base):
            self.work(repo, base)
