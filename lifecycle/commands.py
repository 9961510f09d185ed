"""What people ask for in comments: found in Markdown, read into values.

Rules (DESIGN 6):

1. A command stands at the start of a line of a plain paragraph, as `/approve` or
   `@porchbot approve`. In quotes, lists, headings, tables, code, links, HTML comments and folded
   parts it is talk about a command.
2. One comment may hold several; they are obeyed in their order.
3. Other bots listen too: an unknown `/word` is ours to answer only within two letters of a command
   of ours, or after `@porchbot`.
4. A line that is not exactly a command is never obeyed in part: it gives a problem to answer.

The same text gives the same result, and every text gives one.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.utils import EnvType

from lifecycle.access import Action, who

MOST_TEXT = 65_536
"""Characters of a comment: GitHub's own limit. A longer one holds no command."""

MOST_COMMANDS = 20
"""Commands and problems in one comment; the rest gets one answer in all."""

MOST_ARGUMENT, MOST_REASON = 256, 500
"""Characters of one argument, and of a reason (bots.md 1.4)."""

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


@dataclass(frozen=True, slots=True)
class NotYet:
    """A command that is planned: answered, never taken for another one."""

    name: str


Command = (
    Propose | Approve | Unapprove | Reject | Render | Check | Hold | Unhold | Why | Help | NotYet
)


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

# fmt: off
NOT_YET = frozenset({
    "clone", "delete", "deprecate", "diff", "edit", "eval", "init", "rebase", "resume", "rollback",
    "set", "upgrade",
})
# fmt: on
"""Commands that are planned (DESIGN 6)."""

_OTHERS = frozenset({"cc", "close", "lint", "retest", "reopen", "test", "wip"})
"""Commands of other well-known bots and forges that lie within two letters of ours: `/retest` is
no misspelt `/reject` (Prow's and GitLab's command lists, bots.md 1.4)."""


def name(command: Command) -> str:
    """The word that a command is written with."""
    return command.name if isinstance(command, NotYet) else _NAMES[type(command)]


_NAMES: Mapping[type[Command], str] = {type(entry.make()): word for word, entry in COMMANDS.items()}


def help_rows() -> tuple[tuple[str, str, str], ...]:
    """Every command that works: how it is written without its slash, what it does, who may."""
    return tuple(
        (f"{word} {entry.arguments}".rstrip(), entry.help, who(entry.asks))
        for word, entry in COMMANDS.items()
    )


def parse(body: str, *, app: str = "porchbot") -> Parsed:
    """Find the commands in a comment.

    Args:
        body: Markdown as written; any text.
        app: The name by which people address the bot with `@`, without brackets.
    """
    text = _NEWLINE.sub("\n", body)
    start = _line_start(app)
    if not start.search(text):
        return Parsed()
    if len(text) > MOST_TEXT:
        return Parsed(
            problems=(Malformed("", f"a comment of over {MOST_TEXT} characters is not read"),)
        )
    commands: list[Command] = []
    problems: list[Problem] = []
    for line in _plain_lines(_UNUSABLE.sub("\ufffd", text), start):
        if len(commands) + len(problems) == MOST_COMMANDS:
            problems.append(Malformed("", f"only {MOST_COMMANDS} commands of a comment are read"))
            break
        found = _read(line, app)
        if isinstance(found, Misspelt | Malformed):
            problems.append(found)
        elif found is not None:
            commands.append(found)
    return Parsed(tuple(commands), tuple(problems))


# --- Markdown -------------------------------------------------------------------------------------

_NEWLINE = re.compile(r"\r\n?")
_SENTINEL = "\ue000"
_UNUSABLE = re.compile(f"[{_SENTINEL}\\x00\ud800-\udfff]")
# Our own sentinel, and what the Markdown parser replaces or cannot encode.

_HTML_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_TAG = re.compile(r"<(/?)([a-z][a-z0-9]*)\b", re.IGNORECASE)
# fmt: off
_FOLDED = frozenset({
    "blockquote", "code", "del", "details", "h1", "h2", "h3", "h4", "h5", "h6", "kbd", "li", "ol",
    "pre", "q", "s", "samp", "strike", "summary", "table", "td", "th", "tr", "tt", "ul",
})
# fmt: on
# HTML that forges render and that makes its content a quote, an example or hidden.


@cache
def _line_start(app: str) -> re.Pattern[str]:
    return re.compile(rf"^ {{0,3}}(?=/[^\s/]|@{re.escape(app)}(?![\w-]))", re.M | re.I)


@cache
def _blocks() -> MarkdownIt:
    """What GitHub renders as blocks; the text inside is parsed only where it may hold a command."""
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("inline")


def _plain_lines(text: str, start: re.Pattern[str]) -> Iterator[str]:
    """Lines of plain paragraphs that begin like a command, without their indentation."""
    source = text.split("\n")
    env: EnvType = {}
    folded = 0
    for token in _blocks().parse(text, env):
        if token.level == 0 and token.type == "html_block":
            folded = _nesting(token.content, folded)
        elif token.level == 0 and token.type == "paragraph_open" and token.map and not folded:
            yield from _outermost(source[token.map[0] : token.map[1]], start, env)


def _nesting(html: str, depth: int) -> int:
    """How deep a text stands in folding HTML after this piece of it."""
    for closing, tag in _TAG.findall(_HTML_COMMENT.sub("", html)):
        if tag.lower() in _FOLDED:
            depth = max(0, depth - 1) if closing else depth + 1
    return depth


def _outermost(lines: list[str], start: re.Pattern[str], env: EnvType) -> Iterator[str]:
    """Lines of one paragraph that begin outside code, links, emphasis and inline HTML.

    Each line that may be a command gets its number between sentinels before it; where that comes
    out as plain text right at a line's start, so does the command.
    """
    likely = {index for index, line in enumerate(lines) if start.match(line)}
    if not likely:
        return
    stripped = [line.strip(" \t") for line in lines]
    marked = [
        f"{_SENTINEL}{index}{_SENTINEL}{line}" if index in likely else line
        for index, line in enumerate(stripped)
    ]
    for index in _line_starts("\n".join(marked), env):
        yield stripped[index]


def _line_starts(paragraph: str, env: EnvType) -> Iterator[int]:
    """The numbers between sentinels that stand at the start of a line, in plain text."""
    parser = _blocks()
    tokens: list[Token] = []
    parser.inline.parse(paragraph, parser, env, tokens)
    depth = 0
    before = "softbreak"
    for token in tokens:
        if token.type == "html_inline":
            depth = _nesting(token.content, depth)
        plain = token.type == "text" and token.level == depth == 0 and before in _BREAKS
        if plain and (found := _NUMBERED.match(token.content)):
            yield int(found[1])
        before = token.type


_NUMBERED = re.compile(f"{_SENTINEL}([0-9]+){_SENTINEL}")
_BREAKS = frozenset({"softbreak", "hardbreak"})


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
    if word in NOT_YET:
        return NotYet(word)
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
        (distance, known not in COMMANDS, known)
        for known in (*COMMANDS, *sorted(NOT_YET))
        if abs(len(known) - len(word)) <= _NEAR and (distance := _letters(word, known)) <= _NEAR
    ]
    return min(distances)[2] if distances else ""


def _letters(one: str, other: str) -> int:
    """How many letters must be put in, left out or exchanged (Levenshtein's distance)."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, start=1):
        diagonal, row[0] = row[0], i
        for j, b in enumerate(other, start=1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (a != b))
    return row[-1]
