"""Branch protection and rulesets, for pushes, for the API and for merges.

Both kinds hold at once. What they refuse is said in GitHub's words: GH006 and bare reasons for
classic protection, GH013 and "Repository rule violations found" for rulesets. A push, a call of
the API and a merge are judged by the same function, `BranchRules.refusals`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from bot.sandbox import refnames
from bot.sandbox.errors import RefusedError, plain
from bot.sandbox.git import history
from bot.sandbox.records.accounts import App, Role, User
from bot.sandbox.records.protection import Bypass, Protection, QueueRule, Ruleset
from bot.sandbox.records.refs import RefChange
from bot.sandbox.records.repository import Pull, Repository
from bot.sandbox.rules.checks import Checks
from bot.sandbox.rules.context import Context

_ROLES = {Role.MAINTAIN: 2, Role.WRITE: 4, Role.ADMIN: 5}
"""GitHub's numbers of the roles that may bypass."""

BY_QUEUE = "Changes must be made through the merge queue"
BY_PULL_REQUEST = "Changes must be made through a pull request."


@dataclass(frozen=True, slots=True)
class RuleViolation:
    """Why a change of a ref is refused.

    Attributes:
        classic: Whether classic protection says so; else a ruleset.
        text: The reason in GitHub's words, one line.
        commits: The commits that are at fault, where the rule is about commits.
    """

    classic: bool
    text: str
    commits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Incoming:
    """What a change of a ref brings; worked out only where a rule asks.

    Attributes:
        forced: Whether the old tip is left behind.
        unsigned: Commits that come in and carry no signature.
    """

    forced: Callable[[], bool]
    unsigned: Callable[[], Sequence[str]]


