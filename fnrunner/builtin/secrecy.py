"""Redacts values in results: more people read results than the package.

Rules:
- Nothing of a value whose field or setter is named like a secret, that stands in a Secret, or
  that looks like one: a key in PEM, a token of a known form, an address with a password, long
  text without words.
- Of any other, the first 128 characters.

Source: the catalog's apply-setters of 2026 (kptdev/krm-functions-catalog); the forms of tokens are
those that their issuers publish.
"""

import re
from collections.abc import Iterable
from typing import Final

from cadlib.diff import secrets
from cadlib.yaml import FieldPath, Value

HIDDEN: Final = "<redacted>"
LONGEST: Final = 128
_WORDS: Final = re.compile(
    "password|passwd|secret|token|api[_-]?key|credential|private_?key|cert|bearer|auth",
    re.IGNORECASE,
)
_FORMS: Final = re.compile(
    r"""
    -----BEGIN\ [A-Z0-9 ]+-----                                # PEM
    | \bey[\w-]{8,}\.ey[\w/-]{8,}\.[\w/=-]*                    # JSON Web Token
    | \b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b      # AWS
    | \bgh[opsur]_[A-Za-z0-9]{36} | \bgithub_pat_\w{60}        # GitHub
    | \bglpat-[\w-]{20}                                        # GitLab
    | \bAIza[\w-]{35}                                          # Google
    | \bsk-[\w-]{20} | \b[sr]k_(?:test|live|prod)_\w{10}       # OpenAI, Stripe
    | \bxox[abeprs]-[\w-]{8} | \bxapp-[0-9]-[\w-]{8}           # Slack
    | [\w~.]{3}[0-9]Q~[\w~.-]{31}                              # Azure
    | \b[a-z][a-z0-9+.-]*://[^\s/:@]+:[^\s@]+@                 # an address with a password
    | \bbearer\s+[\w.~+/=-]{10} | \bbasic\s+[\w+/=]{8}         # the header Authorization
    """,
    re.VERBOSE | re.ASCII | re.IGNORECASE,
)
_ENCODED: Final = re.compile(r"[A-Za-z0-9+/=]{40,}")
_KINDS_OF_CHARACTERS: Final = tuple(map(re.compile, ("[A-Z]", "[a-z]", "[0-9]", "[+/=]")))


def redacted(value: str, *, whole: Value, path: FieldPath, setters: Iterable[str] = ()) -> str:
    """Return a value as it may appear in a result.

    Args:
        value: The text of a field.
        whole: The resource it stands in.
        path: The field.
        setters: Names of the setters that it is made of.
    """
    named = "\n".join((*(step for step in path if isinstance(step, str)), *setters))
    if _WORDS.search(named) or secrets.holds(whole, path) or _looks_secret(value):
        return HIDDEN
    rest = len(value) - LONGEST
    return f"{value[:LONGEST]}... (truncated {rest} chars)" if rest > 0 else value


def _looks_secret(value: str) -> bool:
    if _FORMS.search(value):
        return True
    mixed = sum(bool(kind.search(value)) for kind in _KINDS_OF_CHARACTERS) > 1
    return mixed and bool(_ENCODED.fullmatch(value))
