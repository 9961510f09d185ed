"""The Apps that the secret store knows: made by `porchbot setup`, read by the settings.

The newest is the one that the bot is. Older ones stay until they are removed: records that their
keys signed count, and webhooks signed with their secrets are taken, so that one App can replace
another while both are installed.
"""

import json
from collections.abc import Callable, Sequence
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

PRIVATE_KEY: Final = "private-key"
"""Name under which the private key of the App that we know is renewed."""

KEPT: Final = (SIGNING_KEY, GITHUB_TOKEN, WEBHOOK_SECRETS, PRIVATE_KEY)
"""Secrets that people put there; the Apps' are put there by `porchbot setup`."""

SETUP_SECRET: Final = "setup-webhook-secret"  # noqa: S105 (a name)
"""Name of the webhook secret that setup stored, where it is to go."""

OLD_KEYS: Final = "old-private-keys"
"""Name of the keys that others took the place of, where they are to go."""

OF_A_GITHUB: Final = (GITHUB_TOKEN, WEBHOOK_SECRETS, PRIVATE_KEY, SETUP_SECRET, OLD_KEYS)
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
        older_keys: PEM: its keys before, newest first; what they signed still counts.
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
    older_keys: tuple[str, ...] = field(default=(), repr=False)


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
        known = [KnownApp(**each) for each in json.loads(text)]
        found = [replace(app, older_keys=tuple(app.older_keys)) for app in known]
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


def renew_key(vault: Vault, forge: str, key: str) -> bool:
    """Give the App of a GitHub another private key; what the one before signed still counts.

    Args:
        vault: Where it is kept.
        forge: Name of the GitHub in the settings.
        key: PEM.

    Returns:
        Whether there is an App.
    """

    def renewed(app: KnownApp) -> KnownApp:
        older = dict.fromkeys((app.private_key, *app.older_keys))
        older.pop(key, None)
        return replace(app, private_key=key, older_keys=tuple(older))

    return _change(vault, forge, renewed)


def drop_old_keys(vault: Vault, forge: str) -> bool:
    """Drop the keys before of a GitHub's App; false where there is none."""
    return _change(vault, forge, lambda app: replace(app, older_keys=()))


def drop_webhook_secret(vault: Vault, forge: str) -> bool:
    """Drop the webhook secret that setup stored with a GitHub's App; false where there is none."""
    return _change(vault, forge, lambda app: replace(app, webhook_secret=""))


def stored_parts(vault: Vault) -> list[str]:
    """What of the newest App of each GitHub can be dropped alone, by the names for that."""
    newest: dict[str, KnownApp] = {}
    for app in read(vault):
        newest.setdefault(app.forge, app)
    found = [stored_name(OLD_KEYS, name) for name, app in newest.items() if app.older_keys]
    found += [stored_name(SETUP_SECRET, name) for name, app in newest.items() if app.webhook_secret]
    return sorted(found)


def _change(vault: Vault, forge: str, change: Callable[[KnownApp], KnownApp]) -> bool:
    """Change the newest App of a GitHub; false where that changes nothing."""
    before: list[KnownApp] = []

    def changed(text: str) -> str:
        known = [*_parsed(vault, text)]
        index = next((i for i, app in enumerate(known) if app.forge == forge), None)
        if index is not None and (other := change(known[index])) != known[index]:
            before.append(known[index])
            known[index] = other
        return _written(known)

    vault.change(NAME, changed)
    return bool(before)


def _written(apps: Sequence[KnownApp]) -> str:
    return json.dumps([asdict(each) for each in apps]) if apps else ""
