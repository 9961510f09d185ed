"""The Apps that the secret store knows: made by `porchbot setup`, read by the settings.

The newest is the one that the bot is. Older ones stay until they are removed: records that their
keys signed count, and webhooks signed with their secrets are taken, so that one App can replace
another while both are installed.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Final

from bot import places
from bot.vault import Vault, VaultError
from lifecycle.identity import GITHUB

NAME: Final = "github.apps"
WEBHOOK_SECRETS: Final = "webhook-secrets"

SIGNING_KEY: Final = "signing-key"
"""Name of the key in the secret store that signs tags; files come after it."""

GITHUB_TOKEN: Final = "github-token"  # noqa: S105 (a name)
"""Name of a machine user's token there."""

KEPT: Final = (SIGNING_KEY, GITHUB_TOKEN, WEBHOOK_SECRETS)
"""Secrets that people put there; the Apps' are put there by `porchbot setup`."""


OF_A_GITHUB: Final = (GITHUB_TOKEN, WEBHOOK_SECRETS)
"""Of these each GitHub has its own."""


def stored_name(name: str, forge: str) -> str:
    """The name of a GitHub's secret in the store: `github-token`, or `github-token.corp`.

    Args:
        name: One of `OF_A_GITHUB`.
        forge: Name of the GitHub in the settings.
    """
    return name if forge == GITHUB else f"{name}.{forge}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownApp:
    """One App of a forge, with its secrets.

    Attributes:
        id: Its number.
        slug: Its name in addresses.
        client_id: Its other name in tokens.
        api_url: Where the API of its forge answers.
        web_url: Where people find it, such as https://github.com/apps/porchbot.
        private_key: PEM.
        webhook_secret: Signs what the forge sends; "" where it has none.
        client_secret: For logins of people through the App.
        forge: Name of its GitHub in the settings: that of the first where none was given.
        account: Number of the account that its comments are by; 0 where it is not known.
    """

    id: int
    slug: str
    client_id: str
    api_url: str
    web_url: str
    private_key: str = field(repr=False)
    webhook_secret: str = field(repr=False)
    client_secret: str = field(repr=False)
    forge: str = GITHUB
    account: int = 0


def read(vault: Vault) -> tuple[KnownApp, ...]:
    """The Apps, newest first; empty where there is none.

    Raises:
        VaultError: They cannot be read.
    """
    return _parsed(vault, vault.get(NAME))


def _parsed(vault: Vault, text: str) -> tuple[KnownApp, ...]:
    if not text:
        return ()
    try:
        found = [KnownApp(**each) for each in json.loads(text)]
        return tuple(replace(app, api_url=places.github_api(app.api_url)) for app in found)
    except (ValueError, TypeError) as error:
        raise VaultError(
            f"{vault.file}: the entry {NAME} is of another version. Run `porchbot setup` again."
        ) from error


def keep(vault: Vault, app: KnownApp) -> None:
    """Make an App the newest; what was known of it before is replaced."""

    def added(text: str) -> str:
        known = _parsed(vault, text)
        others = [each for each in known if (each.api_url, each.id) != (app.api_url, app.id)]
        return _written([app, *others])

    vault.change(NAME, added)


def forget(vault: Vault, app: KnownApp) -> None:
    """Forget an App: the one of its number at its address, and no other."""

    def left(text: str) -> str:
        known = _parsed(vault, text)
        return _written([e for e in known if (e.api_url, e.id) != (app.api_url, app.id)])

    vault.change(NAME, left)


def _written(apps: Sequence[KnownApp]) -> str:
    return json.dumps([asdict(each) for each in apps]) if apps else ""
