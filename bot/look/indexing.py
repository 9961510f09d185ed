"""Completes the index of revisions by what tags and records tell."""

from dataclasses import replace

from bot.look.tags import Tags
from bot.store.port import LookRevisions
from bot.store.values import Revision
from lifecycle import memory
from lifecycle.facts.head import Facts
from lifecycle.identity import RepositoryId


async def complete(
    revisions: LookRevisions, repository: RepositoryId, tags: Tags, facts: Facts
) -> None:
    """Revisions of ours that the index does not know: it was lost, and is built again.

    Tags tell of them, and the records of their proposals: a tag may be gone, and its number
    stays used all the same.
    """
    proposals = {
        str(p.place.merge_commit): p.place.number for p in facts.proposals if p.place.merge_commit
    }
    for (package, number), revision in tags.ours.items():
        known = tags.used.get(package, {}).get(number)
        if known is None or (known.target == revision.target and not known.tag):
            found = replace(revision, proposal=proposals.get(revision.target))
            await revisions.keep_revision(repository, package, number, found)
    for proposal in facts.proposals:
        for each in memory.published(proposal):
            if each.revision not in tags.used.get(each.package, {}):
                made = Revision(each.commit, each.tag, proposal.place.number)
                await revisions.keep_revision(repository, each.package, each.revision, made)
