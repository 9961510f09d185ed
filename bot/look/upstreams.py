"""Which packages of a commit have others of the same repository as upstream.

Read only where a proposal removes packages or withdraws revisions. A Kptfile is parsed only where
it names the repository, and up to `MOST_BYTES`: of thousands hardly any is.
"""

from collections.abc import Collection, Iterable, Mapping

from bot.git.port import History
from cadlib.errors import PackageError
from cadlib.kptfile import reader
from cadlib.kptfile.values import GitRef
from lifecycle import names

MOST_BYTES = 256 * 1024
"""Of a Kptfile: a hundred times the largest real one."""

_SCHEMES = ("https://", "http://", "ssh://", "git://")


def users(
    git: History, commit: str, address: str, removed: Collection[str]
) -> Mapping[str, tuple[str, ...]]:
    """Return the packages that have a removed one, or one inside it, as upstream.

    Args:
        git: Where the trees are.
        commit: What is left once the packages were removed.
        address: Where git reaches the repository.
        removed: Paths of packages.

    Returns:
        Removed package to the packages that use it, sorted; none is missing.
    """
    found: dict[str, list[str]] = {package: [] for package in removed}
    for package, each in _named(git, commit, address):
        folder = each.directory.removeprefix("./").strip("/")
        for gone in removed:
            if _within(folder, gone) and package not in found[gone]:
                found[gone].append(package)
    return {package: tuple(by) for package, by in found.items()}


def users_of(
    git: History, commit: str, address: str, revisions: Collection[tuple[str, int]]
) -> Mapping[tuple[str, int], tuple[str, ...]]:
    """Return the packages that have a revision as upstream, told by the tag that they name.

    Args:
        git: Where the trees are.
        commit: What is looked at.
        address: Where git reaches the repository.
        revisions: Packages and numbers.

    Returns:
        Revision to the packages that use it, sorted; none is missing.
    """
    found: dict[tuple[str, int], list[str]] = {revision: [] for revision in revisions}
    if not revisions:
        return {}
    for package, each in _named(git, commit, address):
        ref = each.ref if names.is_tag(each.ref) else names.tag_ref(each.ref)
        for revision, by in found.items():
            if ref == names.tag_ref(names.spelled(*revision)) and package not in by:
                by.append(package)
    return {revision: tuple(by) for revision, by in found.items()}


def users_elsewhere(
    git: History, tips: Mapping[str, str], address: str, revisions: Collection[tuple[str, int]]
) -> Mapping[tuple[str, int], tuple[str, ...]]:
    """Return the packages of other branches that have a revision as upstream.

    Args:
        git: Where the trees are.
        tips: Those branches, each to its tip.
        address: Where git reaches the repository.
        revisions: Packages and numbers.

    Returns:
        Revision to the packages that use it, as git writes a folder of a branch, such as
        "release-1:net/core", in the order of the branches; none is missing.
    """
    there = {branch: users_of(git, tip, address, revisions) for branch, tip in tips.items()}
    return {
        revision: tuple(f"{branch}:{p}" for branch, by in there.items() for p in by[revision])
        for revision in revisions
    }


def _named(git: History, commit: str, address: str) -> Iterable[tuple[str, GitRef]]:
    """The upstreams of packages that lie in this repository, in the order of the packages."""
    for package, (_, tree) in sorted(git.difference("", commit).packages.items()):
        if tree:
            yield from ((package, each) for each in of_package(git, commit, address, package))


def of_package(git: History, commit: str, address: str, package: str) -> Iterable[GitRef]:
    """Return the upstreams of one package that lie in this repository.

    Args:
        git: Where the trees are.
        commit: What is looked at.
        address: Where git reaches the repository.
        package: Its path.
    """
    here, file = place(address), f"{package}/Kptfile".lstrip("/")
    data = git.blob(commit, file, MOST_BYTES) if here else None
    if data is None or here.rpartition("/")[2].encode() not in data.lower():
        return ()
    return _upstreams(data, file, here)


def place(address: str) -> str:
    """Return host and path of a repository, however its address is spelled; "" for none."""
    text = address.strip().lower()
    scheme = next((each for each in _SCHEMES if text.startswith(each)), "")
    text = text.removeprefix(scheme).rpartition("@")[2]
    if not scheme and ":" in text.partition("/")[0]:  # as ssh has it: git@host:owner/name
        text = text.replace(":", "/", 1)
    return text.rstrip("/").removesuffix(".git")


def _upstreams(data: bytes, file: str, here: str) -> Iterable[GitRef]:
    """Places in this repository that a Kptfile names as upstream."""
    try:
        kptfile = reader.read(data, file)
    except PackageError:
        return  # it is no package that anybody could bring up to date
    for git in (kptfile.upstream, kptfile.upstream_lock):
        if git is not None and place(git.repo) == here:
            yield git


def _within(folder: str, package: str) -> bool:
    return not package or folder in ("", ".") or f"{folder}/".startswith(f"{package}/")
