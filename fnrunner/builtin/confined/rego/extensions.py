"""Functions of Rego that the engine lacks, or has otherwise, in Python.

Those that begin with `ours` answer [value], or [] where they have no value.

Source: Open Policy Agent, Policy Reference, "Built-in Functions".
"""

import base64
import binascii
import hashlib
import hmac
import ipaddress
import json
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, TypeGuard

from fnrunner.builtin.confined.go_text import sprintf

_Number = int | float
_SIMPLE: Final = 1 << 20  # largest denominator of what is taken for the number that was meant


def _digest(name: str) -> Callable[[str], list[str]]:
    return lambda text: [hashlib.new(name, text.encode(), usedforsecurity=False).hexdigest()]


def _signature(name: str) -> Callable[[str, str], list[str]]:
    return lambda text, key: [hmac.digest(key.encode(), text.encode(), name).hex()]


def _intersect(one: str, other: str) -> list[bool]:
    first, second = (ipaddress.ip_network(each, strict=False) for each in (one, other))
    return [first.version == second.version and first.overlaps(second)]


def _unhex(text: str) -> list[str]:
    try:
        return [binascii.unhexlify(text).decode(errors="replace")]
    except ValueError:
        return []


def _unbase64url(text: str) -> list[str]:
    if not re.fullmatch(r"[A-Za-z0-9_-]*={0,2}", text):
        return []
    padded = text if text.endswith("=") else text + "=" * (-len(text) % 4)
    try:
        return [base64.urlsafe_b64decode(padded).decode(errors="replace")]
    except ValueError:
        return []


def _sprintf(form: str, values: Sequence[str | float]) -> str:
    """Return a text with values put in.

    Raises:
        ValueError: A verb for fractions is given a whole number: 100 or 100.0, between which the
            engine knows no difference, while Go prints one of them as an error.
    """
    text = sprintf(form, values)
    if re.search(r"%![feEgG]\(int=", text):
        raise ValueError("%f of a whole number is not supported here. Use %v")
    return text


def _is_glob(pattern: str) -> bool:
    """Whether a pattern means the same here and there.

    Raises:
        ValueError: It has an alternative without text, which the engine takes for none.
    """
    if re.search(r"\{,|,,|,\}|\{\}", pattern):
        raise ValueError(f"an empty alternative in a pattern is not supported here: {pattern}")
    return True


def _is_json(text: str) -> bool:
    try:
        json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return False
    return True


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _replace_n(patterns: Mapping[Any, Any], text: str) -> list[str]:
    """Replace what is found first, and of several that begin there the first by name."""
    if not all(isinstance(part, str) for pair in patterns.items() for part in pair):
        return []
    names = sorted(patterns, key=lambda name: name.encode())
    found = re.compile("|".join(map(re.escape, names)) if names else "(?!)")
    return [found.sub(lambda match: patterns[match[0]], text)]


def _exact(value: _Number) -> Fraction:
    """Return the number that was meant, such as 1/3 for the float nearest to it."""
    if isinstance(value, int):
        return Fraction(value)
    near = Fraction(value).limit_denominator(_SIMPLE)
    return near if float(near) == value else Fraction(repr(value))


def _number(value: Fraction) -> list[_Number]:
    return [value.numerator if value.denominator == 1 else float(value)]


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
    "ours.base64url.decode": (1, _unbase64url),
    "ours.div": (2, _div),
    "ours.hex.decode": (1, _unhex),
    "ours.is_glob": (1, _is_glob),
    "ours.is_json": (1, _is_json),
    "ours.minus": (2, _with_numbers(lambda one, other: one - other)),
    "ours.mul": (2, _with_numbers(lambda one, other: one * other)),
    "ours.net.cidr_intersects": (2, _intersect),
    "ours.plus": (2, _with_numbers(lambda one, other: one + other)),
    "ours.rem": (2, _rem),
    "ours.strings.count": (2, lambda text, part: [text.count(part)]),
    "ours.strings.replace_n": (2, _replace_n),
}
"""By name: how many arguments a function has, and what it does."""
