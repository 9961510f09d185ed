"""Functions of Rego that the engine lacks, or has otherwise, in Python.

Those that begin with `ours` answer [value], or [] where they have no value.

Source: Open Policy Agent, Policy Reference, "Built-in Functions".
"""

import hashlib
import hmac
import ipaddress
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Final, TypeGuard

from fnrunner.builtin.confined.go_text import sprintf
from fnrunner.builtin.confined.rego import encodings, expressions, readings

_OTHER_VERBS: Final = re.compile(r"%[-+# 0]*[\d.]*(?:\[|\*|[a-zA-Z])(?<![vsdfFxXqeEgGobct])")
_Number = int | float
_LARGEST: Final = 2**63 - 1
_SIMPLE: Final = 1 << 20  # largest denominator of what is taken for the number that was meant


def _digest(name: str) -> Callable[[str], list[str]]:
    return lambda text: [hashlib.new(name, text.encode(), usedforsecurity=False).hexdigest()]


def _signature(name: str) -> Callable[[str, str], list[str]]:
    return lambda text, key: [hmac.digest(key.encode(), text.encode(), name).hex()]


def _intersect(one: str, other: str) -> list[bool]:
    first, second = (ipaddress.ip_network(each, strict=False) for each in (one, other))
    return [first.version == second.version and first.overlaps(second)]


def _sprintf(form: str, values: Sequence[str | float]) -> str:
    """Return a text with values put in.

    Raises:
        ValueError: A verb is not supported, or one for fractions is given a whole number: 100 or
            100.0, between which the engine knows no difference, while Go prints one as an error.
    """
    other = _OTHER_VERBS.search(form.replace("%%", ""))
    if other:
        raise ValueError(f"{other[0]} is not supported here. Use %v, %s, %d, %f, %x or %q")
    text = sprintf(form, values)
    if re.search(r"%![feEgG]\(int=", text):
        raise ValueError("%f of a whole number is not supported here. Use %v")
    return text


def _is_layout(text: str) -> bool:
    """Refuse layouts of times with the name of a zone, which the engine writes otherwise.

    Raises:
        ValueError: It has one.
    """
    if "MST" in text or text in ("RFC1123", "RFC822", "RFC850", "UnixDate"):
        raise ValueError(f"the layout {text} has the name of a zone. Use its offset: Z07:00")
    return True


def _are_plain(paths: Sequence[object]) -> bool:
    """Refuse paths with escapes, which the engine does not know.

    Raises:
        ValueError: One has some.
    """
    if any(isinstance(each, str) and "~" in each for each in paths):
        raise ValueError("paths with ~ are not supported here. Write them as arrays")
    return True


def _printable(empty_sets: int) -> bool:
    """Refuse to print empty sets within others, which the engine prints as objects.

    Raises:
        ValueError: There are some.
    """
    if empty_sets:
        raise ValueError("printing an empty set is not supported here. Leave it out")
    return True


def _is_json(text: str) -> bool:
    try:
        json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return False
    return True


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _exact(value: _Number) -> Fraction:
    """Return the number that was meant, such as 1/3 for the float nearest to it."""
    if isinstance(value, int):
        return Fraction(value)
    near = Fraction(value).limit_denominator(_SIMPLE)
    return near if float(near) == value else Fraction(repr(value))


def _sum(values: Sequence[_Number]) -> list[_Number]:
    return _number(sum(map(_exact, values), Fraction(0)))


def _product(values: Sequence[_Number]) -> list[_Number]:
    found = math.prod(values)  # fractions as floats have them: so it is there
    return _number(Fraction(found))


def _number(value: Fraction) -> list[_Number]:
    """Return a number for the engine.

    Raises:
        OverflowError: It is whole, and longer than the engine keeps.
    """
    if value.denominator != 1:
        return [float(value)]
    if not -_LARGEST - 1 <= value <= _LARGEST:
        raise OverflowError("numbers beyond 64 bits are not supported here")
    return [value.numerator]


