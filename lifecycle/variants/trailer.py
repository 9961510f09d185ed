"""The line of a commit of the bot that says which variant it is for, and what it was made of.

It counts with the bot's own mark only: anybody can write such a line.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lifecycle.variants.facts import Recipe
from lifecycle.variants.values import Variant

TRAILER: Final = "Porchbot-Variant:"
"""Begins the line."""

WRITERS: Final = "Porchbot-Rule-By:"
"""Begins the line that names who changed the rule last, as `authors.spelled` has them."""

CLOSED: Final = "closed"
"""Stands in that of the last commit of a draft that the bot closes."""

PROPOSED: Final = "proposed"
"""Stands in that of a draft whose pull request is to be ready."""

KEPT: Final = "kept"
"""Stands in that of a draft that a person turned back into one."""

CONFLICTS: Final = "conflicts"
"""Stands in that of a draft whose package and upstream had changed the same."""

OUTSIDE: Final = "outside"
"""Stands in that of a draft into which objects of another repository than the rule's were put."""

_PARTS: Final = 5

_NUMBER: Final = re.compile(r"v[1-9][0-9]{0,17}")
"""How the number of the upstream's revision stands there."""

_PLAIN: Final = re.compile(r"[^A-Za-z0-9_.~/:-]")
_QUOTED: Final = re.compile(rb"%([0-9A-F]{2})")


@dataclass(frozen=True, slots=True)
class Trail:
    """What the commits of a draft say of it.

    Attributes:
        owner: Name of the variant that made it; "" for none.
        recipe: What it was made of last; None for nothing of ours.
        words: What else is said: `PROPOSED`, `CONFLICTS`, `CLOSED`.
        people: Somebody else committed to it.
        title: First line of our last commit.
        empty: It has no commit of its own.
        ended: Its last commit is ours and says that it is closed.
        asked: Somebody asked the bot for some of it.
        written: Names of variants that its package says it is kept by.
        sealed: What it was made of is what the bot wrote; versions before did not say.
    """

    owner: str = ""
    recipe: Recipe | None = None
    words: frozenset[str] = frozenset()
    people: bool = False
    title: str = ""
    empty: bool = False
    ended: bool = False
    asked: bool = False
    written: frozenset[str] = frozenset()
    sealed: bool = False


def line(variant: Variant, recipe: Recipe, words: Sequence[str] = ()) -> str:
    """Return the line; no part can end itself or the line."""
    parts = (variant.name, recipe.upstream, recipe.rule, recipe.base, recipe.sources)
    numbered = [f"v{recipe.number}"] if recipe.number else []
    return " ".join([TRAILER, *(_quoted(each) or "-" for each in parts), *words, *numbered])


def written_by(writers: Sequence[str]) -> str:
    """Return the line that names who changed the rule last; "" for nobody."""
    return " ".join([WRITERS, *map(_quoted, writers)]) if writers else ""


def writers(message: str) -> tuple[str, ...]:
    """Read who changed the rule last."""
    lines = (each for each in message.split("\n") if each.startswith(f"{WRITERS} "))
    return tuple(_unquoted(part) for each in lines for part in each.split(" ")[1:] if part)


def read(message: str) -> Trail | None:
    """Read what a commit message says; None for nothing."""
    lines = message.split("\n")
    for each in reversed(lines):
        if each.startswith(f"{TRAILER} "):
            parts = each.split(" ")[1:]
            if len(parts) < _PARTS:
                return None
            name, *values = ["" if part == "-" else _unquoted(part) for part in parts[:_PARTS]]
            words = frozenset(parts[_PARTS:])
            upstream, rule, base, sources = values
            recipe = Recipe(upstream, rule, base, sources, number=_number(words))
            words = frozenset(each for each in words if not _NUMBER.fullmatch(each))
            return Trail(name, recipe, words, title=lines[0])
    return None


def _number(words: frozenset[str]) -> int:
    """The number of the upstream's revision; 0 where none is said."""
    found = [int(each[1:]) for each in words if _NUMBER.fullmatch(each)]
    return found[0] if len(found) == 1 else 0


def _quoted(text: str) -> str:
    """Spell a part of the line so that it holds no blank; as in addresses."""
    if text == "-":
        return "%2D"
    return _PLAIN.sub(lambda one: "".join(f"%{byte:02X}" for byte in one[0].encode()), text)


def _unquoted(text: str) -> str:
    data = _QUOTED.sub(lambda one: bytes([int(one[1], 16)]), text.encode())
    return data.decode("utf-8", "replace")
