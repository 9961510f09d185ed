"""Where the caller's own forges are, as their environment says."""

from collections.abc import Mapping
from typing import Final

from bot import places
from bot.cli.dropin import CommandFailure

GITHUB_API_URL: Final = "PORCHBOT_GITHUB_API_URL"
GITLAB_URL: Final = "PORCHBOT_GITLAB_URL"
GITLAB_SERVICE: Final = "https://gitlab.com"


def github_api(environ: Mapping[str, str]) -> str:
    """Return where the API of the caller's GitHub answers; "" where the environment does not say.

    Raises:
        CommandFailure: What it says is no address.
    """
    given = environ.get(GITHUB_API_URL, "").strip()
    return places.github_api(_web(GITHUB_API_URL, given, "https://github.corp/api/v3"))


def gitlab(environ: Mapping[str, str]) -> str:
    """Return the address of the caller's GitLab: gitlab.com where the environment does not say.

    Raises:
        CommandFailure: What it says is no address.
    """
    given = environ.get(GITLAB_URL, "").strip().rstrip("/")
    return _web(GITLAB_URL, given, GITLAB_SERVICE) or GITLAB_SERVICE


def _web(variable: str, given: str, such_as: str) -> str:
    if given and not places.is_web(given):
        raise CommandFailure(
            f"{variable} is {places.shown(given)}. Set it to an address, such as {such_as}"
        )
    return given
