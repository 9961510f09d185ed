"""Rules that approve by themselves: small changes that a named App made, what variants ask for.

Such a rule takes the place of the approvals alone. Every other gate has to hold as well, and a
request for changes or a hold stops it (ADR 37, ADR 59).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from cadlib.diff.values import Change, ChangeKind
from lifecycle.access import VARIANTS, AppSource, Person, Standing, TriState, account
from lifecycle.facts.packages import NotByRule, Touched
from lifecycle.facts.proposal import Proposal
from lifecycle.facts.verdicts import Verdict
from lifecycle.policy import AccessRule

US = "porchbot"
"""What rules call this bot."""

_VERSIONED = re.compile(r"(?:version|tag|image|revision)s?(?:\[\d+\])?\W*", re.IGNORECASE)
"""How the field of a version without a name ends; another one's numbers may be an address."""

_PIPELINE = re.compile(r"pipeline\b")
"""Fields of a Kptfile with the functions that render the package: another version is other code."""

_NUMBER = r"[0-9]{1,9}"
_VERSION = re.compile(
    rf"(?P<name>(?:[^@\s]*:)?)(?P<line>v?{_NUMBER}\.{_NUMBER}\.)(?P<patch>{_NUMBER})"
)
"""A version with all its numbers, alone or as the tag of an image; none before a release, and no
digest, of which nobody can tell what it is."""


class ByItself(StrEnum):
    """What a rule approves by itself."""

    PATCH = "patch"
    VARIANT = "variant"


@dataclass(frozen=True, slots=True, kw_only=True)
class ByPackage:
    """What a proposal publishes and what came of rendering it, by package: thousands are asked for.

    Attributes:
        proposal: The facts.
        touched: Package to what is known of it.
        verdicts: Package to what came of it.
        surprising: As `Content.surprising`.
    """

    proposal: Proposal
    touched: Mapping[str, Touched]
    verdicts: Mapping[str, Sequence[Verdict]]
    surprising: bool

    @classmethod
    def of(cls, proposal: Proposal) -> Self:
        """Return what a proposal publishes."""
        verdicts: dict[str, list[Verdict]] = {}
        for verdict in proposal.verdicts:
            verdicts.setdefault(verdict.package, []).append(verdict)
        return cls(
            proposal=proposal,
            touched={t.package: t for t in proposal.content.touched},
            verdicts=verdicts,
            surprising=proposal.content.surprising,
        )

    @property
    def _more(self) -> bool:
        """More is to be approved than the packages."""
        content = self.proposal.content
        return bool(content.configures or content.beside or self.surprising)

    def approves(self, rule: AccessRule, package: str) -> ByItself | None:
        """Tell whether a rule approves a package by itself, and as what; None where it does not.

        Args:
            rule: The rule of the package.
            package: Which one.
        """
        touched = self.touched.get(package)
        if not rule.automatic or touched is None or self._more:
            return None
        verdicts = self.verdicts.get(package, ())
        if VARIANTS in rule.automatic and _of_variant(self.proposal, touched, verdicts) is None:
            return ByItself.VARIANT
        apps = tuple(app for app in rule.automatic if isinstance(app, AppSource))
        small = _small(touched) and bool(verdicts) and all(map(_patched, verdicts))
        return ByItself.PATCH if small and apps and _made_by(self.proposal, apps) else None

    def not_by_rule(self, rule: AccessRule, package: str) -> NotByRule | None:
        """Tell why a rule does not approve a package that was made for a variant.

        Returns:
            None where it does, and for what was not made for one, or where the rule does not say
            so.
        """
        content, touched = self.proposal.content, self.touched.get(package)
        if VARIANTS not in rule.automatic or touched is None:
            return None
        if content.not_by_rule is not None or not content.variant:
            return content.not_by_rule
        if self._more:
            return NotByRule.MORE
        return _of_variant(self.proposal, touched, self.verdicts.get(package, ()))


def _of_variant(
    proposal: Proposal, touched: Touched, verdicts: Sequence[Verdict]
) -> NotByRule | None:
    """None where the bot alone made it as its rule asks, all of it, and nothing else beside it."""
    whole = proposal.content.variant == touched.package and len(proposal.content.touched) == 1
    stays = bool(touched.tree) and touched.unpublished is None and not touched.outside
    if not (whole and stays):
        return NotByRule.MORE
    if not _made_by(proposal, (AppSource(US),), but=proposal.people.ruled):
        return NotByRule.AUTHORS
    told = bool(verdicts) and all(v.complete and not v.broken and not v.changes for v in verdicts)
    return None if told else NotByRule.UNJUDGED


def _made_by(
    proposal: Proposal, apps: tuple[AppSource, ...], *, but: frozenset[str] = frozenset()
) -> bool:
    """Everybody who opened, wrote, pushed or asked for any of it is one of these Apps.

    Leaves out whoever changed the rule alone that asks for it: that change was approved itself.
    """
    people = proposal.people
    if proposal.times.base_at is not None:
        return False  # whoever changed the base asked for it to be published there
    authors = [people.author, *(account(0, login) for login in people.authors - but)]
    return people.authors_known and all(
        any(_is(app, who, people.us) for app in apps) for who in authors
    )


def _is(app: AppSource, who: Person, us: str) -> bool:
    """Whether it is the App; `app:porchbot` is this bot, however its own App is called."""
    ours = app.slug.lower() == US and who.login == us != ""
    return ours or app.covers(Standing(person=who)) is TriState.YES


def _small(touched: Touched) -> bool:
    """The package stays, was there before, and nothing else is published with it."""
    there = bool(touched.origin and touched.tree)
    return there and touched.unpublished is None and not touched.outside


def _patched(verdict: Verdict) -> bool:
    """All that differs is told, and is the last number of a version that went up."""
    told = verdict.complete and not verdict.broken and not verdict.changes
    return told and bool(verdict.diff) and all(map(_is_patch, verdict.diff))


def _is_patch(change: Change) -> bool:
    if change.kind is not ChangeKind.CHANGED or change.resource is None or not change.field:
        return False
    if change.resource.kind == "Kptfile" and _PIPELINE.match(change.field):
        return False
    was, now = (_VERSION.fullmatch(text or "") for text in (change.old, change.new))
    if was is None or now is None:
        return False
    bare = not was["name"] and not was["line"].startswith("v")
    if bare and not any(m.end() == len(change.field) for m in _VERSIONED.finditer(change.field)):
        return False
    same = (was["name"], was["line"]) == (now["name"], now["line"])
    return same and int(now["patch"]) > int(was["patch"])
