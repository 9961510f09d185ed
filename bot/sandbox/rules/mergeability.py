"""Mergeability of pull requests, computed after the first read, as on GitHub."""

from __future__ import annotations

from bot.sandbox.git.protocol import NewCommit
from bot.sandbox.records.repository import Pull
from bot.sandbox.rules.checks import Checks
from bot.sandbox.rules.context import Context
from bot.sandbox.rules.protection import BranchRules


class Mergeability:
    """Computes `mergeable` of pull requests; the caller holds `ForgeState.lock`."""

    def __init__(self, state: Context, checks: Checks, rules: BranchRules) -> None:
        self._state = state
        self._checks = checks
        self._rules = rules

    def shown(self, pull: Pull) -> tuple[bool | None, str]:
        """What a reader is told: `mergeable` and `mergeable_state`.

        The first reading after a change of head or base says (None, "unknown") and starts the
        search, as on GitHub; `ForgeState.null_reads` says how many readings do.
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

    def _refresh(self, pull: Pull, base: str) -> None:
        if pull.mergeable_for != (base, pull.head_sha):
            pull.mergeable_for = (base, pull.head_sha)
            pull.mergeable, pull.mergeable_reads, pull.merge_commit_sha = None, 0, None

    def _mergeable_word(self, pull: Pull) -> str:
        if pull.draft:
            return "draft"
        reasons = self._rules.blockers(pull)
        if any("up to date" in reason for reason in reasons):
            return "behind"
        if reasons:
            return "blocked"
        runs = self._checks.runs_on(pull.repo, pull.head_sha)
        statuses = self._checks.statuses_on(pull.repo, pull.head_sha, latest=True)
        good = all(run.conclusion in ("success", "neutral", "skipped") for run in runs)
        return "clean" if good and all(s.state == "success" for s in statuses) else "unstable"
