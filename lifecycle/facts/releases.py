"""Releases at the forge, as they stand, of tags that a proposal published or marked."""

from dataclasses import dataclass

from cadlib.diff.values import Change


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseNotes:
    """What a release of one published package is made of.

    Attributes:
        tag: Name of the tag, such as "net/core/v5".
        package: Its path.
        revision: Its number.
        there: The tag has a release.
        before: Number of our newest revision before it; 0 for none.
        changes: What differs from that one, by resource and field.
        message: Text of the tag, which says who approved it and which functions judged it.
        signed: The tag can be verified: it has a signature and provenance.
    """

    tag: str
    package: str
    revision: int
    there: bool
    before: int = 0
    changes: tuple[Change, ...] = ()
    message: str = ""
    signed: bool = False


@dataclass(frozen=True, slots=True)
class ReleaseMark:
    """How the release of a revision stands that nobody should use any more, or may again.

    Attributes:
        tag: Name of the tag, such as "net/core/v5".
        done: Its title says so, or does not any more; or there is no release.
    """

    tag: str
    done: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalReleases:
    """Releases that have to do with one proposal, as far as something is left to do about them.

    Attributes:
        notes: Of its tags of which no release was seen yet, where releases are asked for.
        marks: Releases of revisions that its merge deprecated or restored, until they say so.
    """

    notes: tuple[ReleaseNotes, ...] = ()
    marks: tuple[ReleaseMark, ...] = ()
