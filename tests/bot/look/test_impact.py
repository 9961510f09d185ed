"""A head is tried within bounds, and what came of it is kept where it can be."""

from collections import deque
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import pytest

from bot.clock import in_thread
from bot.look import impact_places, impact_plan
from bot.look.assemble import Looker
from bot.look.impact import (
    HOUR,
    MOST_AGAIN,
    MOST_AN_HOUR,
    SECONDS,
    WAVE,
    ImpactReader,
    Other,
    Others,
    Trial,
)
from bot.look.impact_places import CLOSED, MOST_ASKED, MOST_REPOSITORIES, TrialSites
from bot.look.impact_plan import ImpactPlan, RulesTrial, UpgradeTrial, UpgradeTrials, upgrades
from bot.store.values import Adoption, ServedName, UpstreamUse, UpstreamUser
from cadlib.errors import PackageError
from cadlib.update.upstream import Fetch
from lifecycle.facts.impact import Impact
from lifecycle.facts.verdicts import FunctionVersion, Verdict
from lifecycle.names import Sha
from lifecycle.policy import GuardrailFunction, Policy
from tests.bot.look.test_whatif import REPOSITORY
from tests.ids import on_github
from tests.memory.clock import ManualClock

HEAD, BASE = Sha("a" * 40), Sha("b" * 40)
TRIED = Policy(validators=(GuardrailFunction(image="x:v1"),))
PLACE = "x.test/a"


class Renders:
    """A renderer that takes its time, and counts."""

    def __init__(self, clock: ManualClock, seconds: float = 0, digest: str = "builtin:x/1") -> None:
        self._clock = clock
        self._seconds = seconds
        self._digest = digest
        self.rendered: list[str] = []

    async def verdict(
        self,
        git: Any,
        package: str,
        tree: str,
        origin: str,
        policy: Any,
        *,
        tried: bool = False,
    ) -> Verdict:
        assert tried, "it would push out what looks keep"
        self.rendered.append(package)
        await self._clock.sleep(self._seconds)
        ran = {"x:v1": FunctionVersion("guardrail", self._digest)}
        return Verdict(package=package, versions=ran)


class NoUsers:
    async def users(self, place: str) -> tuple[UpstreamUser, ...]:
        return ()


async def no_other(repository: ServedName) -> Other | None:
    return None


def reader(renders: Renders, clock: ManualClock, others: Others = no_other) -> ImpactReader:
    async def fetched(look: Any) -> Any:
        return await look()

    looker = SimpleNamespace(
        renderer=renders,
        repository=REPOSITORY,
        mirror=SimpleNamespace(open=lambda: nullcontext(SimpleNamespace())),
        clock=clock,
        offload=in_thread,
        extended=SimpleNamespace(fetched=fetched),
        reader=lambda git, adoption: None,
    )
    return ImpactReader(cast("Looker", looker), NoUsers(), others)


PLAN = ImpactPlan(head=HEAD, base_ref="main", base=BASE, origin=BASE, held=Policy(), now=Policy())


def plan(count: int) -> ImpactPlan:
    rules = tuple(RulesTrial(package=f"n{i}", tree=f"t{i}", merges=()) for i in range(count))
    return replace(PLAN, tried=TRIED, rules=rules)


def trial(count: int, clock: ManualClock) -> Trial:
    found = plan(count)
    return Trial(
        plan=found,
        impact=Impact(base_ref="main", base=BASE, rules=True, total=count),
        until=clock.monotonic() + SECONDS,
        waiting=deque(found.rules),
    )


async def test_what_is_not_tried_in_its_time_is_counted() -> None:
    """Short-cuts refused: whoever has 5,000 packages holds two workers for an hour; no progress."""
    clock = ManualClock()
    renders = Renders(clock, seconds=5)
    reading_, made = reader(renders, clock), trial(1000, clock)
    waves = 0
    while not made.impact.ended and waves < 30:
        before = clock.monotonic()
        await reading_.wave(made)
        assert clock.monotonic() - before <= WAVE + 20
        waves += 1
    assert waves > 2
    assert 0 < made.impact.tried < 60
    assert made.impact.left == 1000 - made.impact.tried
    assert made.impact.ended
    assert not made.waiting


