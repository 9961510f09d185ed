"""What set a field is found within bounds, and what was not looked at is told."""

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bot.clock import in_thread
from bot.git.port import Commit
from bot.look.field_origins import FieldOrigins
from cadlib.package.files import KPTFILE
from lifecycle.facts.proposal import Proposal
from lifecycle.facts.verdicts import Verdict
from lifecycle.messages.origins import SECONDS, told
from lifecycle.names import Sha
from lifecycle.policy import GuardrailFunction, Policy
from tests.lifecycle.samples import AUTHOR, PROPOSAL, changed, said
from tests.lifecycle.test_origins import SIZE
from tests.memory.clock import ManualClock

KPT = b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n"
MUTATORS = tuple(GuardrailFunction(image=f"f{i}:v1") for i in range(8))


class Line:
    """A branch of commits, each of which changes the package."""

    def __init__(self, count: int) -> None:
        shas = [Sha(f"{n:040x}") for n in range(count + 1)]
        self.commits = tuple(
            Commit(sha, "", (parent,), f"change {n}", "ann <a@x.test> 1 +0000")
            for n, (parent, sha) in enumerate(pairwise(shas))
        )

    def first_parents(self, tip: str, after: str) -> tuple[Commit, ...]:
        return self.commits

    def package(self, sha: str, package: str) -> str:
        return sha

    def blob(self, sha: str, path: str, most: int) -> bytes:
        assert path.endswith(KPTFILE)
        return KPT


class Slow:
    """A renderer that takes its time; the commit `setting` sets the field, all others another."""

    def __init__(self, clock: ManualClock, seconds: float, setting: int) -> None:
        self._clock = clock
        self._seconds = seconds
        self._setting = f"{setting + 1:040x}"

    async def changes(self, git: Any, before: str, after: str) -> Any:
        await self._clock.sleep(self._seconds)
        return (SIZE,) if after == self._setting else (replace(SIZE, field="spec.other"),)

    async def verdict(self, *_: Any) -> Verdict:
        await self._clock.sleep(self._seconds)
        return Verdict(package="net/core", rendering=(SIZE,))


def asking(*fields: str) -> Proposal:
    diff = tuple(replace(SIZE, field=field) for field in fields)
    words = tuple(said(AUTHOR, f"/why {f}", 100 + n) for n, f in enumerate(fields))
    verdict = Verdict(package="net/core", diff=diff)
    return changed(PROPOSAL, verdicts=(verdict,), comments=words, policy=Policy(mutators=MUTATORS))


async def found(
    p: Proposal, *, commits: int, seconds: float, setting: int, asker: str | None = None
) -> tuple[Proposal, float]:
    clock = ManualClock()
    reader = SimpleNamespace(git=Line(commits), render_asker=lambda sha: asker)
    renderer: Any = Slow(clock, seconds, setting)
    tracer = FieldOrigins(renderer, in_thread, clock, cast("Any", reader), SECONDS)
    return await tracer.read(p), clock.seconds


@pytest.mark.parametrize(
    ("commits", "seconds", "setting", "asker", "wanted"),
    [
        pytest.param(
            3, 0, 2, None, "commit `0000000000` by `ann`: change 2", id="the newest commit"
        ),
        pytest.param(
            100,
            0.5,
            0,
            None,
            "not found, because the time ran out (10 seconds for all questions together): 20 of 100"
            " commits of this pull request were looked at, the newest first. Ask about this field"
            " alone, by its whole name, or see `git log -p`",
            id="a commit far back",
        ),
        pytest.param(
            4,
            0,
            99,
            None,
            "not found: none of the newest 4 commits of this pull request set it. See `git log -p`",
            id="none of them",
        ),
        pytest.param(
            3,
            2,
            2,
            "author",
            "a function, rendered in commit `0000000000`. Which one is not known, because the time"
            " ran out (10 seconds for all questions together): to find it, the bot renders without"
            " one function at a time, and tried 3 of 8 functions, the last ones first. Ask again:"
            " it goes on from there",
            id="one of many functions",
        ),
        pytest.param(
            3,
            10,
            2,
            "author",
            "a function, rendered in commit `0000000000`. Which one is not known, because the time"
            " ran out (10 seconds for all questions together)",
            id="a rendering that takes long",
        ),
    ],
)
async def test_what_was_looked_at_is_told_when_time_is_over(
    commits: int, seconds: float, setting: int, asker: str | None, wanted: str
) -> None:
    """Short-cuts refused: 900 comparisons and 108 renderings in one look; "not found" alone."""
    p, took = await found(
        asking("spec.size"), commits=commits, seconds=seconds, setting=setting, asker=asker
    )
    (origin,) = p.lookups.origins["spec.size"]
    assert told(origin).partition(": ")[2].partition(": ")[2] == wanted
    assert took <= SECONDS + seconds


async def test_no_question_takes_the_time_of_another() -> None:
    """The short-cut gives all the time to the first, and the second was not looked at."""
    p, took = await found(asking("a.x", "b.x", "c.x"), commits=100, seconds=0.1, setting=999)
    seen = [
        each.seen
        for each in (
            *p.lookups.origins["a.x"],
            *p.lookups.origins["b.x"],
            *p.lookups.origins["c.x"],
        )
    ]
    assert all(count >= 10 for count in seen)
    assert took <= SECONDS + 1
