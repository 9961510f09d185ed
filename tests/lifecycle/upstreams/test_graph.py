"""The graph of packages: trees, cycles, DOT, and who is behind."""

import json
from collections.abc import Callable

from lifecycle.upstreams import graph as graphs
from lifecycle.upstreams.graph import Graph, Package, UpgradeStatus, Upstream
from tests.counting import assert_in_proportion

HOME, AWAY = "github.com/acme/clusters", "github.com/acme/blueprints"


def package(path: str, place: str = HOME) -> Package:
    return Package(place, path)


CORE = package("net/core", AWAY)
EDGE, ONE, TWO, LONE = (package(each) for each in ("edge", "sites/1", "sites/2", "lone"))
GRAPH = Graph(
    {
        EDGE: Upstream(CORE, "net/core/v3", "c" * 40),
        ONE: Upstream(EDGE, "edge/v1"),
        TWO: Upstream(EDGE, "v2"),
        LONE: None,
    }
)
CIRCLE = Graph(
    {
        package("a"): Upstream(package("c"), "c/v1"),
        package("b"): Upstream(package("a"), "a/v1"),
        package("c"): Upstream(package("b"), "b/v1"),
        package("d"): Upstream(package("a"), "a/v1"),
        package("self"): Upstream(package("self"), "self/v1"),
    }
)


def test_a_tree_shows_what_was_made_from_what() -> None:
    assert graphs.roots(GRAPH) == (CORE, LONE)
    assert list(graphs.tree(GRAPH, CORE, HOME)) == [
        "github.com/acme/blueprints//net/core",
        "└── edge (from net/core/v3)",
        "    ├── sites/1 (from edge/v1)",
        "    └── sites/2 (from v2)",
    ]
    assert GRAPH.above(ONE) == ((EDGE, "edge/v1"), (CORE, "net/core/v3"))
    assert GRAPH.cycles == ()


def test_cycles_are_named_and_never_followed() -> None:
    """Short-cut refused: to follow upstreams until there is none, which never comes."""
    a, b, c, d, own = (package(each) for each in ("a", "b", "c", "d", "self"))

    assert CIRCLE.cycles == ((a, c, b), (own,))
    assert [graphs.cycle(each, HOME) for each in CIRCLE.cycles] == [
        "a ← c ← b ← a",
        "self ← self",
    ]
    assert graphs.roots(CIRCLE) == (a, own)
    assert list(graphs.tree(CIRCLE, a, HOME)) == [
        "a",
        "├── b (from a/v1)",
        "│   └── c (from b/v1)",
        "│       └── a (from c/v1) … a cycle",
        "└── d (from a/v1)",
    ]
    assert CIRCLE.above(d) == ((a, "a/v1"), (c, "c/v1"), (b, "b/v1"), (a, "a/v1"))


def test_every_package_stands_in_a_tree_of_some_root() -> None:
    """Short-cut refused: what is part of a cycle is in no tree."""
    for graph in (GRAPH, CIRCLE):
        drawn = " ".join(line for root in graphs.roots(graph) for line in graphs.tree(graph, root))
        assert all(str(each) in drawn for each in graph.upstreams)


def test_a_long_line_of_packages() -> None:
    """Short-cut refused: a cost that grows with the square of the packages."""

    def walking(size: int) -> Callable[[], None]:
        line = Graph(
            {
                package(f"p{n:04}"): Upstream(package(f"p{n - 1:04}"), "v1") if n else None
                for n in range(size)
            }
        )

        def walk() -> None:
            assert line.cycles == ()
            assert len(line.above(package(f"p{size - 1:04}"))) == size - 1

        return walk

    assert_in_proportion(walking, 100)


def test_dot_and_json_say_the_same() -> None:
    odd = Graph({package('x"\\'): Upstream(CORE, "v\u202e3")})

    assert list(graphs.dot(odd, HOME)) == [
        "digraph packages {",
        "  rankdir=LR;",
        '  "x\\"\\\\";',
        '  "github.com/acme/blueprints//net/core" -> "x\\"\\\\" [label="v<U+202E>3"];',
        "}",
    ]
    assert json.loads(json.dumps(graphs.value(GRAPH)))["packages"][0] == {
        "repository": HOME,
        "package": "edge",
        "upstream": {
            "repository": AWAY,
            "package": "net/core",
            "ref": "net/core/v3",
            "commit": "c" * 40,
        },
        "note": "",
    }
    assert [line for line in graphs.dot(CIRCLE, HOME) if "red" in line] == [
        '  "c" -> "a" [label="c/v1", color=red];',
        '  "a" -> "b" [label="a/v1", color=red];',
        '  "b" -> "c" [label="b/v1", color=red];',
        '  "self" -> "self" [label="self/v1", color=red];',
    ]


def test_what_is_said_of_packages_stands_beside_them_wherever_they_are_listed() -> None:
    """The short-cut says it of the first package of a tree alone, or lets text of others act."""
    notes = {EDGE: 'held at v2; "x"\u202e', CORE: "waits"}

    drawn = list(graphs.tree(GRAPH, CORE, HOME, notes))

    assert drawn[0].endswith("net/core [waits]")
    assert next(line.endswith('[held at v2; "x"<U+202E>]') for line in drawn if "edge" in line)
    assert any(
        line == '  "edge" [tooltip="held at v2; \\"x\\"<U+202E>"];'
        for line in graphs.dot(GRAPH, HOME, notes)
    )
    packages = json.loads(json.dumps(graphs.value(GRAPH, notes)))["packages"]
    assert packages[0]["note"] == notes[EDGE]


def test_who_is_behind() -> None:
    """Short-cut refused: the newest alone, or what is made from a branch as well."""
    releases = {CORE: (5, 1, 3, 4), EDGE: (1, 2)}

    found = graphs.updates(GRAPH, releases)

    assert found == (
        UpgradeStatus(EDGE, Upstream(CORE, "net/core/v3", "c" * 40), (4, 5)),
        UpgradeStatus(ONE, Upstream(EDGE, "edge/v1"), (2,)),
        UpgradeStatus(TWO, Upstream(EDGE, "v2"), ()),
    )
    branch = Graph({EDGE: Upstream(CORE, "main")})
    assert graphs.updates(branch, releases)[0].newer == ()
