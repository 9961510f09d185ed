"""Which rules for variants a repository has now, and who is told that they may have changed."""

from collections.abc import Collection
from typing import Final

import structlog

from bot import keys
from bot.forges.port import ForgeBusyError
from bot.look import variant_history
from bot.loop.repository import ServedRepository
from bot.store.hints import BY_NEIGHBOUR
from bot.store.port import Queue, Store
from lifecycle import names
from lifecycle.names import Sha
from lifecycle.policy import Policy
from lifecycle.upstreams import consents
from lifecycle.upstreams.locations import locate

log = structlog.get_logger()

MOST_TOLD: Final = 200
"""Repositories that are told of what changed in one that they may use."""


async def tell(queue: Queue, served: ServedRepository) -> None:
    """Ask for a look at the variants of a repository, where it may have any.

    Where its rules cannot be read now, that look finds out: whoever tells has done its own work.
    """
    try:
        found = await rules_of(served)
    except ForgeBusyError as error:
        log.info("rules not read", repository=served.repository.full_name, reason=str(error))
        await queue.wake(keys.VariantsKey(served.id), BY_NEIGHBOUR)
        return
    if found is None:
        return
    tip, use = found[0], found[1].variants
    asked = bool(use.files or use.sources)
    if not asked:
        asked = await served.offload(_had_rules, served, tip)
    if asked:
        await queue.wake(keys.VariantsKey(served.id), BY_NEIGHBOUR)


async def tell_users(store: Store, served: ServedRepository, packages: Collection[str]) -> None:
    """Ask for looks at variants of other repositories whose packages are made of some of ours."""
    location = locate(served.repository.clone_url)
    if location is None or not packages:
        return
    users = await store.upstreams.users(str(location))
    made = {each.repository.id for each in users if each.use.directory in packages}
    for each in sorted(made - {served.id}):
        await store.queue.wake(keys.VariantsKey(each), BY_NEIGHBOUR)


async def tell_sharing(store: Store, served: ServedRepository) -> None:
    """Ask for looks at variants of the repositories that may use what is in this one.

    Those that it names whole; a look of the others comes by the sweep.
    """
    found = await rules_of(served)
    shared = () if found is None else found[1].upstream_use.share
    whole = [consents.name_of(each) for each in shared if "*" not in each][:MOST_TOLD]
    for each in await store.repositories.named(served.id.forge, whole):
        if each.id != served.id:
            await store.queue.wake(keys.VariantsKey(each.id), BY_NEIGHBOUR)


async def rules_of(served: ServedRepository) -> tuple[Sha, Policy] | None:
    """The default branch and its rules, once all that they extend was fetched.

    None where there are none, or the bot only observes.
    """
    return await served.looker.extended.fetched(lambda: served.offload(_own_rules, served))


def _own_rules(served: ServedRepository) -> tuple[Sha, Policy] | None:
    """As `rules_of`, where that was fetched."""
    default = served.repository.default_branch
    with served.mirror.open() as git:
        tip = git.ref(names.branch_ref(default))
        if tip is None:
            return None
        policy = served.looker.reader(git, served.adoption).rules(tip, default).policy
    return (tip, policy) if isinstance(policy, Policy) and not policy.observe else None


def _had_rules(served: ServedRepository, tip: Sha) -> bool:
    with served.mirror.open() as git:
        return variant_history.had_rules(git, tip)
