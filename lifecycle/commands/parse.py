"""Comments parsed into commands and problems.

Rules (docs/design.md, "Commands"):

1. A command stands at the start of a line of a plain paragraph, as `/approve` or
   `@porchbot approve`. In quotes, lists, headings, tables, code, links, HTML comments and folded
   parts it is talk about a command. Where HTML or what cannot be seen may make the forge show it
   otherwise than it reads, it is not obeyed, and its writer is told (`lines`).
2. One comment may hold several; they are obeyed in their order.
3. Other bots listen too: an unknown `/word` is ours to answer only within two letters of a command
   of ours, or after `@porchbot`.
4. A line that is not exactly a command is never obeyed in part: it gives a problem to answer.

The same text gives the same result, and every text gives one.
"""

import hashlib
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from lifecycle import limits
from lifecycle.commands import grammar
from lifecycle.commands import lines as comment_lines
from lifecycle.commands.grammar import BLANKS
from lifecycle.commands.handlers.questions import HelpCommand
from lifecycle.commands.kept import SizeBoundedCache
from lifecycle.commands.lines import Beginnings, Unclear
from lifecycle.commands.spec import CommandSpec, Table
from lifecycle.commands.table import TABLE
from lifecycle.messages import parsing as texts

MOST_LINES = 1_000
"""Lines of a comment with commands: what the Markdown parser does for each takes time."""

MOST_KEPT = 32 * 2**20
"""Bytes of readings of comments in memory, and as many of their lines: those of 20,000 comments,
each with a command and read with two sets of aliases."""

MOST_COMMANDS = 20
"""Commands and problems in one comment; the rest gets one answer in all."""

_NEAR = 2
"""Letters by which a word may differ from a command of ours and still be answered."""


@dataclass(frozen=True, slots=True)
class Misspelt:
    """A word that is no command.

    Attributes:
        word: As written, when it is plain; "" when it is not fit to be repeated.
        suggestion: The command that is meant, as far as one can tell; "" when none is near.
    """

    word: str
    suggestion: str

    def text(self) -> str:
        """What is wrong, as a clause in Markdown."""
        return texts.misspelt(self.word, self.suggestion)


@dataclass(frozen=True, slots=True)
class Malformed:
    """A command that is not written as it must be, and is not obeyed.

    Attributes:
        command: The command; "" when it is about the comment as a whole.
        problem: What is wrong with it, as a clause in Markdown.
    """

    command: str
    problem: str

    def text(self) -> str:
        """What is wrong, as a clause in Markdown."""
        return texts.malformed(self.command, self.problem)


CommandProblem = Misspelt | Malformed


@dataclass(frozen=True, slots=True)
class ParsedComment:
    """The commands and problems of one comment; false when it has none.

    Attributes:
        commands: Values of the classes in the table, in the order of the text.
        problems: What was meant for us and not understood, in the order of the text.
    """

    commands: tuple[object, ...] = ()
    problems: tuple[CommandProblem, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.commands or self.problems)


_OTHERS = frozenset({"cc", "close", "lint", "retest", "reopen", "test", "wip"})
"""Commands of other well-known bots and forges that lie within two letters of ours: `/retest` is
no misspelt `/reject` (Prow's command-help page, GitLab's quick actions)."""


NO_ALIASES: Mapping[str, str] = {}


def parse(
    body: str,
    *,
    app: str = "porchbot",
    table: Table = TABLE,
    aliases: Mapping[str, str] = NO_ALIASES,
) -> ParsedComment:
    """Find the commands in a comment.

    Args:
        body: Markdown as written; any text.
        app: The name by which people address the bot with `@`, without brackets.
        table: The commands that there are.
        aliases: Other words of a repository to those of commands, which they cannot replace.
    """
    digest = hashlib.sha256(f"{app}\0{body}".encode("utf-8", "surrogatepass")).digest()
    key = table, tuple(sorted(aliases.items())), digest
    known = _PARSED.get(key)
    if known is None:
        lines = _lines(body, digest, app, table)
        if isinstance(lines, ParsedComment):
            return lines
        known, counted = _parse(lines, app, table, aliases)
        _PARSED.put(key, known, _size(counted) + _ENTRY * (len(aliases) + len(known.problems)))
    return known


