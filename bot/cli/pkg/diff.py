"""`porchbot pkg diff`: what differs between a package and its upstream."""

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bot.cli import terminal
from bot.cli.disk import folder
from bot.cli.dropin import CommandFailure, DropIn, at_most
from bot.cli.given import path_and_version
from cadlib.package.files import Files, owner_of

if TYPE_CHECKING:
    from cadlib.diff.values import Change

_TYPES = ("local", "remote", "combined", "3way")


@click.command(
    cls=DropIn,
    examples="""
    # Show what was changed here since the package was fetched.
    $ porchbot pkg diff

    # Show what is new upstream at v3.
    $ porchbot pkg diff shop@v3 --diff-type remote
    """,
)
@click.argument("args", metavar="[PKG_PATH@VERSION]", nargs=-1)
@click.option(
    "--diff-type",
    "kind",
    default="local",
    metavar="TYPE",
    help="local: the package against upstream as it was fetched (default). remote: upstream at"
    " VERSION against upstream as it was fetched. combined: the package against upstream at"
    " VERSION. 3way: the first two, and what both changed.",
)
@click.option(
    "--diff-tool",
    "tool",
    default="",
    envvar="KPT_EXTERNAL_DIFF",
    metavar="COMMAND",
    help=(
        "Show the differences with this command, which gets the folders as arguments. By "
        "default they are shown by resource and field."
    ),
)
@click.option(
    "--diff-tool-opts",
    "options",
    default="",
    envvar="KPT_EXTERNAL_DIFF_OPTS",
    metavar="OPTIONS",
    help="Options for that command.",
)
@click.option("--debug", is_flag=True, help="Keep the folders that the command got.")
def diff(args: tuple[str, ...], kind: str, tool: str, options: str, debug: bool) -> None:
    """Show what differs between a package and its upstream.

    PKG_PATH is the folder of the package, by default the current one. VERSION is a tag, a
    branch or a commit of upstream, by default its default branch.
    """
    at_most(args, 1)
    if kind not in _TYPES:
        raise CommandFailure(
            f"invalid diff-type '{kind}': supported diff-types are: {', '.join(_TYPES)}"
        )
    found = shutil.which(tool) if tool else None
    if tool and found is None:
        raise CommandFailure(f"diff-tool '{tool}' not found in the PATH")
    path, version = path_and_version(args[0] if args else ".")
    trees = _trees(path or ".", version, kind)
    if found is None:
        _tell(trees, kind)
    else:
        _run([found, *shlex.split(options)], trees, kind, keep=debug)


def _trees(given: str, version: str, kind: str) -> dict[str, Files]:
    """Return the trees to compare, by the names that kpt gives their folders."""
    from bot.cli.disk.git_source import RemoteRepositories
    from cadlib.diff.noise import without_notes
    from cadlib.update.upstream import Fetch, read_kptfile, remote_packages

    where = os.path.abspath(given)
    if not os.path.lexists(given):
        raise CommandFailure(f"lstat {given}: no such file or directory")
    local = folder.read(Path(os.path.realpath(given)))
    kptfile = read_kptfile(local)
    if kptfile is None:
        raise CommandFailure(f"package missing Kptfile at '{where}': no such file or directory")
    git, lock = kptfile.upstream, kptfile.upstream_lock
    if git is None:
        raise CommandFailure(f"package missing upstream in Kptfile at '{where}'")
    fetched = lock.ref if lock is not None else git.ref
    trees: dict[str, Files] = {}
    with RemoteRepositories() as repositories:
        if kind != "remote":
            trees[f"local-{_short(fetched)}"] = without_notes(local)
        if kind != "combined":
            # The commit that was fetched: a branch may have moved on since.
            ref = (lock.commit if lock is not None else "") or fetched
            came = repositories.fetch(Fetch(git.repo, git.directory, ref))
            trees[f"remote-{_short(fetched)}"] = without_notes(came.files)
        if kind != "local":
            ref = version or repositories.default_branch(git.repo)
            came = repositories.fetch(Fetch(git.repo, git.directory, ref))
            trees[f"target-{_short(ref)}"] = without_notes(came.files)
    elsewhere = remote_packages(*trees.values())  # they have an upstream of their own
    return {
        name: {path: each for path, each in files.items() if owner_of(path, elsewhere) is None}
        for name, files in trees.items()
    }


def _short(ref: str) -> str:
    return ref.rpartition("/")[2]


def _tell(trees: Mapping[str, Files], kind: str) -> None:
    """Print the differences by resource and field."""
    from cadlib.diff.changes import changes

    match [*trees.values()]:
        case [local, remote, target]:
            ours, theirs = changes(remote, local), changes(remote, target)
            both = _places(ours) & _places(theirs)
            _section("Changed here", [*map(str, ours)])
            _section("Changed upstream", [*map(str, theirs)])
            _section("Changed on both sides", sorted(both))
        case [first, second]:
            # The package is the newer state, except that upstream goes on to its target.
            old, new = (first, second) if kind == "remote" else (second, first)
            for change in changes(old, new):
                terminal.say(str(change))


def _places(found: "tuple[Change, ...]") -> set[str]:
    """Return what was changed, without what it was changed to."""
    return {
        ": ".join(filter(None, (each.path, str(each.resource or ""), each.field))) for each in found
    }


def _section(title: str, lines: list[str]) -> None:
    terminal.say(f"{title}:" if lines else f"{title}: nothing")
    for line in lines:
        terminal.say(f"  {line}")


def _run(command: list[str], trees: Mapping[str, Files], kind: str, *, keep: bool) -> None:
    """Run a tool on the trees, written to folders of their own."""
    staged = Path(tempfile.mkdtemp(prefix="porchbot-"))
    try:
        for name, files in trees.items():
            folder.write(staged / name, {**files})
        whole = [*command, *(str(staged / name) for name in trees)]
        if keep:
            terminal.say(" ".join(whole))
        status = subprocess.run(whole, check=False).returncode  # noqa: S603 (the user's command)
    finally:
        if not keep:
            shutil.rmtree(staged)
    if status not in (0, 1):  # 1: there are differences
        terminal.say(
            f"\nThe selected diff tool ({command[0]}) exited with an error. It may not support the"
            f" chosen diff type ({kind}). Choose another one with --diff-tool.\n"
        )
        raise CommandFailure(f"exit status {status}")
