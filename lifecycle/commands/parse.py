"""What people ask for in comments: found in Markdown, read into values.

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
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from lifecycle.access import Action
from lifecycle.commands import lines as comment_lines
from lifecycle.commands.lines import Beginnings, Doubt

MOST_TEXT = 65_536
"""Characters of a comment: GitHub's own limit. A longer one holds no command."""

MOST_LINES = 1_000
"""Lines of a comment with commands: what the Markdown parser does for each takes time."""

MOST_KEPT = 4_096
"""Comments whose reading is kept in memory; one is a few hundred bytes."""

MOST_COMMANDS = 20
"""Commands and problems in one comment; the rest gets one answer in all."""

MOST_ARGUMENT, MOST_REASON = 256, 500
"""Characters of one argument, and of a reason (docs/design.md, "Commands")."""

_NEAR = 2
"""Letters by which a word may differ from a command of ours and still be answered."""


@dataclass(frozen=True, slots=True)
class Propose:
    """Make a draft a proposal."""


@dataclass(frozen=True, slots=True)
class Approve:
    """Approve the content that stands now."""


@dataclass(frozen=True, slots=True)
class Unapprove:
    """Take one's own approval back."""


@dataclass(frozen=True, slots=True)
class Reject:
    """Send a proposal back to draft; `reason` may be empty."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Render:
    """Render again, and commit the result where the bot may push."""


@dataclass(frozen=True, slots=True)
class Check:
    """Check again."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Keep from being published; `reason` may be empty."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Unhold:
    """End a hold."""


@dataclass(frozen=True, slots=True)
class Why:
    """Tell every gate; `field` is the one field that is asked about, "" for all."""

    field: str = ""


@dataclass(frozen=True, slots=True)
class Help:
    """List the commands."""


Command = Propose | Approve | Unapprove | Reject | Render | Check | Hold | Unhold | Why | Help


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
        what = f"`{self.word}` is not a command" if self.word else "that word is not a command"
        return f"{what}; did you mean `/{self.suggestion}`?" if self.suggestion else what


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
        return f"`/{self.command}` {self.problem}" if self.command else self.problem


Problem = Misspelt | Malformed


@dataclass(frozen=True, slots=True)
class Parsed:
    """What one comment asks for; false when it asks for nothing.

    Attributes:
        commands: In the order of the text.
        problems: What was meant for us and not understood, in the order of the text.
    """

    commands: tuple[Command, ...] = ()
    problems: tuple[Problem, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.commands or self.problems)


@dataclass(frozen=True, slots=True)
class Entry:
    """One command, for reading it and for telling people about it.

    Attributes:
        make: Its class; given the argument where it takes one.
        arguments: As shown to people; "" for a command that takes none.
        limit: Longest text of its argument, in characters; 0 for none.
        asks: What its author must be allowed to do.
        help: What it does, in one line.
    """

    make: Callable[..., Command]
    arguments: str
    limit: int
    asks: Action
    help: str


COMMANDS: Mapping[str, Entry] = {
    "propose": Entry(Propose, "", 0, Action.PROPOSE, "make this draft a proposal"),
    "approve": Entry(Approve, "", 0, Action.APPROVE, "approve the content as it stands now"),
    "unapprove": Entry(Unapprove, "", 0, Action.UNAPPROVE, "take your own approval back"),
    "reject": Entry(
        Reject, "[reason]", MOST_REASON, Action.REJECT, "send this proposal back to draft"
    ),
    "render": Entry(
        Render, "", 0, Action.RENDER, "render again; commits the result where the bot may push"
    ),
    "check": Entry(Check, "", 0, Action.CHECK, "check again, with nothing kept from before"),
    "hold": Entry(Hold, "[reason]", MOST_REASON, Action.HOLD, "keep this from being published"),
    "unhold": Entry(Unhold, "", 0, Action.UNHOLD, "end the hold"),
    "why": Entry(Why, "[field]", MOST_ARGUMENT, Action.WHY, "tell what is still missing"),
    "help": Entry(Help, "", 0, Action.HELP, "show this list"),
}
"""Every command that works, in the order of the help text."""

_PUSH = "and push the result to the branch"

INSTEAD: Mapping[str, str] = {
    "clone": "run `porchbot pkg get`, and push the result to a branch `drafts/<package>/<name>`",
    "delete": "open a pull request that removes the package's folder",
    "deprecate": "say it in the package's own documentation, in a pull request",
    "diff": "see *Files changed*, or the changes in the summary comment",
    "edit": "change the files, and push to a branch `drafts/<package>/<name>`",
    "eval": f"run `porchbot fn eval` {_PUSH}",
    "init": "run `porchbot pkg init`, and push the result to a branch `drafts/<package>/<name>`",
    "rebase": "press *Update branch*, or merge the base branch into this one",
    "resume": "end a hold with `/unhold`",
    "rollback": "revert the merge in a new pull request",
    "set": "change the field, and push to the branch",
    "upgrade": f"run `porchbot pkg update` {_PUSH}",
}
"""Words that people try because Porch or other bots have them, and what to do here instead."""

_OTHERS = frozenset({"cc", "close", "lint", "retest", "reopen", "test", "wip"})
"""Commands of other well-known bots and forges that lie within two letters of ours: `/retest` is
no misspelt `/reject` (Prow's command-help page, GitLab's quick actions)."""


def name(command: Command) -> str:
    """The word that a command is written with."""
    return _NAMES[type(command)]