def _lines(
    body: str, digest: bytes, app: str, table: Table
) -> Sequence[comment_lines.CommandLine] | ParsedComment:
    """The lines that may be commands, which is what takes long; kept, whatever they then mean."""
    found = _LINES.get((table, digest))
    if found is None:
        maybe = _maybe(app, table).search(body)
        found = _find_lines(_NEWLINE.sub("\n", body), app, table) if maybe else _NOTHING
        _LINES.put((table, digest), found, _size(() if isinstance(found, ParsedComment) else found))
    return found


_ENTRY: Final = 250
"""Bytes of a key and a value, without texts."""

_NOTHING: Final = ParsedComment()


def _size(lines: Sequence[comment_lines.CommandLine]) -> int:
    """About how many bytes lines take, or what they ask for."""
    return _ENTRY + sum(_ENTRY // 2 + sys.getsizeof(line.text) for line in lines)


def _find_lines(
    text: str, app: str, table: Table
) -> Sequence[comment_lines.CommandLine] | ParsedComment:
    for most, what, count in (
        (limits.COMMENT, "characters", len(text)),
        (MOST_LINES, "lines", text.count("\n") + 1),
    ):
        if count > most:
            problem = Malformed("", texts.long_comment(most, what))
            meant = _maybe(app, table, exact=True).search(text)
            return ParsedComment(problems=(problem,) if meant else ())
    return tuple(comment_lines.lines(_UNUSABLE.sub("\ufffd", text), _beginnings(app)))


def _parse(
    lines: Sequence[comment_lines.CommandLine], app: str, table: Table, aliases: Mapping[str, str]
) -> tuple[ParsedComment, Sequence[comment_lines.CommandLine]]:
    """What lines ask for, and those of them that it was read from."""
    commands: list[object] = []
    problems: list[CommandProblem] = []
    counted: list[comment_lines.CommandLine] = []
    for line in lines:
        if len(commands) + len(problems) == MOST_COMMANDS:
            problems.append(Malformed("", texts.many_commands(MOST_COMMANDS)))
            break
        found = _read(line.text, app, table, aliases)
        if line.doubt is not None:
            found = _doubted(found, line.doubt, table)
        if isinstance(found, Misspelt | Malformed):
            problems.append(found)
        elif found is not None:
            commands.append(found)
            counted.append(line)
    return ParsedComment(tuple(commands), tuple(problems)), counted


def _doubted(found: object, doubt: Unclear, table: Table) -> Malformed | None:
    """What to say of a command that cannot be told from talk; nothing when it is hardly one."""
    if found is None or isinstance(found, Misspelt):
        return None
    word = found.command if isinstance(found, Malformed) else table.row(found).word
    return Malformed(word, _DOUBTS[doubt])


_DOUBTS: Mapping[Unclear, str] = {
    Unclear.SHOWN: texts.DOUBTFUL,
    Unclear.LONG: texts.LONG_PARAGRAPH,
}

_PARSED: SizeBoundedCache[tuple[Table, tuple[tuple[str, str], ...], bytes], ParsedComment] = (
    SizeBoundedCache(MOST_KEPT)
)
"""Table, aliases and digest of a text with such lines to what it asks for: comments are read at
every look, and rarely change."""

_LINES: SizeBoundedCache[
    tuple[Table, bytes], Sequence[comment_lines.CommandLine] | ParsedComment
] = SizeBoundedCache(MOST_KEPT)
"""Table and digest of a text to its lines that may be commands, or to what is wrong with it."""

_NEWLINE = re.compile(r"\r\n?")
_UNUSABLE = re.compile(f"[{comment_lines.SENTINEL}\\x00\ud800-\udfff]")
# Our own sentinel, and what the Markdown parser replaces or cannot encode.

_UNSEEN = (
    r"\t \x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5"
    r"\u180b-\u180f\u2000-\u200f\u202a-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff"
    r"\uffa0\ufff0-\ufffd\U000e0000-\U000e0fff"
)
"""Characters that show nothing, or a blank, and end no line."""


@cache
def _beginnings(app: str) -> Beginnings:
    sign = rf"/|&#0*47;|&#x0*2f;|&sol;|(?=@{re.escape(app)}(?![\w-]))"
    return Beginnings(
        re.compile(rf" {{0,3}}(?=/[^\s/]|@{re.escape(app)}(?![\w-]))", re.IGNORECASE),
        re.compile(rf"[{_UNSEEN}]*(?:{sign})(?P<rest>[a-z@][^\n]*)", re.IGNORECASE),
    )


@cache
def _maybe(app: str, table: Table, *, exact: bool = False) -> re.Pattern[str]:
    """What every text with a command has: one pass over it, before it is parsed."""
    word = rf"(?:{'|'.join([*table.words, *texts.INSTEAD])})(?![\w/-])" if exact else r"[^\s/]"
    sign = rf"(?:/|&#0*47;|&#x0*2f;|&sol;){word}|@{re.escape(app)}(?![\w-])"
    begins = rf"^|(?<=[>{comment_lines.BREAKS}])"
    return re.compile(rf"(?:{begins})[{_UNSEEN}]*(?:{sign})", re.MULTILINE | re.IGNORECASE)


# --- one line -------------------------------------------------------------------------------------

_REPEATABLE = re.compile(r"[A-Za-z0-9_.,:;!?-]{1,40}")
_HIDDEN = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffd]"
)
# Control, line and paragraph separators, bidirectional ones, and what stands for unreadable text.


