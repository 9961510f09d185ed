"""Text that JSON and databases can hold: names of files in git need not be text.

Such a name has lone surrogates in Python, which forges and PostgreSQL refuse; then nothing at all
would be said or kept of a proposal, for a name that its author chose.
"""

from collections.abc import Mapping
from typing import Any


def sayable(value: Any) -> Any:
    """The same value with a question mark in the place of each half character."""
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case Mapping():
            return {key: sayable(each) for key, each in value.items()}
        case list():
            return [sayable(each) for each in value]
        case tuple():
            return tuple(sayable(each) for each in value)
        case _:
            return value
