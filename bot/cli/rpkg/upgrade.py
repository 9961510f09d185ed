"""`porchbot rpkg upgrade --discover`: which packages are behind, in porchctl's columns."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from bot.cli.dropin import CommandFailure, StrictCommand
from bot.cli.rpkg import asking, bulk, dry, selecting, sources
from bot.cli.rpkg.drafting import Together, UpgradeJob
from bot.cli.rpkg.sources import SourceRepository
from bot.cli.rpkg.tables import table
from lifecycle import names
from lifecycle.selectors.marks import PackageSelector
from lifecycle.spelling import in_line as shown
from lifecycle.upstreams import graph as graphs
from lifecycle.upstreams.graph import Package, UpgradeStatus

_UPSTREAM = ("PACKAGE REVISION", "UPSTREAM REPOSITORY", "UPSTREAM UPDATES", "CONFLICTS")
_DOWNSTREAM = ("PACKAGE REVISION", "DOWNSTREAM PACKAGE", "DOWNSTREAM UPDATE", "CONFLICTS")
_MOST_LISTED = 10
"""Revisions of one line: of thousands no terminal shows a table."""


@click.command(
    "upgrade",
    cls=StrictCommand,
    examples="""
    # Merge the upstream's changes into a package, as a draft.
    $ porchbot rpkg upgrade --repository acme/clusters net/core latest

    # Upgrade two packages in one pull request.
    $ porchbot rpkg upgrade --repository acme/clusters --together net/core net/edge

    # Show which packages of a team are behind; with --yes, upgrade them, five at a time.
    $ porchbot rpkg upgrade --repository acme/clusters --selector team=net --propose

    # List the packages of this clone with the newer revisions of their upstreams.
    $ porchbot rpkg upgrade --discover=upstream --repo . --repository acme/blueprints

    # List packages in two clones that are behind the packages from which they were made.
    $ porchbot rpkg upgrade --discover=downstream --repo blueprints --repo clusters
    """,
)
@click.option(
    "--discover",
    type=click.Choice(["upstream", "downstream"]),
    help="What to list: packages with updates of their upstreams, or those made from packages.",
)
@sources.named
@asking.where
@selecting.MANY
@bulk.options
@click.argument(
    "args",
    nargs=-1,
    metavar="[PACKAGE ...] [vN | latest]",
)
@click.option("--together", is_flag=True, help="Upgrade several packages in one pull request.")
@asking.STRATEGY
@asking.PROPOSE
def command(
    args: tuple[str, ...],
    discover: str | None,
    folders: tuple[Path, ...],
    repositories: tuple[str, ...],
    number: int | None,
    timeout: int,
    strategy: str | None,
    propose: bool,
    together: bool,
    selector: PackageSelector | None,
    **how: Any,
) -> None:
    """Upgrade a package or all that match a selector, or list packages that are behind.

    Revisions are found by the tags of the given repositories; what was made from a package of
    another one is told as not read. The column CONFLICTS, which porchctl does not have, says what
    an upgrade to the newest revision would conflict in.
    """
    said = {"strategy": strategy, "propose": propose, "together": together}
    given = asking.written_options(said)
    if selector is not None:
        if discover or folders or number:
            raise CommandFailure("--selector goes with --repository alone. Leave the others out")
        kind = Together if together else UpgradeJob
        job = kind(selector, _revision_of(args), given)
        bulk.run(job, repositories, bulk.how(how, timeout))
        return
    bulk.refuse()
    if discover is None:
        if folders or len(repositories) > 1:
            raise CommandFailure("name one --repository to upgrade in, or say --discover")
        asking.ask("upgrade", (*given, *args), "".join(repositories), number, timeout)
        return
    if args:
        raise CommandFailure(f"{args[0]} means nothing with --discover. Leave it out")

    def show(found: list[SourceRepository]) -> None:
        updates = _updates(found)
        lines = _upstream(found, updates) if discover == "upstream" else _downstream(found, updates)
        for line in (*lines, *_unread(found, updates)):
            click.echo(line)

    sources.read(sources.chosen(folders, repositories), repositories, show)


def _revision_of(args: tuple[str, ...]) -> int:
    """The revision to go to, where packages are chosen by a selector; 0 for the newest."""
    if not args or args == ("latest",):
        return 0
    number = args[0].removeprefix("v")
    if len(args) > 1 or not names.looks_like_revision(f"v{number}"):
        raise CommandFailure(f"{' '.join(args)!r} is no revision. Write vN or latest, or neither")
    return int(number)


def _updates(found: Sequence[SourceRepository]) -> tuple[UpgradeStatus, ...]:
    """How each package stands that has an upstream."""
    graph, by_place = sources.graph_of(found), {each.place: each for each in found}
    if not graph.upstreams:
        raise CommandFailure("there is no package. Name a clone or a repository with packages")
    upstreams = {each.package for each in graph.upstreams.values() if each}
    releases = {
        each: by_place[each.place].releases(each.path)
        for each in upstreams
        if each.place in by_place
    }
    return graphs.updates(graph, releases)


def _upstream(found: Sequence[SourceRepository], updates: Sequence[UpgradeStatus]) -> Iterator[str]:
    conflicts = dry.conflicts(found, updates)
    rows = [
        (
            _revision(found, each.package),
            _repository(found, each.upstream.package),
            _listed(each.newer) if _is_read(found, each) else "not read",
            conflicts.get(each, "-"),
        )
        for each in updates
    ]
    yield from table(_UPSTREAM, rows)


def _listed(newer: Sequence[int]) -> str:
    """Revisions as porchctl lists them; of many the first, the newest, and how many there are."""
    shown = [f"v{n}" for n in newer] or ["No update available"]
    if len(shown) <= _MOST_LISTED:
        return ", ".join(shown)
    return f"{', '.join(shown[:3])}, ..., {shown[-1]} ({len(shown)} revisions)"


def _downstream(
    found: Sequence[SourceRepository], updates: Sequence[UpgradeStatus]
) -> Iterator[str]:
    conflicts = dry.conflicts(found, updates)
    rows = [
        (
            _revision(found, each.upstream.package),
            _revision(found, each.package),
            f"v{each.upstream.revision}->v{each.newer[-1]}",
            conflicts[each],
        )
        for each in updates
        if each.newer
    ]
    if rows:
        yield from table(_DOWNSTREAM, rows)
    elif all(_is_read(found, each) for each in updates):
        yield "All downstream packages are up to date."


def _is_read(found: Sequence[SourceRepository], update: UpgradeStatus) -> bool:
    """Whether the revisions of what a package was made from are known."""
    return any(each.place == update.upstream.package.place for each in found)


def _unread(found: Sequence[SourceRepository], updates: Sequence[UpgradeStatus]) -> Iterator[str]:
    """What is said of upstreams that nobody read, and of which no updates are known."""
    places = {u.upstream.package.place for u in updates if not _is_read(found, u)}
    if places:
        listed = ", ".join(map(shown, sorted(places)))
        yield (
            f"Not read, so that no updates of it are known: {listed}. Add it with --repository, or"
            " a clone of it with --repo."
        )


def _revision(found: Sequence[SourceRepository], package: Package) -> str:
    source = next((each for each in found if each.place == package.place), None)
    if source is None:
        return shown(str(package))
    hold = source.hold(package.path)
    named = shown(source.revision(package.path)) + (f" ({hold})" if hold else "")
    return named if source is found[0] else f"{source.name}//{named}"


def _repository(found: Sequence[SourceRepository], package: Package) -> str:
    return next((each.name for each in found if each.place == package.place), shown(package.place))
