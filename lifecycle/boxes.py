"""Boxes of the dashboard issue: each gives the command beside it, in the name of whoever ticks it.

Whoever may edit the issue may also write a box into it, or other words beside, above or below one:
somebody else would tick what nobody offered. So each line with a box ends in a seal, which fits
that line of that whole text in that repository alone, whichever of its boxes are ticked, and a box
without its seal gives nothing. The command is judged as if whoever ticked it had commented it, and
by `access.bulk` as well.

A box about a proposal names the commit that was shown, and counts for that one alone (ADR 73).
"""

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from lifecycle.identity import RepositoryId

GO_ON = "continue"
"""The command that goes on with boxes after something failed."""

DRAFTING = ("upgrade", "resume", "rollback")
"""Commands of boxes that make drafts: a few are open at a time."""

RECORD = "boxes"
"""The kind of the record in the comment that tells what became of boxes."""

APPROVE = "approve"

ABOUT_PROPOSALS = ("propose", APPROVE)
"""Commands of boxes that are about a proposal, as it was shown."""

MOST_OPEN = 5
"""Drafts of boxes that are open at a time: each is a pull request that people look at."""

MOST_TICKED = 100
"""Boxes that one edit ticks; of more the first ones count."""

LONGEST = 2_000
"""Characters of a line with a box; ours are shorter."""

_DRAFTING = rf"(?P<command>(?:{'|'.join(DRAFTING)}) [^`\r\n]{{1,300}}|{GO_ON})"
_COMMAND = re.compile(rf"`(?:/|@[\w.-]+ ){_DRAFTING}`", re.ASCII)
_COMMIT = r"[0-9a-f]{40}(?:[0-9a-f]{24})?"
_ABOUT = re.compile(
    rf"`(?:/|@[\w.-]+ )(?P<command>(?:{'|'.join(ABOUT_PROPOSALS)}) {_COMMIT})`"
    r" in \[[#!](?P<number>[1-9][0-9]{0,11})\]\(",
    re.ASCII,
)
_NAMED = re.compile(rf"(?P<command>[a-z]+ {_COMMIT}) #(?P<number>[1-9][0-9]{{0,11}})", re.ASCII)
_AT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z", re.ASCII)
_TICKED = ("- [x] ", "- [X] ", "* [x] ", "* [X] ")
_FREE = "- [ ] "
_SEAL = re.compile(r" ?<!-- porchbot-box ([0-9a-f]{32}) -->\Z")
_NUMBER = re.compile(r"-?[0-9]{1,18}")
_DIGESTS = re.compile(
    r"(?P<digest>[0-9a-f]{32})(?:\.(?P<shown>[0-9a-f]{32}|-))?(?:\.(?P<page>[0-9a-f]{32}|-))?"
)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_LOST = re.compile(r"\s+|<!--|-->")

UNSEALED = f" <!-- porchbot-box {'0' * 32} -->"
"""Ends the line of a box whose seal is yet to be made."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A box that somebody ticked.

    Attributes:
        issue: Number of the issue that it is in, as ours are found; 0 where nobody noted it.
        seal: What stands at the end of its line; "" for nothing.
        digest: Of the line without box and seal.
        command: What stands beside it, without its slash; "" for no command of a box. Of one about
            a proposal that and its number, such as "approve 0123… #12".
        at: When it was ticked, as the forge says; None where nobody noted it.
        shown: Its line and seal, as `shown` has them; "" where nobody noted it.
        page: Digest of the text that it stands in, as `page_of` has it; "" where nobody noted it.
    """

    issue: int
    seal: str
    digest: str
    command: str
    at: datetime | None = None
    shown: str = ""
    page: str = ""

    def __str__(self) -> str:
        at = f"{self.at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ} " if self.at else ""
        digests = ".".join(each or "-" for each in (self.digest, self.shown, self.page))
        return f"{self.issue} {self.seal or '-'} {digests} {at}{self.command}"

    @property
    def word(self) -> str:
        """The word of its command."""
        return self.command.partition(" ")[0]

    @property
    def proposal(self) -> int:
        """Number of the proposal that it is about; 0 for none."""
        found = _NAMED.fullmatch(self.command)
        return int(found["number"]) if found else 0

    @property
    def said(self) -> str:
        """The command as somebody would comment it there, without its slash."""
        found = _NAMED.fullmatch(self.command)
        return found["command"] if found else self.command

    @classmethod
    def of(cls, text: str) -> "Tick":
        """Read it back; of a text from before there were seals the command alone."""
        match text.split(" ", 3):
            case [number, seal, digests, command] if _NUMBER.fullmatch(number) and (
                found := _DIGESTS.fullmatch(digests)
            ):
                at, _, rest = command.partition(" ")
                known = at if _AT.fullmatch(at) else ""
                return cls(
                    int(number),
                    "" if seal == "-" else seal,
                    found["digest"],
                    rest if known else command,
                    datetime.fromisoformat(known) if known else None,
                    *(
                        "" if found[each] in (None, "-") else found[each]
                        for each in ("shown", "page")
                    ),
                )
            case _:
                return cls(0, "", "", text)


