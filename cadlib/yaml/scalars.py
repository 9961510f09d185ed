"""Resolves plain scalars, and writes values as scalars.

Rules:
- Reading follows go-yaml 3, which kpt and its functions read with: booleans are `true` and
  `false` only, `0755` is octal, `1_000` is a thousand, dates stay text. (kubectl reads with
  sigs.k8s.io/yaml, a fork of go-yaml 2: see `cadlib.package.otherwise`.)
- Writing is more careful than reading: text that a reader of YAML 1.1 would take for
  something else (`yes`, `0755`, `1e3`, `12:30`, a date) is quoted.

Source: YAML 1.1 type repository; go-yaml v3 `resolve.go`; kyaml `IsYaml1_1NonString`.
"""

import json
import math
import re
from functools import lru_cache

Atom = str | int | float | bool | None

_WORDS: dict[str, Atom] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
    ".nan": math.nan,
    ".NaN": math.nan,
    ".NAN": math.nan,
    **{sign + word: math.inf for sign in ("", "+") for word in (".inf", ".Inf", ".INF")},
    **{"-" + word: -math.inf for word in (".inf", ".Inf", ".INF")},
}
_MAYBE = frozenset("0123456789+-.")
_BASES = {"0b": 2, "0o": 8, "0x": 16}
_INT = re.compile(r"[-+]?(?:0[bB][01_]+|0[oO]?[0-7_]+|0[xX][0-9a-fA-F_]+|[1-9][0-9_]*|0)", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
# Python refuses to convert longer numbers (sys.set_int_max_str_digits); nobody means them.
_LONGEST_NUMBER = 300

_YAML_1_1 = re.compile(
    r"""(?: y | n | yes | no | on | off | true | false | null | ~ | = | << |
    [-+]?[0-9][0-9_]*(?:\.[0-9_]*)?(?:e[-+]?[0-9]+)? | [-+]?\.[0-9_]+(?:e[-+]?[0-9]+)? |
    [-+]?0[box][0-9a-f_]+ |
    [-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)? |
    [-+]?\.inf | \.nan |
    [0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:t|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}.*)?
    )""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
# First characters that open something other than a plain scalar, and `?`, `:` and `=`,
# which only sometimes do.
_NOT_FIRST = frozenset("?:=,[]{}#&*!|>'\"%@`")
_FLOW = re.compile(r"[,\[\]{}:?]")
_UNPRINTABLE = re.compile(r"[^ -~]")


@lru_cache(maxsize=8192)
def resolve(text: str) -> Atom:
    """Return the value of an untagged plain scalar.

    Args:
        text: The scalar as the parser gives it, line folding done; "" is null.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _MAYBE or len(text) > _LONGEST_NUMBER:
        return text
    if _INT.fullmatch(text):
        return _integer(text)
    digits = text.replace("_", "")
    if _FLOAT.fullmatch(digits):
        number = float(digits)
        return text if math.isinf(number) else number
    return text


def _integer(text: str) -> Atom:
    digits = text.replace("_", "").lower()
    sign = -1 if digits[0] == "-" else 1
    digits = digits.lstrip("+-")
    base = _BASES.get(digits[:2], 8 if len(digits) > 1 and digits[0] == "0" else 10)
    try:
        return sign * int(digits[2:] if digits[:2] in _BASES else digits, base)
    except ValueError:  # underscores only, as in "0x_"
        return text


@lru_cache(maxsize=4096)
def plain(text: str, *, flow: bool = False) -> bool:
    """Tell whether a text as a plain scalar resolves to that same string.

    Args:
        text: Any text.
        flow: The scalar stands inside braces or brackets.
    """
    if not text or not text.isprintable() or text != text.strip() or text[0] in _NOT_FIRST:
        return False
    if text.startswith(("- ", "---", "...")) or text == "-":
        return False
    if ": " in text or " #" in text or text[-1] == ":":
        return False
    if flow and _FLOW.search(text):
        return False
    return isinstance(resolve(text), str) and not _YAML_1_1.fullmatch(text)


def double_quoted(text: str) -> str:
    """Return text in double quotes, with every unprintable character escaped."""
    quoted = json.dumps(text, ensure_ascii=False)
    return (
        quoted if quoted.isascii() and "\x7f" not in quoted else _UNPRINTABLE.sub(_escape, quoted)
    )


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    if character.isprintable():
        return character
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"


def single_quoted(text: str) -> str | None:
    """Return text in single quotes, or None if they cannot express it."""
    return "'" + text.replace("'", "''") + "'" if text.isprintable() else None


class Quoted(str):
    """A text that an edit puts in quotes where it stands in none, though it is the same text.

    Only for texts that are not `plain`: `on`, which YAML 1.1 takes for true.
    """

    __slots__ = ()


def inline(value: Atom, *, style: str = "", flow: bool = False) -> str:
    """Return a value as a scalar on one line.

    Args:
        value: What the scalar shall be read as.
        style: Quotes to prefer for text: "'", '"', or "" for none where possible.
            Anything but text is written without quotes.
        flow: The scalar stands inside braces or brackets.
    """
    if not isinstance(value, str):
        return _number(value)
    if style == "'":
        return single_quoted(value) or double_quoted(value)
    if style == "" and plain(value, flow=flow):
        return value
    return double_quoted(value)


def _number(value: float | bool | None) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    return repr(value)


def literal(
    text: str, indent: int, *, hinted: bool = False, keep: bool = False
) -> list[str] | None:
    """Return the lines of a literal block scalar, its header ("|-") first.

    Args:
        text: The text; more than one line makes sense.
        indent: Spaces before each line of content, more than its parent has.
        hinted: The caller writes the indentation into the header, so that the first
            line may begin with a space.
        keep: Count blank lines at the end as content ("|+"). Later edits then depend
            on those, so it is for texts that are written this way already.

    Returns:
        Lines without line ends; None if a literal block cannot express the text.
    """
    lines = text.split("\n")
    ended = lines[-1] == ""
    if ended:
        lines.pop()
    chomp = ("+" if keep else "") if ended else "-"
    if not lines or not lines[0] or (not lines[-1] and chomp != "+"):
        return None
    if lines[0][0] in " \t" and not (hinted and lines[0].strip()):
        return None
    if not all(line.replace("\t", "").isprintable() for line in lines):
        return None
    margin = " " * indent
    return [f"|{chomp}", *(margin + line if line else "" for line in lines)]
