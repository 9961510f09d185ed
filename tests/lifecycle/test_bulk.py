"""Many packages by one command: the order, the waves, and when it stops, as a table."""

from collections.abc import Callable

import pytest

from lifecycle.bulk import BulkItem, BulkState, plan
from lifecycle.upstreams.graph import Graph, Package, Upstream
from tests.counting import assert_in_proportion

READY, ASKED, OPEN, DONE, FAILED = BulkState


def at(name: str) -> Package:
    return Package("github.com/acme/x", name)


def graph(**made_from: str) -> Graph:
    """Packages by what they were made from."""
    every = {at(each): None for each in "abcdefgh"}
    return Graph({**every, **{at(k): Upstream(at(v), "v1") for k, v in made_from.items()}})


def items(text: str) -> list[BulkItem]:
    """Such as "a b=open c=failed"."""
    found = []
    for each in text.split():
        name, _, state = each.partition("=")
        found.append(BulkItem(key=name, package=at(name), state=BulkState(state or "ready")))
    return found


RULES: dict[str, tuple[str, dict[str, str], int, bool, str, str]] = {
    # chosen, what was made from what, at most, go on: the waves, what is begun
    "by name where nothing depends": ("c a b", {}, 2, False, "a b|c", "a b"),
    "what is open takes room": ("a=open b c", {}, 2, False, "a b|c", "b"),
    "what is asked for takes room": ("a=asked b=open c", {}, 2, False, "a b|c", ""),
    "the next wave begins when this one is done": ("a=done b=done c", {}, 2, False, "a b|c", "c"),
    "and not before": ("a=done b=open c", {}, 2, False, "a b|c", ""),
    "what it was made from comes first": ("a b", {"a": "b"}, 5, False, "b|a", "b"),
    "however far above": ("a c", {"a": "b", "b": "c"}, 5, False, "c|a", "c"),
    "and waits until that is done": ("a b=open", {"a": "b"}, 5, False, "b|a", ""),
    "above what is not chosen nothing is waited for": ("a", {"a": "b"}, 5, False, "a", "a"),
    "what failed stops its wave": ("a=failed b c", {}, 2, False, "a b|c", ""),
    "and those after it": ("a=failed b=done c", {}, 2, False, "a b|c", ""),
    "told to go on, it goes on": ("a=failed b=done c", {}, 2, True, "a b|c", "c"),
    "but not with what was made from that": (
        "a=failed b c d",
        {"b": "a", "c": "b"},
        5,
        True,
        "a d|b|c",
        "d",
    ),
    "circles are left out": ("a b c", {"a": "b", "b": "a"}, 5, False, "c", "c"),
    "what hangs below a circle is not": (
        "a b c",
        {"a": "b", "b": "a", "c": "a"},
        5,
        False,
        "c",
        "c",
    ),
    "one that is made from itself": ("a b", {"a": "a"}, 5, False, "b", "b"),
}


@pytest.mark.parametrize(
    ("chosen", "made", "most", "go_on", "waves", "start"), RULES.values(), ids=RULES
)
def test_plan(
    chosen: str, made: dict[str, str], most: int, go_on: bool, waves: str, start: str
) -> None:
    """Short-cuts refused: all at once; a circle followed; what failed is forgotten later."""
    found = plan(items(chosen), graph(**made), most=most, go_on=go_on)

    said = "|".join(" ".join(i.package.path for i in wave) for wave in found.waves)
    assert (said, " ".join(i.package.path for i in found.start)) == (waves, start)


def test_what_is_told_of_a_plan() -> None:
    made = {"b": "a", "d": "e", "e": "d"}
    found = plan(items("a=failed b c=done d f"), graph(**made), most=2)
    assert [i.package.path for i in found.failed] == ["a"]
    assert [i.package.path for i in found.left] == ["b"]
    assert found.circles == ((at("d"), at("e")),)
    assert (found.done, found.total, found.remaining, found.stopped) == (1, 4, 1, True)


def test_two_pull_requests_about_one_package_are_two() -> None:
    """The short-cut tells them by their package, and loses one."""
    both = [BulkItem(key=key, package=at("a")) for key in ("#2", "#1")]
    assert [item.key for item in plan(both, graph()).start] == ["#1", "#2"]


def test_a_plan_ends() -> None:
    """Whatever is begun and done, everything is done once, a package after its upstream."""
    made = {"b": "a", "c": "b", "e": "a"}
    state = dict.fromkeys("abcdef", READY)
    order: list[str] = []
    while any(each is READY for each in state.values()):
        now = [BulkItem(key=n, package=at(n), state=s) for n, s in state.items()]
        step = plan(now, graph(**made), most=2).start
        assert step
        for each in step:
            state[each.package.path] = DONE
            order.append(each.package.path)
    assert sorted(order) == list("abcdef")
    assert all(order.index(upstream) < order.index(name) for name, upstream in made.items())


def test_five_thousand_packages_take_no_time_by_the_square() -> None:
    def planning(size: int) -> Callable[[], None]:
        names = [at(f"p{n:04}") for n in range(size)]
        line = size // 5  # so many are made from one another, five times
        every = {
            each: Upstream(names[n - 1], "v1") if n % line else None for n, each in enumerate(names)
        }
        chosen = [BulkItem(key=str(p), package=p) for p in reversed(names)]

        def work() -> None:
            found = plan(chosen, Graph(every), most=5)
            assert (found.total, len(found.waves)) == (size, line)

        return work

    assert_in_proportion(planning, 125)


def test_what_failed_is_followed_down_in_proportion() -> None:
    """The short-cut goes up from each package that waits, through all that it was made from."""

    def planning(size: int) -> Callable[[], None]:
        names = [at(f"p{n:04}") for n in range(size)]
        line = Graph(
            {each: Upstream(names[n - 1], "v1") if n else None for n, each in enumerate(names)}
        )
        chosen = [
            BulkItem(key=str(p), package=p, state=READY if n else FAILED)
            for n, p in enumerate(names)
        ]

        def work() -> None:
            assert len(plan(chosen, line, most=5, go_on=True).left) == size - 1

        return work

    assert_in_proportion(planning, 60)
