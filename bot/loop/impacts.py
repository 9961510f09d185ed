"""The keys of impacts: what a head would do to packages that it does not touch is tried and shown.

Apart from the look at the proposal, which answers and merges: nobody waits for this. A look at a
proposal asks for it where there may be something to try, and asks the forge nothing for that.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from bot import keys
from bot.forges.port import ForgeMissingError, Repository
from bot.git.port import Scope
from bot.look import impact_texts
from bot.look.assemble import Looked
from bot.look.impact import MOST_AGAIN, ImpactReader, Other, Trial
from bot.look.states import HeadBranch, of_head
from bot.loop.echoes import Echoes
from bot.loop.impact_variants import VariantsAround
from bot.loop.repository import ServedRepository
from bot.loop.serving import NotServedError, Serving
from bot.loop.settle import Rest, Settling
from bot.loop.variant_books import VariantBooks
from bot.loop.work import LookAgain
from bot.outcomes import ActionOutcome, Report
from bot.recent import Recent
from bot.store.hints import NOTHING, Hint
from bot.store.port import Store
from bot.store.values import ServedName
from lifecycle import impact, impact_check, names
from lifecycle.actions import Action, SetCheck
from lifecycle.facts.checks import IMPACT, PUBLISH, Status
from lifecycle.facts.head import Facts
from lifecycle.identity import RepositoryId
from lifecycle.kinds import OF_PROPOSAL
from lifecycle.names import Sha
from lifecycle.policy import BrokenPolicy, ImpactMode, Policy
from lifecycle.upstreams.locations import locate

MOST_READERS: Final = 200
"""Repositories of which is kept in memory what was tried."""

MOST_ASKED: Final = 2_000
"""Heads of which is remembered whether there is anything to try."""

MOVING: Final = 60.0
"""Seconds after a base moved until heads are tried again: merges often come several at once."""

ASKED_AGAIN: Final = 600.0
"""Seconds until it is asked again whether something uses a package: the index may be behind."""

NOT_SHOWN: Final = 10.0
"""Seconds until a head is looked at again whose `porchbot/publish` is not shown: a status that
passes is alone in its pipeline then, and GitLab merges what waits for that."""


@dataclass(frozen=True, slots=True)
class LookedImpact:
    """What was found out about a head.

    Attributes:
        looked: The head as facts, and the checks there.
        trial: What came of it so far.
        mode: What follows from it.
    """

    looked: Looked
    trial: Trial
    mode: ImpactMode

    @property
    def facts(self) -> Facts:
        """What was decided on."""
        return self.looked.facts


class Impacts:
    """Asks for impacts, and handles their keys.

    Args:
        serving: Finds repositories.
        settling: Brings keys to rest.
        store: The database.
        books: Reads rules for variants.
    """

    def __init__(
        self, serving: Serving, settling: Settling, store: Store, books: VariantBooks
    ) -> None:
        self._serving = serving
        self._books = books
        self._settling = settling
        self._store = store
        self._readers: Recent[RepositoryId, tuple[ServedRepository, ImpactReader]] = Recent(
            MOST_READERS
        )
        self._asked: Recent[tuple[RepositoryId, str], tuple[bool, float]] = Recent(MOST_ASKED)
        self._shown: Recent[tuple[RepositoryId, str], str] = Recent(MOST_ASKED)
        self._tried: Recent[tuple[RepositoryId, str], str] = Recent(MOST_ASKED)
        self._bases: Recent[tuple[RepositoryId, str], str] = Recent(MOST_ASKED)

    async def tell(self, served: ServedRepository, facts: Facts, hint: Hint) -> None:
        """Ask for what a head would do, where that is not shown and there may be something.

        The forge is asked nothing, and the database once for each head.
        """
        proposal = impact.concerns(facts)
        if proposal is None or facts.head is None:
            return
        policy = proposal.rules.policy
        mode = policy.impact if isinstance(policy, Policy) else ImpactMode.SKIP
        place, run = proposal.place, facts.checks.get(IMPACT)
        if impact.is_done_for(run, place.base_ref, mode):
            self._shown.put((served.id, facts.head_ref), place.base_ref)
            at = self._tried.get((served.id, str(facts.head)))
            moved = not impact.is_done_at(run, place.base_ref, mode, place.base)
            if moved and at != place.base and not hint.rerun:
                await self._wake(served, facts.head_ref, hint)
            if not hint.rerun:
                return
        asked = served.id, f"{facts.head} {proposal.place.base_ref} {mode}"
        known, until = self._asked.get(asked) or (False, 0.0)
        if not known and served.clock.monotonic() >= until:
            used = proposal.content.configures or await self._store.upstreams.used(
                str(locate(served.repository.clone_url) or ""), impact.changed_packages(proposal)
            )
            if used:
                await self._wake(served, facts.head_ref, hint)
            self._asked.put(asked, (used, served.clock.monotonic() + ASKED_AGAIN))
        elif hint.rerun and known:
            await self._wake(served, facts.head_ref, hint)

    async def moved(self, repository: RepositoryId, base_ref: str) -> None:
        """A base branch may have moved: heads that were tried on it are tried again before long.

        The newest of them, as many as are tried in an hour; the others at their next look.
        """
        known = self._shown.keys()
        found = [each for each in known if each[0] == repository]
        found = [each for each in found if self._shown.get(each) == base_ref]
        if not found:
            return
        tip = await _tip(await self._serving.of(repository), base_ref)
        if self._bases.get((repository, base_ref)) != tip:
            self._bases.put((repository, base_ref), tip)
            last = found[-MOST_AGAIN:]
            wakes: dict[keys.Key, Hint] = {keys.ImpactKey(*each): NOTHING for each in last}
            await self._store.queue.wake_all(wakes, after=MOVING)

    async def again(self, served: ServedRepository, facts: Facts) -> None:
        """Have a head tried again that was tried: somebody asked to look again."""
        if facts.may_be_tried and impact.is_done(facts.checks.get(IMPACT)):
            await self._wake(served, facts.head_ref, Hint(rerun=frozenset({str(facts.head)})))

    async def _wake(self, served: ServedRepository, branch: str, hint: Hint) -> None:
        await self._store.queue.wake(keys.ImpactKey(served.id, branch), Hint(rerun=hint.rerun))

    async def handle(self, key: keys.ImpactKey, hint: Hint) -> LookAgain | None:
        """Try a head, and show what came of it.

        Returns:
            When to go on; None when nothing is left.
        """
        served = await self._serving.of(key.repository)
        if self._serving.observes:
            return None
        known = self._readers.get(served.id)
        if known is None or known[0] is not served:
            others = partial(self._other, served.repository)
            around = VariantsAround(self._serving, self._books, served)
            known = served, ImpactReader(served.looker, self._store.upstreams, others, around)
            self._readers.put(served.id, known)
        reconciler = ImpactReconciler(served, self._store, known[1], key, hint, self._tried)
        after = await self._settling.settle(reconciler)
        return None if after is None else LookAgain(after, reconciler.spent)

    async def _other(self, here: Repository, name: ServedName) -> Other | None:
        """Another repository, where everybody can read it by what the forge says now.

        What is tried there is merged with what its people wrote, and read by their functions.
        """
        if not await self._serving.around.may_be_named(name, here, ()):
            return None
        try:
            served = await self._serving.of(name.id, name.full_name)
        except (NotServedError, ForgeMissingError):
            return None
        if not await self._serving.around.may_read(here, served.repository, None):
            return None
        return Other(served.looker, served.adoption)


class ImpactReconciler:
    """One head while it is tried.

    Args:
        served: Its repository.
        store: The database.
        reader: Tries it.
        key: The branch.
        hint: What woke it.
        tried: Head to where its base was when it was tried last.
    """

    looks = OF_PROPOSAL

    def __init__(
        self,
        served: ServedRepository,
        store: Store,
        reader: ImpactReader,
        key: keys.ImpactKey,
        hint: Hint,
        tried: "Recent[tuple[RepositoryId, str], str]",
    ) -> None:
        self._tried_at = tried
        self._served = served
        self._store = store
        self._reader = reader
        self._branch = key.branch
        self._rerun = bool(hint.rerun)
        self._trial: Trial | None = None
        self._shown = False
        self.hint = hint
        self.spent = NOTHING
        self.key = self.waiting = str(key)

    @property
    def echoes(self) -> Echoes:
        """What was done last in the repository."""
        return self._served.echoes

    async def look(self, since: float) -> LookedImpact | Rest:
        """Read the head and its checks, and try it for a while."""
        served = self._served
        read = served.clock.monotonic()
        head = HeadBranch(served.id.number, self._branch)
        pulls = of_head(await served.forge.open_proposals_of(self._branch), head)
        default = served.repository.default_branch
        if not pulls:
            return Rest()
        scope = Scope(frozenset({self._branch, default, *(pull.base_ref for pull in pulls)}))
        await served.looker.fetcher.fetch(scope, since)
        modes = {pull.base_ref: await self._mode(pull.base_ref) for pull in pulls}
        # A commit has one such check: of several bases, the one whose rules wait for it.
        pull = min(
            pulls,
            key=lambda p: (
                modes[p.base_ref] is not ImpactMode.BLOCK,
                p.base_ref != default,
                p.number,
            ),
        )
        mode = modes[pull.base_ref]
        if mode is ImpactMode.SKIP:
            return Rest()
        runs = {run.name: run for run in await served.forge.checks(pull.head)}
        if not served.forge.checks_hold_text and not (PUBLISH in runs and runs[PUBLISH].ours):
            return Rest(NOT_SHOWN)
        base, run = await _tip(served, pull.base_ref), runs.get(IMPACT)
        done = impact.is_done_for(run, pull.base_ref, mode)
        known = self._tried_at.get((served.id, str(pull.head))) == base
        current = known or impact.is_done_at(run, pull.base_ref, mode, base)
        if done and (self._shown or (current and not self._rerun)):
            return Rest()
        trial = await self._tried(pull.head, pull.base_ref, mode, again=done)
        if isinstance(trial, Rest):
            return trial
        facts = Facts(
            repository=served.repository.full_name,
            repository_id=served.id,
            head_ref=self._branch,
            head=pull.head,
            same_repository=True,
            default_ref=default,
            checks={name: run for name, run in runs.items() if run.ours},
            rerun=self._rerun and trial.impact.ended,
            line_checks=not served.forge.checks_hold_text,
            terms=served.forge.terms,
        )
        nothing = frozenset[int]()
        looked = Looked(facts, read, nothing, nothing, {}, {}, nothing)
        return LookedImpact(looked, trial, mode)

    async def _mode(self, base_ref: str) -> ImpactMode:
        """What the rules of the base branch say of it."""
        served = self._served

        def read() -> ImpactMode:
            with served.mirror.open() as git:
                tip = git.ref(names.branch_ref(base_ref))
                reader = served.looker.reader(git, served.adoption)
                policy = reader.rules(tip, base_ref).policy if tip else None
            if policy is None or isinstance(policy, BrokenPolicy) or policy.observe:
                return ImpactMode.SKIP
            return policy.impact

        return await served.looker.extended.fetched(lambda: served.offload(read))

    async def _tried(
        self, head: Sha, base_ref: str, mode: ImpactMode, *, again: bool
    ) -> Trial | Rest:
        """The head, tried for one wave more; to the end where nobody is shown how far it came."""
        served, trial, reader = self._served, self._trial, self._reader
        if trial is None or trial.plan.head != head:
            wait = reader.wait(again=again and not self._rerun)
            if wait is not None:
                return Rest(wait)
            if self._rerun:
                reader.forget()
            blocks = mode is ImpactMode.BLOCK
            trial = await reader.begin(head, base_ref, served.adoption, waited_for=blocks)
        self._trial = trial
        if trial is None:
            if again:
                self._tried_at.put((served.id, str(head)), await _tip(served, base_ref))
            return Rest()
        while not trial.impact.ended:
            await reader.wave(trial)
            if impact_check.shows_progress(mode, line_checks=not served.forge.checks_hold_text):
                break
        return trial

    def decide(self, looked: LookedImpact) -> Sequence[Action]:
        """The check, where it does not show yet what came of it."""
        return impact_check.decide(looked.facts, looked.trial.impact, looked.mode)

    async def perform(
        self, actions: Sequence[Action], looked: LookedImpact, report: Report
    ) -> ActionOutcome | Rest:
        """Write the check; where it shows one line, its text is kept for the summary first."""
        done = [a for a in actions if isinstance(a, SetCheck) and a.status is Status.COMPLETED]
        for each in done:
            if looked.facts.line_checks:
                await impact_texts.keep(self._store.renderings, self._served.id, each)
        came = await self._served.performer.perform(actions, looked.looked, report, NOTHING)
        if came is ActionOutcome.DONE and done:
            self._shown = True
            self.spent = Hint(rerun=self.hint.rerun)
            if looked.facts.line_checks or looked.mode is ImpactMode.BLOCK:
                await self._tell_proposal()
        return came

    async def _tell_proposal(self) -> None:
        """Have the proposal say what came of it, or go on."""
        me = self._served.id
        await self._store.queue.wake(keys.ProposalKey(me, me.number, self._branch))

    async def rest(self, looked: LookedImpact) -> Rest:
        """Go on while something is left to try."""
        if looked.trial.impact.ended:
            tried = looked.trial.impact.base
            self._tried_at.put((self._served.id, str(looked.trial.plan.head)), tried)
        self.spent = replace(NOTHING, rerun=self.hint.rerun) if self._shown else NOTHING
        return Rest(None if looked.trial.impact.ended else 0.0)


async def _tip(served: ServedRepository, branch: str) -> str:
    """Where a branch is, as git has it; "" where it is gone."""

    def read() -> str:
        with served.mirror.open() as git:
            return git.ref(names.branch_ref(branch)) or ""

    return await served.offload(read)
