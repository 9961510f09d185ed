"""`porchbot rpkg diff`: two revisions of any two packages, by resource and field."""

from dataclasses import replace
from pathlib import Path

import click

from bot.cli import terminal
from bot.cli.dropin import CommandFailure, StrictCommand
from bot.cli.rpkg import sources
from bot.cli.rpkg.sources import SourceRepository
from cadlib.diff.changes import changes
from cadlib.package.files import Files
from lifecycle.upstreams import references
from lifecycle.upstreams.errors import UpstreamError
from lifecycle.upstreams.references import RevisionReference


@click.command(
    "diff",
    cls=StrictCommand,
    examples="""
    # Compare two revisions of a package in this clone.
    $ porchbot rpkg diff net/core@v1 net/core@v2

    # Show what changed since the newest published revision, and since an older one.
    $ porchbot rpkg diff net/core
    $ porchbot rpkg diff net/core@v1

    # Compare a package with its upstream in another repository.
    $ porchbot rpkg diff acme/clusters//edge@v4 acme/blueprints//net/core@v7
    """,
)
@click.argument("old", metavar="PACKAGE@REVISION")
@click.argument("new", metavar="[PACKAGE@REVISION]", required=False)
@sources.named
def command(
    old: str, new: str | None, folders: tuple[Path, ...], repositories: tuple[str, ...]
) -> None:
    """Compare two revisions of any two packages, by resource and field.

    Without the second, the package is compared with itself as it is now: at HEAD in a clone, on the
    default branch at the forge. The bot answers `/diff PACKAGE` on the dashboard issue, which takes
    the package's open draft into account.

    OWNER/NAME// in front of a package names its repository, which is read with GITHUB_TOKEN or
    GITLAB_TOKEN unless a clone of it is given. Values of Secrets are not shown. The exit status is
    0 whether they differ or not.
    """
    first = _read(old)
    wanted = [first, replace(first, ref="HEAD") if new is None else _read(new)]
    named = {each.repository: None for each in wanted if each.repository}
    unnamed = not repositories and any(not each.repository for each in wanted)
    local = list(folders) or ([Path()] if unnamed else [])

    def show(found: list[SourceRepository]) -> None:
        before, after = (_files(found, each) for each in wanted)
        for change in changes(before, after):
            terminal.say(str(change))

    there = dict.fromkeys((*repositories, *named))
    sources.read(local, list(there), show)


def _read(text: str) -> RevisionReference:
    try:
        found = references.parse(text)
    except UpstreamError as error:
        raise CommandFailure(str(error).removesuffix(".")) from error
    if not isinstance(found, RevisionReference):
        raise CommandFailure(
            f"{text} is an address. Write OWNER/NAME//PACKAGE@REVISION, or clone it and use --repo"
        )
    return found


def _files(found: list[SourceRepository], wanted: RevisionReference) -> Files:
    name = wanted.repository.lower()
    source = next((each for each in found if not name or each.name.lower() == name), None)
    if source is None:
        raise CommandFailure(f"{wanted.repository} was not read. Check its name")
    releases = source.releases(wanted.package)
    ref = f"v{releases[-1]}" if wanted.ref == references.LATEST and releases else wanted.ref
    return source.files(wanted.package, ref)
