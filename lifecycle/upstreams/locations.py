"""Addresses of repositories, told apart however they are spelled.

Rules:

1. Scheme, user, a `.git` at the end, and whether letters are capital do not tell two apart.
2. The usual port of a scheme is no part of a location, and neither is any port of ssh, which says
   nothing of where the web pages of the repository are. Another port is.
3. What could be read in two ways names nothing: no location is never the same as another.
"""

import re
from dataclasses import dataclass

_ADDRESS = re.compile(
    r"(?:(?P<scheme>[a-z][a-z0-9+.-]*)://)?(?:(?P<user>[^/@]*)@)?"
    r"(?P<host>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?/+(?P<path>.+)"
)
_SCP = re.compile(r"(?:[^/@:]+@)?(?P<host>[a-z0-9._-]+):(?![0-9]+/)/*(?P<path>.+)")
"""As ssh has it, such as "git@host:owner/name"."""

_USUAL = {"https": "443", "http": "80", "ssh": "22", "git": "9418"}
_UNPLAIN = re.compile(r"[^\x21-\x7e]|[%?#\\]")
"""Letters outside ASCII among it: no request for a path has them, and some become others in lower
case (the Kelvin sign a "k")."""


@dataclass(frozen=True, slots=True)
class Location:
    """Where a repository is.

    Attributes:
        host: In lower case, with a port behind it where that is not the usual one.
        path: In lower case, no slash at either end, no `.git`.
    """

    host: str
    path: str

    def __str__(self) -> str:
        return f"{self.host}/{self.path}"

    @property
    def names(self) -> list[str]:
        """What it may be called at its forge, which may be below a path of its host."""
        parts = self.path.split("/")
        return ["/".join(parts[start:]) for start in range(len(parts) - 1)]


def locate(address: str) -> Location | None:
    """Return the location of a repository; None for what names none.

    Args:
        address: As a Kptfile, a forge or a person writes it.
    """
    text = address.strip()
    if _UNPLAIN.search(text):
        return None
    text = text.lower()
    found = None if "://" in text else _SCP.fullmatch(text)
    port = ""
    if found is None:
        found = _ADDRESS.fullmatch(text)
        scheme = (found["scheme"] if found else "") or "https"
        port = (found["port"] if found else "") or ""
        if scheme == "ssh" or port == _USUAL.get(scheme):
            port = ""
    if found is None:
        return None
    path = found["path"].rstrip("/").removesuffix(".git").rstrip("/")
    parts = path.split("/")
    if not all(parts) or not {".", ".."}.isdisjoint(parts):
        return None
    host = found["host"].rstrip(".")
    return Location(f"{host}:{port.lstrip('0')}" if port else host, path) if host else None
