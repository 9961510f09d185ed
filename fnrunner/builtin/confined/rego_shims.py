"""Rego's builtin functions as Open Policy Agent has them, where the engine here differs.

Rules:
    - A function of the first version of the language that the engine does not know any more
      (`any`, `all`, `re_match`, …) is written in Rego.
    - A builtin that is given what it cannot use is undefined, as in Gatekeeper; the engine stops
      with an error. So the functions that policies use most are wrapped in a test of their
      arguments. Those that are not wrapped, and a division by zero, stay errors (D122).
    - What `walk` finds is a relation, which the engine knows as its second argument only; as a
      value (`[path, value] := walk(x)`) it is a list that is gone through.
    - Bodies in a row (`f(x) = y { … } { … }`) are rules with one head, which the engine knows of
      some rules only, and gets wrong without a word of others: each body gets the head.
    - A semicolon behind the last expression of a body is none.
    - A function that a policy defines itself is the policy's.

Source: Open Policy Agent, Policy Reference, Built-in Functions; for `to_number` and `units.parse`
the notes there on what they take.
"""

import re
from collections.abc import Iterator
from typing import Final

PACKAGE: Final = "builtins_here"
"""Package of the wrapped functions; no policy has it."""

_PACKAGE: Final = re.compile(r'^[ \t]*package[ \t]+([\w.]+(?:\["[^"]+"\])*)', re.MULTILINE)
_NOT_CODE: Final = re.compile(r'#[^\n]*|"(?:\\.|[^"\\\n])*"|`[^`]*`')

# Functions that are gone from the language, by name.
_OLD: Final = {
    "all": "all(xs) = y { y := count([x | x := xs[_]; x != true]) == 0 }",
    "any": "any(xs) = y { y := count([x | x := xs[_]; x == true]) > 0 }",
    "cast_array": "cast_array(x) = x { is_array(x) }\n"
    "cast_array(x) = [y | y := x[_]] { is_set(x) }",
    "cast_boolean": "cast_boolean(x) = x { is_boolean(x) }",
    "cast_null": "cast_null(x) = x { is_null(x) }",
    "cast_object": "cast_object(x) = x { is_object(x) }",
    "cast_set": "cast_set(x) = x { is_set(x) }\ncast_set(x) = {y | y := x[_]} { is_array(x) }",
    "cast_string": "cast_string(x) = x { is_string(x) }",
    "re_match": "re_match(p, x) = y { is_string(p); is_string(x); regex.is_valid(p);"
    " y := regex.match(p, x) }",
    "set_diff": "set_diff(a, b) = y { y := a - b }",
}

# What stands before a brace that begins a value and no body.
_BEFORE_VALUES: Final = frozenset("=+-*/|&%<>([,:")
_FURTHER: Final = re.compile(r"\s*\{")
_LAST_SEMICOLON: Final = re.compile(r";(?=\s*\})")
_WALKED: Final = "walked_here"
_PAIRS: Final = f"{_WALKED}(x) = y {{ y := [[p, v] | walk(x, [p, v])] }}"
_WALK: Final = re.compile(r"(?<![\w.])walk\s*(?=\()")

