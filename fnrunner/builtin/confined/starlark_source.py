"""A Starlark script made ready for an interpreter that knows neither structs nor `load`.

The interpreter's binding gives a script values and functions, and no object with attributes. So
a struct (`ctx`, a module) is a function from the name of a member to its value, and of a script's
attributes those that are members of a struct become calls: `ctx.resource_list` turns into
`ctx("resource_list")`. Everything else of the script stays as it is, and so do its lines.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

CONTEXT: Final = frozenset({"resource_list", "open_api", "environment"})
LOAD: Final = "__load"

# Methods of strings, dicts, lists and sets that are members of a module too: they stay methods,
# unless what stands before is a name that `load` bound.
_METHODS: Final = frozenset({"split"})

_STRING: Final = (
    r'(?:\b(?:[rR][bB]?|[bB][rR]?))?'
    r'(?:"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')'
)  # fmt: skip
_COMMENT: Final = r"\#[^\n]*"
_TOKENS: Final = re.compile(
    rf"""
    (?P<kept> {_STRING} | {_COMMENT} | \b\d[\w.]* )
  | (?: ^ | (?<=;) ) (?P<margin> [ ]? ) load [ \t]* \(
        (?P<loaded> (?: {_STRING} | {_COMMENT} | [\s,=\w] )* ) \)
  | (?P<owner> \b[^\W\d]\w* )? (?P<dot> [ \t]* \. [ \t]* ) (?P<name> [^\W\d]\w* )
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
_LOADED: Final = re.compile(
    rf"(?:(?P<name>[^\W\d]\w*)\s*=\s*)?(?P<text>{_STRING})|{_COMMENT}", re.DOTALL
)
_PLACE: Final = re.compile(r":(\d+):(\d+): ")


@dataclass(frozen=True, slots=True)
class Loaded:
    """One name that a script loads.

    Attributes:
        module: The module, such as "math.star".
        member: What it is called there.
        name: What the script calls it.
    """

    module: str
    member: str
    name: str


@dataclass(frozen=True, slots=True)
class ScriptSource:
    """A script, rewritten.

    Attributes:
        text: The script for the interpreter.
        shifts: Line, and column in `text` (both from 1), behind which columns are shifted,
            and by how many characters, in order.
    """

    text: str
    shifts: Sequence[tuple[int, int, int]]

    def message(self, text: str, before: int) -> str:
        """Return an error's text with the place in the script as it was written.

        Args:
            text: What the interpreter said.
            before: Lines that stood before the script.
        """
        return _PLACE.sub(lambda match: self._place(match, before), text, count=1)

    def _place(self, match: re.Match[str], before: int) -> str:
        line, column = int(match[1]) - before, int(match[2])
        more = sum(by for row, start, by in self.shifts if row == line and start <= column)
        return f":{line}:{max(1, column - more)}: "


def loads(script: str) -> list[Loaded]:
    """Return what a script loads, in order."""
    return [
        each
        for match in _TOKENS.finditer(script)
        if match["loaded"] is not None
        for each in _arguments(match["loaded"])
    ]


def _arguments(text: str) -> list[Loaded]:
    found = [match for match in _LOADED.finditer(text) if match["text"]]
    if not found:
        return []
    module = _content(found[0]["text"])
    names = [(_content(match["text"]), match["name"]) for match in found[1:]]
    return [Loaded(module, member, name or member) for member, name in names]


def _content(literal: str) -> str:
    bare = literal.lstrip("rRbB")
    quotes = 3 if bare[:3] in ('"""', "'''") else 1
    return bare[quotes:-quotes]


def ready(script: str, members: Collection[str]) -> ScriptSource:
    """Return a script with its loads as assignments, and members of structs as calls.

    Args:
        script: The script.
        members: Names of all members of all structs it may meet.
    """
    bound = {each.name for each in loads(script)}
    shifts: list[tuple[int, int, int]] = []
    written: list[str] = []
    line, column, done = 1, 1, 0
    for match in _TOKENS.finditer(script):
        new = _replaced(match, members, bound)
        if new is None:
            continue
        for part in (script[done : match.start()], new):
            line, column = _after(part, line, column)
            written.append(part)
        shifts.append((line, column, len(new) - len(match[0])))
        done = match.end()
    return ScriptSource("".join((*written, script[done:])), shifts)


def _after(text: str, line: int, column: int) -> tuple[int, int]:
    breaks = text.count("\n")
    return line + breaks, (len(text) - text.rfind("\n")) if breaks else column + len(text)


def _replaced(match: re.Match[str], members: Collection[str], bound: Collection[str]) -> str | None:
    if match["loaded"] is not None:
        return match["margin"] + _assigned(match["loaded"])
    name, owner = match["name"], match["owner"] or ""
    if not name or name not in members or (name in _METHODS and owner not in bound):
        return None
    return f'{owner}{match["dot"].replace(".", "")}("{name}")'


def _assigned(text: str) -> str:
    lines = [f"{each.name} = {LOAD}({each.module!r}, {each.member!r})" for each in _arguments(text)]
    return "; ".join(lines) + "\n" * text.count("\n")
