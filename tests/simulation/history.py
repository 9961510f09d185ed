"""One history: drawn from a seed, step by step, with the oracle asked after each.

Longer than 400 lines: setting up, misfortunes, webhooks and the end share the state of one history.

Every step draws from a generator of its own (seed and number of the step), so that a history goes
on in the same way when steps of it are left out: that is how it is shrunk.
"""

import asyncio
import hashlib
import heapq
from collections.abc import Collection, Iterator
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

from bot.forges.webhooks import Delivery, WebhookError
from bot.git.port import Mirrors
from bot.sandbox.faults.hooks import OutgoingHook
from bot.store.hints import NOTHING
from bot.store.port import Store
from tests.simulation import ending
from tests.simulation import variants as varied
from tests.simulation.beyond import EAST, ZONE
from tests.simulation.catalog import MADE
from tests.simulation.deeds import Scenario
from tests.simulation.diary import Diary
from tests.simulation.evidence import Evidence, History
from tests.simulation.evidence_variants import Variants
from tests.simulation.furnishing import FORGES, GITHUB, Furnished
from tests.simulation.furnishing_beyond import Beyond, east
from tests.simulation.furnishing_catalog import Catalog
from tests.simulation.gitlab_templates import HERS, Templated
from tests.simulation.hands import ImpossibleError
from tests.simulation.judges import Judge
from tests.simulation.manner import SETTLING, Manner, manner
from tests.simulation.moves import Move
from tests.simulation.oracle import STALE, Oracle
from tests.simulation.oracle_beyond import BeyondOracle
from tests.simulation.oracle_boxes import BoxesOracle
from tests.simulation.oracle_catalog import CatalogOracle
from tests.simulation.oracle_dashboard import DashboardOracle
from tests.simulation.oracle_variants import VariantsOracle
from tests.simulation.outcome import Outcome
from tests.simulation.reached import reached
from tests.simulation.replica import Replica
from tests.simulation.scheduler import SimulatedClock
from tests.simulation.setting import ADMIN, BOT, LETS_IN, MAIN, PACKAGES, PEOPLE, RELEASE
from tests.simulation.stores import MemoryStores, Stores
from tests.simulation.system import ENDLESS, EndlessError, System
from tests.simulation.weather import COMMENT, REACT
from tests.simulation.words import Violation, Words

if TYPE_CHECKING:
    from tests.simulation.real import RealSetting

FEWEST, MOST = 41, 48
"""Steps of a history."""

CLAIMED = 12.5
"""Seconds that a bot may stand still, and nobody else writes meanwhile what it has claimed."""

WITH_ISSUES = 0.5
"""Share of the histories with variants that have issues, and so a dashboard issue."""

WIDE = 0.5
"""Share of them, issues and all, in which boxes are ticked, and which reach another repository at
GitHub."""

TOLD = 60
"""Steps of tasks that may pass between two acts of people, at most, when they are in a hurry."""


