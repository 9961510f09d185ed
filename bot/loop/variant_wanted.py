"""What rules for variants want now, asked right before something of theirs is published."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from bot.forges.port import ForgeMissingError
from bot.look import variant_rules
from bot.look.variant_wishes import MadeForVariant
from bot.loop.repository import ServedRepository
from bot.loop.serving import NotServedError, Serving
from bot.loop.variant_books import Others, Ruling, VariantBooks
from bot.loop.variant_circles import Downstreams
from bot.loop.variant_look import VariantLook, VariantPass, WantedDownstream
from bot.loop.variant_telling import rules_of
from bot.loop.variant_upstreams import ServedRecords
from bot.store.port import Store
from bot.upstream.port import FetchedUpstream
from cadlib.errors import PackageError
from lifecycle.facts.packages import NotByRule
from lifecycle.upstreams.errors import UpstreamError
from lifecycle.upstreams.locations import locate
from lifecycle.variants.decision import unwanted
from lifecycle.variants.facts import VariantFacts
from lifecycle.variants.upstreams import UpstreamRevision


class WantedNow:
    """Asks the rules of all repositories that may want a package.

    Args:
        serving: Finds repositories.
        store: The database.
        books: Reads the rules.
    """

    def __init__(self, serving: Serving, store: Store, books: VariantBooks) -> None:
        self._serving = serving
        self._store = store
        self._books = books

    async def unwanted(self, made: MadeForVariant) -> NotByRule | None:
        """See `VariantWishes`."""
        served = await self._serving.of(made.repository.id)
        upstreams, recipe = self._serving.upstreams, made.trail.recipe
        found = await rules_of(served)
        if found is None or upstreams is None or recipe is None:
            return NotByRule.RULE
        tip, policy = found
        default = served.repository.default_branch
        before = {made.pull.base_ref: made.base} if made.pull.merged else {}
        tip = before.get(default, tip)  # what it changed itself says nothing against it
        others = await self._books.others(served, policy.variants.sources)
        wanted = await self._wanted(made, [Ruling(served, tip, policy), *others.there])
        if wanted is None:
            return _unless_busy(others)
        location = locate(served.repository.clone_url)
        host = "" if location is None else location.host
        looking = VariantLook(
            VariantPass(
                served=served,
                tip=tip,
                policy=policy,
                upstreams=upstreams,
                pulls={made.pull.head_ref: made.pull},
                before=before,
                records=ServedRecords(self._serving),
                downstreams=Downstreams(self._store.upstreams, served.id.forge, host),
            )
        )
        try:
            task, facts = await looking.read(wanted)
        except (PackageError, UpstreamError):
            return NotByRule.RULE
        facts = await self._with_ours(facts, task.fetched.values())
        return unwanted(facts, made.trail.owner, recipe)

    async def _with_ours(
        self, facts: VariantFacts, fetched: Iterable[FetchedUpstream]
    ) -> VariantFacts:
        """Facts that tell which revisions of the upstream the bot published there itself.

        None of a repository that is not served: nobody approves anything there that we know of.
        """
        places = {each.served for each in fetched if each.served is not None}
        if len(places) != 1:
            return facts
        try:
            there = await self._serving.of(places.pop())
        except (ForgeMissingError, NotServedError):
            return facts
        package = facts.variant.spec.upstream.package
        found = await there.offload(_with_ours, there, package, facts.revisions)
        return replace(facts, revisions=found)

    async def _wanted(self, made: MadeForVariant, rulings: list[Ruling]) -> WantedDownstream | None:
        """The rule for a package; None where none wants it, or several do."""
        here = rulings[0].served
        books = [await self._books.allowed(await self._books.book(each), here) for each in rulings]
        found, _ = variant_rules.together(books, made.repository.full_name)
        for book, variant in found:
            wanted = WantedDownstream.of(book, variant)
            base_ref = wanted.branch or made.repository.default_branch
            if variant.spec.downstream.package == made.package and base_ref == made.pull.base_ref:
                return wanted
        return None


def _with_ours(
    there: ServedRepository, package: str, revisions: Sequence[UpstreamRevision]
) -> tuple[UpstreamRevision, ...]:
    """Revisions with which of them a tag of ours names, at just that commit."""
    with there.mirror.open() as git:
        tags = there.looker.reader(git, there.adoption).tags
        return tuple(
            replace(
                each,
                ours=tags.standing(package, each.number)[1]
                and tags.commit(package, each.number) == each.commit,
            )
            for each in revisions
        )


def _unless_busy(others: Others) -> NotByRule:
    """No rule that could be read wants it; one that could not be read may.

    Raises:
        ForgeBusyError, GitBusyError: That is so.
    """
    for error in others.busy:
        raise error
    return NotByRule.RULE
