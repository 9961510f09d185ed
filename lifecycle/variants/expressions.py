"""Expressions in CEL: checked when a file is read, evaluated for each target, to a text.

Rules
- The variables are Porch's: `repoDefault` and `packageDefault` are texts, `upstream`, `target` and
  `repository` whatever they are. There are no functions but the standard ones.
- An error is said in the words of cel-go, which Porch uses, with the place in the expression.
- No expression can take long or much memory: the library counts iterations and recursion, and what
  an expression could come to at most is worked out before it is evaluated (`costs`).
- Only a text is a result: nothing else is turned into one.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from lifecycle.messages import porch as texts
from lifecycle.variants import costs, patterns
from lifecycle.variants.costs import MOST_MADE, MOST_STEPS, Inputs, Shape

MOST_CHARACTERS: Final = 2000
"""The longest expression; the longest in Porch's documents has 60 characters."""

MOST_COMPILED: Final = 250_000
"""Characters of all different expressions of a repository together: compiling takes some five
microseconds for each, and the program 200 bytes."""

MOST_EVALUATED: Final = 100_000
"""How often expressions are evaluated for all rules of a repository together."""

MOST_MADE_TOGETHER: Final = 32 * MOST_MADE
MOST_STEPS_TOGETHER: Final = 100 * MOST_STEPS
"""The same two for all of these evaluations: it takes less than a minute, in a thread."""

MOST_RESULT: Final = 256 * 1024
"""The longest result: as much as all annotations of an object may hold."""

MOST_SAID: Final = 2000
"""Characters of what is said about one expression: the library quotes its line for each error."""

MOST_KEPT_TOGETHER: Final = 64 * 1024 * 1024
"""The most characters of all their results, which are kept as long as what came of the rules."""

_TEXTS: Final = ("repoDefault", "packageDefault")
_OBJECTS: Final = ("upstream", "target", "repository")

_PLACE: Final = re.compile(r"<input>:(-?\d+):(-?\d+): ")
_STATUS_BEFORE: Final = re.compile(r"\A[A-Z_]+: ")
_STATUS_BEHIND: Final = re.compile(r" \[[A-Z_]+\]\Z")

_IN_WORDS_OF_CEL_GO: Final = (
    (re.compile(r'Key not found in map : "(.*)"', re.DOTALL), r"no such key: \1"),
    (re.compile(r"Key not found in map : (.*)", re.DOTALL), r"no such key: \1"),
    (re.compile(r"Index error: index=(-?\d+) .*", re.DOTALL), texts.INDEX),
    (re.compile(r"No matching overloads found.*", re.DOTALL), "no such overload"),
    (re.compile(r"Applying SELECT to non-message type"), "no such overload"),
    (re.compile(r"Invalid container type: .*", re.DOTALL), "no such overload"),
    (re.compile(r'No value with name "(.*)" found.*', re.DOTALL), r"no such attribute(s): \1"),
    (re.compile(r"divide by zero"), "division by zero"),
    (re.compile(r"(?:double|uint64) out of int64 range"), "integer overflow"),
    (re.compile(r"(?:double|int64) out of uint64 range"), "unsigned integer overflow"),
    (re.compile(r"cannot convert string to (int|uint|double)"), texts.NO_CONVERSION),
    (re.compile(r"Type conversion error from 'string' to '(bool)'"), texts.NO_CONVERSION),
    (
        re.compile(r"String to (Timestamp|Duration) conversion failed"),
        texts.NO_CONVERSION.replace(r"\1", r"google.protobuf.\1"),
    ),
    (re.compile(r"malformed UTF-8 bytes"), texts.BAD_BYTES),
    (re.compile(r"invalid regular expression: (.*)", re.DOTALL), r"error parsing regexp: \1"),
    (
        re.compile(r".*(?:Iteration budget exceeded|recursion limit exceeded).*", re.DOTALL),
        texts.COST,
    ),
)
_CHECKED: Final = (
    (re.compile(r"has\(\) argument must be a field selection"), texts.NO_SELECTION),
    (re.compile(r"(?:map|filter)\(\) variable name must be a simple.*"), texts.NO_IDENTIFIER),
    (re.compile(r"(?:all|exists|exists_one)\(\) variable name must be.*"), texts.NO_NAME),
)
_DIVIDED: Final = re.compile(r"\n(?=ERROR: <input>:-?\d+:-?\d+: )")
_UNDECLARED: Final = re.compile(
    r"ERROR: <input>:(\d+):(\d+): undeclared reference to '(\w+)(?:\.\w+)+' (\(.*\))"
    r"\n \| (.*)\n \| .*"
)


