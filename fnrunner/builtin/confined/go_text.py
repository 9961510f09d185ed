"""Numbers and formats as Go prints them, which policies and scripts of the catalog count on.

Source: Go, packages fmt and strconv; Open Policy Agent, Policy Reference, `sprintf`.
"""

import json
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

_VERB: Final = re.compile(
    r"%(?P<flags>[-+# 0]*)(?P<width>\d*)(?P<precision>\.\d*)?(?P<verb>.?)", re.DOTALL
)
_TYPES: Final = {str: "string", int: "int", float: "float64"}


def float_text(number: float, *, exponent_from: int) -> str:
    """Return a finite number as Go prints it.

    Args:
        number: The number.
        exponent_from: From which power of ten on it has an exponent.
    """
    shortest = Decimal(repr(number)).normalize()
    power = shortest.adjusted()
    if shortest.is_zero() or -4 <= power < exponent_from:
        return f"{shortest:f}"
    digits = f"{shortest.scaleb(-power):f}"
    return f"{digits}e{'-' if power < 0 else '+'}{abs(power):02}"


def sprintf(form: str, values: Sequence[str | float]) -> str:
    """Return a text with values put in; what does not fit is told in the text, as Go does."""
    return "".join(_parts(form, values))


def _parts(form: str, values: Sequence[str | float]) -> Iterator[str]:
    done = used = 0
    for match in _VERB.finditer(form):
        yield form[done : match.start()]
        done = match.end()
        verb = match["verb"]
        if verb == "%":
            yield "%"
        elif not verb:
            yield "%!(NOVERB)"
        elif used >= len(values):
            yield f"%!{verb}(MISSING)"
        else:
            yield _padded(match, values[used])
            used += 1
    yield form[done:]
    if used < len(values):
        extra = ", ".join(f"{_TYPES[type(each)]}={_plain(each)}" for each in values[used:])
        yield f"%!(EXTRA {extra})"


def _plain(value: str | float) -> str:
    return float_text(value, exponent_from=6) if isinstance(value, float) else str(value)


def _padded(match: re.Match[str], value: str | float) -> str:
    flags, width = match["flags"], int(match["width"] or 0)
    text = _written(match, value)
    if text is None:
        return f"%!{match['verb']}({_TYPES[type(value)]}={_plain(value)})"
    if "+" in flags and not isinstance(value, str) and not text.startswith("-"):
        text = f"+{text}"
    if "-" in flags:
        return text.ljust(width)
    return text.zfill(width) if "0" in flags and not isinstance(value, str) else text.rjust(width)


def _written(match: re.Match[str], value: str | float) -> str | None:
    """Return a value as a verb writes it; None where the verb is for other values."""
    verb = match["verb"]
    precision = None if match["precision"] is None else int(match["precision"][1:] or 0)
    if isinstance(value, str):
        return _text(verb, value[:precision])
    if verb == "v":
        return _plain(value)
    if isinstance(value, int):
        return format(value, verb) if verb in tuple("dxXobc") else None
    digits = 6 if precision is None else precision
    return format(value, f".{digits}{verb}") if verb in tuple("feEgG") else None


def _text(verb: str, value: str) -> str | None:
    match verb:
        case "v" | "s":
            return value
        case "q":
            return json.dumps(value, ensure_ascii=False)
        case "x":
            return value.encode().hex()
        case "X":
            return value.encode().hex().upper()
    return None
