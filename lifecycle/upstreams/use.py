"""Which upstreams a repository may use, by `upstreams` in the configuration of its base branch.

Rules:

1. A repository may always use itself.
2. Without `allow` it may use the repositories that the bot serves; with it, those that one of its
   entries names, and nothing else. That whoever asks may read it is judged beside this.
3. Where the default branch has a configuration of its own, both must allow it.
"""

from lifecycle.policy import Policy
from lifecycle.upstreams.locations import Location, locate


def may_use(policy: Policy, upstream: Location, directory: str, *, served: bool) -> bool:
    """Tell whether an upstream that is not the repository itself may be used.

    Args:
        policy: Of the base branch.
        upstream: Its repository.
        directory: Path of the package in it.
        served: The bot serves it.
    """
    above = policy.above is None or may_use(policy.above, upstream, directory, served=served)
    allow = policy.upstream_use.allow
    return above and (served if allow is None else _listed(allow, upstream, directory))


def allows_what_is_served(policy: Policy) -> bool:
    """Tell whether nothing is listed, here or above: all that the bot serves may be used."""
    above = policy.above is None or allows_what_is_served(policy.above)
    return above and policy.upstream_use.allow is None


def default_repository(policy: Policy) -> str:
    """Return the repository that packages without one in front are looked for in; "" for none."""
    return policy.upstream_use.default


def _listed(allow: tuple[str, ...], upstream: Location, directory: str) -> bool:
    text = f"{upstream}/{directory}".lower().rstrip("/")
    return any(_fits(_plain(each), text) for each in allow)


def _plain(pattern: str) -> str:
    """An entry as locations are spelled: no scheme, no `.git`, small letters."""
    text = pattern.lower()
    found = None if text.endswith("*") else locate(text)
    return str(found) if found else text.partition("://")[2] or text


def _fits(pattern: str, text: str) -> bool:
    if pattern.endswith("*"):
        return text.startswith(pattern[:-1])
    return text == pattern or text.startswith(f"{pattern}/")
