"""Repositories that a command of `porchbot rpkg` reads: clones on disk, and those at the forge.

What is at the forge is read with the caller's own token, as `porchbot check NUMBER` does: what the
caller may not read is not there.
"""

import asyncio
import tempfile
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import click

from bot import config
from bot.cli.disk.git_objects import RepositoryTrees
from bot.cli.disk.worktree import no_clone
from bot.cli.dropin import CommandFailure
from bot.cli.reaching import place_of
from bot.cli.references import ProposalReference
from bot.cli.rpkg import speaking
from bot.dryrun import DryRunScope, NotToldError
from bot.forges.port import ForgeBusyError, ForgeMissingError, ForgeRefusedError, once
from bot.git.port import EVERYTHING, GitBusyError
from bot.git.process import execute, users_environment
from bot.git.trees import TreeReader
from bot.look import locks, rules
from bot.look.marks import MarkedRepository, upstream_of
from cadlib.limits import DEFAULT
from cadlib.package.files import Files
from lifecycle import names
from lifecycle.ledger import Entries, ListedState, held, withdrawn
from lifecycle.policy import BrokenPolicy, Policy
from lifecycle.selectors.marks import PackageMarks
from lifecycle.upstreams.graph import Graph, Package, Upstream
from lifecycle.upstreams.locations import locate

_FORGOT = (ForgeBusyError, ForgeRefusedError, GitBusyError, NotToldError, OSError)


@dataclass(frozen=True)
class SourceRepository:
    """A repository that is read.

    Attributes:
        place: Where it is, as locations are spelled; of a clone without a remote its folder.
        name: As people call it.
        branch: What is looked at.
        commit: That, in full.
        tags: Full name of each tag to the commit behind it.
        trees: Reads it.
    """

    place: str
    name: str
    branch: str
    commit: str
    tags: Mapping[str, str]
    trees: TreeReader

    @cached_property
    def _numbers(self) -> Mapping[str, tuple[int, ...]]:
        return names.numbered(self.tags)

    def numbers(self, package: str) -> tuple[int, ...]:
        """Numbers of a package's revisions, rising."""
        return self._numbers.get(package, ())

    def releases(self, package: str) -> tuple[int, ...]:
        """Numbers of a package's releases that the ledger says nothing against, rising."""
        found = self._listed(package)
        if isinstance(found, BrokenPolicy):
            return ()
        return tuple(number for number in self.numbers(package) if number not in found)

    def usable(self, package: str) -> tuple[int, ...]:
        """Numbers of a package's revisions that were not withdrawn or deprecated, rising."""
        against = {n for n, e in self.ledger(package).items() if e.state is not ListedState.HELD}
        return tuple(n for n in self.numbers(package) if n not in against)

    def then(self, package: str, revision: int) -> PackageMarks:
        """What selectors choose a package by, as it was in one of its revisions."""
        commit = self.tags[names.tag(package, revision)]
        return self._here().of(self.trees, commit, package, revision=revision)

    def _here(self) -> MarkedRepository:
        return MarkedRepository(name=self.name, policy=self.policy())

    def policy(self) -> Policy | BrokenPolicy:
        """Its rules, as its own `.porchbot.yaml` has them."""
        return config.read(config.fetch(self.trees.blob, self.commit, config.CONFIG))

    def marks(self) -> tuple[PackageMarks, ...]:
        """What selectors choose its packages by, sorted by path."""
        here = self._here()
        packages = self.trees.difference("", self.commit).packages
        return tuple(self._marked(here, each) for each in sorted(packages))

    def _marked(self, here: MarkedRepository, package: str) -> PackageMarks:
        ledger = self.ledger(package)
        hold = held(ledger)
        numbers = set(self.numbers(package)) - withdrawn(ledger)
        return here.of(
            self.trees,
            self.commit,
            package,
            revision=max(numbers, default=0),
            held=hold[0] if hold else 0,
        )

    def ledger(self, package: str) -> Entries:
        """What the ledger says of a package's revisions; nothing where it cannot be read."""
        found = self._listed(package)
        return {} if isinstance(found, BrokenPolicy) else found

    def _listed(self, package: str) -> Entries | BrokenPolicy:
        def file(commit: str, path: str) -> bytes | None:
            return config.fetch(self.trees.blob, commit, path)

        return rules.listed(file, self.commit, package)

    def hold(self, package: str) -> str:
        """Where a rollback holds a package, such as "held at v1"; "" for nowhere."""
        found = held(self.ledger(package))
        return f"held at v{found[0]}" if found else ""

    def revision(self, package: str) -> str:
        """The newest revision of a package as people write it; the branch where there is none."""
        there = self.numbers(package)
        return names.shown(package, there[-1]) if there else f"{package or '.'}@{self.branch}"

    def files(self, package: str, ref: str) -> Files:
        """The files of a package at a revision, tag or commit of its repository.

        Raises:
            CommandFailure: There is no such revision or package.
        """
        wanted = (f"{package}/{ref}".lstrip("/"), ref)
        found = (self.tags[tag] for each in wanted if (tag := names.tag_ref(each)) in self.tags)
        commit = next(found, self.commit if ref in (self.branch, "HEAD") else "")
        if not commit:
            raise CommandFailure(f"{self.name} has no tag {wanted[0]}. Name a revision such as v3")
        tree = self.trees.tree(commit, package)
        if not tree:
            raise CommandFailure(f"{self.name} has no folder {package!r} at {ref}. Check the path")
        return self.trees.files(tree, DEFAULT)


