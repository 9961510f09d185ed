"""Pieces of Markdown: text of packages and people made harmless, names, counts and limited lists.

Text that comes from packages or people goes through `code` or `quote`, so that it neither mentions,
links, closes issues nor breaks out of its place (threat 22); and none of it is taken for our words,
which read otherwise on another forge (`lifecycle.terms`). A command of ours goes through `typed`.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from cadlib.diff.values import Change
from lifecycle import spelling
from lifecycle.terms import KEEP, kept

T = TypeVar("T")

MOST_LISTED = 30
"""Rows of one list in a comment or check; the rest is counted. Keeps a summary far below
`limits.TEXT`."""

CUT = " […]"
"""Ends a text that had to be cut."""

LONGEST = 2_000
"""Characters of a text of others in a line; what is longer has no middle."""


def change_lines(changes: Sequence[tuple[str, Iterable[Change]]]) -> list[str]:
    """Changes as lines; with several packages each names its own, as most have files alike."""
    several = len(changes) > 1
    return [
        f"{package}/{change}" if several and package else str(change)
        for package, found in changes
        for change in found
    ]


def some_lines(lines: Sequence[str]) -> list[str]:
    """Lines as a list of limited length."""
    shown = [f"- {line}" for line in lines[:MOST_LISTED]]
    return shown + ([f"- and {len(lines) - MOST_LISTED} more"] if len(lines) > MOST_LISTED else [])


def change_list(lines: Sequence[str]) -> list[str]:
    """Changes as a list of limited length."""
    shown = [f"- {code(line)}" for line in lines[:MOST_LISTED]]
    return shown + ([f"- and {len(lines) - MOST_LISTED} more"] if len(lines) > MOST_LISTED else [])


def name(package: str) -> str:
    """A package's name in Markdown."""
    return code(package) if package else "the root package"


def names(packages: Iterable[str]) -> str:
    """Several packages in Markdown, sorted."""
    return some(sorted(packages), write=name)


def users(shown: Iterable[str], unseen: int) -> str:
    """Packages that use something, and how many more there are in repositories not seen by all."""
    listed = some(sorted(shown), MOST_LISTED, write=name)
    more = f"{number(unseen, 'package')} in repositories that you may not see" if unseen else ""
    return " and ".join(each for each in (listed, more) if each)


def some(items: Iterable[T], most: int = 5, *, write: Callable[[T], str] = str) -> str:
    """The first five of a list, or so many as are given; the rest is counted.

    Args:
        items: The list.
        most: How many are written out.
        write: Writes one; of the rest none is written, for there may be thousands.
    """
    every = list(items)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(map(write, every[:most])) + more


def label(gate: str) -> str:
    """A gate's name in Markdown; those of checks and tags are somebody else's text."""
    kind, _, rest = gate.partition(" ")
    return f"{kind} {code(rest)}" if kind in {"check", "tag"} and rest else gate


def person(login: str) -> str:
    """A person, without notifying them."""
    return code(login)


def place(number: int) -> str:
    """A proposal or, below zero, an issue of a forge that counts these apart."""
    return f"#{number}" if number >= 0 else kept(f"#{-number}")


def people(logins: Iterable[str]) -> str:
    """Several people, sorted, without notifying them."""
    return ", ".join(person(login) for login in sorted(logins))


def typed(text: str) -> str:
    """A command of ours, with its arguments, as people write it."""
    return _span(f"/{one_line(text)}")


def code(text: str) -> str:
    """Any text as a code span that it cannot break out of."""
    line = one_line(text)
    # Behind a backtick any slash would be that of a command.
    return _span(f"/{KEEP}{line[1:]}" if line.startswith("/") and KEEP not in line[:2] else line)


