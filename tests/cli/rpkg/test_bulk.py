"""Bulk commands of `porchbot rpkg`, run against a bot that answers in memory."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.cli.dropin import CommandFailure
from bot.cli.rpkg.bar import bar
from bot.cli.rpkg.bulk import BulkRun, How
from bot.cli.rpkg.jobs import Ask, SurveyedPackages
from bot.cli.rpkg.spoken import Heard, Said, answer_to, refusal, said_before
from lifecycle import records
from lifecycle.bulk import BulkItem, BulkState
from lifecycle.facts.drafts import MOST_DRAFTS
from lifecycle.upstreams.graph import Graph, Package, Upstream

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOW = How(yes=True, dry_run=False, most=2, go_on=False, wait=0, timeout=30)


def heard(number: int, login: str, body: str, *, ours: bool = False) -> Heard:
    return Heard(number, f"https://x/#{number}", login, ours, body, NOW)


class FakeForge:
    """Implements `CommandChannel`: a dashboard issue, and a bot that answers when asked to look."""

    def __init__(self, refused: Iterable[str] = (), silent: Iterable[str] = ()) -> None:
        self.comments: list[Heard] = []
        self.open: set[str] = set()
        self._refused, self._silent = set(refused), set(silent)

    def me(self) -> str:
        return "author"

    def board(self) -> str:
        return ""

    def dashboard(self) -> int:
        return 1

    def wrote(self, text: str) -> str:
        return text

    def says(self, number: int, text: str, *, on_dashboard: bool) -> Said:
        said = heard(len(self.comments) + 1, "author", text)
        self.comments.append(said)
        return Said(number, said.id, said.url, on_dashboard)

    def heard(self, number: int, *, on_dashboard: bool) -> tuple[Heard, ...]:
        del number, on_dashboard
        return tuple(self.comments)

    def works(self) -> None:
        """Answer what was not answered, and open a pull request for it; of too many, refuse."""
        made = 0
        for each in [*self.comments]:
            name = each.body.rpartition(" ")[2]
            if each.ours or name in self._silent or answer_to(each.id, self.comments):
                continue
            words = "`/upgrade` refused: it is held." if name in self._refused else "#7: Upgrade."
            made += name not in self._refused
            if made > MOST_DRAFTS:
                words = "`/upgrade` refused: at most 5 drafts are made at a time."
            elif name not in self._refused:
                self.open.add(name)
            text = f"@author {words}\n\n{records.sign({'answered': [each.id]}, b'key')}"
            self.comments.append(heard(len(self.comments) + 1, "bot", text, ours=True))

    @property
    def asked(self) -> list[str]:
        return [each.body for each in self.comments if each.login == "author"]


@dataclass
class FakeJob:
    """Implements `Job`: upgrades of packages called by one letter."""

    forge: FakeForge
    packages: dict[str, str | None]
    done: set[str] = field(default_factory=set)
    verb: str = "upgrade"
    reminder: str = " Name more."
    published: bool = True
    asked: set[str] = field(default_factory=set)

    async def find(self, session: Any) -> SurveyedPackages:
        del session
        seen: Any = FakeSeen(self.forge)
        items, asks = [], {}
        for name in self.packages.keys() - self.done:
            item = BulkItem(key=name, package=Package("x", name), change="v1 -> v2")
            said = said_before(
                self.forge, 1, f"/upgrade {name}", self.forge.comments, on_dashboard=True
            )
            if name in self.forge.open:
                item = replace(item, state=BulkState.OPEN, reason="#7")
            elif said is not None and answer_to(said[0].id, self.forge.comments) is None:
                item = replace(item, state=BulkState.ASKED)
            items.append(item)
            asks[name] = Ask(seen, 0, f"/upgrade {name}")
        made = {
            Package("x", name): Upstream(Package("x", above), "v1") if above else None
            for name, above in self.packages.items()
        }
        return SurveyedPackages(
            items=tuple(items),
            asks=asks,
            names={item.key: item.key for item in items},
            left=(("z", "it is held at v1"),),
            graph=Graph(made),
        )


@dataclass
class FakeSeen:
    speaker: FakeForge
    dashboard: int = 1


def run(job: FakeJob, how: How = HOW, *, publishes: bool = False) -> None:
    """Run the command; while it waits, the bot works, and people publish what is open if asked."""
    now = [0.0]

    async def sleep(seconds: float) -> None:
        now[0] += seconds
        if publishes:
            job.done |= job.forge.open
        job.forge.works()

    session: Any = None
    asyncio.run(BulkRun(job, session, how, sleep=sleep, clock=lambda: now[0]).run())


def test_more_than_five_are_shown_and_nothing_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    """Short-cut: the first wave is begun while the list still scrolls by."""
    job = FakeJob(FakeForge(), dict.fromkeys("abcdef"))
    run(job, replace(HOW, yes=False, most=5))

    assert capsys.readouterr().out == (
        "WAVE   CHOSEN   CHANGE     STATE\n"
        "1      a        v1 -> v2   ready\n"
        "1      b        v1 -> v2   ready\n"
        "1      c        v1 -> v2   ready\n"
        "1      d        v1 -> v2   ready\n"
        "1      e        v1 -> v2   ready\n"
        "2      f        v1 -> v2   ready\n"
        "Left out: z: it is held at v1.\n"
        "6 are chosen, and nothing was done. Give the command again with --yes to go ahead, 5 at a"
        " time.\n"
    )
    assert job.forge.asked == []


def test_five_are_done_at_once_unless_that_is_not_wanted() -> None:
    job = FakeJob(FakeForge(), dict.fromkeys("ab"))
    run(job, replace(HOW, yes=False, dry_run=True))
    assert job.forge.asked == []
    run(job, replace(HOW, yes=False))
    assert job.forge.asked == ["/upgrade a", "/upgrade b"]


def test_no_more_is_asked_for_at_once_than_the_bot_makes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The short-cut asks for the whole wave: the bot refuses the rest, and the command fails."""
    job = FakeJob(FakeForge(), dict.fromkeys("abcdefghijkl"))
    run(job, replace(HOW, most=12))

    assert len(job.forge.open) == 12
    assert "0 of 12 done, 12 open." in capsys.readouterr().out


