"""Versions that people should not use, said where a command fetches them.

The ledger at the default branch of the upstream tells which revisions were withdrawn or deprecated
(docs/design.md, "Deletion"). It is asked only for what is called like a revision, as "v5". What
cannot be asked is said, and keeps nobody from a version that is there.
"""

from bot.cli import terminal
from bot.cli.disk.clone import entry_at, ledgers
from bot.cli.disk.git_source import RemoteRepositories
from bot.cli.dropin import CommandFailure
from cadlib.errors import PackageError, Place
from cadlib.update.upstream import Fetch, Fetched
from lifecycle import names
from lifecycle.ledger import LedgerEntry, ListedState
from lifecycle.messages import listed as texts


def fetch(wanted: Fetch, repositories: RemoteRepositories) -> Fetched:
    """Fetch a package; warn where the ledger of its repository says something of the version.

    Raises:
        PackageError: It cannot be fetched; where it was withdrawn, that is the reason given.
    """
    try:
        fetched = repositories.fetch(wanted)
    except PackageError:
        package = wanted.directory.strip("/")
        for found in (_revision(package, wanted.ref), _revision("", wanted.ref)):
            entry = found and _entry(wanted.repo, found, repositories, missing=True)
            if found and entry and entry.state is ListedState.WITHDRAWN:
                problem, fix = texts.gone(names.shown(*found), _reason(entry))
                raise PackageError(Place(wanted.repo), problem, fix) from None
        raise
    found = _revision("", fetched.ref)
    if found is not None:
        entry = _entry(wanted.repo, found, repositories)
        if entry is not None and entry.state is not ListedState.HELD:
            said = texts.warning(names.shown(*found), entry.state, _reason(entry))
            terminal.say(said, err=True)
    return fetched


def _revision(package: str, ref: str) -> tuple[str, int] | None:
    """The revision that a ref is called like, seen from a package."""
    name = names.tag_name(ref)
    return names.parse_tag(names.tag_ref(f"{package}/{name}" if package else name))


def _entry(
    repo: str, revision: tuple[str, int], repositories: RemoteRepositories, *, missing: bool = False
) -> LedgerEntry | None:
    """What the ledger says of it; where that cannot be read, people are told, and None."""
    try:
        git, commit = repositories.published(repo, ledgers(revision[0]))
        return entry_at(git, commit, *revision)
    except (CommandFailure, PackageError) as error:
        if not missing:
            said = texts.unread(names.shown(*revision), terminal.line(str(error)))
            terminal.say(said, err=True)
        return None


def _reason(entry: LedgerEntry) -> str:
    return terminal.line(entry.reason).removesuffix(".")
