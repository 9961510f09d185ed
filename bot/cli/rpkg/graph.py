"""`porchbot rpkg graph`: which package was made from which, as a tree, for Graphviz, or as JSON."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from bot.cli.dropin import CommandFailure, StrictCommand
from bot.cli.rpkg import selecting, sources, waiting
from bot.cli.rpkg.sources import SourceRepository
from lifecycle.upstreams import graph as graphs
from lifecycle.upstreams.graph import Graph, Package


@click.command(
    "graph",
    cls=StrictCommand,
    examples="""
    # Show all packages of this clone, each below its upstream.
    $ porchbot rpkg graph

    # Show the upstream of net/core, and the packages made from it, in two repositories.
    $ porchbot rpkg graph net/core --repository acme/blueprints --repository acme/clusters

    # Draw it.
    $ porchbot rpkg graph -o dot | dot -Tsvg > packages.svg
    """,
)
@click.argument("package", required=False)
@sources.named
@click.option(
    "-o",
    "--output",
    type=click.Choice(["tree", "dot", "json"]),
    default="tree",
    show_default=True,
    help="Format.",
)
def command(
    package: str | None, folders: tuple[Path, ...], repositories: tuple[str, ...], output: str
) -> None:
    """Show which package was made from which.

    PACKAGE is a path in the first repository; without it, all packages are shown. In a clone
    packages are read from the branch that is checked out, at the forge from the default branch. A
    cycle is shown, but not followed. Packages that are held after a rollback, or wait for their
    variant, say so.
    """

    def show(found: list[SourceRepository]) -> None:
        graph = sources.graph_of(found)
        waits = waiting.told(found, repositories)
        notes = _notes(found, waits)
        for line in _lines(graph, found[0].place, package, output, notes):
            click.echo(line)
        if output == "tree":
            left = {each: why for each, why in waits.items() if each not in graph.upstreams}
            for line in waiting.lines(left, found[0], None if package is None else ()):
                click.echo(line)

    sources.read(sources.chosen(folders, repositories), repositories, show)


def _notes(found: list[SourceRepository], waits: waiting.Waits) -> dict[Package, str]:
    """What is said of packages beside their names: that they are held, and why they wait."""
    held = {
        Package(source.place, each.path): f"held at v{each.held}"
        for source in found
        for each in source.marks()
        if each.held
    }
    return {p: "; ".join(n[p] for n in (held, waits) if p in n) for p in {*held, *waits}}


def _lines(
    graph: Graph, home: str, wanted: str | None, output: str, notes: Mapping[Package, str]
) -> Iterator[str]:
    if wanted is not None:
        root = Package(home, selecting.path_of(wanted))
        if root not in graph.upstreams:
            raise CommandFailure(f"there is no package {wanted} in {home}. Check the path")
        graph = _around(graph, root)
    if output == "json":
        yield json.dumps(graphs.value(graph, notes), indent=2)
    elif output == "dot":
        yield from graphs.dot(graph, home, notes)
    else:
        for root in graphs.roots(graph):
            yield from graphs.tree(graph, root, home, notes)
        for circle in graph.cycles:
            yield f"Cycle: {graphs.cycle(circle, home)}"


def _around(graph: Graph, root: Package) -> Graph:
    """What a package was made from, and what was made from it."""
    kept = {root, *(each for each, _ in graph.above(root))}
    downstreams, left = graph.downstreams, [root]
    while left:
        below = [each for each in downstreams.get(left.pop(), ()) if each not in kept]
        kept.update(below)
        left += below
    return Graph({each: up for each, up in graph.upstreams.items() if each in kept})