_TEXT: Final = "is_string({0})"
_TWO_TEXTS: Final = "is_string({0}); is_string({1})"
_THREE_TEXTS: Final = "is_string({0}); is_string({1}); is_string({2})"
_COUNTED: Final = '{{"array", "object", "set", "string"}}[type_name({0})]'
_MANY: Final = '{{"array", "set"}}[type_name({0})]'
_PATTERN: Final = f"{_TWO_TEXTS}; regex.is_valid({{0}})"
# Number of arguments of a builtin, and what must hold for it to have a value.
_GUARDED: Final = {
    "base64.decode": (1, f"{_TEXT}; base64.is_valid({{0}})"),
    "concat": (2, f"is_string({{0}}); {_MANY.replace('{0}', '{1}')}"),
    "contains": (2, _TWO_TEXTS),
    "count": (1, _COUNTED),
    "crypto.hmac.md5": (2, _TWO_TEXTS),
    "crypto.hmac.sha1": (2, _TWO_TEXTS),
    "crypto.hmac.sha256": (2, _TWO_TEXTS),
    "crypto.hmac.sha512": (2, _TWO_TEXTS),
    "crypto.md5": (1, _TEXT),
    "crypto.sha1": (1, _TEXT),
    "crypto.sha256": (1, _TEXT),
    "endswith": (2, _TWO_TEXTS),
    "indexof": (2, _TWO_TEXTS),
    "json.unmarshal": (1, f"{_TEXT}; json.is_valid({{0}})"),
    "lower": (1, _TEXT),
    "max": (1, _MANY),
    "min": (1, _MANY),
    "regex.match": (2, _PATTERN),
    "regex.replace": (3, f"{_THREE_TEXTS}; regex.is_valid({{1}})"),
    "regex.split": (2, _PATTERN),
    "replace": (3, _THREE_TEXTS),
    "sort": (1, _MANY),
    "split": (2, _TWO_TEXTS),
    "startswith": (2, _TWO_TEXTS),
    "substring": (3, "is_string({0}); is_number({1}); is_number({2}); {1} >= 0"),
    "time.parse_rfc3339_ns": (1, "_is_moment({0})"),
    "to_number": (1, "_is_number({0})"),
    "trim": (2, _TWO_TEXTS),
    "trim_left": (2, _TWO_TEXTS),
    "trim_prefix": (2, _TWO_TEXTS),
    "trim_right": (2, _TWO_TEXTS),
    "trim_space": (1, _TEXT),
    "trim_suffix": (2, _TWO_TEXTS),
    "units.parse": (1, "_is_amount({0})"),
    "units.parse_bytes": (1, "_is_amount({0})"),
    "upper": (1, _TEXT),
}  # fmt: skip
# Written in Rego over a function of ours, since it takes values of any kind.
_WRITTEN: Final = {"sprintf": 2}
_HELPERS: Final = r"""
_printed(x) = x { is_string(x) }
_printed(x) = x { is_number(x) }
_printed(x) = "set()" { x == set() }
_printed(x) = y { not is_string(x); not is_number(x); x != set(); y := sprintf("%v", [x]) }
has_sprintf(form, xs) = y {
    is_string(form)
    is_array(xs)
    y := go.sprintf(form, [y | x := xs[_]; y := _printed(x)])
}
_is_number(x) { {"boolean", "null", "number"}[type_name(x)] }
_is_number(x) {
    is_string(x)
    regex.match(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`, x)
}
_is_amount(x) {
    is_string(x)
    regex.match(`^"?[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[a-zA-Z]{0,3}"?$`, x)
}
_is_moment(x) {
    is_string(x)
    regex.match(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\.[0-9]+)?(Z|[+-][0-9:]{5})$`, x)
}
"""


def package(module: str) -> str:
    """Return the package of a module, such as "k8srequiredlabels"; "" if it names none."""
    found = _PACKAGE.search(_NOT_CODE.sub(_kept_quotes, module))
    return found[1] if found else ""


def _kept_quotes(match: re.Match[str]) -> str:
    return match[0] if match[0].startswith('"') else " "


def ready(module: str) -> str:
    """Return a module as the engine reads it rightly, its lines where they were."""
    return with_relations(with_heads(_without_last_semicolons(module)))


def _without_last_semicolons(module: str) -> str:
    places = [match.start() for match in _LAST_SEMICOLON.finditer(_blanked(module))]
    letters = list(module)
    for place in places:
        letters[place] = " "
    return "".join(letters)


def with_heads(module: str) -> str:
    """Return a module in which every body of a rule has a head."""
    code = _blanked(module)
    written: list[str] = []
    done = 0
    for begin, end, body in _further_bodies(code):
        head = module[begin:end].strip()
        if not any(each.startswith("#") for each in _NOT_CODE.findall(head)):
            head = " ".join(head.split("\n"))  # so that lines keep their numbers
        written += (module[done:body], f"{head} ")
        done = body
    return "".join((*written, module[done:]))


