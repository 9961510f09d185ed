"""A clone of a repository: which one it is of, and what its branches say of a revision."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from bot.cli.disk.git_objects import RepositoryTrees
from bot.cli.dropin import CommandFailure
from bot.git.process import execute, users_environment
from bot.ledger_paths import LEDGER, package_ledger
from bot.signing.tags import ExpectedRepository
from lifecycle import names
from lifecycle.ledger import LedgerEntry
from lifecycle.policy import BrokenPolicy

ORIGIN = "origin"

_HOST = r"(?:[^/@\s]*@)?(?P<{}>\[[0-9a-f:.]+\]|[^][/@:\s]+)"
_PATH = r"/?(?P<path>[^/:\s]+(?:/[^/:\s]+)+)/?"
_AT = rf"(?!file:)(?P<scheme>[a-z+]+)://{_HOST.format('at')}(?::[0-9]+)?/"
_ADDRESS = re.compile(rf"(?:{_AT}|{_HOST.format('to')}:(?!//)){_PATH}", re.IGNORECASE)
"""An address of a repository at a forge, and no path on this disk."""

_SSH = {"ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com"}
"""Hosts that forges take SSH at beside their own.

Source: https://docs.github.com/en/authentication/troubleshooting-ssh/using-ssh-over-the-https-port
and https://about.gitlab.com/blog/gitlab-dot-com-now-supports-an-alternate-git-plus-ssh-port/
"""


def said(folder: Path, *arguments: str) -> str:
    """Return what git says in a folder, "" where it refuses.

    Raises:
        CommandFailure: There is no git.
    """
    try:
        done: subprocess.CompletedProcess[str] = execute(arguments, folder, users_environment())
    except FileNotFoundError as error:
        raise CommandFailure("git is not installed. Install git") from error
    return "" if done.returncode else done.stdout.strip()


def place_in(address: str) -> ExpectedRepository | None:
    """Return the repository that an address is of: its host and whole path; None for none."""
    found = _ADDRESS.fullmatch(address)
    if found is None:
        return None
    host = (found["at"] or found["to"]).strip("[]").rstrip(".").lower()
    return ExpectedRepository(
        path=found["path"].removesuffix(".git"),
        host=_SSH.get(host, host),
        over="ssh" if "ssh" in (found["scheme"] or "ssh").lower() else "http",
    )


def repository(folder: Path) -> ExpectedRepository | None:
    """Return the repository that a folder is a clone of; None where nothing tells.

    The address goes by as it was given: what git replaces in it (`insteadOf`) may be a path.
    """
    return place_in(said(folder, "config", "--get", f"remote.{ORIGIN}.url"))


def ledger(
    git: RepositoryTrees, folder: Path, base: str, tagged: str, package: str, revision: int
) -> tuple[Sequence[str], LedgerEntry | None]:
    """Read what the ledgers of the publish branches say of a revision.

    What was fetched last counts: the default branch of the remote and the branch that the revision
    was merged to, else these branches of the repository itself. "withdrawn" on any one counts.

    Args:
        git: Reads the clone.
        folder: The clone.
        base: The branch that the revision was merged to, such as "main".
        tagged: The commit of the revision.
        package: Its path.
        revision: Its number.

    Returns:
        The branches that were read, as people know them, and what is said.

    Raises:
        CommandFailure: A ledger cannot be read.
    """
    remote = (f"refs/remotes/{ORIGIN}/HEAD", f"refs/remotes/{ORIGIN}/{base}")
    here = ("HEAD", names.branch_ref(base))
    found = {ref: git.commit(ref) for ref in remote} if git.commit(remote[1]) else {}
    found = found or {ref: git.commit(ref) for ref in here}
    read = {ref: commit for ref, commit in found.items() if commit}
    entries = [entry_at(git, commit, package, revision) for commit in dict.fromkeys(read.values())]
    if "HEAD" in read and not any(entries) and not _tells(folder, read["HEAD"], base, tagged):
        del read["HEAD"]
    told = sorted((e for e in entries if e is not None), key=lambda each: each.state)
    shown = [names.branch_name(ref).removeprefix("refs/remotes/") for ref in read]
    return shown, told[-1] if told else None


def _tells(folder: Path, head: str, base: str, tagged: str) -> bool:
    """Whether HEAD would have a withdrawal: it is that branch, or one that goes on from the tag.

    A clone of the tag itself has just the commit that is tagged, which cannot say so.
    """
    on = said(folder, "symbolic-ref", "--quiet", "HEAD")
    if on == names.branch_ref(base):
        return True
    return bool(on) and said(folder, "merge-base", tagged, head) == tagged != head


def ledgers(package: str) -> list[str]:
    """Return the paths of the files that say something of the revisions of a package."""
    return [path for path in (LEDGER, package_ledger(package)) if path]


def entry_at(git: RepositoryTrees, commit: str, package: str, revision: int) -> LedgerEntry | None:
    """Read what the ledgers of one commit say of a revision; None for nothing.

    Raises:
        CommandFailure: A ledger cannot be read.
    """
    paths = (LEDGER, package_ledger(package))
    if not any(path and git.entry(commit, path) for path in paths):
        return None
    from bot import config  # a fifth of a second to read, and most repositories have no ledger

    files = [config.fetch(git.blob, commit, path) if path else None for path in paths]
    for path, data in zip(paths, files, strict=True):
        if data is None and path and git.entry(commit, path):
            raise CommandFailure(
                f"{path} is not a regular file at {commit[:12]}. Ask an administrator of the"
                " repository to replace it"
            )
    found = config.ledger_entry(files[0], files[1], package, revision)
    if isinstance(found, BrokenPolicy):
        problem = found.problems[0]
        raise CommandFailure(f"{problem.place}: {problem.problem}. {problem.fix}")
    return found
