"""What evaluating an expression could take at most: characters that it makes, and steps.

Nothing of the library counts this: it counts iterations and recursion. While it evaluates, nothing
else runs, in no thread.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from lifecycle.variants import patterns

Input: TypeAlias = str | Mapping[str, "Input"]
Inputs: TypeAlias = Mapping[str, Input]
"""The variables of an expression, by name."""

MOST_MADE: Final = 256 * 1024 * 1024
"""The most characters that an expression may make on its way, if it makes all it could."""

MOST_STEPS: Final = 400_000
"""Steps of matching, searching, reading and comparing that it may take, if it takes all it could:
half a microsecond each, a whole one at worst."""

_COMPILED: Final = 8
"""Steps that compiling takes for each state of a regular expression."""

_SEARCHED: Final = 10_000
"""Squares of the length of texts that one looks for in another in one step: half of one, each time
up to the last character of half of the other."""

_ENTRY: Final = 16
"""Characters that an entry counts for beside its own: inputs are counted for each evaluation."""

_READ: Final = 250
"""Characters that a function reads in one step, to count or to convert them."""

_COMPARED: Final = 4
"""Entries of lists and mappings that are compared in one step."""

_READING: Final = frozenset(
    {
        *("size", "string", "bytes", "bool", "int", "uint", "double", "duration", "timestamp"),
        *("startsWith", "endsWith"),
    }
)
"""Functions that may read all of a text."""

_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_MACROS: Final = frozenset({"all", "exists", "exists_one", "existsOne", "filter", "map"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What of an expression tells how much it could take; words inside of texts count too.

    Attributes:
        length: Its characters.
        elements: The most elements of a list that is written out in it, all lists together.
        growth: By how much `+` can make a value longer: each one doubles what stands beside it.
        macros: How many macros it has.
        maps: How many of these make a list of other elements.
        searches: How often a text is looked for in another.
        comparisons: How often lists or mappings may be compared.
        readings: How often a text may be read.
        states: States of its regular expressions together; 0 for none.
    """

    length: int
    elements: int
    growth: int
    macros: int
    maps: int
    searches: int
    comparisons: int
    readings: int
    states: int


def shape_of(text: str, states: int) -> Shape:
    """Return what an expression tells about its cost.

    Args:
        text: The expression.
        states: Of its regular expressions together (`patterns.states`).
    """
    words = [each[0] for each in _WORD.finditer(text)]
    comparisons = patterns.comparisons(text)
    reading = sum(each in _READING for each in words)
    return Shape(
        length=len(text),
        elements=text.count(",") + 1,
        growth=text.count("+") + 1,
        macros=sum(each in _MACROS for each in words),
        maps=words.count("map"),
        searches=words.count("contains"),
        comparisons=comparisons,
        readings=reading + text.count("[") + comparisons,
        states=states,
    )


def of(shape: Shape, inputs: Inputs) -> tuple[int, int]:
    """Return how many characters an expression makes at most, and the steps of working with them.

    Each `+` can double what stands beside it, and each macro can do that once for each of as many
    elements as the longest list or mapping has.
    """
    given = [_size(each) for each in inputs.values()]
    entries = max((each.entries for each in given), default=0)
    characters = sum(each.characters + _ENTRY * each.entries for each in given)
    made: int = (shape.length + characters) * shape.growth
    elements = max(shape.elements, *(each.mapping for each in given), 0)
    made *= (shape.growth * elements) ** shape.macros
    times: int = elements**shape.macros
    grown: int = shape.growth ** (shape.macros + 1)
    text = grown * max(shape.length, *(each.text for each in given), 0)
    compound = grown * elements**shape.maps * (shape.length + shape.elements * entries)
    steps = shape.states * times * (text + _COMPILED)
    steps += shape.searches * times * (text**2 // _SEARCHED)
    steps += shape.readings * times * text // _READ
    steps += shape.comparisons * times * compound // _COMPARED
    return made, steps


class _Size(NamedTuple):
    """How large an input is: characters, those of its longest text; entries, those of a mapping."""

    characters: int
    text: int
    entries: int
    mapping: int


def _size(value: Input) -> _Size:
    if isinstance(value, str):
        return _Size(len(value), len(value), 0, 0)
    characters, text, entries, mapping = 0, 0, len(value), len(value)
    for key, inner in value.items():
        # Most are texts: a set of ten thousand packages has a million of them.
        within = len(inner) if isinstance(inner, str) else 0
        longest = within
        if not isinstance(inner, str):
            within, longest, more, widest = _size(inner)
            entries += more
            mapping = max(mapping, widest)
        characters += len(key) + within
        text = max(text, len(key), longest)
    return _Size(characters, text, entries, mapping)