_NAMES: Mapping[type[Command], str] = {type(entry.make()): word for word, entry in COMMANDS.items()}


def parse(body: str, *, app: str = "porchbot") -> Parsed:
    """Find the commands in a comment.

    Args:
        body: Markdown as written; any text.
        app: The name by which people address the bot with `@`, without brackets.
    """
    digest = hashlib.sha256(f"{app}\0{body}".encode("utf-8", "surrogatepass")).digest()
    known = _PARSED.get(digest)
    if known is None:
        known = _parse(_NEWLINE.sub("\n", body), app) if _maybe(app).search(body) else Parsed()
        _PARSED[digest] = known
        while len(_PARSED) > MOST_KEPT:
            _PARSED.pop(next(iter(_PARSED)), None)
    return known


def _parse(text: str, app: str) -> Parsed:
    for most, what, count in (
        (MOST_TEXT, "characters", len(text)),
        (MOST_LINES, "lines", text.count("\n") + 1),
    ):
        if count > most:
            problem = Malformed("", f"a comment of over {most} {what} is not read")
            return Parsed(problems=(problem,) if _maybe(app, exact=True).search(text) else ())
    commands: list[Command] = []
    problems: list[Problem] = []
    for line in comment_lines.lines(_UNUSABLE.sub("\ufffd", text), _beginnings(app)):
        if len(commands) + len(problems) == MOST_COMMANDS:
            problems.append(Malformed("", f"only {MOST_COMMANDS} commands of a comment are read"))
            break
        found = _read(line.text, app)
        if line.doubt is not None:
            found = _doubted(found, line.doubt)
        if isinstance(found, Misspelt | Malformed):
            problems.append(found)
        elif found is not None:
            commands.append(found)
    return Parsed(tuple(commands), tuple(problems))


def _doubted(found: "Command | Problem | None", doubt: Doubt) -> Malformed | None:
    """What to say of a command that cannot be told from talk; nothing when it is hardly one."""
    if found is None or isinstance(found, Misspelt):
        return None
    word = found.command if isinstance(found, Malformed) else name(found)
    return Malformed(word, _DOUBTS[doubt])


_DOUBTS: Mapping[Doubt, str] = {
    Doubt.SHOWN: "stands where HTML, hidden characters or a table, link or formula around it may"
    " change how it is shown; write it in a comment of its own, as plain text",
    Doubt.LONG: f"stands in a paragraph of over {comment_lines.MOST_PARAGRAPH} characters; write it"
    " in a paragraph of its own",
}

_PARSED: dict[bytes, Parsed] = {}
"""Digest of a text to what it asks for: comments are read at every look, and rarely change."""

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
def _maybe(app: str, *, exact: bool = False) -> re.Pattern[str]:
    """What every text with a command has: one pass over it, before it is parsed."""
    word = rf"(?:{'|'.join([*COMMANDS, *INSTEAD])})(?![\w/-])" if exact else r"[^\s/]"
    sign = rf"(?:/|&#0*47;|&#x0*2f;|&sol;){word}|@{re.escape(app)}(?![\w-])"
    begins = rf"^|(?<=[>{comment_lines.BREAKS}])"
    return re.compile(rf"(?:{begins})[{_UNSEEN}]*(?:{sign})", re.MULTILINE | re.IGNORECASE)


# --- one line -------------------------------------------------------------------------------------

_BLANKS = " \t"
_REPEATABLE = re.compile(r"[A-Za-z0-9_.,:;!?-]{1,40}")
_HIDDEN = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffd]"
)
# Control, line and paragraph separators, bidirectional ones, and what stands for unreadable text.


def _read(line: str, app: str) -> Command | Problem | None:
    """Read one line; None when it is not for us."""
    mention = re.match(rf"@{re.escape(app)}(?:\[bot\])?[,:]?(?=[ \t]|$)", line, re.IGNORECASE)
    if mention is None and line.startswith("@"):
        return None
    text = line[mention.end() :].strip(_BLANKS) if mention else line
    if not text:
        return Help()
    word, _, rest = text.removeprefix("/").replace("\t", " ").partition(" ")
    word = word.lower() if word.isascii() else word  # the Kelvin sign's lower case is a "k"
    if word in INSTEAD:
        return Malformed(word, f"is not a command here; {INSTEAD[word]}")
    if word in COMMANDS:
        return _obeyable(word, COMMANDS[word], rest.strip(_BLANKS))
    near = _nearest(word)
    if mention is None and (not near or word in _OTHERS or "/" in word):
        return None
    return Misspelt(word if _REPEATABLE.fullmatch(word) else "", near)


def _obeyable(word: str, entry: Entry, argument: str) -> Command | Malformed:
    if _HIDDEN.search(argument):
        return Malformed(word, "holds characters that cannot be seen; write it in plain text")
    if argument and not entry.limit:
        return Malformed(word, "takes nothing after it; write it alone on its line")
    if len(argument) > entry.limit:
        return Malformed(word, f"takes at most {entry.limit} characters after it")
    if entry.make is Why and " " in argument:
        return Malformed(word, "takes one field, written without spaces")
    return entry.make(argument) if entry.limit else entry.make()


def _nearest(word: str) -> str:
    """The command of ours that differs in the fewest letters; "" when none is near."""
    distances = [
        (distance, known)
        for known in COMMANDS
        if abs(len(known) - len(word)) <= _NEAR and (distance := _letters(word, known)) <= _NEAR
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
