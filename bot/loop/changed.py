"""What a sweep sees of each head branch, and which of them it has to have looked at (ADR 23).

A look at a proposal costs eight requests, so 500 that wait for people would use up what the forge
allows an hour. What decides about a proposal and can be seen without looking at it is made into a
digest, and kept with the wake that it caused: the look begins after the digest was read, and so
sees at least that.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from bot.extends import DefaultsNeededError, FileReference
from bot.forges.port import ListedProposal
from bot.git.port import History, MissingObjectError, ObjectTooLargeError
from bot.keys import ProposalKey
from bot.look import rules
from bot.look.fetching import folders
from bot.look.reader import RULES
from bot.store.values import Swept
from lifecycle import names
from lifecycle.access import AccessAction
from lifecycle.identity import RepositoryId
from lifecycle.names import Sha, looks_like_revision
from lifecycle.policy import Policy

log = structlog.get_logger()

LATE = timedelta(minutes=1)
"""How long after a change it is looked at once more: lists of forges may be ahead of the rest."""

DAY = 86400.0
"""Seconds after which everything is looked at again at the latest: what no list tells is found."""


@dataclass(frozen=True, slots=True)
class BranchState:
    """What a sweep sees of a head branch.

    Attributes:
        state: Digest of it.
        at: When its proposals changed last, by the forge's clock; None where it has none.
        unattended: One of them waits for no person's approval: what lets it through may be told
            by no list, as with those that were approved.
    """

    state: str
    at: datetime | None
    unattended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgementContext:
    """What proposals of a repository are judged by, as far as git and the index show it.

    Attributes:
        git: As it was fetched.
        default: The default branch.
        packages: Open proposal to the packages that it changes.
        tags: Package to a digest of its tags.
        files: Reads files with rules.
        needed: Is given what rules extend and was not fetched yet.
    """

    git: History
    default: str
    packages: Mapping[int, frozenset[str]]
    tags: Mapping[str, str]
    files: rules.Blob
    needed: set[FileReference] = field(default_factory=set)

    def of(self, pull: ListedProposal) -> list[object]:
        """What a look at a pull request may find changed, beside itself."""
        tip = self._tip(pull.base_ref)
        packages = sorted(self.packages.get(pull.number, ()))
        tags = [self.tags.get(package, "") for package in packages]
        try:
            # A base moves with each change that is published; of it counts what this one changes
            # too. Where no look has told that yet, all of it does.
            trees = [self.git.tree(tip, p) for p in packages] if tip and packages else [tip]
            return [self.rules(pull.base_ref), trees, tags]
        except (MissingObjectError, ObjectTooLargeError):
            # Anybody who may push can have such a base: what it cannot tell, its tip stands for.
            return [tip, tags]

    def rules(self, branch: str) -> list[str]:
        """Ids of the files that say how changes of a branch are judged."""
        tips = [self._tip(each) for each in (self.default, branch)]
        return [self.git.entry(tip, path) if tip else "" for tip in tips for path in RULES]

    def digest(self, branches: Iterable[str]) -> str:
        """Of the rules of some branches."""
        return _digest([self._rules(branch) for branch in sorted(branches)])

    def _rules(self, branch: str) -> list[str]:
        try:
            return self.rules(branch)
        except (MissingObjectError, ObjectTooLargeError):
            return [self._tip(branch)]

    def ask_nobody(self, branch: str) -> bool:
        """Whether changes of a branch are published without anybody's approval."""
        default = None if branch == self.default else self._tip(self.default)
        try:
            found = rules.of_base(self.files, self._tip(branch), branch, default)
        except DefaultsNeededError as needed:
            self.needed.add(needed.reference)
            return False
        except (MissingObjectError, ObjectTooLargeError):
            return False  # nothing is published by rules that cannot be read
        except Exception as error:  # anybody may push such rules: the sweep of the others goes on
            log.error("rules cannot be read", branch=branch, error=str(error), exc_info=True)
            return False
        policy = found.policy
        if not isinstance(policy, Policy):
            return False
        places = ("", *policy.folders)
        return any(policy.rule(AccessAction.APPROVE, place).require == 0 for place in places)

    def _tip(self, branch: str) -> str:
        return self.git.ref(names.branch_ref(branch)) or ""