async def test_what_was_tried_is_not_tried_again() -> None:
    """The short-cut renders everything anew for each push."""
    clock = ManualClock()
    renders = Renders(clock)
    reading_ = reader(renders, clock)
    for _ in range(2):
        await reading_.wave(trial(50, clock))
    assert len(renders.rendered) == 100
    reading_.forget()
    await reading_.wave(trial(50, clock))
    assert len(renders.rendered) == 200


async def test_what_hangs_on_a_tag_of_an_image_is_not_kept() -> None:
    """Short-cut: the tag means something else since, and the old image's word stands for ever."""
    clock = ManualClock()
    renders = Renders(clock, digest="sha256:1")
    reading_ = reader(renders, clock)
    for _ in range(2):
        await reading_.wave(trial(5, clock))
    assert len(renders.rendered) == 20


async def test_so_many_heads_are_tried_in_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    """The short-cut lets whoever pushes often have all that there is."""
    clock = ManualClock()
    reading_ = reader(Renders(clock), clock)
    monkeypatch.setattr(impact_plan, "read", lambda *_: plan(1))
    for _ in range(MOST_AN_HOUR):
        assert reading_.wait() is None
        assert await reading_.begin(HEAD, "main", cast("Adoption", None)) is not None
    assert reading_.wait() == HOUR
    await clock.sleep(HOUR)
    assert reading_.wait() is None


async def test_a_head_with_nothing_to_try_counts_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """The short-cut counts what is tried: whoever changes what nobody has made from has seconds of
    planning for every push."""
    clock = ManualClock()
    reading_ = reader(Renders(clock), clock)
    monkeypatch.setattr(impact_plan, "read", lambda *_: plan(0))
    for _ in range(MOST_AN_HOUR):
        assert reading_.wait() is None
        assert await reading_.begin(HEAD, "main", cast("Adoption", None)) is None
    assert reading_.wait() == HOUR


async def test_what_cannot_be_read_takes_nobodys_place() -> None:
    """Short-cuts refused: the first 30 are asked about, whatever they answer; a thousand private
    ones are asked about for each push."""
    clock, asked = ManualClock(), list[str]()

    async def may(name: ServedName) -> bool:
        asked.append(name.full_name)
        return name.full_name.startswith("open")

    there = [ServedName(on_github(100 + i), f"closed/{i}", 1) for i in range(MOST_ASKED + 20)]
    there += [ServedName(on_github(500 + i), f"open/{i}", 1) for i in range(MOST_REPOSITORIES + 5)]
    downstreams = TrialSites(may, clock)

    first = await downstreams.seen(there)
    assert (len(asked), len(first.readable), len(first.closed)) == (MOST_ASKED, 0, MOST_ASKED)
    asked.clear()
    second = await downstreams.seen([*there, *there])
    assert (len(asked), len(second.readable), len(second.closed)) == (50, 30, 120)
    asked.clear()
    await downstreams.seen(there)
    assert asked == [f"open/{i}" for i in range(MOST_REPOSITORIES)], "they may be closed by now"
    await clock.sleep(CLOSED)
    asked.clear()
    await downstreams.seen(there)
    assert asked[0] == "closed/0"


