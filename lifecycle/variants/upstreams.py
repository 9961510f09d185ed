"""Which revision of its upstream a variant is to be made of (ADR 52).

Rules
- A number is obeyed: that revision and no other, unless it was withdrawn.
- A workspace means the revision that was published from that draft. "main" means the newest one.
- -1 without such a workspace, and nothing at all, mean the newest one at the time the package is
  made. Then that one stays.
- `follow: latest` goes on to newer ones, past withdrawn, deprecated and held ones, and never back;
  a number is where it begins.
- Only what is published is ever used.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from lifecycle import names
from lifecycle.messages import variants as messages
from lifecycle.variants.values import VariantUpstream

MAIN: Final = "main"
"""The workspace that Porch gives to what stands on the branch itself."""


class UpstreamState(StrEnum):
    """What is known of a revision of the upstream."""

    GOOD = "good"
    DEPRECATED = "deprecated"
    WITHDRAWN = "withdrawn"
    HELD = "held"
    """Its own package was rolled back from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamRevision:
    """A published revision of an upstream.

    Attributes:
        number: Its number, from 1.
        ref: Its tag, as it stands in locks, such as "net/core/v3".
        commit: The commit of the tag, 40 hex digits; "" where it is not known.
        tag: The object of the tag, which kpt writes into locks for an annotated one; "" where it is
            not known.
        workspace: The last part of the name of the draft it came from; "" where nobody knows.
        state: Whether it is to be used.
        ours: The bot published it, as its record in the tag says; anybody can push another tag.
    """

    number: int
    ref: str = ""
    commit: str = ""
    tag: str = ""
    workspace: str = ""
    state: UpstreamState = UpstreamState.GOOD
    ours: bool = False


@dataclass(frozen=True, slots=True)
class NoUpstream:
    """There is no revision to use, and why."""

    text: str


def chosen(
    upstream: VariantUpstream,
    revisions: Sequence[UpstreamRevision],
    *,
    follow: bool = False,
    current: int | None = None,
) -> UpstreamRevision | NoUpstream:
    """Choose the revision that a variant is to be made of.

    Args:
        upstream: What the rule says.
        revisions: All that were published, in any order; withdrawn ones may be among them.
        follow: New revisions are followed.
        current: The number that the package is made of now; None where there is none, or where
            it is made of something else.
    """
    named = _named(upstream, revisions)
    if isinstance(named, NoUpstream):
        return named
    usable = [each for each in revisions if each.state is not UpstreamState.WITHDRAWN]
    now = next((each for each in usable if each.number == current), None)
    if named is not None and not follow:
        if named.state is UpstreamState.WITHDRAWN:
            return NoUpstream(messages.upstream_withdrawn(upstream.package, named.number))
        return named
    if not follow and now is not None:
        return now
    least = max(named.number if named else 1, (current or 0) if now else 1)
    good = [each for each in usable if each.state is UpstreamState.GOOD and each.number >= least]
    best = max(good, key=lambda each: each.number, default=now)
    return best or NoUpstream(messages.no_good_upstream(upstream.package, upstream.repo))


def by_number(
    upstream: VariantUpstream, revisions: Sequence[UpstreamRevision], number: int
) -> UpstreamRevision | NoUpstream:
    """Return the revision of a number, or why there is none."""
    found = next((each for each in revisions if each.number == number), None)
    return found or _missing(upstream)


def _named(
    upstream: VariantUpstream, revisions: Sequence[UpstreamRevision]
) -> UpstreamRevision | NoUpstream | None:
    """Return the revision that a rule names, None where it names none."""
    if upstream.revision > 0:
        return by_number(upstream, revisions, upstream.revision)
    if not means_draft(upstream):
        return None if revisions else _missing(upstream)
    found = [each for each in revisions if each.workspace == upstream.workspace]
    return max(found, key=lambda each: each.number) if found else _missing(upstream)


def means_draft(upstream: VariantUpstream) -> bool:
    """Tell whether a rule means what was published from a draft, which it names."""
    return upstream.revision <= 0 and upstream.workspace not in ("", MAIN)


def _missing(upstream: VariantUpstream) -> NoUpstream:
    return NoUpstream(
        messages.upstream_missing(
            upstream.package, upstream.repo, upstream.revision, upstream.workspace
        )
    )


def locked_number(ref: str) -> int | None:
    """Return the number of the revision that a lock names; None for a draft, or another ref."""
    if ref.startswith(names.DRAFTS):
        return None
    last = ref.rpartition("/")[2]
    number = last.removeprefix("v")
    found = last.startswith("v") and number.isdecimal() and number.isascii() and number[0] != "0"
    return int(number) if found else None