def _blanked(module: str) -> str:
    """Return a module with blanks in the place of its comments, and of what its texts hold."""

    def blank(match: re.Match[str]) -> str:
        blanks = re.sub(r"\S", " ", match[0])
        quote = match[0][0]
        return blanks if quote == "#" else f"{quote}{blanks[1:-1]}{quote}"

    return _NOT_CODE.sub(blank, module)


def _further_bodies(code: str) -> Iterator[tuple[int, int, int]]:
    """Yield where a head begins and ends, and where a further body of its rule begins."""
    at = begin = 0
    head: tuple[int, int] | None = None  # of the rule whose body has just ended
    while at < len(code):
        letter = code[at]
        if letter == "{" and code[:at].rstrip()[-1:] not in _BEFORE_VALUES:
            if head is not None:
                yield (*head, at)
            head = head or (begin, at)
            at = _closed(code, at)
            if not _FURTHER.match(code, at):
                head, begin = None, at
        elif letter in "([{":
            at = _closed(code, at)
        else:
            at += 1
            if letter == "\n" and code[at:].lstrip()[:1] != "{":
                begin = at


def _closed(code: str, begin: int) -> int:
    """Return where what a bracket opens is over; the end where it never is."""
    depth = 0
    for at in range(begin, len(code)):
        depth += (code[at] in "([{") - (code[at] in ")]}")
        if depth == 0:
            return at + 1
    return len(code)


def with_relations(module: str) -> str:
    """Return a module whose calls of `walk` for a value go through a list of what it finds."""
    code = _blanked(module)
    if _defines(code, "walk"):
        return module
    edits: list[tuple[int, int, str]] = []
    for match in _WALK.finditer(code):
        end = _end_of_value_call(code, match.end())
        if end:
            edits += ((*match.span(), _WALKED), (end, end, "[_]"))
    written: list[str] = []
    done = 0
    for begin, end, text in sorted(edits):
        written += (module[done:begin], text)
        done = end
    return "".join((*written, module[done:]))


def _end_of_value_call(code: str, begin: int) -> int:
    """Return where a call with one argument ends, whose "(" is at `begin`; 0 for another call."""
    depth = 0
    for at in range(begin, len(code)):
        if code[at] in "([{":
            depth += 1
        elif code[at] in ")]}":
            depth -= 1
        elif code[at] == "," and depth == 1:
            return 0
        if depth == 0:
            return at + 1
    return 0


def guarded() -> str:
    """Return the module with the wrapped builtins, in the first version of the language."""
    lines = [f"package {PACKAGE}", _HELPERS]
    for name, (count, test) in _GUARDED.items():
        names = [f"a{n}" for n in range(count)]
        given = ", ".join(names)
        held = test.format(*names)
        lines.append(f"{_flat(name)}({given}) = y {{ {held}; y := {name}({given}) }}")
    return "\n".join(lines)


def for_package(name: str, modules: list[str]) -> str:
    """Return a module that gives a package the functions it uses; "" if it needs none.

    Args:
        name: The package.
        modules: Texts of its modules.
    """
    code = "\n".join(_NOT_CODE.sub(" ", text) for text in modules)
    lines = list(_used(code))
    return "\n".join((f"package {name}", *lines)) if lines else ""


def _used(code: str) -> Iterator[str]:
    if _calls(code, _WALKED):
        yield _PAIRS
    for name, text in _OLD.items():
        if _calls(code, name) and not _defines(code, name):
            yield text
    counts = {name: count for name, (count, _) in _GUARDED.items()} | _WRITTEN
    for name, count in counts.items():
        if _calls(code, name) and not _defines(code, name):
            given = ", ".join(f"a{n}" for n in range(count))
            yield f"{name}({given}) = y {{ y := data.{PACKAGE}.{_flat(name)}({given}) }}"


def _calls(code: str, name: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(name)}\s*\(", code) is not None


def _defines(code: str, name: str) -> bool:
    pattern = (
        rf"^[ \t]*(default[ \t]+)?{re.escape(name)}\b[ \t]*(\([^()]*\)[ \t]*)?(:?=|\{{|if\b|\[)"
    )
    return re.search(pattern, code, re.MULTILINE) is not None


def _flat(name: str) -> str:
    return f"has_{name.replace('.', '_')}"
