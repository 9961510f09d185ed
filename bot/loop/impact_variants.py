"""What rules for variants get from other repositories, for those who try a change of them.

A branch may choose by it what it likes, and what came of that is told: the names and labels of what
not everybody may see could be guessed from how many packages there would be.
"""

from collections.abc import Collection, Mapping
from contextlib import suppress

from bot.forges.port import ForgeBusyError, ForgeRefusedError
from bot.look.impact_variants import Lent
from bot.loop.repository import ServedRepository
from bot.loop.serving import Serving
from bot.loop.variant_books import Ruling, VariantBooks
from bot.loop.variant_telling import rules_of


class VariantsAround:
    """Implements `bot.look.impact_variants.OtherRepositories` for one repository.

    Args:
        serving: Finds repositories.
        books: Reads rules.
        served: The repository.
    """

    def __init__(self, serving: Serving, books: VariantBooks, served: ServedRepository) -> None:
        self._serving = serving
        self._books = books
        self._served = served

    async def lent(self) -> Lent:
        """What the rules of the default branch get from others now, and everybody here may see.

        Topics are told of all of them, or of none.
        """
        rules = await rules_of(self._served)
        if rules is None:
            return Lent()
        tip, policy = rules
        book = await self._books.book(Ruling(self._served, tip, policy))
        names = {each.repository for each in book.outside} | {name for name, _ in book.topics}
        shown = await self.named(names) if names else {}
        outside = [each for each in book.outside if each.repository in shown]
        topics = book.topics if all(name in shown for name, _ in book.topics) else ()
        return Lent(policy.variants, outside, topics)

    async def named(self, names: Collection[str]) -> Mapping[str, str]:
        """Those that everybody can read, or nobody else than who can read this one."""
        me, around = self._served.repository, self._serving.around
        found = dict[str, str]()
        for each in await around.known(self._served.id.forge, sorted(names)):
            with suppress(ForgeBusyError, ForgeRefusedError):  # nobody can tell: it is not shown
                there = await around.reached(each)
                if there is not None and await around.is_shown(there, me, ()):
                    found[there.full_name.lower()] = there.full_name
        return found