def _with_numbers(
    work: Callable[[Fraction, Fraction], Fraction],
) -> Callable[[_Number, _Number], list[_Number]]:
    """Return an operation on decimal numbers as they are written, not as floats hold them."""
    return lambda one, other: _number(work(_exact(one), _exact(other)))


def _div(one: object, other: object) -> list[_Number]:
    """Return a quotient.

    Raises:
        ZeroDivisionError: There is none, and a policy that divides by zero has gone wrong.
    """
    if not (_is_number(one) and _is_number(other)):
        return []
    if not other:
        raise ZeroDivisionError("divide by zero")
    return _number(_exact(one) / _exact(other))


def _rem(one: object, other: object) -> list[_Number]:
    """Return what a division leaves, with the sign of what was divided; none for fractions.

    Raises:
        ZeroDivisionError: There is none, and a policy that divides by zero has gone wrong.
    """
    if not (_is_number(one) and _is_number(other)):
        return []
    if not other:
        raise ZeroDivisionError("modulo by zero")
    first, second = _exact(one), _exact(other)
    if first.denominator != 1 or second.denominator != 1:
        return []
    rest = abs(first) % abs(second)
    return _number(-rest if first < 0 else rest)


def _is_number(value: object) -> TypeGuard[_Number]:
    return isinstance(value, int | float) and not isinstance(value, bool)


FUNCTIONS: Final[Mapping[str, tuple[int, Callable[..., object]]]] = {
    **{f"ours.crypto.{name}": (1, _digest(name)) for name in ("md5", "sha1", "sha256")},
    **{
        f"ours.crypto.hmac.{name}": (2, _signature(name))
        for name in ("md5", "sha1", "sha256", "sha512")
    },
    "ours.sprintf": (2, _sprintf),
    "ours.are_plain": (1, _are_plain),
    "ours.base64.decode": (1, encodings.from_base64),
    "ours.base64url.decode": (1, encodings.from_base64url),
    "ours.div": (2, _div),
    "ours.escaped": (1, encodings.escaped),
    "ours.glob.match": (3, expressions.glob_match),
    "ours.glob.quote_meta": (1, lambda text: [expressions.glob_quote(text)]),
    "ours.hex.decode": (1, encodings.from_hex),
    "ours.is_layout": (1, _is_layout),
    "ours.is_json": (1, _is_json),
    "ours.is_version": (1, readings.is_version),
    "ours.lower": (1, lambda text: [encodings.lower(text)]),
    "ours.minus": (2, _with_numbers(lambda one, other: one - other)),
    "ours.mul": (2, _with_numbers(lambda one, other: one * other)),
    "ours.net.cidr_intersects": (2, _intersect),
    "ours.plus": (2, _with_numbers(lambda one, other: one + other)),
    "ours.printable": (1, _printable),
    "ours.product": (1, _product),
    "ours.regex.find_all_string_submatch_n": (3, expressions.regex_find_groups),
    "ours.regex.find_n": (3, expressions.regex_find),
    "ours.regex.is_valid": (1, expressions.regex_is_valid),
    "ours.regex.match": (2, expressions.regex_match),
    "ours.regex.replace": (3, expressions.regex_replace),
    "ours.regex.split": (2, expressions.regex_split),
    "ours.rem": (2, _rem),
    "ours.semver.compare": (2, readings.compare_versions),
    "ours.strings.count": (2, lambda text, part: [text.count(part)]),
    "ours.strings.replace_n": (2, encodings.replace_n),
    "ours.sum": (1, _sum),
    "ours.time.add_date": (4, readings.add_date),
    "ours.time.parse_duration_ns": (1, readings.duration),
    "ours.time.parse_rfc3339_ns": (1, readings.moment),
    "ours.units.parse": (1, readings.amount),
    "ours.units.parse_bytes": (1, readings.size),
    "ours.upper": (1, lambda text: [encodings.upper(text)]),
    "ours.urlquery.decode": (1, encodings.from_query),
    "ours.urlquery.decode_object": (1, encodings.from_form),
    "ours.urlquery.encode": (1, lambda text: [encodings.to_query(text)]),
    "ours.urlquery.encode_object": (1, encodings.to_form),
}
"""By name: how many arguments a function has, and what it does."""
