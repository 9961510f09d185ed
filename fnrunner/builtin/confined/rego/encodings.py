"""Texts in other forms, as functions of Rego write and read them: Go's.

What reads returns [value], or [] for a text that is none.

Source: Open Policy Agent, Policy Reference, "Encoding" and "Strings"; Go, packages strings,
encoding and net/url.
"""

import base64
import binascii
import re
from collections.abc import Collection, Mapping
from typing import Any, Final
from urllib.parse import quote_plus, unquote_plus

_ESCAPED: Final = re.compile("[<>&\u2028\u2029]")
_WRONG_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")


def lower(text: str) -> str:
    """Return a text in lower case, letter by letter."""
    return "".join("i" if each == "İ" else each.lower() for each in text)


def upper(text: str) -> str:
    """Return a text in upper case; what would become several letters stays."""
    return "".join(each.upper() if len(each.upper()) == 1 else each for each in text)


def replace_n(patterns: Mapping[Any, Any], text: str) -> list[str]:
    """Replace what is found first, and of several that begin there the first by name."""
    if not all(isinstance(part, str) for pair in patterns.items() for part in pair):
        return []
    names = sorted(patterns, key=lambda name: name.encode())
    found = re.compile("|".join(map(re.escape, names)) if names else "(?!)")
    return [found.sub(lambda match: patterns[match[0]], text)]


def escaped(text: str) -> str:
    """Return JSON with the letters escaped that Go escapes."""
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def from_hex(text: str) -> list[str]:
    """Return what is written in hexadecimal digits."""
    try:
        return [binascii.unhexlify(text).decode(errors="replace")]
    except ValueError:
        return []


def from_base64(text: str) -> list[str]:
    """Return what is written in base 64, with padding; line breaks are passed over."""
    plain = text.replace("\r", "").replace("\n", "")
    try:
        return [base64.b64decode(plain, validate=True).decode(errors="replace")]
    except ValueError:
        return []


def from_base64url(text: str) -> list[str]:
    """Return what is written in base 64 for addresses, with padding or without."""
    if not re.fullmatch(r"[A-Za-z0-9_-]*={0,2}", text):
        return []
    padded = text if text.endswith("=") else text + "=" * (-len(text) % 4)
    try:
        return [base64.urlsafe_b64decode(padded).decode(errors="replace")]
    except ValueError:
        return []


def to_query(text: str) -> str:
    """Return a text as a part of a query."""
    return quote_plus(text)


def from_query(text: str) -> list[str]:
    """Return what a part of a query says."""
    return [] if _WRONG_PERCENT.search(text) else [unquote_plus(text)]


def to_form(values: Mapping[Any, Any]) -> list[str]:
    """Return an object of texts, or of several for a key, as a query."""
    parts = []
    for key in sorted(values):
        given = values[key]
        several = [given] if isinstance(given, str) else given
        if not isinstance(several, Collection) or isinstance(several, dict):
            return []
        if not all(isinstance(each, str) for each in several):
            return []
        ordered = sorted(several) if isinstance(several, set | frozenset) else several
        parts += [f"{quote_plus(key)}={quote_plus(each)}" for each in ordered]
    return ["&".join(parts)]


def from_form(text: str) -> list[dict[str, list[str]]]:
    """Return what a query says, by its keys."""
    found: dict[str, list[str]] = {}
    if _WRONG_PERCENT.search(text) or ";" in text:
        return []
    for part in filter(None, text.split("&")):
        key, _, value = part.partition("=")
        found.setdefault(unquote_plus(key), []).append(unquote_plus(value))
    return [found]
