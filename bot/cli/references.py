"""Pull requests and merge requests as people name them on the command line."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from bot.cli.dropin import CommandFailure
from bot.git.process import execute, users_environment

_GIVEN = re.compile(
    r"(?P<mark>[#!]?)(?P<alone>[1-9]\d{0,9})"
    r"|(?P<name>[\w.-]+(?:/[\w.-]+)+)(?P<sigil>[#!])(?P<short>[1-9]\d{0,9})"
    r"|(?P<origin>https?://(?:[\w.-]+|\[[0-9a-fA-F:]+\])(?::\d{1,5})?)"
    r"/(?:(?P<full>[\w.-]+/[\w.-]+)/pull/(?P<long>[1-9]\d{0,9})"
    r"|(?P<path>[\w.-]+(?:/[\w.-]+)+)/-/merge_requests/(?P<merge>[1-9]\d{0,9}))(?:[/?#].*)?",
    re.ASCII,
)
_ADDRESS = re.compile(
    r"(?:(?:(?P<http>https?)|ssh|git)://(?:[^@/\s]+@)?(?P<host>[\w.-]+)(?P<port>:\d{1,5})?/"
    r"|(?:[^@/\s]+@)?(?P<scp>[\w.-]+):)"
    r"(?P<name>[\w.-]+(?:/[\w.-]+)*/[\w.-]+?)(?:\.git)?/?",
    re.ASCII,
)


_LIKE = re.compile(
    r"[#!]?[1-9]\d*|[\w.-]+(?:/[\w.-]+)+[#!][1-9]\d*"
    r"|https?://\S+/(?:pull|-/merge_requests)/[1-9]\d*\S*",
    re.ASCII,
)
"""A pull request or merge request, and no file or folder."""


def is_reference(text: str) -> bool:
    """Tell whether a text names a pull request or merge request, and no file or folder."""
    return _LIKE.fullmatch(text) is not None


def refuse_address(text: str, instead: str) -> None:
    """Refuse an address that is of no pull request, where a path is read that does not exist.

    Args:
        text: As somebody wrote it: a path has lost one of its slashes.
        instead: What to do about a repository.
    """
    if "://" in text and not Path(text).exists():
        raise CommandFailure(
            f"{text} is not the address of a pull request or merge request. One ends in"
            f" /pull/NUMBER or /-/merge_requests/NUMBER. {instead}"
        )


@dataclass(frozen=True, slots=True)
class ProposalReference:
    """A pull request or merge request as people name it.

    Attributes:
        number: Its number.
        name: OWNER/NAME of its repository, or the path of its project.
        origin: Of the forge, such as "https://github.com"; "" where that is not told.
        merge: It is a merge request by how it is named.
    """

    number: int
    name: str = ""
    origin: str = ""
    merge: bool = False

    @property
    def short(self) -> str:
        """How it is spoken of, such as "#12" or "!12"."""
        return f"{'!' if self.merge else '#'}{self.number}"


def reference(text: str) -> ProposalReference:
    """Read `12`, `#12`, `!12`, `owner/name#12`, `group/project!12`, or an address.

    A number alone is of the repository that the current folder is a clone of.
    """
    found = _GIVEN.fullmatch(text)
    if found is None:
        raise CommandFailure(
            f"{text} is not a pull request. Write 12, OWNER/NAME#12, GROUP/PROJECT!12 or its"
            " address in a browser"
        )
    number = int(found["alone"] or found["short"] or found["long"] or found["merge"])
    name = found["name"] or found["full"] or found["path"] or ""
    merge = "!" in (found["mark"], found["sigil"]) or bool(found["path"])
    wanted = ProposalReference(number, name, found["origin"] or "", merge)
    return wanted if wanted.name else _here(wanted)


def _here(wanted: ProposalReference) -> ProposalReference:
    """The repository that the current folder is a clone of."""
    try:
        said = execute(["remote", "get-url", "origin"], Path(), users_environment())
    except FileNotFoundError as error:
        raise CommandFailure("git is not installed. Install git") from error
    found = None if said.returncode else _ADDRESS.fullmatch(said.stdout.strip())
    if found is None:
        named = f"GROUP/PROJECT{wanted.short}" if wanted.merge else f"OWNER/NAME{wanted.short}"
        raise CommandFailure(
            f"cannot tell which repository {wanted.short} belongs to. Write {named}, or give the"
            f" address of the {'merge' if wanted.merge else 'pull'} request"
        )
    port = (found["port"] or "") if found["http"] else ""  # another one is for SSH alone
    origin = f"{found['http'] or 'https'}://{found['host'] or found['scp']}{port}"
    return replace(wanted, name=found["name"], origin=origin)
