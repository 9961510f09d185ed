"""The keys of what is known by a number or a commit only: the head branches behind it are woken."""

from dataclasses import replace

from bot import keys
from bot.loop.serving import Serving
from bot.store.hints import Hint
from bot.store.port import Store
from lifecycle import timing
from lifecycle.names import Sha


class HeadBranchWaker:
    """Handles the keys of pull requests and of commits.

    Args:
        serving: Finds their repositories.
        store: The work.
    """

    def __init__(self, serving: Serving, store: Store) -> None:
        self._serving = serving
        self._store = store

    async def pull(self, key: keys.PullKey, hint: Hint) -> None:
        """Wake the head branch of a pull request, to be looked at even if that is closed."""
        served = await self._serving.of(key.repository)
        named = replace(hint, numbers=hint.numbers | {key.number})
        await self._store.queue.wake(await served.branch_of(key.number), named)

    async def commit(self, key: keys.CommitKey, hint: Hint) -> None:
        """Wake the head branches of the proposals whose head a commit is.

        Of merged ones those that wait for time or for checks of others.
        """
        served = await self._serving.of(key.repository)
        pulls = await served.forge.proposals_at(Sha(key.sha))
        parked = await self._store.waits.parked(served.id, timing.KINDS)
        waiting = {each.number for each in parked}
        there = [p for p in pulls if p.open and p.head_repository is not None]
        # Those by number as well: what is known of them may be of a fork that is gone.
        woken: dict[keys.Key, Hint] = {served.key_of(p): hint for p in there}
        for head, number in [(served.key_of(p), p.number) for p in pulls if p.number in waiting]:
            known = woken.get(head, hint)
            woken[head] = replace(known, numbers=known.numbers | {number})
        await self._store.queue.wake_all(woken)
