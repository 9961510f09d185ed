"""What is wrong with a selector, for people."""

from collections.abc import Iterable

_SHOWN = 60


def too_long(most: int) -> str:
    """A selector of too many characters."""
    return f"the selector has more than {most} characters. Write a shorter one"


def unreadable(rest: str) -> str:
    """A part that is no requirement; `rest` begins with it, "" for nothing."""
    if not rest:
        return "the selector ends with a comma, or has two in a row. Leave one out"
    shown = rest if len(rest) <= _SHOWN else f"{rest[:_SHOWN]}…"
    return (
        f"{shown!r} in the selector cannot be read. Write requirements such as team=net,"
        " tier in (gold, silver), !held or upstream=net/base@v3, with commas between them"
    )


def unknown_key(key: str, prefixes: Iterable[str], fields: Iterable[str]) -> str:
    """A key with a colon that means nothing."""
    return (
        f"{key!r} in the selector is not a key. Write a label, {', '.join(prefixes)} followed by"
        f" a key, or one of {', '.join(fields)}"
    )
