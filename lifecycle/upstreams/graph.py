"""Which package was made from which: a graph of upstreams and downstreams, for people and programs.

Rules:

1. A package has one upstream: what its lock names, else what its `upstream` names.
2. What is made from itself, however far around, is a cycle: it is named and never followed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lifecycle import names
from lifecycle.spelling import in_line as readable

MOST_DEEP = 100
"""Packages in one line of a tree: what is deeper is not drawn."""


@dataclass(frozen=True, slots=True, order=True)
class Package:
    """A package in some repository.

    Attributes:
        place: Its repository, as `locations` spells it.
        path: Where it is there; "" for the root.
    """

    place: str
    path: str

    def __str__(self) -> str:
        return f"{self.place}//{self.path or '.'}"


@dataclass(frozen=True, slots=True)
class Upstream:
    """What a package was made from.

    Attributes:
        package: Which package.
        ref: Which state of it, such as "net/core/v3".
        commit: What that was; "" where it is not locked.
    """

    package: Package
    ref: str
    commit: str = ""

    @property
    def revision(self) -> int | None:
        """The number of the release that it is; None for any other state."""
        path, tag = self.package.path, names.tag_name(self.ref)
        for each in (tag, f"{path}/{tag}".lstrip("/")):
            found = names.parse_tag(names.tag_ref(each))
            if found and found[0] == path:
                return found[1]
        return None


@dataclass(frozen=True, slots=True)
class Graph:
    """Packages, and what each was made from.

    Attributes:
        upstreams: Package to its upstream; None for one that has none.
    """

    upstreams: Mapping[Package, Upstream | None] = field(default_factory=dict)

    @property
    def downstreams(self) -> dict[Package, list[Package]]:
        """Package to those made from it, sorted."""
        found: dict[Package, list[Package]] = {}
        for package, upstream in sorted(self.upstreams.items(), key=lambda each: each[0]):
            if upstream is not None:
                found.setdefault(upstream.package, []).append(package)
        return found

    @property
    def cycles(self) -> tuple[tuple[Package, ...], ...]:
        """The circles, each from its first package by name on, against the way of changes."""
        done: set[Package] = set()
        found: list[tuple[Package, ...]] = []
        for start in sorted(self.upstreams):
            line: dict[Package, int] = {}
            at: Package | None = start
            while at is not None and at not in done and at not in line:
                line[at] = len(line)
                upstream = self.upstreams.get(at)
                at = upstream.package if upstream else None
            if at is not None and at in line:
                circle = [*line][line[at] :]
                first = circle.index(min(circle))
                found.append((*circle[first:], *circle[:first]))
            done |= line.keys()
        return tuple(sorted(found))

    def above(self, package: Package) -> tuple[tuple[Package, str], ...]:
        """What a package was made from, and that from, each with the state; a circle ends it."""
        found: list[tuple[Package, str]] = []
        seen = {package}
        upstream = self.upstreams.get(package)
        while upstream is not None:
            found.append((upstream.package, upstream.ref))
            if upstream.package in seen:
                break
            seen.add(upstream.package)
            upstream = self.upstreams.get(upstream.package)
        return tuple(found)


Notes = Mapping[Package, str]
"""What is said of packages beside their names."""

NO_NOTES: Notes = {}


def tree(graph: Graph, root: Package, home: str = "", notes: Notes = NO_NOTES) -> Iterator[str]:
    """Draw a package and what was made from it, a line each.

    Args:
        graph: All packages.
        root: Where it begins.
        home: Repository whose packages are named by their paths alone.
        notes: What is said of packages, in plain text.
    """
    yield f"{called(root, home)}{_noted(notes, root)}"
    for each, line in _branches(graph, graph.downstreams, root, home, "", (root,)):
        yield f"{line}{_noted(notes, each)}"


def _noted(notes: Notes, package: Package) -> str:
    return f" [{readable(notes[package])}]" if package in notes else ""


def _branches(
    graph: Graph,
    downstreams: Mapping[Package, Sequence[Package]],
    at: Package,
    home: str,
    indent: str,
    above: tuple[Package, ...],
) -> Iterator[tuple[Package, str]]:
    below = downstreams.get(at, ())
    for place, each in enumerate(below, start=1):
        last = place == len(below)
        upstream = graph.upstreams[each]
        ref = readable(upstream.ref) if upstream else ""
        circle = each in above
        yield (
            each,
            f"{indent}{'└── ' if last else '├── '}{called(each, home)} (from {ref})"
            f"{' … a cycle' if circle else ''}",
        )
        if not circle and len(above) < MOST_DEEP:
            inner = f"{indent}{'    ' if last else '│   '}"
            yield from _branches(graph, downstreams, each, home, inner, (*above, each))


def roots(graph: Graph) -> tuple[Package, ...]:
    """Return where trees begin that show every package: what is made from nothing known, sorted.

    Of a circle it is the first package by name.
    """
    known = {p for p, u in graph.upstreams.items() if u is None}
    beyond = {u.package for u in graph.upstreams.values() if u and u.package not in graph.upstreams}
    return tuple(sorted({*known, *beyond, *(circle[0] for circle in graph.cycles)}))


def cycle(circle: Sequence[Package], home: str = "") -> str:
    """Name a circle: each package is made from the next one."""
    return " ← ".join(called(each, home) for each in (*circle, circle[0]))


def called(package: Package, home: str) -> str:
    """Name a package for people."""
    path = readable(package.path or ".")
    return path if package.place == home else f"{readable(package.place)}//{path}"


def dot(graph: Graph, home: str = "", notes: Notes = NO_NOTES) -> Iterator[str]:
    """Write the graph as Graphviz reads it; arrows go the way that changes go."""
    circles = {package for circle in graph.cycles for package in circle}
    yield "digraph packages {"
    yield "  rankdir=LR;"
    for package, upstream in sorted(graph.upstreams.items(), key=lambda each: each[0]):
        said = f" [tooltip={_quoted(readable(notes[package]))}]" if package in notes else ""
        yield f"  {_quoted(called(package, home))}{said};"
        if upstream is not None:
            colour = ", color=red" if {package, upstream.package} <= circles else ""
            ends = f"{_quoted(called(upstream.package, home))} -> {_quoted(called(package, home))}"
            yield f"  {ends} [label={_quoted(readable(upstream.ref))}{colour}];"
    yield "}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def value(graph: Graph, notes: Notes = NO_NOTES) -> dict[str, object]:
    """Return the graph as a value for JSON."""
    return {
        "packages": [_package(package, graph, notes) for package in sorted(graph.upstreams)],
        "cycles": [[_named(each) for each in circle] for circle in graph.cycles],
    }


def _package(package: Package, graph: Graph, notes: Notes) -> dict[str, object]:
    upstream = graph.upstreams[package]
    from_ = None
    if upstream is not None:
        from_ = {**_named(upstream.package), "ref": upstream.ref, "commit": upstream.commit}
    return {**_named(package), "upstream": from_, "note": notes.get(package, "")}


def _named(package: Package) -> dict[str, str]:
    return {"repository": package.place, "package": package.path}


@dataclass(frozen=True, slots=True)
class UpgradeStatus:
    """How far a package is behind its upstream.

    Attributes:
        package: Which package.
        upstream: What it was made from.
        newer: Numbers of the releases since, rising; empty where there is none, or where nobody can
            tell which release it was made from.
    """

    package: Package
    upstream: Upstream
    newer: tuple[int, ...]


def updates(graph: Graph, releases: Mapping[Package, Iterable[int]]) -> tuple[UpgradeStatus, ...]:
    """Return how each package with an upstream stands, sorted.

    Args:
        graph: All packages.
        releases: Package to the numbers of its releases that may be used.
    """
    found = []
    for package, upstream in sorted(graph.upstreams.items(), key=lambda each: each[0]):
        if upstream is None:
            continue
        made = upstream.revision
        there = releases.get(upstream.package, ())
        newer = tuple(sorted(n for n in there if made is not None and n > made))
        found.append(UpgradeStatus(package, upstream, newer))
    return tuple(found)
