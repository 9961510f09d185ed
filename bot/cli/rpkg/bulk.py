"""One command for many packages: shown first, then done in waves, as `lifecycle.bulk` decides.

Nothing is remembered between two runs: how far each is follows from its pull request and from what
the caller asked for, so that a command that was killed goes on when it is given again.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from bot.cli import terminal
from bot.cli.dropin import CommandFailure
from bot.cli.rpkg import sources
from bot.cli.rpkg.bar import Bar
from bot.cli.rpkg.jobs import Job, SurveyedPackages
from bot.cli.rpkg.session import Session, opened
from bot.cli.rpkg.spoken import BotAnswer, CommandChannel, Said, answer_to
from bot.cli.rpkg.tables import table
from lifecycle import bulk
from lifecycle.boxes import MOST_OPEN
from lifecycle.bulk import ASKS_FROM, BulkItem, BulkPlan, BulkState
from lifecycle.facts.drafts import MOST_DRAFTS
from lifecycle.messages.markdown import plain
from lifecycle.upstreams import graph as graphs

F = TypeVar("F", bound=Callable[..., object])

_PAUSE = 2.0
"""Seconds between two looks while the bot is about to answer."""

_POLL = 15.0
"""Seconds between two looks while people are waited for."""


_TO = re.compile(r"^@\S+ ")
"""To whom an answer is, at its beginning: the reader knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How a bulk command is carried out.

    Attributes:
        yes: Go ahead, however many there are.
        dry_run: Show what would be done, and nothing else.
        most: How many may be open at a time.
        go_on: Leave what failed, and go on.
        wait: Seconds to wait for people, so that the next wave can begin.
        timeout: Seconds to wait for the bot's answer.
    """

    yes: bool
    dry_run: bool
    most: int
    go_on: bool
    wait: int
    timeout: int


def options(command: F) -> F:
    """Add the options that say how; they come as the parameters of `How`."""
    for option in (
        click.option(
            "--wait",
            default=0,
            type=click.IntRange(0),
            metavar="SECONDS",
            help="Wait this long for a wave to be published, then begin the next one.",
        ),
        click.option("--go-on", is_flag=True, help="Continue with the rest if one fails."),
        click.option(
            "--at-most",
            "most",
            default=MOST_OPEN,
            show_default=True,
            type=click.IntRange(1, 100),
            help="Packages that may be open at a time.",
        ),
        click.option("--dry-run", is_flag=True, help="Only show what would be done."),
        click.option(
            "--yes",
            is_flag=True,
            help=f"Go ahead even if there are more than {ASKS_FROM}; otherwise these are only"
            " listed.",
        ),
    ):
        command = option(command)
    return command


def refuse(*more: str) -> None:
    """Refuse options that only say something with --selector: nobody expects them to be ignored.

    Args:
        more: Parameters of the command beside those of `options`.

    Raises:
        CommandFailure: One was given.
    """
    context = click.get_current_context()
    ours = {"yes", "dry_run", "most", "go_on", "wait", *more}
    for each in context.command.params:
        given = context.get_parameter_source(each.name or "") is ParameterSource.COMMANDLINE
        if each.name in ours and given:
            name = each.opts[0]
            raise CommandFailure(
                f"{name} goes with --selector alone, such as path=net/core. Nothing was done"
            )


def run(job: Job, repositories: Sequence[str], how: How) -> None:
    """Carry out a bulk command.

    Args:
        job: What is done.
        repositories: Where; none for the repository of the current folder.
        how: How.

    Raises:
        CommandFailure: Something failed, or nobody answers; it says how to go on.
    """

    async def work() -> None:
        async with opened(repositories) as session:
            await BulkRun(job, session, how).run()

    sources.running(work())


class BulkRun:
    """One run of a bulk command.

    Args:
        job: What is done.
        session: Where.
        how: How.
        sleep: Waits for some seconds.
        clock: Seconds by a monotonic clock.
    """

    def __init__(
        self,
        job: Job,
        session: Session,
        how: How,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sleep = sleep
        self._clock = clock
        self._job = job
        self._session = session
        self._how = how
        self._bar = Bar()
        self._said: dict[str, tuple[Said, CommandChannel, float]] = {}
        self._names: dict[str, str] = {}
        self._ended: dict[str, BulkItem] = {}

    async def run(self) -> None:
        """Show what is chosen, and do it.

        Raises:
            CommandFailure: Something failed, or nobody answers; it says how to go on.
        """
        found = await self._job.find(self._session)
        plan = self._plan(found)
        for line in _shown(found, plan):
            terminal.say(line)
        total = found.packages or plan.total
        if not plan.total:
            terminal.say(
                "Nothing is to be done: the selector chooses nothing, or nothing that needs it."
                f"{self._job.reminder}"
            )
            return
        if self._how.dry_run or (total > ASKS_FROM and not self._how.yes):
            what = "1 is chosen" if total == 1 else f"{total} are chosen"
            terminal.say(
                f"{what}, and nothing was done. Give the command again with --yes to go ahead,"
                f" {self._how.most} at a time."
            )
            return
        await self._until_done(found)

    async def _until_done(self, found: SurveyedPackages) -> None:
        first = {item.key: item for item in found.items}
        until = self._clock() + self._how.wait
        while True:
            plan = self._plan(found)
            self._show(plan)
            asked = [i for i in plan.open if i.state is BulkState.ASKED]
            for item in plan.start:
                # Of what is asked for on a dashboard the bot refuses more than it makes in a look.
                if found.asks[item.key].number or len(asked) < MOST_DRAFTS:
                    await self._ask(item, found)
                    asked.append(item)
            stopped = bool(plan.failed) and not self._how.go_on
            if not asked:
                if plan.done + len(plan.failed) + len(plan.left) == plan.total:
                    self._end(plan)
                    return
                if stopped or not plan.open or self._clock() >= until:
                    self._pause(plan)
                    return
            await self._sleep(_PAUSE if asked else _POLL)
            found = await self._look(first)

    async def _look(self, first: dict[str, BulkItem]) -> SurveyedPackages:
        """Look again at what was shown; what is chosen no more is done."""
        found = await self._job.find(self._session)
        now = {item.key: item for item in found.items}
        items = [now.get(key) or replace(item, state=BulkState.DONE) for key, item in first.items()]
        return replace(found, items=tuple(map(self._overlaid, items)))

    def _overlaid(self, item: BulkItem) -> BulkItem:
        """An item with what this run knows of it."""
        if item.key in self._ended:
            return self._ended[item.key]
        if item.key not in self._said or item.state not in (BulkState.READY, BulkState.ASKED):
            return item
        said, speaker, at = self._said[item.key]
        heard = speaker.heard(said.where, on_dashboard=said.on_dashboard)
        answer = answer_to(said.id, heard)
        if answer is None and self._clock() < at + self._how.timeout:
            return replace(item, state=BulkState.ASKED)
        ended = self._came(item, answer, said)
        if ended.state in (BulkState.DONE, BulkState.FAILED):
            self._ended[item.key] = ended
        return ended

    def _came(self, item: BulkItem, answer: BotAnswer | None, said: Said) -> BulkItem:
        if answer is None:
            why = f"no answer within {self._how.timeout} seconds; see {said.url}"
            return replace(item, state=BulkState.FAILED, reason=why)
        text = _TO.sub("", " ".join(plain(answer.text).split()), count=1)
        if answer.refused:
            return replace(item, state=BulkState.FAILED, reason=text)
        if self._job.published and "nothing to change" not in text:
            return replace(item, state=BulkState.OPEN, reason=text)
        return replace(item, state=BulkState.DONE)

    async def _ask(self, item: BulkItem, found: SurveyedPackages) -> None:
        ask = found.asks[item.key]
        self._job.asked.add(item.key)
        on_dashboard = ask.number == 0
        where = ask.number or ask.seen.dashboard
        said = await asyncio.to_thread(
            ask.seen.speaker.says, where, ask.text, on_dashboard=on_dashboard
        )
        self._said[item.key] = said, ask.seen.speaker, self._clock()
        self._bar.clear()
        terminal.say(f"{found.names[item.key]}: asked in {said.url}", err=True)

    def _plan(self, found: SurveyedPackages) -> BulkPlan:
        self._names |= found.names
        how = self._how
        return bulk.plan(found.items, found.graph, most=how.most, go_on=how.go_on)

    def _show(self, plan: BulkPlan) -> None:
        words = [f"{len(plan.open)} open"] if plan.open else []
        words += [f"{len(plan.failed)} failed"] if plan.failed else []
        self._bar.show(plan.done, plan.total, ", ".join(words))

    def _end(self, plan: BulkPlan) -> None:
        """Everything was done, or failed and was left."""
        self._bar.clear()
        terminal.say(f"{plan.done} of {plan.total} done.")
        if plan.failed:
            raise CommandFailure(self._failed(plan.failed))

    def _pause(self, plan: BulkPlan) -> None:
        """Something failed, or people are to do something first."""
        self._bar.clear()
        for item in plan.open:
            terminal.say(
                f"{self._names[item.key]}: open{f', {item.reason}' if item.reason else ''}"
            )
        if plan.failed and not self._how.go_on:
            raise CommandFailure(
                f"stopped, {plan.done} of {plan.total} done: {self._failed(plan.failed)}. Mend"
                " that and give the command again, or add --go-on to leave it"
            )
        terminal.say(
            f"{plan.done} of {plan.total} done, {len(plan.open)} open. Give the command again once"
            " they are published: it goes on with the next."
        )

    def _failed(self, failed: Sequence[BulkItem]) -> str:
        said = [f"{self._names[item.key]}: {item.reason.rstrip('.')}" for item in failed]
        return "; ".join(said)


def _shown(found: SurveyedPackages, plan: BulkPlan) -> Iterator[str]:
    rows = [
        (str(number), found.names[item.key], item.change, _state(item))
        for number, wave in enumerate(plan.waves, start=1)
        for item in wave
    ]
    if rows:
        yield from table(("WAVE", "CHOSEN", "CHANGE", "STATE"), rows)
    for name, why in found.left:
        yield f"Left out: {name}: {why}."
    for circle in plan.circles:
        yield f"Left out, made from each other in a circle: {graphs.cycle(circle, '')}."


def _state(item: BulkItem) -> str:
    return f"{item.state}: {item.reason}" if item.reason else str(item.state)


def how(given: dict[str, Any], timeout: int) -> How:
    """Return how a command is carried out, by its options.

    Args:
        given: The parameters that `options` brings.
        timeout: Seconds to wait for the bot's answer.
    """
    return How(timeout=timeout, **given)