class ExpressionError(Exception):
    """An expression cannot be used, or gives nothing for one target.

    Attributes:
        text: What is wrong, in cel-go's words.
        line: Line in the expression, from 1; 0 where it is about all of it.
        column: Column in that line, from 1.
    """

    def __init__(self, text: str, line: int = 0, column: int = 0) -> None:
        super().__init__(text)
        self.text = text if len(text) <= MOST_SAID else f"{text[:MOST_SAID]}…"
        self.line, self.column = line, column


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression that was checked.

    Attributes:
        text: As people wrote it.
        program: What the library made of it.
        kind: The type of what it gives, as far as that is known before it is evaluated.
        shape: What of it tells how much it could take.
    """

    text: str
    program: Any
    kind: str
    shape: Shape

    def evaluate(self, inputs: Inputs) -> str:
        """Return the text that it gives.

        Args:
            inputs: Its variables; one that is not there is an error where it is used.

        Raises:
            ExpressionError: It gives no text.
        """
        _check_cost(self.shape, inputs)
        try:
            value = self.program.eval(data={**inputs})
            found, kind = value.plain_value(), value.type().name()
        except (RuntimeError, ValueError, TypeError) as error:
            raise _said(str(error)) from error
        if kind == "ERROR":
            raise _said(str(found))
        if not isinstance(found, str):
            raise ExpressionError(_no_text(kind))
        if len(found) > MOST_RESULT:
            raise ExpressionError(texts.long_result(MOST_RESULT))
        if (spent := _SPENT.get()) is not None:
            spent.kept += len(found)
        return found


def compiled(text: str) -> Expression:
    """Check an expression; inside of `together` each once.

    Raises:
        ExpressionError: It is none, or uses what is not there.
    """
    if len(text) > MOST_CHARACTERS:
        raise ExpressionError(texts.long_expression(MOST_CHARACTERS))
    spent = _SPENT.get()
    if spent is None:
        return _compiled(text)
    if text not in spent.programs:
        spent.compiled += len(text)
        if spent.compiled > MOST_COMPILED:
            raise ExpressionError(texts.COST_TOGETHER)
        spent.programs[text] = _compiled(text)
    return spent.programs[text]


def _compiled(text: str) -> Expression:
    try:
        program = _environment().compile(text)
    except (RuntimeError, ValueError, TypeError) as error:
        raise _said(str(error)) from error
    states = patterns.states(text)
    if states is None:
        raise ExpressionError(texts.PATTERN)
    return Expression(text, program, program.return_type().name(), costs.shape_of(text, states))


def check(text: str) -> None:
    """Check an expression of a file: it can be used, and may give a text.

    Raises:
        ExpressionError: As for `compiled`; or it can never give a text.
    """
    kind = compiled(text).kind
    if kind not in ("STRING", "DYN"):
        raise ExpressionError(_no_text(kind))


@lru_cache(maxsize=1)
def _environment() -> Any:
    from cel_expr_python import cel  # 6 MB, for the rules that have an expression

    variables = {**dict.fromkeys(_TEXTS, cel.Type.STRING), **dict.fromkeys(_OBJECTS, cel.Type.DYN)}
    return cel.NewEnv(variables=variables)


def _no_text(kind: str) -> str:
    return texts.no_text(kind.partition("<")[0].lower())


def _said(text: str) -> ExpressionError:
    """Return an error of the library as cel-go would say it, with its place."""
    text = _STATUS_BEHIND.sub("", _STATUS_BEFORE.sub("", text))
    for pattern, words in _IN_WORDS_OF_CEL_GO:
        if pattern.fullmatch(text):
            return ExpressionError(pattern.sub(words, text))
    if texts.TOO_DEEP in text:
        return ExpressionError(texts.RECURSION)
    text = "\n".join(sorted(map(_rooted, _DIVIDED.split(text)), key=_placed))
    for theirs, words in _CHECKED:
        text = theirs.sub(words, text)
    place = _PLACE.search(text)
    if place is None or int(place[1]) < 1:
        return ExpressionError(text)
    return ExpressionError(text, int(place[1]), int(place[2]))


def _placed(error: str) -> tuple[int, int]:
    """Where one of several errors is: cel-go tells them in this order."""
    place = _PLACE.search(error)
    return (int(place[1]), int(place[2])) if place else (0, 0)


def _rooted(error: str) -> str:
    """Return an error about "a.b.c" as cel-go says it: that there is no "a", where that stands."""
    found = _UNDECLARED.fullmatch(error)
    if found is None:
        return error
    line, column, root, container, source = found.groups()
    starts = [each.start() for each in re.finditer(rf"(?<![\w.]){root}\b", source)]
    start = max((each for each in starts if each < int(column)), default=None)
    if start is None:
        return error
    told = f"undeclared reference to '{root}' {container}"
    marked = f" | {source}\n | {'.' * start}^"
    return f"ERROR: <input>:{line}:{start + 1}: {told}\n{marked}"


# --- how much they could take ---------------------------------------------------------------------


@dataclass(slots=True)
class _Spent:
    """What the expressions of one repository could have taken so far."""

    programs: dict[str, Expression] = field(default_factory=dict)
    compiled: int = 0
    evaluated: int = 0
    made: int = 0
    steps: int = 0
    kept: int = 0

    @property
    def too_much(self) -> bool:
        """No other one is evaluated."""
        return (
            self.evaluated >= MOST_EVALUATED
            or self.made > MOST_MADE_TOGETHER
            or self.steps > MOST_STEPS_TOGETHER
            or self.kept > MOST_KEPT_TOGETHER
        )


_SPENT: Final[ContextVar[_Spent | None]] = ContextVar("spent", default=None)


@contextmanager
def together() -> Iterator[None]:
    """Bound what all expressions take that are compiled and evaluated inside of the block.

    A block inside of another one is a part of it.
    """
    before = _SPENT.set(_SPENT.get() or _Spent())
    try:
        yield
    finally:
        _SPENT.reset(before)


def _check_cost(shape: Shape, inputs: Inputs) -> None:
    spent = _SPENT.get()
    if spent is not None and spent.too_much:
        raise ExpressionError(texts.COST_TOGETHER)
    made, steps = costs.of(shape, inputs)
    if spent is not None:  # what is refused took something as well: its inputs were counted
        spent.evaluated += 1
        spent.made += min(made, MOST_MADE)
        spent.steps += min(steps, MOST_STEPS)
    if made > MOST_MADE or steps > MOST_STEPS:
        raise ExpressionError(texts.COST)