def on_disk(folder: Path, stack: ExitStack) -> SourceRepository:
    """Open a clone.

    Raises:
        CommandFailure: It is none, or has no commit.
    """
    env = users_environment()

    def git(*arguments: str) -> str:
        done = execute(arguments, folder, env)
        return "" if done.returncode else done.stdout.strip()

    try:
        commit = git("rev-parse", "--verify", "HEAD^{commit}")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise CommandFailure(f"{folder} cannot be read: {error}. Name a clone") from error
    if not commit:
        found = execute(["rev-parse", "--git-dir"], folder, env)
        what = no_clone(found) if found.returncode else "in a repository without a commit"
        raise CommandFailure(
            f"{folder.resolve()} is {what}. Name a clone with a working tree, or make one with"
            " `git clone`"
        )
    trees = RepositoryTrees(folder, env)
    stack.callback(trees.close)
    location = locate(git("remote", "get-url", "origin"))
    listed = git("for-each-ref", "--format=%(refname)%00%(objectname)%00%(*objectname)", names.TAGS)
    tags = {}
    # Not splitlines(): a ref may hold U+2028, which that takes for the end of a line.
    for line in filter(None, listed.split("\n")):
        ref, tag, peeled = line.split("\0")
        tags[ref] = peeled or tag
    return SourceRepository(
        str(location) if location else folder.resolve().name,
        location.path if location else folder.resolve().name,
        git("rev-parse", "--abbrev-ref", "HEAD") or "HEAD",
        commit,
        tags,
        trees,
    )


async def reached(name: str, stack: AsyncExitStack, folder: Path) -> DryRunScope:
    """Reach a repository at the forge, as its caller may.

    Args:
        name: OWNER/NAME, or an address.
        stack: Ends what is opened.
        folder: For its mirror.

    Raises:
        CommandFailure: Nobody can tell where it is, or there is no token for it.
    """
    where = speaking.at_own_forge(name)
    try:
        return await place_of(
            ProposalReference(1, where.name, merge=where.at_gitlab), stack, folder
        )
    except ForgeMissingError as error:
        raise CommandFailure(
            f"{where.name} is not there, or your token may not read it. Check the name, or use"
            " another token"
        ) from error


async def as_it_is(place: DryRunScope, stack: ExitStack) -> SourceRepository:
    """Fetch a repository, and read its default branch.

    Args:
        place: Which one.
        stack: Closes what is opened.

    Raises:
        CommandFailure: There is no commit.
    """
    repository, mirror = place.repository, place.mirror
    credentials = await place.forge.git_credentials()
    await asyncio.to_thread(mirror.fetch, credentials, None, EVERYTHING)
    git: Any = stack.enter_context(await asyncio.to_thread(mirror.open))
    commit = git.ref(names.branch_ref(repository.default_branch))
    if not commit:
        raise CommandFailure(f"{repository.full_name} has no commit yet. Commit something to it")
    return SourceRepository(
        str(locate(repository.clone_url) or repository.full_name),
        repository.full_name,
        repository.default_branch,
        commit,
        {ref: peeled for ref, (_, peeled) in git.refs(names.TAGS).items()},
        git,
    )


def read(
    clones: Collection[Path],
    repositories: Collection[str],
    work: Callable[[list[SourceRepository]], None],
) -> None:
    """Open repositories, and do something with them; clones come first, and are not read twice.

    Raises:
        CommandFailure: One of them cannot be read; it says why.
    """

    async def run() -> None:
        async with AsyncExitStack() as stack:
            made = tempfile.TemporaryDirectory(prefix="porchbot-rpkg-")
            folder = Path(stack.enter_context(made))
            closing = stack.enter_context(ExitStack())
            found = [on_disk(each, closing) for each in clones]
            there = {each.name.lower() for each in found}
            for name in repositories:
                if name.lower() not in there:
                    place = await reached(name, stack, folder)
                    found.append(await as_it_is(place, closing))
            work(found)

    running(run())


def running(work: Coroutine[Any, Any, None]) -> None:
    """Run something that asks forges.

    Raises:
        CommandFailure: A forge or git tells nothing; it says why.
    """
    try:
        asyncio.run(work)
    except ForgeRefusedError as error:
        raise CommandFailure(f"the forge refused: {error.reason}. Use another token") from error
    except _FORGOT as error:
        raise CommandFailure(once(error)) from error


def graph_of(sources: Iterable[SourceRepository]) -> Graph:
    """Return the graph of all packages of some repositories."""
    found: dict[Package, Upstream | None] = {}
    for source in sources:
        for path, uses in locks.changed(source.trees, "", source.commit).items():
            found[Package(source.place, path)] = upstream_of(uses)
    return Graph(found)


def named(command: Any) -> Any:
    """Give a command the options by which it is told what to read."""
    options = (
        click.option(
            "--repository",
            "repositories",
            metavar="OWNER/NAME",
            multiple=True,
            help="Repository at the forge, read with GITHUB_TOKEN or GITLAB_TOKEN; may be"
            " repeated.",
        ),
        click.option(
            "--repo",
            "folders",
            type=click.Path(file_okay=False, path_type=Path),
            multiple=True,
            help=(
                "Clone on disk; may be repeated. Default: the current folder, unless another "
                "repository is named."
            ),
        ),
    )
    for option in options:
        command = option(command)
    return command


def chosen(folders: Collection[Path], repositories: Collection[str]) -> list[Path]:
    """Return the clones that are read: the current folder where nothing is named."""
    return list(folders) or ([] if repositories else [Path()])