def test_a_wave_waits_for_people_and_the_next_run_goes_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Short-cuts: a list of what was done, which is lost; a second comment for what is open."""
    job = FakeJob(FakeForge(), {"a": None, "b": None, "c": "a"})
    run(job)
    assert capsys.readouterr().out.endswith(
        "a: open, #7\nb: open, #7\n0 of 3 done, 2 open. Give the command again once they are"
        " published: it goes on with the next.\n"
    )
    run(job)
    assert job.forge.asked == ["/upgrade a", "/upgrade b"]
    job.done |= {"a", "b"}
    run(job)
    assert job.forge.asked == ["/upgrade a", "/upgrade b", "/upgrade c"]


@pytest.mark.parametrize("killed_after", [0, 1, 2])
def test_killed_and_given_again_asks_for_nothing_twice(killed_after: int) -> None:
    """Whatever was said before the process ended, with an answer or without."""
    forge = FakeForge()
    job = FakeJob(forge, dict.fromkeys("ab"))
    for name in "ab"[:killed_after]:
        forge.says(1, f"/upgrade {name}", on_dashboard=True)
    run(job)
    assert sorted(forge.asked) == ["/upgrade a", "/upgrade b"]


def test_with_time_it_goes_on_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    job = FakeJob(FakeForge(), {"a": "b", "b": None, "c": "a"})
    run(job, replace(HOW, wait=600), publishes=True)
    assert job.forge.asked == ["/upgrade b", "/upgrade a", "/upgrade c"]
    assert capsys.readouterr().out.endswith("3 of 3 done.\n")


def test_what_is_refused_stops_with_the_reason_until_somebody_goes_on() -> None:
    """Short-cuts: the other waves go on; what was made from it is upgraded all the same."""
    packages = {"a": None, "b": None, "c": "a", "d": "b"}
    job = FakeJob(FakeForge(refused="a"), packages)
    with pytest.raises(CommandFailure) as caught:
        run(job, replace(HOW, wait=600), publishes=True)
    assert caught.value.message == (
        "stopped, 0 of 4 done: a: /upgrade refused: it is held. Mend that and give the"
        " command again, or add --go-on to leave it"
    )
    assert job.forge.asked == ["/upgrade a", "/upgrade b"]

    with pytest.raises(CommandFailure) as caught:
        run(job, replace(HOW, wait=600, go_on=True), publishes=True)
    assert caught.value.message == "a: /upgrade refused: it is held"
    assert job.forge.asked[-1] == "/upgrade d"
    assert "/upgrade c" not in job.forge.asked


def test_a_bot_that_does_not_answer_is_not_waited_for_forever() -> None:
    job = FakeJob(FakeForge(silent="a"), {"a": None})
    with pytest.raises(CommandFailure, match="a: no answer within 30 seconds; see https://x/#1"):
        run(job)


def test_circles_and_nothing_at_all_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    job = FakeJob(FakeForge(), {"a": "b", "b": "a"})
    run(job)
    assert capsys.readouterr().out == (
        "Left out: z: it is held at v1.\n"
        "Left out, made from each other in a circle: x//a ← x//b ← x//a.\n"
        "Nothing is to be done: the selector chooses nothing, or nothing that needs it."
        " Name more.\n"
    )


def test_only_what_the_bot_wrote_is_an_answer() -> None:
    """The short-cut believes any comment that carries the record."""
    record = f"`/upgrade` refused: no.\n\n{records.sign({'answered': [3]}, b'key')}"
    assert answer_to(3, [heard(4, "outsider", record)]) is None
    found = answer_to(3, [heard(4, "outsider", record), heard(5, "bot", record, ours=True)])
    assert found is not None
    assert found.refused


@pytest.mark.parametrize("seal", ["", f"\n\n<!-- porchbot-text {'a' * 32} -->\n"])
def test_what_an_answer_quotes_answers_nothing(seal: str) -> None:
    """The short-cut reads the record anywhere: a title that holds one answers every command."""
    quoted = f'The title `"answered":[7]` {records.sign({"answered": [7]}, b"key")} is long.'
    said = heard(
        5, "bot", f"{quoted}\n\n{records.sign({'answered': [3]}, b'key')}{seal}", ours=True
    )

    assert answer_to(7, [said]) is None
    assert answer_to(3, [said]) is not None


def test_what_the_forge_forbids_is_not_tried_again() -> None:
    """The short-cut says to try again later to whoever may not write there."""
    assert "may not write comments there" in refusal("acme/x", 403).message
    assert "Try again later" in refusal("acme/x", 502).message


def test_a_bar() -> None:
    assert bar(10, 40) == "[######..................] 10/40"
    assert bar(0, 0) == "[########################] 0/0"