class Simulation(System):
    """A history while it happens.

    Args:
        seed: What everything is drawn from.
        kept: Numbers of the steps to take; None for all.
        how: The manner of it; None to draw it.
        real: PostgreSQL and git on disk, to be used in place of those in memory.
        at: The forge: "github" or "gitlab".
        variants: Packages are made of others by rules.
        apart: Some of them of those of a second repository.
    """

    def __init__(
        self,
        seed: str,
        kept: Collection[int] | None = None,
        how: Manner | None = None,
        real: "RealSetting | None" = None,
        at: str = GITHUB,
        *,
        variants: bool = False,
        apart: bool = False,
    ) -> None:
        self.seed = seed
        self.apart = apart
        self.at = at
        self.variants = variants
        draw = Random(f"{seed}/begin")
        also = Random(f"{seed}/wide")
        boxed = also.random() < WIDE and variants
        self.manner = how or manner(draw, variants, apart, boxed, beyond=at == GITHUB)
        self.boxed, self.wide = self.manner.boxed, self.manner.wide
        self._bulk = self.boxed and also.random() < 0.5
        self._wide_name = "" if not self.wide else "catalog" if apart else EAST
        self._kept = kept
        self._real = real
        self._count = FEWEST + int(draw.random() * (MOST - FEWEST))
        if variants:
            self._count //= 2  # most are scenes, and each has more to look at
        if self.wide:
            self._count -= self._count // 4  # there is a repository more to look at
        super().__init__(draw, self._latency)
        self.loop.stays = lambda: self.draw.random() < self.manner.alone
        self.backup: Any = None
        self.told: dict[int, str] = {}
        self.lost_stores = 0
        self.begun = self.reinstalled = False
        self.stood = 0
        self._rested = False
        self._late: list[Violation] = []
        self._hers = Random(f"{seed}/templates")
        self._set_up()

    # --- setting up -----------------------------------------------------------------------------

    def _set_up(self) -> None:
        made = FORGES[self.at](self.clock, self.draw, self.weather.befalls_request)
        self.place: Furnished = made
        own = Random(f"{self.seed}/{self.at}")
        files = varied.files() if self.variants else None
        rules = self.manner.rules
        if rules is not None and self.boxed:
            rules = replace(rules, bulk=self._bulk, wide=self._wide_name)
        self.forge, self.repo = made.forge, made.furnish(rules, own, files)
        self.reader, self.me = made.reader, made.me
        forge, state = made.forge, made.forge.state
        self.diary = Diary(lambda: self.loop.now, lambda: forge.past.now)
        state.listeners.append(self.diary.hear)
        state.silent_listeners.append(self.diary.moved)
        for who in PEOPLE:
            self.diary.role(who, made.roles[who])
        self.hands = made.hands(state, self.repo, self.diary, self.draw)
        if self.variants:
            self.hands.packages, self.hands.varied = varied.THERE, True
            self.hands.bulk, self.hands.wide = self._bulk, self._wide_name
            if self.at == GITHUB:  # projects of GitLab differ anyway
                self.repo.has_issues = Random(f"{self.seed}/issues").random() < WITH_ISSUES
            self.repo.has_issues |= self.boxed
            if self.boxed and made.app is not None:
                # As the manifest has it: who ticks a box, and who renames or hides a repository.
                made.app.events = (*made.app.events, "issues", "repository")
        with forge.change():
            self.hands.push("ann", f"refs/heads/{RELEASE}", self.hands.tip(MAIN))
        self.catalog = self._beside() if self.apart else None
        self.neighbour = self._neighbour() if self.wide else None
        self.stores: Stores = MemoryStores(self.clock)
        if self._real is not None:
            self._real.begins(forge)
            self.stores = self._real.database
        self.store = self.stores.empty()
        packages: tuple[str, ...] = varied.EVERY if self.variants else PACKAGES
        packages += MADE if self.catalog is not None else ()
        packages += (ZONE,) if self.neighbour is not None else ()
        history = History(state.git(self.repo), packages, made.rebases)
        self.evidence = Evidence(self.diary, history, self.hands.tip(MAIN))
        self._came = 0
        self.words = Words(self.evidence, self._excused, self._remembers)
        stood = None if self.catalog is None else self.catalog.stood
        lends = self._judges_beyond()
        self.asked = Variants(self.evidence, stood, lends) if self.variants else None
        self.oracle = Oracle(
            self.evidence,
            self.words,
            lambda: self._came,
            lambda: not self.weather.skewed,
            self._judges_variants(),
        )

    def _beside(self) -> Catalog:
        """A second repository."""
        self.diary.about, self.hands.reach = self.repo, LETS_IN
        with self.forge.change():
            made = Catalog(self.forge, self.diary, lets_in=self.wide)
        self.place.beside.append(made.repo)
        return made

    def _neighbour(self) -> Beyond:
        """Another repository whose topics and objects count here: a public one, or the catalog."""
        self.diary.about = self.repo
        with self.forge.change():
            repo = east(self.forge) if self.catalog is None else self.catalog.repo
            made = Beyond(self.forge, repo, self.repo, self.diary)
        if self.catalog is None:
            self.place.beside.append(repo)
        return made

    def _judges_beyond(self) -> BeyondOracle | None:
        if self.neighbour is None:
            return None
        there = History(self.forge.state.git(self.neighbour.repo), (ZONE,))
        return BeyondOracle(self.neighbour.stood, self.evidence, there, STALE)

    def _judges_variants(self) -> VariantsOracle | None:
        if self.asked is None:
            return None
        told_again = lambda: self._troubled or bool(self.weather.unkept[COMMENT])  # noqa: E731
        beside: tuple[Judge, ...] = (
            DashboardOracle(self.evidence, STALE),
            BoxesOracle(self.evidence, STALE, told_again),
            *([self.asked.beyond] if self.asked.beyond is not None else []),
        )
        return VariantsOracle(self.asked, STALE, self._judges_catalog(), beside)

    def _judges_catalog(self) -> CatalogOracle | None:
        return CatalogOracle(self.catalog.stood, self.evidence, STALE) if self.catalog else None

    def begin(self) -> None:
        """The bot comes."""
        self.begun = True
        self._came = len(self.diary.entries)
        with self.forge.change():
            self.place.let_in()
        if self.catalog is not None:
            self.catalog.changed()
        if self.neighbour is not None:
            self.neighbour.changed()
        for _ in range(self.manner.replicas):
            self.start()

    def _mirrors(self, name: str, clock: SimulatedClock) -> Mirrors:
        if self._real is not None:
            return self._real.mirrors(self.forge, name, clock)
        return super()._mirrors(name, clock)

    # --- what misfortunes do --------------------------------------------------------------------

    def kill(self, name: str) -> None:
        """End a bot at once; another takes its place after a while."""
        if any(r.name == name for r in self.replicas):
            super().kill(name)
            self.weather.forgets(name)
            self.weather.tally["fault: bots killed"] += 1
            self.later(self.draw.random() * 20, self.start)

    def replace_store(self, store: Store) -> None:
        """Give the bots another database, which they start on."""
        for replica in self.replicas:
            replica.kill()
        self.replicas.clear()
        self._agenda = [due for due in self._agenda if due.act != self.start]
        heapq.heapify(self._agenda)
        self.store = store
        self.lost_stores += 1
        for _ in range(self.manner.replicas):
            self.start()

    def stand_still(self, replica: Replica, seconds: float) -> None:
        """Nothing of a bot goes on for a while: its machine is moved, or has no memory left."""
        replica.owner.still = True
        self.stood += seconds > CLAIMED
        self.weather.kept_leases = False

        def goes_on() -> None:
            replica.owner.still = False
            self.loop.go_on()

        self.later(seconds, goes_on)

    def end_leases(self, replica: Replica) -> None:
        """What a bot looks at others may take: the database's clock jumped, or another took over.

        It knows once it renews them.
        """
        self.stood += 1
        self.weather.kept_leases = False
        self.stores.end_leases(self.store, replica.name)

    def race(self) -> None:
        """Somebody acts just before a call of a bot is carried out."""
        for _ in range(4):
            moves = self.manner.moves
            move = self.draw.choices(moves, self.manner.weights[: len(moves)])[0]
            try:
                with self.forge.change():
                    move.act(self.hands)
            except ImpossibleError:
                continue
            self.weather.tally[f"race: {move.name}"] += 1
            return

    def suspend(self, seconds: float) -> None:
        """The bot's account may do nothing for a while."""
        with self.forge.change():
            back = self.place.suspend()

        def again() -> None:
            with self.forge.change():
                back()

        self.later(seconds, again)

    def uninstall(self, seconds: float) -> None:
        """The bot is put out of the repository; later it comes as for the first time."""
        with self.forge.change():
            self.place.put_out()
        self.reinstalled = True

        def back() -> None:
            self._came = len(self.diary.entries)
            with self.forge.change():
                self.place.let_in()

        self.later(seconds, back)

    def _latency(self) -> float:
        if self.manner.latency and self.draw.random() < self.manner.latency:
            return self.draw.random() ** 3 * 2.0
        return 0.0

    def _excused(self, pull: int) -> bool:
        return self._troubled or self.meddled(pull)

    def _remembers(self, reacted: bool) -> bool:
        """Nothing kept a bot from writing down what it had said, and nothing of that was lost.

        Args:
            reacted: Also where it only reacted.
        """
        unkept = self.weather.unkept
        return not (self._troubled or unkept[COMMENT] or (reacted and unkept[REACT]))

    @property
    def _troubled(self) -> bool:
        return bool(self.weather.lost or self.lost_stores or self.stood)

    def meddled(self, pull: int) -> bool:
        """Somebody touched what the bot wrote on a pull request."""
        about = self.diary.of_pull[pull]
        ours = {e.number for e in about if e.who == BOT and e.number}
        return any(e.who != BOT and e.number in ours and e.what != "comment created" for e in about)

    # --- webhooks -------------------------------------------------------------------------------

    def _fates(self, hook: OutgoingHook) -> Iterator[float]:
        fate = self.draw.random()
        if not self.begun:
            return
        if fate < self.manner.lost:
            self.weather.tally["webhook lost"] += 1
            return
        late = 0.0
        if self.draw.random() < self.manner.late:
            late = self.draw.random() * 60
            self.weather.tally["webhook late"] += 1
        yield late
        if self.draw.random() < self.manner.doubled:
            self.weather.tally["webhook doubled"] += 1
            yield self.draw.random() * 20

    def _deliver(self, hook: OutgoingHook, late: float) -> None:
        super()._deliver(hook, late)
        said = self.place.templated(hook, self._hers)
        if said is not None:
            whose = "attack: a webhook's custom template" if said.is_hers else "webhook told twice"
            self.weather.tally[whose] += 1
            super()._deliver(said, late)

    def _read(self, hook: OutgoingHook) -> Delivery | None:
        of_another = isinstance(hook, Templated) and hook.is_of_another
        try:
            delivery = super()._read(hook)
        except WebhookError:
            if not of_another:
                raise
            return None
        if delivery is not None and of_another and not delivery.group:
            self._believes(delivery)
        return delivery

    async def _of_group(self, replica: Replica, delivery: Delivery) -> Delivery | None:
        found = await super()._of_group(replica, delivery)
        if found is not None and found.group == HERS and {*found.wakes.values()} - {NOTHING}:
            self._believes(found)
        return found

    def _believes(self, delivery: Delivery) -> None:
        said = f"a webhook of another project has {len(delivery.wakes)} keys looked at"
        self._late.append(Violation("own project", said, len(self.diary.entries)))

    def _is_quiet(self) -> None:
        self.diary.rests()

    # --- the history ----------------------------------------------------------------------------

    def run(self) -> Outcome:
        """Let it happen."""
        with self.happening():
            found = self._run()
        trace = hashlib.sha256("\n".join(self.weather.trace).encode()).hexdigest()[:16]
        self.weather.tally.update(reached(self.diary, self.repo))
        return Outcome(self.seed, self.told, found, self.weather.tally, trace, self.diary)

    def _run(self) -> list[Violation]:
        try:
            for number in range(self._count):
                if number == self.manner.before:
                    self.begin()
                if self._kept is not None and number not in self._kept:
                    continue
                self._step(number)
                if (found := self._judge()) or self.beyond:
                    return self._ends(found)
            self.draw = self.hands.draw = Random(f"{self.seed}/end")
            return self._judge_end()
        except EndlessError:
            return [Violation("settles", "goes round in circles", len(self.diary.entries))]

    def _ends(self, found: list[Violation]) -> list[Violation]:
        """It goes no further: something was violated, or only real git knows how it goes on."""
        if not found:
            self.weather.tally["left: a merge that only git can make"] += 1
        return found

    def _step(self, number: int) -> None:
        self.draw = self.hands.draw = draw = Random(f"{self.seed}/{number}")
        self.hands.own = Random(f"{self.seed}/{number}/{self.at}")
        self._hers = Random(f"{self.seed}/{number}/templates")
        self._endless = self.loop.steps + ENDLESS
        for _ in range(8):
            step = draw.choices(self.manner.steps, self.manner.weights)[0]
            began = self.forge.past.now
            try:
                if isinstance(step, Move):
                    with self.forge.change():
                        told = step.act(self.hands)
                elif self.replicas or not self.begun:
                    told = step.act(self)
                else:
                    continue
                if isinstance(step, Scenario) and draw.random() < 0.7:
                    self._clear_away()
            except ImpossibleError:
                if not isinstance(step, Scenario) or self.forge.past.now == began:
                    continue
                told = f"{step.name.removeprefix('scene: ')}: it comes to nothing"
            self.told[number] = told
            self._rested = self.begun and step.name == SETTLING
            kind = "move: " if isinstance(step, Move) and not step.attack else ""
            self.weather.tally[f"{kind}{step.name}"] += 1
            break
        self.send()
        if draw.random() < self.manner.hurry:
            self.rest(int(draw.random() ** 2 * TOLD))
        elif draw.random() < 0.5:
            self.rest()
        else:
            self.pass_time(draw.random() * 12)

    def _clear_away(self) -> None:
        """What the last scene was about is closed, where it is still open: each costs its looks."""
        pull = next(reversed(self.repo.pulls.values()), None)  # of a scene elsewhere there is none
        if pull is not None and pull.state == "open":
            with self.forge.change():
                self.hands.turn(ADMIN, pull, "closed")

    def _judge(self) -> list[Violation]:
        found = self.oracle.judge()
        if self._rested:
            self.asks_promptly()
        found += self._late
        here = len(self.diary.entries)
        found += [Violation(*seen, here) for seen in self.words.unspoken(self._reacted())]
        bugs = [*self.broke, *self.loop.broken]
        return found + [Violation("nothing breaks", b, here) for b in bugs]

    def asks_promptly(self) -> None:
        """Time has passed: every command has an answer, where nothing goes wrong."""
        if self.manner.calm:
            self._late += self._ended(len(self.diary.entries)).unanswered()

    def _reacted(self) -> Iterator[int]:
        """Comments of people that show a reaction of the bot's."""
        for pull in self.repo.pulls.values():
            for comment in pull.comments:
                if any(self.hands.is_bot(r.user) for r in comment.reactions):
                    yield comment.id

    def _ended(self, quiet: int) -> ending.Ending:
        return ending.Ending(
            self.evidence,
            self.repo,
            self.place.app,
            began=self._came,
            quiet=quiet,
            doubt=bool(self.lost_stores or self.weather.refused or self.reinstalled),
            forgotten=lambda pull: bool(self.lost_stores) and self.meddled(pull),
            variants=self.asked,
            calm=self.manner.calm,
        )

    def _judge_end(self) -> list[Violation]:
        """Faults stop and time passes: everything settles."""
        self.weather.clear()
        self.weather.latency = lambda: 0.0
        for replica in self.replicas:
            replica.clock.wrong = 0.0
        self.pass_time(1000.0)  # longer than any wait after a failure, and than between sweeps
        self.skip(90_000.0)
        self.pass_time(1000.0)
        quiet = len(self.diary.entries)
        self.pass_time(1000.0)
        found = self._judge()
        return found if found or self.beyond else self._ended(quiet).judge()


def play(
    seed: str,
    kept: Collection[int] | None = None,
    real: "RealSetting | None" = None,
    at: str = GITHUB,
    *,
    variants: bool = False,
    apart: bool = False,
) -> Outcome:
    """Play one history, at GitHub or at GitLab, with variants, in two repositories, or without."""
    asyncio.set_event_loop(None)
    return Simulation(seed, kept, real=real, at=at, variants=variants, apart=apart).run()
