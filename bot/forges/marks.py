"""Names and marks of our checks at a forge: which bot put one, and what it shows.

A check that is a commit status carries its mark in the fragment of its address.
"""

import re
from urllib.parse import quote, unquote

from fnrunner import urls
from lifecycle.facts.checks import Conclusion

OF = ":"
"""Ends the name of a bot before the digest of its check runs: of two on one repository, each has
its own, whichever App they are."""

NAMED = re.compile(r"(porchbot/[a-z]+)(?: \(([^()]+)\))?")
"""A check of a bot that has a name of its own ends in that name: "porchbot/publish (staging)". Else
two bots of one App would hide each other's, and the one that spoke last would be what a branch
requires (a forge shows the newest of an App and a name)."""

MARK = "porchbot-"
"""Begins the fragment of the address that holds what is shown as a digest."""

NEUTRAL = "-neutral"
"""Ends it where the check is neutral; digests hold no such thing."""


def spelled(name: str, instance: str) -> str:
    """The name of a check at the forge, with that of the bot where it has one of its own."""
    return f"{name} ({instance})" if instance else name


def own(name: str, instance: str) -> str:
    """The name of a check without that of the bot whose it is; "" for a check of another bot."""
    found = NAMED.fullmatch(name)
    return found[1] if found and (found[2] or "") == instance else ""


def external(digest: str, instance: str) -> str:
    """What a check is marked with: what it shows, and of which bot it is."""
    return f"{instance}{OF}{digest}" if instance else digest


def digest_of(mark: str) -> tuple[str, str]:
    """The name of a bot and the digest out of such a mark."""
    named, _, digest = mark.rpartition(OF)
    return named, digest


def fragment(digest: str, instance: str, conclusion: Conclusion | None) -> str:
    """The fragment of an address that says what is shown, and of which bot it is.

    A status has no word for a neutral check, which is put as a success: the fragment tells.
    """
    neutral = NEUTRAL if conclusion is Conclusion.NEUTRAL else ""
    return quote(f"{MARK}{external(digest, instance)}{neutral}", safe=".:")


def read_fragment(
    address: str, conclusion: Conclusion | None
) -> tuple[str, str, Conclusion | None]:
    """The name of a bot, the digest and what the check comes to, out of such an address.

    Args:
        address: Of the status.
        conclusion: As the forge has it.
    """
    text = unquote(urls.parts(address).fragment).removeprefix(MARK)
    if text.endswith(NEUTRAL) and conclusion is Conclusion.SUCCESS:
        conclusion = Conclusion.NEUTRAL
    return *digest_of(text.removesuffix(NEUTRAL)), conclusion