class BranchRules:
    """Protection and rulesets of a forge; the caller holds `ForgeState.lock`."""

    def __init__(self, state: Context, checks: Checks) -> None:
        self._state = state
        self._checks = checks

    def add(
        self,
        repo: Repository,
        include: Iterable[str] = ("~DEFAULT_BRANCH",),
        *,
        bypass: Iterable[App | Role | User] = (),
        bypass_mode: str = "always",
        name: str = "rules",
        **rules: Any,
    ) -> Ruleset:
        """Make a ruleset.

        Args:
            repo: Where.
            include: Which refs; see `Ruleset`.
            bypass: Apps, roles and users who need not obey.
            bypass_mode: `always` or `pull_request`.
            name: Its name.
            rules: The other fields of `Ruleset`.
        """
        with self._state.lock:
            for field in ("exclude", "required_checks"):
                if field in rules:
                    rules[field] = tuple(rules[field])
            if rules.get("required_reviews"):
                rules["pull_request"] = True
            made = Ruleset(
                id=self._state.next_id(),
                name=name,
                created_at=self._state.now(),
                include=tuple(include),
                bypass=tuple(_bypass(actor, bypass_mode) for actor in bypass),
                **rules,
            )
            repo.rulesets[made.id] = made
            return made

    def remove(self, repo: Repository, ruleset: Ruleset) -> None:
        """Take a ruleset away."""
        with self._state.lock:
            del repo.rulesets[ruleset.id]

    def protection(self, repo: Repository, branch: str) -> Protection | None:
        """Classic protection of a branch."""
        return repo.protections.get(branch)

    def rulesets(self, repo: Repository, ref: str) -> list[Ruleset]:
        """Active rulesets that hold for a ref, given by its full name."""
        return [
            ruleset
            for ruleset in repo.rulesets.values()
            if ruleset.enforcement == "active" and _holds(repo, ruleset, ref)
        ]

    def required_checks(self, repo: Repository, branch: str) -> list[tuple[str, int | None]]:
        """Checks that merges into a branch need, by classic protection and by rulesets."""
        sources = [*self.rulesets(repo, refnames.branch_ref(branch)), self.protection(repo, branch)]
        found = [check for rules in sources if rules for check in rules.required_checks]
        return list(dict.fromkeys(found))

    def dismisses_stale(self, repo: Repository, branch: str) -> bool:
        """Whether a push to a head dismisses the approving reviews."""
        sources = [*self.rulesets(repo, refnames.branch_ref(branch)), self.protection(repo, branch)]
        return any(rules.dismiss_stale for rules in sources if rules)

    def queue(self, repo: Repository, branch: str) -> QueueRule | None:
        """How the merge queue of a branch works; None where it has none."""
        rulesets = self.rulesets(repo, refnames.branch_ref(branch))
        return next((r.merge_queue for r in rulesets if r.merge_queue), None)

    def review_decision(self, pull: Pull) -> str | None:
        """What reviews come to; None where the base asks for none, as on GitHub."""
        ref = refnames.branch_ref(pull.base_ref)
        sources = [*self.rulesets(pull.repo, ref), self.protection(pull.repo, pull.base_ref)]
        if not any(each.required_reviews for each in sources if each):
            return None
        verdicts = {r.user.login: r.state for r in pull.reviews if r.state != "COMMENTED"}
        if "CHANGES_REQUESTED" in verdicts.values():
            return "CHANGES_REQUESTED"
        lacking = any("approving review" in text for text in self.blockers(pull))
        return "REVIEW_REQUIRED" if lacking else "APPROVED"

    def blockers(self, pull: Pull, user: User | None = None, *, queued: bool = False) -> list[str]:
        """What the rules of the base branch still miss, in GitHub's words, worst first.

        Args:
            pull: The pull request.
            user: Who would merge; rulesets that this one bypasses are left out.
            queued: It is for the merge queue to merge.
        """
        found = [refusal.text for refusal in self._merge_refusals(pull, user)]
        return [text for text in found if not (queued and text == BY_QUEUE)]

    def check_merge(self, pull: Pull, user: User) -> None:
        """Refuse a merge that the rules do not allow; 405."""
        for refusal in self._merge_refusals(pull, user):
            if refusal.classic:
                raise RefusedError(405, refusal.text)
            raise RefusedError(405, _violations([refusal]))

    def check_api(self, repo: Repository, change: RefChange, user: User, status: int = 422) -> None:
        """Refuse a change of a ref by the API that the rules do not allow."""
        found = self.refusals(repo, change, user, self._incoming(repo, change))
        classic = [refusal for refusal in found if refusal.classic]
        if classic and status == 422:
            raise plain("Cannot update this protected ref.")
        if classic:
            raise RefusedError(status, classic[0].text)
        if found:
            raise RefusedError(status, _violations(found))

    def refusals(
        self, repo: Repository, change: RefChange, user: User, incoming: Incoming
    ) -> list[RuleViolation]:
        """Why a change of a ref outside pull requests is refused; empty where it is not."""
        found = []
        branch = refnames.branch_name(change.ref)
        classic = self.protection(repo, branch) if refnames.is_branch(change.ref) else None
        if classic is not None:
            found += [RuleViolation(True, text) for text in _classic(classic, change, incoming)]
        for ruleset in self.rulesets(repo, change.ref):
            if not self._bypasses(ruleset, repo, user, merging=False):
                found += self._of_ruleset(repo, ruleset, change, incoming)
        return list(dict.fromkeys(found))

    def _of_ruleset(
        self, repo: Repository, ruleset: Ruleset, change: RefChange, incoming: Incoming
    ) -> list[RuleViolation]:
        made, gone = change.creates, change.deletes
        if gone:
            return [RuleViolation(False, "Cannot delete this branch")] if ruleset.deletion else []
        found = []
        if made and ruleset.creation:
            found.append(
                RuleViolation(False, "Cannot create ref due to creations being restricted.")
            )
        if not made and ruleset.update:
            found.append(RuleViolation(False, "Cannot update this protected ref."))
        if not made and ruleset.pull_request:
            found.append(RuleViolation(False, BY_PULL_REQUEST))
        if not made and ruleset.merge_queue:
            found.append(RuleViolation(False, BY_QUEUE))
        if ruleset.non_fast_forward and not made and incoming.forced():
            found.append(RuleViolation(False, "Cannot force-push to this branch"))
        if ruleset.required_signatures and (unsigned := incoming.unsigned()):
            text = "Commits must have verified signatures."
            found.append(RuleViolation(False, text, tuple(unsigned)))
        if not made:
            found += [
                RuleViolation(False, text)
                for text in self._lacking(repo, change.after, ruleset.required_checks)
            ]
        return found

    def _merge_refusals(self, pull: Pull, user: User | None) -> list[RuleViolation]:
        repo, base = pull.repo, pull.repo.branch(pull.base_ref)
        if base is None:
            return []
        rulesets = [
            ruleset
            for ruleset in self.rulesets(repo, refnames.branch_ref(pull.base_ref))
            if user is None or not self._bypasses(ruleset, repo, user, merging=True)
        ]
        classic = self.protection(repo, pull.base_ref)
        sources: list[tuple[Protection | Ruleset, bool]] = [(r, False) for r in rulesets]
        sources += [(classic, True)] if classic else []
        found = []
        for rules, old in sources:
            found += [RuleViolation(old, text) for text in self._merge_reasons(pull, base, rules)]
        return sorted(dict.fromkeys(found), key=lambda refusal: refusal.classic, reverse=True)

    def _merge_reasons(self, pull: Pull, base: str, rules: Protection | Ruleset) -> list[str]:
        reasons = []
        lacking = rules.required_reviews - len(self._approvals(pull))
        if lacking > 0:
            s, are = ("", "is") if lacking == 1 else ("s", "are")
            reasons.append(
                f"At least {lacking} approving review{s} {are} required"
                " by reviewers with write access."
            )
        reasons += self._lacking(pull.repo, pull.head_sha, rules.required_checks)
        git = self._state.git(pull.repo)
        if rules.strict and not history.contains(git, pull.head_sha, base):
            reasons.append("The head branch is not up to date with the base branch.")
        if isinstance(rules, Ruleset) and rules.update:
            reasons.append("Cannot update this protected ref.")
        if isinstance(rules, Ruleset) and rules.merge_queue:
            reasons.append(BY_QUEUE)
        return reasons

    def _lacking(
        self, repo: Repository, sha: str, required: Iterable[tuple[str, int | None]]
    ) -> list[str]:
        verdicts = [
            (context, self._checks.verdict(repo, sha, context, app_id))
            for context, app_id in required
        ]
        return [
            f'Required status check "{context}" is {verdict}.'
            for context, verdict in verdicts
            if verdict != "good"
        ]

    def _approvals(self, pull: Pull) -> list[User]:
        """Users who may write and whose newest verdict approves."""
        newest = {r.user.login: r for r in pull.reviews if r.state != "COMMENTED"}
        return [
            r.user
            for r in newest.values()
            if r.state == "APPROVED" and self._state.role(pull.repo, r.user) >= Role.WRITE
        ]

    def _bypasses(self, ruleset: Ruleset, repo: Repository, user: User, *, merging: bool) -> bool:
        role = self._state.role(repo, user)
        ids = {
            "Integration": user.app.id if user.app else None,
            "User": user.id,
            "OrganizationAdmin": 1 if repo.owner.kind != "User" and role is Role.ADMIN else None,
            "RepositoryRole": _ROLES.get(role),
        }
        return any(
            entry.actor_id == ids.get(entry.actor_type)
            for entry in ruleset.bypass
            if merging or entry.mode == "always"
        )

    def bypass_of(self, ruleset: Ruleset, repo: Repository, user: User) -> str:
        """How an account may go around a ruleset, in GitHub's words."""
        if self._bypasses(ruleset, repo, user, merging=False):
            return "always"
        merges = self._bypasses(ruleset, repo, user, merging=True)
        return "pull_requests_only" if merges else "never"

    def _incoming(self, repo: Repository, change: RefChange) -> Incoming:
        git = self._state.git(repo)

        def unsigned() -> list[str]:
            known = [repo.refs[ref] for ref in repo.refs.below(refnames.branch_ref(""))]
            start = self._state.peel(repo, change.after)
            if git.kind(start) != "commit":
                return []
            seen = frozenset().union(*(history.reachable(git, tip) for tip in known))
            fresh = history.ancestors(git, start, seen)
            return [sha for sha in fresh if not self.verified(repo, sha)]

        return Incoming(lambda: self._state.forced(repo, change), unsigned)

    def verified(self, repo: Repository, sha: str) -> bool:
        """Whether a commit counts as signed: by somebody's key, or by the forge itself.

        The forge signs what it commits for people and Apps through its pages and its API.
        """
        commit = self._state.git(repo).commit(sha)
        return commit.signed or commit.committer.email == self._state.web_flow().email


