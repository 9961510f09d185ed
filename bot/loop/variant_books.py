"""The rules for variants that count in a repository: its own, and those that it lets in."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import structlog

from bot.forges.port import ForgeBusyError, ForgeMissingError
from bot.git.port import GitBusyError, Scope
from bot.look import variant_rules
from bot.look.variant_rules import RuleBook
from bot.loop.recent import Recent
from bot.loop.repository import ServedRepository
from bot.loop.serving import NotServedError, Serving
from bot.loop.variant_telling import rules_of
from bot.store.port import Store
from lifecycle.identity import RepositoryId
from lifecycle.names import Sha
from lifecycle.policy import Policy
from lifecycle.upstreams import consents

log = structlog.get_logger()

MOST_BOOKS = 8
"""States of rules that are remembered: many pull requests of one rule are looked at in a row."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """A repository whose rules count.

    Attributes:
        served: The repository.
        tip: The commit whose rules count.
        policy: How they are configured there.
    """

    served: ServedRepository
    tip: Sha
    policy: Policy


@dataclass(frozen=True, slots=True)
class Others:
    """The other repositories whose rules count.

    Attributes:
        there: Those that could be read.
        complete: There are no more.
        busy: Why more may be told a little later.
    """

    there: list[Ruling] = field(default_factory=list)
    complete: bool = True
    busy: Sequence[ForgeBusyError | GitBusyError] = ()


class VariantBooks:
    """Reads rules for variants.

    Args:
        serving: Finds repositories.
        store: The database.
    """

    def __init__(self, serving: Serving, store: Store) -> None:
        self._serving = serving
        self._store = store
        self._known: Recent[tuple[RepositoryId, str, Sha], RuleBook] = Recent(MOST_BOOKS)

    async def book(self, ruling: Ruling) -> RuleBook:
        """What the rules of a repository want."""
        served, name = ruling.served, ruling.served.repository.full_name
        known = self._known.get((served.id, name, ruling.tip))
        if known is None or known.use != ruling.policy.variants:
            known = await served.offload(_book, ruling)
            self._known.put((served.id, name, ruling.tip), known)
        return known

    async def others(self, served: ServedRepository, named: Sequence[str]) -> Others:
        """The other repositories whose rules may want packages in one.

        Args:
            served: The one.
            named: Those that it lets in, as `lifecycle.upstreams.consents` has them.
        """
        found = list[Ruling]()
        busy = list[ForgeBusyError | GitBusyError]()
        around, entries = self._serving.around, {consents.name_of(each) for each in named}
        try:
            there = await around.named(served.id.forge, sorted(entries))
        except ForgeBusyError as error:
            return Others([], complete=False, busy=[error])
        complete = entries <= {each.full_name.lower() for each in there}
        for each in there:
            if each.id == served.id:
                continue
            try:
                if not await around.lets_in(named, served.id, each):
                    complete = False
                    continue
                other = await self._serving.of(each.id)
                branch = other.repository.default_branch
                scope = Scope(frozenset({branch}))
                await other.looker.fetcher.fetch(scope, served.clock.monotonic())
                rules = await rules_of(other)
            except (ForgeBusyError, GitBusyError) as error:
                log.info("rules not read", repository=each.full_name, reason=str(error))
                busy.append(error)
                continue
            except (ForgeMissingError, NotServedError) as error:
                log.info("rules not read", repository=each.full_name, reason=str(error))
                complete = False
                continue
            if rules is None:
                complete = False
            else:
                found.append(Ruling(other, *rules))
        return Others(found, complete and not busy, busy)


def _book(ruling: Ruling) -> RuleBook:
    served = ruling.served
    with served.mirror.open() as git:
        name = served.repository.full_name
        return variant_rules.read(git, ruling.tip, name, ruling.policy.variants)
