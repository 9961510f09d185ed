"""What the release of a published package is made of, and whether there is one already."""

import asyncio
from collections.abc import Sequence

from bot.clock import Offload
from bot.forges.port import Forge
from bot.look.reader import MirrorReader
from bot.render.port import Renderer
from bot.signing import tags as signed
from lifecycle import names
from lifecycle.facts.packages import Touched
from lifecycle.facts.proposal import ProposalPlace
from lifecycle.facts.releases import ReleaseMark, ReleaseNotes
from lifecycle.ledger import LedgerChange, ListedState


async def notes(
    forge: Forge,
    renderer: Renderer,
    reader: MirrorReader,
    place: ProposalPlace,
    due: Sequence[Touched],
    offload: Offload,
) -> tuple[ReleaseNotes, ...]:
    """Look for the releases of some packages; of those that are missing, read what they tell.

    Args:
        forge: Where releases are.
        renderer: Compares with the revision before.
        reader: Reads git.
        place: The merged proposal.
        due: Its packages of whose tags no release was seen yet.
        offload: Where git is read.
    """

    async def one(t: Touched) -> ReleaseNotes:
        tag = names.spelled(t.package, t.revision)
        there = await forge.has_release(tag)
        if there:
            return ReleaseNotes(tag=tag, package=t.package, revision=t.revision, there=True)
        before, tree, message = await offload(_read, reader, place, t)
        return ReleaseNotes(
            tag=tag,
            package=t.package,
            revision=t.revision,
            there=False,
            before=before,
            changes=await renderer.changes(reader.git, tree, t.tree),
            message=message,
            signed=signed.verifiable(message),
        )

    return tuple(await asyncio.gather(*map(one, due)))


def _read(reader: MirrorReader, place: ProposalPlace, t: Touched) -> tuple[int, str, str]:
    """Number and tree of the revision before, "" for none, and the text of the tag."""
    found = reader.tags.newest(t.package, place.base or None)
    before, tree = (found[0], reader.git.package(found[1], t.package)) if found else (0, "")
    merge = place.merge_commit
    message = reader.git.tag_message(t.tagging.tag, merge) if t.tagging.tag and merge else None
    return before, tree, message or ""


async def marks(forge: Forge, due: Sequence[LedgerChange]) -> tuple[ReleaseMark, ...]:
    """Look how the releases of revisions stand that are deprecated, or are so no more.

    Args:
        forge: Where releases are.
        due: What was deprecated or restored, as far as no release was seen to say so.
    """

    async def one(each: LedgerChange) -> ReleaseMark:
        marked = await forge.is_marked(each.name, ListedState.DEPRECATED)
        return ReleaseMark(each.name, done=marked is None or marked is each.deprecates)

    return tuple(await asyncio.gather(*map(one, due)))
