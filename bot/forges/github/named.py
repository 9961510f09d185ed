"""People and teams that the rules of a repository name, and who of them cannot write there.

GitHub counts no review of theirs for the rules of a branch, and lets their requests for changes
block nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bot.forges.port import Drift
from lifecycle.access import Role, Source, TeamSource, UserSource, parts
from lifecycle.policy import AccessRule, Policy

MOST = 100
"""People and teams that are asked about, of each: a request for each of them."""


@dataclass(frozen=True, slots=True)
class RuleActors:
    """Who the rules name.

    Attributes:
        users: Logins, sorted, at most `MOST`.
        teams: Their names in addresses, likewise.
        left: How many more there are, of whom nobody asked.
    """

    users: tuple[str, ...]
    teams: tuple[str, ...]
    left: int


def named(policy: Policy) -> RuleActors:
    """Return who the rules of access name, wherever they stand."""
    found = [part for source in _sources(policy) for part in parts(source)]
    users = sorted({each.login.lower() for each in found if isinstance(each, UserSource)})
    teams = sorted({each.slug for each in found if isinstance(each, TeamSource)})
    left = max(0, len(users) - MOST) + max(0, len(teams) - MOST)
    return RuleActors(tuple(users[:MOST]), tuple(teams[:MOST]), left)


def _sources(policy: Policy) -> Iterator[Source]:
    rules: list[AccessRule] = [policy.approve, *policy.access.values()]
    rules += [policy.configure] if policy.configure else []
    rules += [rule for path in policy.paths for rule in path.rules.values()]
    rules += [rule for each in policy.upstreams for rule in each.rules.values()]
    for rule in rules:
        yield from rule.sources


def without_access(
    repository: str,
    roles: Iterable[tuple[str, Role | None]],
    teams: Iterable[tuple[str, bool | None]],
    left: int,
) -> Iterator[Drift]:
    """Who is named and cannot write, as far as that is told.

    Args:
        repository: Its full name.
        roles: Logins to their roles; None where that cannot be read.
        teams: Teams to whether they have any access; None where that cannot be read.
        left: How many more are named, of whom nobody asked.
    """
    lacking = [f"@{who}" for who, role in roles if role is not None and role < Role.WRITE]
    lacking += [f"team {slug}" for slug, there in teams if there is False]
    hidden = [f"@{who}" for who, role in roles if role is None]
    hidden += [f"team {slug}" for slug, there in teams if there is None]
    if lacking:
        yield Drift(
            place=f"{repository}, access in .porchbot.yaml",
            found=f"named without write access: {', '.join(lacking)}",
            wanted="write access, without which GitHub counts none of their reviews",
            fix="Give it at Settings → Collaborators and teams, or take them out of the rules",
            harmful=False,
        )
    if hidden or left:
        more = [f"{left} more people and teams"] if left else []
        yield Drift(
            place=f"{repository}, access in .porchbot.yaml",
            found=f"nobody could read the access of {', '.join([*hidden, *more])}",
            wanted="write access for each of them",
            fix="Look at Settings → Collaborators and teams",
            harmful=False,
        )
