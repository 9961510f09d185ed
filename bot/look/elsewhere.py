"""Adds to facts who uses in other repositories what is to go."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from bot.clock import Offload
from bot.forges.port import Repository
from bot.look import locks
from bot.look.reader import MirrorReader
from bot.store.values import UpstreamUse
from bot.upstream.users import UpstreamUsers
from lifecycle import impact
from lifecycle.access import Person
from lifecycle.facts.packages import Content
from lifecycle.facts.proposal import Proposal
from lifecycle.ledger import RevisionState
from lifecycle.messages import configuration as texts
from lifecycle.names import Sha
from lifecycle.policy import ImpactMode, Policy

Askers = Callable[[], Awaitable[Sequence[Person]]]
"""Tells in whose name private repositories are asked: it may cost requests."""


async def nobody() -> Sequence[Person]:
    """Nobody is asked for."""
    return ()


async def content(
    users: UpstreamUsers | None, repository: Repository, found: Content, askers: Askers
) -> Content:
    """Return the content of a proposal with the users of what it removes and withdraws.

    Args:
        users: Asks who they are; None where nobody can tell.
        repository: Where the proposal is.
        found: Its content.
        askers: Who proposes it; asked for where something goes.
    """
    gone = [t.package for t in found.touched if t.removed]
    going = [(each.package, each.revision) for each in found.withdrawals]
    if users is None or not (gone or going):
        return found
    packages, revisions = await users.of(repository, gone, going, await askers())
    touched = tuple(
        replace(t, used_by=(*t.used_by, *by.named), used_unseen=by.unseen)
        if t.removed and (by := packages.get(t.package))
        else t
        for t in found.touched
    )
    ledger = tuple(
        replace(each, used_by=(*each.used_by, *by.named), used_unseen=by.unseen)
        if each.withdraws and (by := revisions.get((each.package, each.revision)))
        else each
        for each in found.ledger
    )
    return replace(found, touched=touched, ledger=ledger)


async def findings(
    users: UpstreamUsers | None,
    repository: Repository,
    reader: MirrorReader,
    head: Sha,
    found: Content,
    askers: Askers,
    offload: Offload,
) -> Content:
    """Return the content of a proposal with what other repositories say of its upstreams.

    Args:
        users: As for `content`.
        repository: As for `content`.
        reader: Reads git.
        head: The proposal's head.
        found: Its content.
        askers: As for `content`; asked for where there are upstreams.
        offload: Where git is read.
    """
    there = [t.package for t in found.touched if t.head_tree]
    if users is None or not there:
        return found

    def read() -> list[UpstreamUse]:
        return [use for each in there for use in locks.of_package(reader.git, head, each)]

    uses = await offload(read)
    if not uses:
        return found
    listed = await users.listed(repository, uses, await askers())
    said = {
        (use.package, use.place, use.directory, use.ref): texts.upstream_listed(
            use.package, f"{use.place}//{use.ref}", entry
        )
        for use, entry in listed
    }
    return replace(found, configuration=(*found.configuration, *said.values()))


async def has_impact(users: UpstreamUsers | None, repository: Repository, p: Proposal) -> bool:
    """Tell whether a proposal may change packages that it does not touch, where that is a gate.

    Args:
        users: As for `content`.
        repository: Where the proposal is.
        p: It, with its rules.
    """
    policy = p.rules.policy
    if not isinstance(policy, Policy) or policy.impact is not ImpactMode.BLOCK:
        return False
    if p.place.merged or p.content.configures:
        return not p.place.merged
    return users is not None and await users.has(repository, impact.changed_packages(p))


async def states(
    users: UpstreamUsers | None,
    repository: Repository,
    found: Mapping[tuple[str, int], RevisionState],
    askers: Sequence[Person],
) -> dict[tuple[str, int], RevisionState]:
    """Return how revisions stand that somebody names in a command, with their users.

    Args:
        users: As for `content`.
        repository: Where they are.
        found: How they stand here.
        askers: Who names them.
    """
    if users is None or not found:
        return dict(found)
    _, by = await users.of(repository, (), list(found), askers)
    return {
        revision: replace(
            state,
            used_by=(*state.used_by, *by[revision].named),
            used_unseen=by[revision].unseen,
        )
        if revision in by
        else state
        for revision, state in found.items()
    }