def fits(command: str) -> bool:
    """Tell whether a command can be read back from the text beside its box."""
    return _COMMAND.fullmatch(f"`/{command}`") is not None


def gives(line: str) -> str:
    """Return the command of a line, which stands behind its box; "" for none, as in `Tick`."""
    return _command(line) if len(line) < LONGEST - len(UNSEALED) - len(_FREE) else ""


def ticked(issue: int, text: str) -> tuple[Tick, ...]:
    """Return the boxes that are ticked in a text, each once, in its order.

    Those count that have a command, or a seal: of other lists nothing is said.

    Args:
        issue: Number of the issue, as the forge's adapter gives it.
        text: Its text.
    """
    return tuple(dict.fromkeys(_ticks(issue, text)))


def newly_ticked(
    issue: int, before: str, after: str, at: datetime | None = None, *, shows: bool = False
) -> tuple[Tick, ...]:
    """Return the boxes that an edit ticked, `MOST_TICKED` at most.

    Args:
        issue: Number of the issue, as the forge's adapter gives it.
        before: Its text before.
        after: Its text since.
        at: When it was edited, as the forge says.
        shows: Note each one's line: the forge tells which of them an edit ticked.
    """
    known = frozenset(replace(each, page="") for each in _ticks(issue, before, shows=shows))
    every = dict.fromkeys(_ticks(issue, after, shows=shows))
    found = [replace(each, at=at) for each in every if replace(each, page="") not in known]
    return tuple(found[:MOST_TICKED])


def sealed(text: str, seal: Callable[[str, str], str]) -> str:
    """Return a text of ours with a seal at the end of each line that has a box and lacks one.

    Args:
        text: Of the issue, all of it.
        seal: Gives that of a line, by its command and `page_of` the text: 32 hex digits.
    """
    page, lines = page_of(text), text.split("\n")
    for index, line in enumerate(lines):
        if line.startswith(_FREE) and line.endswith(UNSEALED):
            said = line.removesuffix(UNSEALED)
            made = seal(_command(said[len(_FREE) :]), page)
            lines[index] = f"{said}{UNSEALED.replace('0' * 32, made)}"
    return "\n".join(lines)


def lost(issue: int, text: str, heard: Collection[Tick]) -> frozenset[str]:
    """Return the commands of sealed boxes that are ticked in a text and that no delivery told of.

    Args:
        issue: Number of the issue, as the forge's adapter gives it.
        text: Its text, as it stands there.
        heard: Boxes that deliveries told of.
    """
    told = {each.command for each in heard}
    found = {each.command for each in ticked(issue, text) if each.seal}
    return frozenset(found - told - {""})


def noted(text: str, commands: Collection[str], note: str) -> str:
    """Return a text of ours, not sealed yet, with a note at the boxes of some commands."""
    lines = text.split("\n")
    for index, line in enumerate(lines):
        if line.startswith(_FREE) and line.endswith(UNSEALED):
            said = line.removesuffix(UNSEALED)
            if _command(said[len(_FREE) :]) in commands:
                lines[index] = f"{said}{note}{UNSEALED}"
    return "\n".join(lines)


