"""Regular expressions and globs, as functions of Rego have them: Go's, which are RE2.

What begins with `regex` or `glob` returns [value], or [] for an expression that is none.

Source: Open Policy Agent, Policy Reference, "Regex" and "Glob"; Go, package regexp (Split,
ReplaceAllString, FindAllStringSubmatch, Expand).
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

import re2

_QUIET: Final = re2.Options()
_QUIET.log_errors = False
_WHOLE: Final = re2.Options()
_WHOLE.log_errors = False
_WHOLE.dot_nl = True
_BYTE: Final = re.compile(r"(?:^|[^\\])(?:\\\\)*\\C")  # C++ knows it, and Go does not
_GROUP: Final = re.compile(r"\$(?:(?P<dollar>\$)|\{(?P<braced>\w+)\}|(?P<plain>\w+))", re.ASCII)
_GLOB: Final = re.compile(
    r"(?P<any>\*\*+)|(?P<some>\*)|(?P<one>\?)|(?P<open>\{)|(?P<close>\})|(?P<comma>,)"
    r"|\[(?P<not>!?)(?:(?P<from>[^\\\]-])-(?P<to>[^\\\]-])|(?P<list>[^\\\]-]+))\]"
    r"|\\(?P<escaped>.)|(?P<plain>[^\[\]\\])",
    re.DOTALL,
)


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    """Return an expression; None for what is none."""
    if _BYTE.search(pattern):
        return None
    try:
        return re2.compile(pattern, _QUIET)
    except re2.error:
        return None


def regex_is_valid(pattern: str) -> bool:
    """Tell whether a text is an expression."""
    return _compiled(pattern) is not None


def regex_match(pattern: str, text: str) -> list[bool]:
    """Whether an expression fits somewhere in a text."""
    expression = _compiled(pattern)
    return [] if expression is None else [expression.search(text) is not None]


def regex_find(pattern: str, text: str, most: int) -> list[list[str]]:
    """Return what an expression fits, as many as are asked for, all for a negative number."""
    found = regex_find_groups(pattern, text, most)
    return [[each[0] for each in found[0]]] if found else []


def regex_find_groups(pattern: str, text: str, most: int) -> list[list[list[str]]]:
    """Return what an expression and its groups fit."""
    expression = _compiled(pattern)
    if expression is None:
        return []
    matches = list(_matches(expression, text))
    chosen = matches if most < 0 else matches[:most]
    return [[[each[0], *(group or "" for group in each.groups())] for each in chosen]]


def regex_split(pattern: str, text: str) -> list[list[str]]:
    """Return the parts of a text between what an expression fits."""
    expression = _compiled(pattern)
    if expression is None:
        return []
    if pattern and not text:
        return [[""]]
    parts: list[str] = []
    begin = end = 0
    for match in _matches(expression, text):
        end = match.start()
        if match.end():
            parts.append(text[begin:end])
        begin = match.end()
    if end != len(text):
        parts.append(text[begin:])
    return [parts]


def regex_replace(text: str, pattern: str, form: str) -> list[str]:
    """Return a text with what an expression fits replaced; $1 and ${name} are its groups."""
    expression = _compiled(pattern)
    if expression is None:
        return []
    parts: list[str] = []
    done = 0
    for match in _matches(expression, text):
        parts += (text[done : match.start()], _expanded(form, match))
        done = match.end()
    return ["".join((*parts, text[done:]))]


def _matches(expression: Any, text: str) -> Iterator[Any]:
    """Yield matches as Go does: no empty one right behind another one."""
    position, last = 0, -1
    while position <= len(text):
        match = expression.search(text, position)
        if match is None:
            return
        if match.end() > position:
            position = match.end()
            yield match
        else:
            position += 1
            if match.start() != last:
                yield match
        last = match.end()


def _expanded(form: str, match: Any) -> str:
    def group(reference: re.Match[str]) -> str:
        if reference["dollar"]:
            return "$"
        name = reference["braced"] or reference["plain"]
        if name.isdecimal():
            return (match[int(name)] or "") if int(name) <= match.re.groups else ""
        return (match[name] or "") if name in match.re.groupindex else ""

    return _GROUP.sub(group, form)


def glob_match(pattern: str, separators: Sequence[str], text: str) -> list[bool]:
    """Whether a pattern fits a whole text; `*` and `?` fit no separator."""
    if any(len(each) != 1 for each in separators):
        return []
    expression = _glob(pattern, tuple(separators))
    return [] if expression is None else [expression.fullmatch(text) is not None]


def glob_quote(text: str) -> str:
    """Return a pattern that fits a text and nothing else."""
    return re.sub(r"([*?\\\[\]{}])", r"\\\1", text)


@lru_cache(maxsize=256)
def _glob(pattern: str, separators: tuple[str, ...]) -> Any:
    inner = f"[^{re.escape(''.join(separators))}]" if separators else "."
    made: list[str] = []
    position = depth = 0
    while position < len(pattern):
        match = _GLOB.match(pattern, position)
        if match is None:
            return None
        position = match.end()
        depth += bool(match["open"]) - bool(match["close"])
        if depth < 0:
            return None
        made.append(_glob_part(match, inner, depth))
    return None if depth else re2.compile("".join(made), _WHOLE)


def _glob_part(match: re.Match[str], inner: str, depth: int) -> str:
    no = "^" if match["not"] else ""
    match match.lastgroup:
        case "any":
            return ".*"
        case "some":
            return f"{inner}*"
        case "one":
            return inner
        case "open":
            return "(?:"
        case "close":
            return ")"
        case "comma" if depth:
            return "|"
        case "to":
            return f"[{no}{re.escape(match['from'])}-{re.escape(match['to'])}]"
        case "list":
            return f"[{no}{re.escape(match['list'])}]"
    return re.escape(match["escaped"] or match["plain"] or match[0])
