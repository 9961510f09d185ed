"""What variants wait for, for people: gathered in a look, kept, and told on the dashboard."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import structlog

from bot.forges.port import ForgeBusyError, ForgeMissingError
from bot.git.port import GitBusyError, Scope
from bot.loop import dashboards
from bot.loop.repository import ServedRepository
from bot.loop.serving import NotServedError, Serving
from bot.loop.variant_look import WantedDownstream
from bot.loop.variant_package import VariantReconciler
from bot.loop.variant_telling import rules_of
from bot.store.port import Store
from bot.store.values import VariantWait
from lifecycle.messages import variant_waits as texts
from lifecycle.variants import naming
from lifecycle.variants.decision import WAITING
from lifecycle.variants.problems import Problem

log = structlog.get_logger()

MOST_ASKED: Final = 100
"""Other repositories whose rules are read to see whether they let ours in."""

_UNKNOWN: Final = (ForgeBusyError, ForgeMissingError, GitBusyError, NotServedError)


@dataclass(slots=True)
class VariantTelling:
    """What one look at the variants of a repository has to tell.

    Attributes:
        waits: What packages and rules wait for.
        looked: The packages that were looked at.
    """

    waits: list[VariantWait] = field(default_factory=list)
    looked: set[str] = field(default_factory=set)

    def rules(self, problems: Collection[Problem]) -> None:
        """Tell what is wrong with rules."""
        for each in dict.fromkeys(problems):
            why = f"{each.text}. {each.fix}." if each.fix else f"{each.text}."
            self.waits.append(
                VariantWait(
                    package="",
                    variant=each.field,
                    file=f"{each.path}:{each.line}" if each.line else each.path,
                    state=texts.BROKEN,
                    why=why,
                )
            )

    def package(self, wanted: WantedDownstream, one: VariantReconciler) -> None:
        """Tell how a package stands after it was brought to rest."""
        self.looked.add(wanted.variant.spec.downstream.package)
        decided = one.decided
        if one.refused:
            self._wait(wanted, texts.REFUSED, texts.push_refused(one.refused))
        elif decided is not None and decided.state in WAITING:
            self._wait(wanted, decided.state, decided.why)

    def crowded(self, wanted: WantedDownstream, left_out: int) -> None:
        """Tell that so many branches of a package's drafts were left out, where nothing else is."""
        package = wanted.variant.spec.downstream.package
        if left_out and all(each.package != package for each in self.waits):
            self._wait(wanted, texts.CROWDED, texts.crowded(left_out))

    def passed_over(self, wanted: WantedDownstream, why: str) -> None:
        """Tell which tags of an upstream are not followed, where nothing else is told."""
        package = wanted.variant.spec.downstream.package
        if why and all(each.package != package for each in self.waits):
            self._wait(wanted, texts.PASSED_OVER, why)

    def failed(self, wanted: WantedDownstream, why: str) -> None:
        """Tell why a package could not be made."""
        self.looked.add(wanted.variant.spec.downstream.package)
        if wanted.book is not None:  # of what nobody wants any more there is nothing to tell
            self._wait(wanted, texts.NOT_MADE, why)

    def later(self, left: Sequence[WantedDownstream], opened: Collection[str]) -> None:
        """Tell how many packages are to be looked at yet, and how long opening theirs may take.

        Args:
            left: Those packages.
            opened: Head branches of open pull requests.
        """
        begun = {each.rpartition("/")[0] for each in opened}
        new = [each for each in left if _folder(each) not in begun]
        if new:
            wait = VariantWait(
                package="", variant="", file="", state=texts.LATER, why=texts.later(len(new))
            )
            self.waits.append(wait)

    def _wait(self, wanted: WantedDownstream, state: str, why: str) -> None:
        self.waits.append(
            VariantWait(
                package=wanted.variant.spec.downstream.package,
                variant=wanted.variant.name,
                file=wanted.file,
                state=state,
                why=why,
            )
        )


def _folder(wanted: WantedDownstream) -> str:
    return naming.draft_branch(wanted.variant.spec.downstream.package, "").rstrip("/")


async def keep(
    store: Store, served: ServedRepository, telling: VariantTelling, *, whole: bool
) -> None:
    """Keep what a look has to tell, and have the dashboard say so where that is news.

    Args:
        store: The database.
        served: The repository.
        telling: What is to be told.
        whole: All packages were looked at; else what is known of the others stays.
    """
    before = await store.variant_waits.of(served.id)
    old = [e for e in before if e.state in (texts.SHUT, texts.KEPT_BACK)]
    if not whole:
        old += [e for e in before if e.package and e.package not in telling.looked]
    terms = served.forge.terms
    waits = [*old, *(replace(each, why=terms.said(each.why)) for each in telling.waits)]
    if sorted(map(_said, waits)) != sorted(map(_said, before)):
        await store.variant_waits.keep(served.id, waits)
        await dashboards.tell(store.queue, served.repository)


def _said(wait: VariantWait) -> tuple[str, ...]:
    return wait.package, wait.variant, wait.file, wait.state, wait.why


async def keep_shut(
    store: Store, serving: Serving, served: ServedRepository, reached: Collection[str]
) -> None:
    """Find out which repositories do not let the rules of this one in, and keep that.

    Args:
        store: The database.
        serving: Finds them.
        served: The repository with the rules.
        reached: Full names of the repositories that the rules want packages in.
    """
    here, shut = served.repository.full_name, list[str]()
    named = await store.repositories.named(served.id.forge, sorted(reached))
    there = {each.full_name.lower(): each.id for each in named}
    for name in sorted(reached)[:MOST_ASKED]:
        if name not in there:
            shut.append(name)
            continue
        try:
            other = await serving.of(there[name])
            scope = Scope(frozenset({other.repository.default_branch}))
            await other.looker.fetcher.fetch(scope, served.clock.monotonic())
            found = await rules_of(other)
        except _UNKNOWN as error:
            log.info("rules not read", repository=name, reason=str(error))
            continue
        sources = () if found is None else found[1].variants.sources
        if not await serving.around.lets_in(sources, other.id, served.repository):
            shut.append(name)
    why = served.forge.terms.said(texts.shut(here))
    before = await store.variant_waits.of(served.id)
    waits = [
        each
        for each in before
        if each.state != texts.SHUT and (each.state != texts.KEPT_BACK or each.variant in reached)
    ]
    waits += [
        VariantWait(package="", variant=each, file="", state=texts.SHUT, why=why) for each in shut
    ]
    if sorted(map(_said, waits)) != sorted(map(_said, before)):
        await store.variant_waits.keep(served.id, waits)
        await dashboards.tell(store.queue, served.repository)


async def let_in(
    store: Store, source: ServedRepository, name: str, kept_back: Sequence[str]
) -> None:
    """Forget that a repository does not let the rules of another one in, and keep what it lacks.

    That is told where the rules are: in the one with the packages nobody may learn of it.

    Args:
        store: The database.
        source: The repository with the rules.
        name: Full name of the one that lets them in.
        kept_back: As for `RuleBook`.
    """
    before = await store.variant_waits.of(source.id)
    states, here = (texts.SHUT, texts.KEPT_BACK), name.lower()
    waits = [e for e in before if e.state not in states or e.variant != here]
    if kept_back:
        why = source.forge.terms.said(texts.kept_back(kept_back, name))
        waits.append(VariantWait(package="", variant=here, file="", state=texts.KEPT_BACK, why=why))
    if sorted(map(_said, waits)) != sorted(map(_said, before)):
        await store.variant_waits.keep(source.id, waits)
        await dashboards.tell(store.queue, source.repository)