async def test_what_others_have_leaves_room_for_what_decides_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The short-cut tries others' packages first: 5,000 of them, and the rules are not tried."""
    clock = ManualClock()
    theirs = [UpgradeTrial(user=user(commit=f"{i:040}"), before="1", after="2") for i in range(300)]
    for i, each in enumerate(theirs):
        name = ServedName(on_github(9 + i % 3), f"acme/{'a' if i % 3 else 'closed'}{i % 3}", 1)
        theirs[i] = replace(each, user=replace(each.user, repository=name))
    monkeypatch.setattr(impact_plan, "MOST_TRIED", 150)
    monkeypatch.setattr(impact_plan, "read", lambda *_: plan(50))
    monkeypatch.setattr(impact_plan, "upgrades", lambda *_: UpgradeTrials(tuple(theirs), ("net",)))

    async def other(name: ServedName) -> Any:
        return None if "closed" in name.full_name else object()

    made = await reader(Renders(clock), clock, other).begin(HEAD, "main", cast("Adoption", None))

    assert made is not None
    assert [isinstance(each, RulesTrial) for each in made.waiting] == [False] * 100 + [True] * 50
    found = made.impact
    assert (found.total, found.more, found.unseen, found.elsewhere) == (150, 100, 100, 200)


async def test_bases_that_move_leave_room_for_new_heads() -> None:
    """The short-cut counts them alike: merges keep a new head waiting for an hour."""
    clock = ManualClock()
    reading_ = reader(Renders(clock), clock)
    now = clock.monotonic()
    reading_._begun.extend([now] * MOST_AGAIN)

    assert reading_.wait() is None
    assert reading_.wait(again=True) == HOUR
    reading_._begun.extend([now + 10] * (MOST_AN_HOUR - MOST_AGAIN))
    assert reading_.wait() == HOUR


def user(directory: str = "net/core", commit: str = "c" * 40) -> UpstreamUser:
    use = UpstreamUse(
        package="apps/x", place=PLACE, directory=directory, ref="v1", commit=commit, locked=True
    )
    return UpstreamUser(repository=ServedName(REPOSITORY.id, "acme/a", 1), branch="main", use=use)


class Trees:
    """Trees of the two states of an upstream."""

    def __init__(self, trees: dict[tuple[str, str], str]) -> None:
        self._trees = trees

    def has(self, commit: str) -> bool:
        return any(commit == at for at, _ in self._trees)

    def tree(self, commit: str, path: str) -> str:
        return self._trees.get((commit, path), "")

    def files(self, tree: str, limits: Any) -> dict[str, str]:
        return {"tree": tree}


@pytest.mark.parametrize(
    ("directory", "trees", "wanted"),
    [
        pytest.param(
            "net/core", {("b", "net/core"): "1", ("a", "net/core"): "2"}, "", id="changed"
        ),
        pytest.param("net/core", {("b", "net/core"): "2", ("a", "net/core"): "2"}, None, id="same"),
        pytest.param("net/core", {("b", "net/core"): "1"}, None, id="removed"),
        pytest.param(
            "net/corex", {("b", "net/corex"): "1", ("a", "net/corex"): "2"}, None, id="by"
        ),
        pytest.param("net", {("b", "net"): "1", ("a", "net"): "2"}, "", id="around it"),
        pytest.param(
            "net/core",
            {("b", "net/core"): "1", ("a", "net/core"): "2", ("c", "net/core"): "2"},
            None,
            id="it has that already",
        ),
    ],
)
def test_who_is_upgraded_on_trial(
    directory: str, trees: dict[tuple[str, str], str], wanted: str | None
) -> None:
    """Short-cuts refused: paths are compared as texts; who has it already is upgraded again."""
    made = replace(PLAN, changed=("net/core",))
    there = {(commit * 40, path): tree for (commit, path), tree in trees.items()}
    found = upgrades(Trees(there), REPOSITORY.id, made, [user(directory)])
    assert [each.before for each in found.trials] == ([] if wanted is None else [wanted])
    assert found.sources == (() if wanted is None else ("net/core",))


class Path(str):
    """A path that counts how often any is compared with another, or put together."""

    __slots__ = ()
    counted: ClassVar = [0]

    def __lt__(self, other: str) -> bool:
        self.counted[0] += 1
        return str.__lt__(self, other)

    def __format__(self, spec: str) -> str:
        self.counted[0] += 1
        return str.__format__(self, spec)