def pattern_of(text: str) -> re.Pattern[str]:
    """A pattern of refs as a regular expression.

    `*` keeps inside a part of the name, `**/` crosses parts; `**` at the end takes all below.
    """
    parts = re.split(r"(\*\*/|/\*\*$|\*\*|\*|\?)", text)
    known = {"**/": "(?:.*/)?", "/**": "/.*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(known.get(part, re.escape(part)) for part in parts))


def push_refusal(
    repo: Repository, web: str, ref: str, found: Sequence[RuleViolation]
) -> tuple[list[str], str]:
    """What git says of a refused push: the lines of `remote:`, and the reason beside the ref."""
    if any(refusal.classic for refusal in found):
        lines = [f"error: GH006: Protected branch update failed for {ref}."]
        lines += ["", *(f"- {refusal.text}" for refusal in found if refusal.classic)]
        return lines, "protected branch hook declined"
    lines = [
        f"error: GH013: Repository rule violations found for {ref}.",
        f"Review all repository rules at {web}/{repo.full_name}/rules?ref={quote(ref, safe='')}",
        "",
    ]
    for refusal in found:
        lines.append(f"- {refusal.text}")
        if refusal.commits:
            count = len(refusal.commits)
            lines += [f"  Found {count} violation{'s' if count > 1 else ''}:", ""]
            lines += [f"  {sha}" for sha in refusal.commits]
        lines.append("")
    return lines, "push declined due to repository rule violations"


def _violations(found: Sequence[RuleViolation]) -> str:
    reasons = "".join(f"{refusal.text}\n\n" for refusal in found)
    return f"Repository rule violations found\n\n{reasons}"


def _classic(rules: Protection, change: RefChange, incoming: Incoming) -> list[str]:
    if change.creates:
        return []
    if change.deletes:
        return ["Cannot delete a protected branch"]
    if not rules.allow_direct_push:
        return [BY_PULL_REQUEST]
    return ["Cannot force-push to a protected branch"] if incoming.forced() else []


def _holds(repo: Repository, ruleset: Ruleset, ref: str) -> bool:
    full = {"branch": refnames.branch_ref, "tag": refnames.tag_ref}[ruleset.target]
    if not ref.startswith(full("")):
        return False

    def matches(patterns: Iterable[str]) -> bool:
        for text in patterns:
            if text == "~ALL" or (
                text == "~DEFAULT_BRANCH" and ref == refnames.branch_ref(repo.default_branch)
            ):
                return True
            whole = text if text.startswith("refs/") else full(text)
            if pattern_of(whole).fullmatch(ref):
                return True
        return False

    return matches(ruleset.include) and not matches(ruleset.exclude)


def _bypass(actor: App | Role | User, mode: str) -> Bypass:
    if isinstance(actor, App):
        return Bypass(actor_type="Integration", actor_id=actor.id, mode=mode)
    if isinstance(actor, Role):
        return Bypass(actor_type="RepositoryRole", actor_id=_ROLES[actor], mode=mode)
    return Bypass(actor_type="User", actor_id=actor.id, mode=mode)
