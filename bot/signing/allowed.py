"""Files of allowed signers: whose key may sign what, and when, as git and `ssh-keygen` read them.

Source: ssh-keygen(1), "ALLOWED SIGNERS".
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase

from bot.signing.ssh import KIND, NAMESPACE, KeyUnusableError, PublicKey, read_public

_OPTION = re.compile(r'([a-z-]+)(?:=(?:"([^"]*)"|([^",\s]*)))?(?:,|\Z)')
_TIMES = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}


@dataclass(frozen=True, slots=True)
class Signer:
    """A line of the file: a key, whose it is, and between which times it counts.

    Attributes:
        principals: Whose it is, as the file says.
        key: The key.
        after: From then on; None for always.
        before: Until then; None for ever.
    """

    principals: str
    key: PublicKey
    after: datetime | None = None
    before: datetime | None = None

    def counts_at(self, moment: datetime) -> bool:
        """Whether the key was allowed at a moment."""
        since = self.after is None or self.after <= moment
        return since and (self.before is None or moment < self.before)


def write(principal: str, keys: Iterable[PublicKey]) -> str:
    """Write a file that lets some keys sign for git, a line for each."""
    return "".join(f'{principal} namespaces="{NAMESPACE}" {key.line}\n' for key in keys)


def read(text: str) -> tuple[Signer, ...]:
    """Read those that may sign for git; lines of other kinds of keys are passed over.

    What cannot be understood allows nothing, so a line with an option that is not known here counts
    for nobody.
    """
    found = (_signer(line.strip()) for line in text.splitlines())
    return tuple(signer for signer in found if signer is not None)


def _signer(line: str) -> Signer | None:
    if not line or line.startswith("#"):
        return None
    before, found, key = line.partition(f"{KIND} ")
    principals, _, options = before.strip().partition(" ")
    if not found or not principals:
        return None
    given = _options(options.strip())
    if given is None or not _for_git(given.pop("namespaces", None)):
        return None
    try:
        times = {name: _time(given.pop(name, None)) for name in ("valid-after", "valid-before")}
        public = read_public(f"{KIND} {key}")
    except (KeyUnusableError, ValueError):
        return None
    if given:  # certificate authorities sign keys, not tags
        return None
    return Signer(principals.strip('"'), public, times["valid-after"], times["valid-before"])


def _options(text: str) -> dict[str, str] | None:
    found, at = {}, 0
    while at < len(text):
        one = _OPTION.match(text, at)
        if one is None:
            return None
        found[one[1].lower()] = one[2] if one[2] is not None else one[3] or ""
        at = one.end()
    return found


def _for_git(namespaces: str | None) -> bool:
    """No list of namespaces means all of them."""
    if namespaces is None:
        return True
    patterns = [each.strip() for each in namespaces.split(",")]
    refused = any(p.startswith("!") and fnmatchcase(NAMESPACE, p[1:]) for p in patterns)
    return not refused and any(fnmatchcase(NAMESPACE, p) for p in patterns)


def _time(text: str | None) -> datetime | None:
    """A time as the file has it; one without a zone is taken for UTC, and the file should say so.

    Raises:
        ValueError: It is none.
    """
    if text is None:
        return None
    bare = text.removesuffix("Z")
    return datetime.strptime(bare, _TIMES.get(len(bare), "")).replace(tzinfo=UTC)