def test_a_plan_takes_time_in_proportion_to_locks_and_packages() -> None:
    """The short-cut compares each lock with each changed package: 25 s for 100,000 and 1,000."""
    changed = tuple(sorted(Path(f"net/team{i % 7}/p{i:03}") for i in range(400)))
    there = [i % 800 for i in range(4_000)]
    users = [user(f"net/team{i % 7}/p{i:03}", f"{i % 3}" * 40) for i in there]
    made = replace(PLAN, changed=changed)
    trees: dict[tuple[str, str], str] = {(at, p): at for at in (HEAD, BASE) for p in changed}

    found = upgrades(Trees(trees), REPOSITORY.id, made, users)

    assert len(found.trials) == 2_000
    assert found.sources == changed
    assert Path.counted[0] < 20 * (len(users) + len(changed))


def test_states_of_upstreams_are_read_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short-cut: who has a lock for each commit that there is makes us read as many trees."""
    monkeypatch.setattr(impact_plan, "MOST_STATES", 10)
    trees: dict[tuple[str, str], str] = {(HEAD, "net/core"): "2", (BASE, "net/core"): "1"}
    elsewhere = replace(user().repository, id=on_github(9))
    users = [
        replace(user(commit=f"{i:040}"), repository=elsewhere if i < 90 else user().repository)
        for i in range(100)
    ]
    made = replace(PLAN, changed=("net/core",))

    found = upgrades(Trees(trees), REPOSITORY.id, made, users)

    assert [each.user.use.commit for each in found.trials] == [f"{i:040}" for i in range(90, 98)]
    assert (found.more, found.elsewhere) == (92, 90)


@pytest.mark.parametrize(
    ("nested", "listed"), [(0, []), (3, ["net/p0/sub", "net/p1/sub", "net/p2/sub"]), (80, [""])]
)
def test_tags_are_listed_by_a_bounded_number_of_runs_of_git(nested: int, listed: list[str]) -> None:
    """The short-cut starts git for each package inside another: 10 s for 5,000 of them."""
    asked: list[str] = []

    class Tags:
        def refs(self, *places: str) -> dict[str, object]:
            asked.extend(places)
            return {}

    packages = [p for i in range(nested) for p in (f"net/p{i}", f"net/p{i}/sub")]
    assert impact_plan.nested_tags(cast("Any", Tags()), packages) == []
    assert sorted(asked) == [f"refs/tags/{each}".rstrip("/") for each in listed]


@pytest.mark.parametrize(
    ("repo", "directory", "ref", "wanted"),
    [
        ("https://x.test/a", "/net/core", "a" * 40, "2"),
        ("https://x.test/a.git", "net/core", "c" * 40, "1"),
        ("git@x.test:a", "net/core", "a" * 40, "2"),
        ("https://x.test/a", "net", "a" * 40, "3"),
        ("https://x.test/other", "net/core", "a" * 40, None),
        ("http://169.254.169.254/a", "net/core", "a" * 40, None),
        ("https://x.test/a", "net/core", "main", None),
        ("https://x.test/a", "secret", "a" * 40, None),
    ],
)
async def test_nothing_else_is_given_to_an_upgrade_on_trial(
    repo: str, directory: str, ref: str, wanted: str | None
) -> None:
    """The short-cut fetches what a Kptfile names, which anybody with a package here writes."""
    trees = Trees({(HEAD, "net"): "3", ("c" * 40, "net/core"): "1", (HEAD, "net/core"): "2"})
    one = UpgradeTrial(user=user(), before="1", after="2")
    fetch = impact_places.fetching(cast("Any", trees), one, HEAD, in_thread)
    if wanted is None:
        with pytest.raises(PackageError):
            await fetch(Fetch(repo, directory, ref))
    else:
        came = await fetch(Fetch(repo, directory, ref))
        assert dict(came.files) == cast("Any", {"tree": wanted})