def seal_of(key: bytes, repository_id: RepositoryId, command: str, page: str) -> str:
    """Return the seal of a line with a box, 32 hex digits.

    Args:
        key: From `records.derive_key`.
        repository_id: Where the issue is.
        command: That the box gives.
        page: Digest of the text that the line stands in.
    """
    said = json.dumps(["box", repository_id.spelled, command, page])
    return hmac.digest(key, f"box\n{said}".encode(), "sha256").hex()[:32]


def is_ours(tick: Tick, keys: Sequence[bytes], repository_id: RepositoryId) -> bool:
    """Tell whether a bot with one of these keys wrote the line of a box just so.

    Args:
        tick: The box.
        keys: The current key and older ones.
        repository_id: Where the issue is.
    """
    made = (seal_of(key, repository_id, tick.command, tick.page) for key in keys)
    return bool(tick.command) and any(hmac.compare_digest(each, tick.seal) for each in made)


def shown(text: str) -> str:
    """Return what tells the lines of two boxes apart: 32 hex digits.

    GitLab's note of a box has its line as it stands, or, in newer versions, a backslash before each
    mark and no "<!--" and "-->", but what stood between them. So of a line of ours, which begins
    with a command in backticks, those two and white space are left out; all else could be words
    that people see, or differ between two boxes, and is compared as it is, with the seal.

    Args:
        text: What stands behind the box, with its seal, or what the note has of that.
    """
    said = text.strip()  # whole: what is left out people see all the same
    said = _ESCAPED.sub(r"\1", said) if said.startswith("\\`") else said
    return _folded(said) if said.startswith("`") else digest_of(said)


def _folded(said: str) -> str:
    return hashlib.sha256(_LOST.sub("", said).encode("utf-8", "replace")).hexdigest()[:32]


def page_of(text: str) -> str:
    """Return the digest of a text with boxes: the same whichever are ticked, and without seals.

    Whoever ticks a box read what stands around it as well.

    Args:
        text: Of the issue, with its records.
    """
    lines = (each.rstrip(" \t\r") for each in text.split("\n"))
    free = (_FREE + line[len(_FREE) :] if line.startswith(_TICKED) else line for line in lines)
    return digest_of("\n".join(_SEAL.sub("", line) for line in free))


def stands(text: str, keys: Sequence[bytes], repository_id: RepositoryId) -> bool:
    """Tell whether a text with boxes is as a bot with one of these keys wrote it.

    Args:
        text: Of the issue, with its records.
        keys: The current key and older ones.
        repository_id: Where the issue is.
    """
    page, found = page_of(text), False
    for each in text.split("\n"):
        line = each.rstrip(" \t\r")
        if line.startswith((_FREE, *_TICKED)) and (seal := _SEAL.search(line)):
            said = line[len(_FREE) : seal.start()]
            tick = Tick(0, seal[1], "", _command(said), page=page)
            if not (found := is_ours(tick, keys, repository_id)):
                return False
    return found


def _ticks(issue: int, text: str, *, shows: bool = False) -> Iterator[Tick]:
    page = page_of(text)
    for each in text.split("\n"):
        line = each.rstrip(" \t\r")
        if not line.startswith(_TICKED) or len(line) > LONGEST:
            continue
        whole = line[len(_FREE) :]
        found = _SEAL.search(whole)
        said = whole[: found.start()] if found else whole
        command = _command(said)
        if found or command:
            seal = found[1] if found else ""
            told = shown(whole) if shows else ""
            yield Tick(issue, seal, digest_of(said), command, shown=told, page=page)


def _command(line: str) -> str:
    if found := _ABOUT.match(line):
        return f"{found['command']} #{found['number']}"
    found = _COMMAND.match(line)
    return found["command"] if found else ""


def digest_of(line: str) -> str:
    """Return the digest of a line with a box, as its seal and `Tick` have it.

    Args:
        line: What stands behind the box, without a seal.
    """
    return hashlib.sha256(line.strip().encode("utf-8", "replace")).hexdigest()[:32]
