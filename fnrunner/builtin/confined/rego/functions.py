"""The functions of the language that there are here, and when they have a value.

Rules:
    - A function that is given what it cannot use is undefined, as in Gatekeeper; the engine
      stops with an error. So each one, and each operation, stands behind a test of what it is
      given. What no test tells beforehand stays an error.
    - Functions that are gone from the language are there for its first version only.
    - A function that is not named here is refused.

Source: Open Policy Agent, Policy Reference, "Built-in Functions"; for `to_number` and
`units.parse` the notes there on what they take.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from fnrunner.builtin.confined.rego.syntax import Place, RegoError

PACKAGE: Final = "builtins_here"
"""Package of what stands in for functions and operations; no policy has it."""

# What an argument has to be, by the letter that stands for it below; "x" is anything.
_KINDS: Final[Mapping[str, str]] = {
    "s": "is_string({0})",
    "n": "is_number({0})",
    "i": "_whole({0})",
    "o": "is_object({0})",
    "t": "is_set({0})",
    "a": "is_array({0})",
    "A": '{{"array", "set"}}[type_name({0})]',
    "K": '{{"array", "object", "set"}}[type_name({0})]',
    "C": '{{"array", "object", "set", "string"}}[type_name({0})]',
    "S": "_texts({0})",
    "P": "_texts_or_one({0})",
    "N": "_numbers({0})",
    "T": "_sets({0})",
    "O": "_objects({0})",
    "J": "_pointers({0})",
    "L": "_separators({0})",
    "m": "_moment({0})",
    "f": "_formed({0})",
    "I": "_instant({0})",
}
# Functions of the engine by name: what their arguments have to be, and what else must hold.
_FUNCTIONS: Final[Mapping[str, tuple[str, str]]] = {
    "abs": ("n", ""),
    "array.concat": ("aa", ""),
    "array.reverse": ("a", ""),
    "array.slice": ("aii", ""),
    "base64.encode": ("s", ""),
    "base64url.encode": ("s", ""),
    "base64url.encode_no_pad": ("s", ""),
    "bits.and": ("ii", ""),
    "bits.lsh": ("ii", "{1} >= 0"),
    "bits.negate": ("i", ""),
    "bits.or": ("ii", ""),
    "bits.rsh": ("ii", "{1} >= 0"),
    "bits.xor": ("ii", ""),
    "ceil": ("n", ""),
    "concat": ("sS", ""),
    "contains": ("ss", ""),
    "count": ("C", ""),
    "endswith": ("ss", ""),
    "floor": ("n", ""),
    "format_int": ("ni", "{{2, 8, 10, 16}}[{1}]"),
    "graph.reachable": ("oA", ""),
    "graph.reachable_paths": ("oA", ""),
    "hex.encode": ("s", ""),
    "indexof": ("ss", '{1} != ""'),
    "indexof_n": ("ss", '{1} != ""'),
    "intersection": ("T", ""),
    "json.filter": ("oJ", "ours.are_plain([y | y := {1}[_]])"),
    "max": ("A", ""),
    "min": ("A", ""),
    "net.cidr_contains": ("ss", ""),
    "net.cidr_expand": ("s", ""),
    "net.cidr_is_valid": ("s", ""),
    "numbers.range": ("ii", ""),
    "numbers.range_step": ("iii", "{2} > 0"),
    "object.filter": ("oK", ""),
    "object.get": ("oxx", ""),
    "object.keys": ("o", ""),
    "object.remove": ("oK", ""),
    "object.union": ("oo", ""),
    "object.union_n": ("O", ""),
    "rand.intn": ("si", ""),
    "replace": ("sss", ""),
    "round": ("n", ""),
    "sort": ("A", ""),
    "split": ("ss", ""),
    "startswith": ("ss", ""),
    "strings.any_prefix_match": ("PP", ""),
    "strings.any_suffix_match": ("PP", ""),
    "strings.reverse": ("s", ""),
    "substring": ("sii", "{1} >= 0"),
    "time.clock": ("m", ""),
    "time.date": ("m", ""),
    "time.diff": ("mm", ""),
    "time.format": ("f", "_told({0})"),
    "time.parse_ns": ("ss", ""),
    "time.weekday": ("m", ""),
    "to_number": ("x", "_is_number({0})"),
    "trim": ("ss", ""),
    "trim_left": ("ss", ""),
    "trim_prefix": ("ss", ""),
    "trim_right": ("ss", ""),
    "trim_space": ("s", ""),
    "trim_suffix": ("ss", ""),
    "union": ("T", ""),
}
# Functions that are as they should be, with the number of their arguments.
_PLAIN: Final[Mapping[str, int]] = {
    **dict.fromkeys(
        ("is_array", "is_boolean", "is_null", "is_number", "is_object", "is_set", "is_string"), 1
    ),
    "time.now_ns": 0,
    "type_name": 1,
    "uuid.rfc4122": 1,
}
_ANY_NUMBER: Final = ("print",)
# Functions of ours in Python, by name: they answer [value], or [] where there is none.
_OURS: Final[Mapping[str, tuple[str, str]]] = {
    "base64.decode": ("s", ""),
    "base64url.decode": ("s", ""),
    **{f"crypto.{name}": ("s", "") for name in ("md5", "sha1", "sha256")},
    **{f"crypto.hmac.{name}": ("ss", "") for name in ("md5", "sha1", "sha256", "sha512")},
    "glob.quote_meta": ("s", ""),
    "hex.decode": ("s", ""),
    "lower": ("s", ""),
    "net.cidr_intersects": ("ss", ""),
    "regex.find_all_string_submatch_n": ("ssi", ""),
    "regex.find_n": ("ssi", ""),
    "regex.match": ("ss", ""),
    "regex.replace": ("sss", ""),
    "regex.split": ("ss", ""),
    "semver.compare": ("ss", ""),
    "strings.count": ("ss", ""),
    "strings.replace_n": ("os", ""),
    "time.add_date": ("Iiii", ""),
    "time.parse_duration_ns": ("s", ""),
    "time.parse_rfc3339_ns": ("s", ""),
    "units.parse": ("s", ""),
    "units.parse_bytes": ("s", ""),
    "upper": ("s", ""),
    "urlquery.decode": ("s", ""),
    "urlquery.decode_object": ("s", ""),
    "urlquery.encode": ("s", ""),
    "urlquery.encode_object": ("o", ""),
}
# Operations that stop the engine where they have no value, or work with numbers otherwise.
OPERATIONS: Final[Mapping[str, str]] = {
    "+": "plus",
    "-": "minus",
    "*": "mul",
    "/": "div",
    "%": "rem",
    "|": "or",
    "&": "and",
}
_WRITTEN: Final = {
    "base64.is_valid": 1,
    "glob.match": 3,
    "json.is_valid": 1,
    "json.marshal": 1,
    "json.unmarshal": 1,
    "keyed_member": 3,
    "member": 2,
    "members": 1,
    "object.subset": 2,
    "product": 1,
    "regex.is_valid": 1,
    "semver.is_valid": 1,
    "sprintf": 2,
    "sum": 1,
    "trace": 1,
    "walk": 1,
    **dict.fromkeys(OPERATIONS.values(), 2),
}
# Functions that are gone from the language, by name.
OLD: Final[Mapping[str, tuple[int, str]]] = {
    "all": (1, "has_all(xs) := count([x | x := xs[_]; x != true]) == 0 if _many(xs)"),
    "any": (1, "has_any(xs) := count([x | x := xs[_]; x == true]) > 0 if _many(xs)"),
    "cast_array": (1, "has_cast_array(x) := [y | y := x[_]] if _many(x)"),
    "cast_boolean": (1, "has_cast_boolean(x) := x if is_boolean(x)"),
    "cast_null": (1, "has_cast_null(x) := x if is_null(x)"),
    "cast_object": (1, "has_cast_object(x) := x if is_object(x)"),
    "cast_set": (1, "has_cast_set(x) := {y | y := x[_]} if _many(x)"),
    "cast_string": (1, "has_cast_string(x) := x if is_string(x)"),
    "re_match": (2, "has_re_match(p, x) := y if {\n"
        "is_string(p); is_string(x); [y] = ours.regex.match(p, x)\n}"),
    "set_diff": (2, "has_set_diff(a, b) := a - b if { is_set(a); is_set(b) }"),
}  # fmt: skip
_NAME: Final = re.compile(r"\b(?:has)?_\w+")
_REFUSED: Final = ("http.send",)  # a policy has no network; Gatekeeper refuses it too

_HELPERS: Final = r"""
_many(x) if {"array", "set"}[type_name(x)]
_whole(x) if { is_number(x); floor(x) == x }
_texts(xs) if { _many(xs); count([x | x := xs[_]; not is_string(x)]) == 0 }
_texts_or_one(x) if is_string(x)
_texts_or_one(x) if _texts(x)
_numbers(xs) if { _many(xs); count([x | x := xs[_]; not is_number(x)]) == 0 }
_sets(xs) if { is_set(xs); count([x | x := xs[_]; not is_set(x)]) == 0 }
_objects(xs) if { is_array(xs); count([x | x := xs[_]; not is_object(x)]) == 0 }
_pointers(xs) if { _many(xs); count([x | x := xs[_]; not _pointer(x)]) == 0 }
_pointer(x) if is_string(x)
_pointer(x) if is_array(x)
_separators(x) if is_null(x)
_separators(x) if { is_array(x); _texts(x) }
_moment(x) if _instant(x)
_moment(x) if { is_array(x); count(x) == 2; _instant(x[0]); is_string(x[1]) }
_formed(x) if _moment(x)
_formed(x) if { is_array(x); count(x) == 3; _instant(x[0]); is_string(x[1]); is_string(x[2]) }
_instant(x) if { _whole(x); x >= -9223372036854775808; x <= 9223372036854775807 }
_printed(x) := x if is_string(x)
_printed(x) := x if is_number(x)
_printed(x) := "set()" if x == set()
_printed(x) := y if {
    not is_string(x)
    not is_number(x)
    x != set()
    ours.printable(count([1 | walk(x, [_, v]); v == set()]))
    y := sprintf("%v", [x])
}
has_sprintf(form, xs) := y if {
    is_string(form)
    is_array(xs)
    y := ours.sprintf(form, [y | x := xs[_]; y := _printed(x)])
}
has_member(x, xs) := y if { _goes(xs); y := x in xs }
has_member(_, xs) := false if not _goes(xs)
has_members(xs) := xs if _goes(xs)
has_keyed_member(k, v, xs) := y if { _listed(xs); y := k, v in xs }
has_keyed_member(k, v, xs) := k == v if { is_set(xs); v in xs }
has_keyed_member(_, v, xs) := false if { is_set(xs); not v in xs }
has_keyed_member(_, _, xs) := false if not _goes(xs)
_goes(xs) if {"array", "object", "set"}[type_name(xs)]
_listed(xs) if {"array", "object"}[type_name(xs)]
has_base64_is_valid(x) := base64.is_valid(x) if is_string(x)
has_json_is_valid(x) := ours.is_json(x) if is_string(x)
has_json_is_valid(x) := false if not is_string(x)
has_json_marshal(x) := ours.escaped(json.marshal(x))
has_json_unmarshal(x) := json.unmarshal(x) if { is_string(x); ours.is_json(x) }
has_glob_match(p, d, x) := y if {
    is_string(p); is_string(x); is_null(d)
    [y] = ours.glob.match(p, [], x)
}
has_glob_match(p, d, x) := y if {
    is_string(p); is_string(x); is_array(d); _texts(d)
    [y] = ours.glob.match(p, {true: ["."], false: d}[count(d) == 0], x)
}
has_object_subset(a, b) := y if { _keyed(a); _keyed(b); b != []; y := object.subset(a, b) }
has_object_subset(a, b) := true if { is_array(a); b == [] }
has_product(xs) := y if { _numbers(xs); [y] = ours.product([x | x := xs[_]]) }
has_sum(xs) := y if { _numbers(xs); [y] = ours.sum([x | x := xs[_]]) }
has_regex_is_valid(x) := ours.regex.is_valid(x) if is_string(x)
has_regex_is_valid(x) := false if not is_string(x)
has_trace(x) := true if is_string(x)
_keyed(x) if {"array", "object", "set"}[type_name(x)]
_told(x) if _moment(x)
_told(x) if { is_array(x); count(x) == 3; ours.is_layout(x[2]) }
has_semver_is_valid(x) := ours.is_version(x) if is_string(x)
has_semver_is_valid(x) := false if not is_string(x)
has_walk(x) := [[p, v] | walk(x, [p, v])]
has_plus(a, b) := y if { is_number(a); is_number(b); [y] = ours.plus(a, b) }
has_minus(a, b) := y if { is_number(a); is_number(b); [y] = ours.minus(a, b) }
has_minus(a, b) := a - b if { is_set(a); is_set(b) }
has_mul(a, b) := y if { is_number(a); is_number(b); [y] = ours.mul(a, b) }
has_or(a, b) := a | b if { is_set(a); is_set(b) }
has_and(a, b) := a & b if { is_set(a); is_set(b) }
_is_number(x) if {"boolean", "null", "number"}[type_name(x)]
_is_number(x) if {
    is_string(x)
    regex.match(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`, x)
}
"""


def stand_in(name: str) -> str:
    """Return the name of what stands in for a function; "" if nothing needs to."""
    known = name in _FUNCTIONS or name in _OURS or name in _WRITTEN or name in OLD
    return f"has_{name.replace('.', '_')}" if known else ""


def arity(name: str) -> int | None:
    """Return how many arguments a function of the language has; None for any number, or none."""
    for table in (_FUNCTIONS, _OURS):
        if name in table:
            return len(table[name][0])
    if name in OLD:
        return OLD[name][0]
    if name == "walk":
        return None  # a relation: its second argument is what it finds
    return _PLAIN.get(name, _WRITTEN.get(name))


def check(name: str, at: Place, *, v1: bool) -> None:
    """See that a function of the language is available.

    Args:
        name: Its name.
        at: Where it is called.
        v1: Whether in the first stable version of the language.

    Raises:
        RegoError: It is not.
    """
    if name in _REFUSED:
        raise RegoError(at, f"{name}: not allowed in a policy")
    if name in OLD and v1:
        raise RegoError(at, f"the function {name} was removed from the language")
    if arity(name) is None and name not in _ANY_NUMBER and name != "walk":
        raise RegoError(at, f"the function {name} is not supported here. Do not use it")


def module(used: Iterable[str]) -> str:
    """Return the module with what stands in for functions and operations.

    Args:
        used: Names of stand-ins.
    """
    needed: dict[str, None] = {}
    waiting = sorted(used)
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed[name] = None
            waiting += (each for each in _NAME.findall(_RULES[name]) if each in _RULES)
    return "\n".join((f"package {PACKAGE}", *(_RULES[name] for name in needed)))


def _guarded(name: str, kinds: str, more: str, call: str) -> str:
    names = [f"a{number}" for number in range(len(kinds))]
    given = ", ".join(names)
    tests = [
        _KINDS[kind].format(each) for kind, each in zip(kinds, names, strict=True) if kind != "x"
    ]
    tests += [more.format(*names)] if more else []
    held = "; ".join((*tests, call.format(given)))
    return f"{stand_in(name)}({given}) := y if {{ {held} }}"


def _by_name() -> dict[str, str]:
    """Return the rules of the module by their names."""
    found: dict[str, list[str]] = {}
    name = ""
    texts = [_HELPERS, *(text for _, text in OLD.values())]
    for line in "\n".join(texts).strip().split("\n"):
        begin = _NAME.match(line)
        name = begin[0] if begin else name
        found.setdefault(name, []).append(line)
    for table, call in ((_FUNCTIONS, "y := {}"), (_OURS, "[y] = ours.{}")):
        for each, (kinds, more) in table.items():
            text = _guarded(each, kinds, more, f"{call.format(each)}({{}})")
            found[stand_in(each)] = [text]
    return {each: "\n".join(lines) for each, lines in found.items()}


_RULES: Final = _by_name()
