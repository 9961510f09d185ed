"""What the bot's token lacks. Pure.

Source: https://docs.gitlab.com/user/profile/personal_access_tokens/#personal-access-token-scopes
"""

from collections.abc import Iterator
from datetime import date, timedelta

from bot.forges.gitlab.user import TokenAbout
from bot.forges.port import Drift

SOON = timedelta(days=30)
"""How long before a token ends operators are told, as GitLab tells its owner."""


def lacking(name: str, about: TokenAbout, today: date) -> Iterator[Drift]:
    """What a token lacks.

    Args:
        name: Of the instance.
        about: What GitLab tells of the token.
        today: By its clock.
    """
    if "api" not in about.scopes:
        yield Drift(
            place=f"The scopes of the token for {name}",
            found=", ".join(sorted(about.scopes)) or "none",
            wanted="api, which includes git",
            fix="Create a token with the scope api, and give it to the bot",
        )
    if about.ends is not None and about.ends - today <= SOON:
        left = (about.ends - today).days
        yield Drift(
            place=f"The token for {name}",
            found=f"ends on {about.ends}, in {left} {'day' if left == 1 else 'days'}",
            wanted="a token that lasts longer",
            fix="One of the secret store (`porchbot setup gitlab`) is exchanged by the bot itself;"
            " give it a new one where it comes from the environment",
            harmful=left <= SOON.days / 3,
        )
