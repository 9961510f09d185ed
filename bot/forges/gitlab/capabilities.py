"""What an instance has beyond GitLab's Free tier, found out by asking it.

Absent and not allowed are told alike by GitLab, and mean the same to us: it is not used.

Source: https://docs.gitlab.com/api/metadata/, https://docs.gitlab.com/api/version/
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bot.forges.gitlab.http import Clients, call
from bot.forges.port import Drift, ForgeMissingError, ForgeRefusedError

PROBES: Mapping[str, str] = {
    "approval rules": "approval_rules",
    "external status checks": "external_status_checks",
    "merge trains": "merge_trains",
}
"""Features of a project to the last part of an address that only answers where they are there."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an instance can do.

    Attributes:
        version: Such as "18.5.0-ee"; "" where it is not told.
        features: Those of `PROBES` that are there.
    """

    version: str
    features: frozenset[str]


async def ask(pool: Clients, project: int | None) -> Capabilities:
    """Ask an instance what it can do.

    Args:
        pool: Clients of it.
        project: Number of a project by which features are told; None where there is none.
    """
    version = await _answer(pool, "/version")
    found = set()
    for feature, part in PROBES.items() if project is not None else ():
        if await _answer(pool, f"/projects/{project}/{part}") is not None:
            found.add(feature)
    told = version.get("version") if isinstance(version, Mapping) else ""
    return Capabilities(str(told or ""), frozenset(found))


async def _answer(pool: Clients, path: str) -> object:
    """What is there; None where it is not, or not for us."""
    try:
        answer = await call(pool, "read what it can do", "GET", path)
    except (ForgeMissingError, ForgeRefusedError):
        return None
    found: object = answer.data
    return found


def shown(name: str, capabilities: Capabilities) -> Iterator[Drift]:
    """Tell operators which features are there, and what is done without the others."""
    lacks = sorted(PROBES.keys() - capabilities.features)
    if lacks:
        yield Drift(
            place=f"The GitLab {name}",
            found=f"version {capabilities.version or 'unknown'}, without {', '.join(lacks)}",
            wanted="nothing: the bot keeps its own rules at the merge and at the tag",
            fix="These features come with GitLab Premium and Ultimate",
            harmful=False,
        )
