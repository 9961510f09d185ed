"""Updates pull requests when branches move: new heads, merges by push, deletion, restoration."""

from __future__ import annotations

from bot.sandbox import refnames
from bot.sandbox.git import history
from bot.sandbox.records.accounts import User
from bot.sandbox.records.refs import RefChange
from bot.sandbox.records.repository import Pull, Repository
from bot.sandbox.rules import merging
from bot.sandbox.rules.context import Context
from bot.sandbox.rules.protection import BranchRules
from bot.sandbox.rules.pulls import Pulls


class Following:
    """Lets pull requests follow what happens to branches; the caller holds `ForgeState.lock`."""

    def __init__(self, state: Context, pulls: Pulls, rules: BranchRules) -> None:
        self._state = state
        self._pulls = pulls
        self._rules = rules

    def branch_moved(self, repo: Repository, change: RefChange, actor: User) -> None:
        """Follow a branch that moved or went: heads, then bases."""
        branch = refnames.branch_name(change.ref)
        bases = [pull for pull in repo.open_pulls.values() if pull.base_ref == branch]
        forced = bool(bases) and self._state.forced(repo, change)
        for target in list(self._state.data.repositories.values()):
            heads = [p for p in target.pulls_by_head.get(branch, ()) if p.head_repo is repo]
            here = bases if target is repo else []
            for pull in sorted({*heads, *here}, key=lambda pull: pull.number):
                if pull in heads and pull.state != "open":
                    self._head_of_closed_moved(pull, change, actor)
                elif pull in heads:
                    self._head_moved(pull, change, actor)
                elif pull.state == "open":
                    self._base_moved(pull, change, actor, forced=forced)

    def _head_of_closed_moved(self, pull: Pull, change: RefChange, actor: User) -> None:
        if change.deletes:
            self._state.note(pull, actor, "head_ref_deleted", f"deleted {pull.head_ref}")
        elif change.creates and change.after == pull.head_sha:
            self._state.note(pull, actor, "head_ref_restored", f"restored {pull.head_ref}")

    def _head_moved(self, pull: Pull, change: RefChange, actor: User) -> None:
        if change.deletes:
            self._state.note(pull, actor, "head_ref_deleted", f"deleted {pull.head_ref}")
            self._pulls.close(pull, actor)
            return
        if pull.head_repo is not None:
            self._pulls.bring(pull.repo, pull.head_repo, change.after)
        pull.head_sha, pull.updated_at = change.after, self._state.now()
        self._pulls.publish_head(pull)
        base = pull.repo.branch(pull.base_ref)
        pull.base_sha = base or pull.base_sha
        forced = pull.head_repo is not None and self._state.forced(pull.head_repo, change)
        kind = "head_ref_force_pushed" if forced else "pushed"
        words = f"pushed {change.after[:7]}"
        self._state.note(pull, actor, kind, words, before=change.before, after=change.after)
        self._state.emit(
            "pull_request",
            "synchronize",
            pull.repo,
            actor,
            pull=pull,
            before=change.before,
            after=change.after,
        )
        self._dismiss_stale(pull, actor)
        if base and history.contains(self._state.git(pull.repo), base, change.after):
            self._pulls.close(pull, actor)  # nothing of its own is left

    def _base_moved(self, pull: Pull, change: RefChange, actor: User, *, forced: bool) -> None:
        if change.deletes:
            self._pulls.close(pull, actor)
            return
        git = self._state.git(pull.repo)
        if forced:
            words = f"pushed {change.after[:7]} to {pull.base_ref} by force"
            detail = {"before": change.before, "after": change.after}
            self._state.note(pull, actor, "base_ref_force_pushed", words, **detail)
        if history.contains(git, change.after, pull.head_sha):
            landed = merging.landing(git, change.after, pull.head_sha)
            self._pulls.merged(pull, actor, landed, change.before)

    def _dismiss_stale(self, pull: Pull, actor: User) -> None:
        if not self._rules.dismisses_stale(pull.repo, pull.base_ref):
            return
        for review in pull.reviews:
            if review.state == "APPROVED":
                review.state, review.updated_at = "DISMISSED", self._state.now()
                self._state.emit(
                    "pull_request_review", "dismissed", pull.repo, actor, review=review
                )
