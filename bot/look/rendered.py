"""Puts the rendering of a draft into the files of it, so that one commit holds both."""

from collections.abc import Mapping
from datetime import UTC, datetime

from bot.clock import Offload
from bot.git.port import GitIdentity, History
from bot.look.reader import MirrorReader
from bot.render.port import Renderer
from cadlib.package.files import REGULAR, Entry, upwards
from lifecycle.names import Sha
from lifecycle.policy import BrokenPolicy, RenderMode

_SCRATCH = GitIdentity("porchbot", "porchbot@localhost")
"""Who a commit is by that is looked at and never pushed."""

_NEVER = datetime.fromtimestamp(0, UTC)


async def rendered(
    reader: MirrorReader,
    renderer: Renderer,
    offload: Offload,
    *,
    files: Mapping[str, Entry | None],
    start: Sha,
    package: str,
    base: Sha,
    base_ref: str,
) -> dict[str, Entry | None]:
    """Return files with what rendering makes of them.

    What cannot be rendered is left as it is: the checks of the pull request say why.

    Args:
        reader: Reads git.
        renderer: Renders.
        offload: Where git is read and written.
        files: Path in the repository to the whole file, None for one that goes.
        start: The commit that they are put onto.
        package: The package that they are about.
        base: The commit whose rules hold.
        base_ref: Its branch.
    """
    git = reader.git
    held_to = (await offload(reader.rules, base, base_ref)).policy
    if isinstance(held_to, BrokenPolicy) or held_to.render is not RenderMode.COMMIT:
        return dict(files)
    made = await offload(scratch, git, start, files)
    unit = await offload(_unit, git, made, package)
    tree = await offload(git.package, made, unit)
    if not tree:
        return dict(files)
    origin = await offload(git.package, base, unit)
    verdict = await renderer.verdict(git, unit, tree, origin, held_to)
    if verdict.broken or not verdict.complete:
        return dict(files)
    changed = dict(files)
    for path, data in verdict.changes.items():
        changed[path] = await offload(_entry, git, made, path, data)
    return changed


def scratch(git: History, start: Sha, files: Mapping[str, Entry | None]) -> Sha:
    """Write a commit with some files that no ref names."""
    return git.write_commit(start, files, _SCRATCH, _NEVER, lambda _: "scratch\n")


def _unit(git: History, commit: Sha, package: str) -> str:
    """The outermost package around a package, which is rendered as one."""
    around = [*upwards(package)] if package else [""]
    return next((each for each in reversed(around) if git.package(commit, each)), package)


def _entry(git: History, commit: Sha, path: str, data: bytes | None) -> Entry | None:
    """What rendering makes of a file; its mode stays."""
    mode = git.entry(commit, path).partition(" ")[0]
    return None if data is None else Entry(data, mode or REGULAR)