def see(
    repository: RepositoryId,
    pulls: Iterable[ListedProposal],
    drafts: Mapping[str, str],
    around: JudgementContext,
) -> dict[ProposalKey, BranchState]:
    """Key of each head branch to what is seen of it, last changed first.

    Args:
        repository: Which one.
        pulls: Its open pull requests; those of a fork that is gone are left out.
        drafts: Draft branches to look at, and where each is.
        around: What they are judged by.
    """
    parts: dict[ProposalKey, list[object]] = defaultdict(list)
    changed: dict[ProposalKey, datetime] = {}
    for pull in sorted(pulls, key=lambda each: each.updated_at, reverse=True):
        if pull.head_repository is not None:
            key = ProposalKey(repository, pull.head_repository, pull.head_ref)
            at = pull.updated_at
            shown = [pull.number, pull.head, pull.base_ref, pull.draft, at.isoformat()]
            parts[key].append([*shown, *around.of(pull)])
            changed[key] = max(at, changed.get(key, at))
    ready = {pull.base_ref for pull in pulls if not pull.draft}
    free = {branch for branch in ready if around.ask_nobody(branch)}
    unattended = {
        ProposalKey(repository, pull.head_repository or 0, pull.head_ref)
        for pull in pulls
        if pull.base_ref in free and not pull.draft
    }
    for branch, sha in drafts.items():
        key = ProposalKey(repository, repository.number, branch)
        parts[key].append([sha, around.rules(around.default)])
    return {
        key: BranchState(
            _digest(sorted(found, key=json.dumps)), changed.get(key), key in unattended
        )
        for key, found in parts.items()
    }


def tags_of(packages: Collection[str], tags: Mapping[str, Sha]) -> dict[str, str]:
    """Package to a digest of its tags: who makes or moves one changes what is proposed next.

    What is no release tag counts where git could not hold one beside it: `net/v2/x`, or `net`.
    """
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    inside: dict[str, set[str]] = defaultdict(set)
    known = set(packages)
    for package in packages:
        for folder in folders(package):
            inside[folder].add(package)
    for ref, sha in tags.items():
        parts = names.tag_name(ref).split("/")
        of = {"/".join(parts[:i]) for i, part in enumerate(parts) if looks_like_revision(part)}
        for package in (of & known) | inside.get("/".join(parts), set()):
            found[package].append((ref, str(sha)))
    return {package: _digest(sorted(each)) for package, each in found.items()}


def to_look_at(
    seen: Mapping[ProposalKey, BranchState],
    known: Mapping[str, Swept],
    anyhow: Collection[ProposalKey],
    now: datetime,
) -> tuple[ProposalKey, ...]:
    """What a sweep has to have looked at, in the order of `seen`.

    Args:
        seen: Key to what is seen of it now.
        known: Text of a key to what was seen when a sweep last had it looked at.
        anyhow: Looked at whatever is seen of them.
        now: The time.
    """
    return tuple(
        key
        for key, one in seen.items()
        if key in anyhow or one.unattended or _has_news(key, one, known.get(str(key)), now)
    )


def is_news(before: Swept | None, state: str, at: datetime | None, now: datetime) -> bool:
    """Tell whether something was seen that the last look that a sweep asked for may not have.

    Args:
        before: What was seen then; None where none was asked for.
        state: What is seen now.
        at: When it changed last, by the forge's clock; None where it has none.
        now: The time.
    """
    if before is None or before.state != state:
        return True
    return at is not None and now - timedelta(seconds=before.age) < at + LATE


def _has_news(key: ProposalKey, one: BranchState, before: Swept | None, now: datetime) -> bool:
    if before is None or is_news(before, one.state, one.at, now):
        return True
    return is_old(str(key), before)


def is_old(key: str, before: Swept) -> bool:
    """Tell whether something is to be looked at without any news.

    Args:
        key: Text of its key.
        before: What was seen when a sweep last had it looked at.
    """
    # Without any news after half a day to a day, each at its own time: never all at once.
    part = int(hashlib.sha256(key.encode()).hexdigest()[:8], 16) / 2**32
    return before.age > DAY * (1 + part) / 2


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()