def _span(line: str) -> str:
    runs = re.findall(r"`+", line) if "`" in line else ()
    fence = "`" * (max(map(len, runs), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}" if line else "``` ```"


def fenced(text: str, kind: str = "") -> str:
    """Lines of any text as a block of code that they cannot end."""
    return block(kept(text), kind)


def block(text: str, kind: str = "") -> str:
    """As `fenced`, for what leaves as it is, such as a suggestion: `Terms.said` never reads it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    end = "" if text.endswith("\n") or not text else "\n"
    return f"{fence}{kind}\n{text}{end}{fence}"


def shell(*words: str) -> str:
    """A command for people to copy, plain text: each word stays one in their shell."""
    return one_line(shlex.join(words))


def quote(text: str) -> str:
    """Text of others on one line, with all that Markdown or a forge acts on made harmless.

    It is never put at the start of a line, where a "/" would make it a command to other bots.
    """
    return _harmless(_line(text)[:1000])


def remark(text: str) -> str:
    """What others remark, such as findings of functions: as `quote`, but code spans stay.

    Those stay in which nothing can break out or be acted on.
    """
    line = _line(text)
    return "".join(kept(part) if span else _harmless(part) for part, span in _spans(line))


def reason(text: str) -> str:
    """A reason of ours with words of others in it, on one line; as `remark`.

    A command in it is a code span, and is written as it is at the forge; where words of others hold
    one, they are `kept` already.
    """
    parts = _spans(_shown(text))
    return "".join(part if span else _harmless(part.replace(KEEP, "")) for part, span in parts)


def _spans(line: str) -> Iterator[tuple[str, bool]]:
    """The parts of a line, and which of them are code spans that may stay."""
    for part in re.split("(`[^`]+`)", line[:1000]):
        yield part, bool(_INERT_SPAN.fullmatch(part.replace(KEEP, "")))


_INERT_SPAN = re.compile(r"`[A-Za-z0-9/.:=<][A-Za-z0-9_ /.:=<>-]*`")


def _harmless(line: str) -> str:
    line = re.sub(r"([\\`*_{}\[\]<>|~&])", r"\\\1", line)
    # An empty comment stops mentions and issue links, and leaves nothing in what people copy.
    return kept(re.sub(r"(@|#|\bGH-)(?=\w)", r"\1<!-- -->", line, flags=re.IGNORECASE))


def committed(text: str) -> str:
    """Text of others for the message of a commit or tag: on one line, and without effect there.

    Forges close issues that a commit on the default branch names behind a word like "fixes", and
    link people and issues; a space between keeps it readable and ends that.
    """
    line = re.sub(r"https?://", "", _line(text), flags=re.IGNORECASE)
    return kept(re.sub(r"([@#!]|\bGH-)(?=\w)", r"\1 ", line, flags=re.IGNORECASE))


def one_line(text: str) -> str:
    """Text of others on one line, what cannot be seen in it spelled out."""
    return kept(_line(text))


def _line(text: str) -> str:
    return _shown(text.replace(KEEP, ""))


def _shown(text: str) -> str:
    return spelling.shown(_joined(text))


def _joined(text: str) -> str:
    if len(text) > LONGEST:  # each character takes its time, and there may be thousands of texts
        half = LONGEST // 2
        text = f"{text[:half]}{CUT} {number(len(text) - 2 * half, 'character')}{CUT} {text[-half:]}"
    # Names of files need not be UTF-8; what stands for their bytes can be sent nowhere.
    return " ".join(text.encode("utf-8", "replace").decode().split())


def plain_line(text: str) -> str:
    """Text of others as a title: one line, without what cannot be seen, and mentioning nobody.

    A title is no Markdown: nothing in it can be escaped.
    """
    line = spelling.shown("".join(char for char in _joined(text) if char.isprintable()))
    return kept(re.sub(r"(?<!\w)@(?=\w)", "", line).removeprefix("kpt:").strip())


def plain(markdown: str) -> str:
    """Titles of check runs are plain text."""
    # Text of others stays theirs without its escapes.
    bare = re.sub(r"(?<=#)<!-- -->(?=\d)|\\(?=[/ ])", KEEP, markdown)
    return bare.replace("<!-- -->", "").replace("`", "").replace("\\", "")


def sentence(text: str) -> str:
    """What people are told, in Markdown: it begins with a capital letter, unless with a name."""
    return text[:1].upper() + text[1:] if _WORD.match(text) else text


_WORD = re.compile(r"[a-z]+(?:'s)?[ ,:]", re.ASCII)


def number(count: int, noun: str) -> str:
    """A count with its noun."""
    return f"{count} {noun}" + ("" if count == 1 else "s")