def _read(line: str, app: str, table: Table, aliases: Mapping[str, str]) -> object:
    """Read one line: a command or a problem; None when it is not for us."""
    mention = re.match(rf"@{re.escape(app)}(?:\[bot\])?[,:]?(?=[ \t]|$)", line, re.IGNORECASE)
    if mention is None and line.startswith("@"):
        return None
    text = line[mention.end() :].strip(BLANKS) if mention else line
    if not text:
        return HelpCommand()
    word, _, rest = text.removeprefix("/").replace("\t", " ").partition(" ")
    word = word.lower() if word.isascii() else word  # the Kelvin sign's lower case is a "k"
    row = table.named(word) or table.named(aliases.get(word, ""))
    if row is not None:
        return _obeyable(row, rest.strip(BLANKS))
    if word in texts.INSTEAD:
        return Malformed(word, texts.instead(word))
    near = _nearest(word, table)
    if mention is None and (not near or word in _OTHERS or "/" in word):
        return None
    return Misspelt(word if _REPEATABLE.fullmatch(word) else "", near)


def _obeyable(row: CommandSpec[Any], text: str) -> object:
    if _HIDDEN.search(text):
        return Malformed(row.word, texts.UNSEEN)
    values = grammar.read(row.arguments, text)
    if isinstance(values, grammar.WrongArgument):
        return Malformed(row.word, values.problem)
    return row.command(**values)


def _nearest(word: str, table: Table) -> str:
    """The command of ours that differs in the fewest letters; "" when none is near."""
    letters = set(word)
    distances = [
        (distance, known)
        for known in table.words
        if abs(len(known) - len(word)) <= _NEAR
        and max(len(letters.difference(known)), len(set(known) - letters)) <= _NEAR
        and (distance := _letters(word, known)) <= _NEAR
    ]
    return min(distances)[1] if distances else ""


def _letters(one: str, other: str) -> int:
    """How many letters must be put in, left out or exchanged (Levenshtein's distance)."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, start=1):
        diagonal, row[0] = row[0], i
        for j, b in enumerate(other, start=1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (a != b))
    return row[-1]
