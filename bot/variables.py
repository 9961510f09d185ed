"""Environment variables of `porchbot serve`: the one list that help, page and settings share.

It imports nothing, so that the help needs no library of the bot's.
"""

from collections.abc import Mapping
from typing import Final

HOST: Final = "127.0.0.1"
PORT: Final = 8080
GITHUB_API: Final = "https://api.github.com"
WORKERS: Final = 4
SWEEP_SECONDS: Final = 900.0
INSTANCE: Final = "porchbot"

VARIABLES: Final[Mapping[str, tuple[str, str]]] = {
    "PORCHBOT_MASTER_KEY": (
        "32 bytes that encrypt the secret store, hexadecimal or base64",
        "none",
    ),
    "PORCHBOT_MASTER_KEY_FILE": ("file with it", "master.key beside the secret store"),
    "PORCHBOT_SECRETS_STORE": (
        "file of what `porchbot setup` keeps",
        "secrets.json in the state folder",
    ),
    "PORCHBOT_GITHUB_APP_ID": ("number or client id of the App", "that of `porchbot setup`"),
    "PORCHBOT_GITHUB_PRIVATE_KEY": ("private key of the App, PEM", "or the file"),
    "PORCHBOT_GITHUB_PRIVATE_KEY_FILE": ("file with it", "that of `porchbot setup`"),
    "PORCHBOT_GITHUB_OLDER_KEY_FILES": ("files of keys that were replaced, commas between", "none"),
    "PORCHBOT_GITHUB_TOKEN": (
        "token of a machine user, in place of an App; needs a master key",
        "the bot is an App",
    ),
    "PORCHBOT_GITHUB_TOKEN_FILE": ("file with it", "the secret github-token of the store"),
    "PORCHBOT_GITHUB_REPOSITORIES": (
        "what a machine user serves, owner/name with commas between",
        "all that it may write to",
    ),
    "PORCHBOT_WEBHOOK_SECRETS": ("secrets of the webhook, commas between", "or the file"),
    "PORCHBOT_WEBHOOK_SECRETS_FILE": ("file with them, a line each", "that of `porchbot setup`"),
    "PORCHBOT_WEBHOOK_URL": ("where webhooks are to go, checked", "any address of a bot"),
    "PORCHBOT_GITHUB_API_URL": ("address of GitHub's API", GITHUB_API),
    "PORCHBOT_GITHUB_CA": ("certificates to trust GitHub by, PEM file", "the system's"),
    "PORCHBOT_LISTEN": ("where webhooks come in, host:port", f"{HOST}:{PORT}"),
    "DATABASE_URL": ("PostgreSQL, for libpq", "an embedded server"),
    "PORCHBOT_STATE": ("folder for mirrors and the embedded database", "~/.local/state/porchbot"),
    "PORCHBOT_RUNNER_ADDRESS": ("function runner, host:port or unix:/path", "one of its own"),
    "PORCHBOT_RUNNER_CA": ("authorities of that runner's certificate, PEM file", "no TLS"),
    "PORCHBOT_RUNNER_CERT": ("certificate to show that runner, PEM file", "none"),
    "PORCHBOT_RUNNER_KEY": ("private key of that certificate, PEM file", "none"),
    "PORCHBOT_RUNNER_CONFIG": ("configuration of the runner of its own", "the catalog only"),
    "PORCHBOT_WORKERS": (
        "keys of one repository looked at at a time, 1 to 64; one more of another",
        f"{WORKERS}",
    ),
    "PORCHBOT_SWEEP_SECONDS": ("seconds between sweeps, 1 to 86400", f"{SWEEP_SECONDS:g}"),
    "PORCHBOT_INSTANCE": ("name of this bot where another serves the same repositories", INSTANCE),
    "PORCHBOT_MODE": (
        "active, or observe: judges and shows in every repository, and writes nothing else",
        "active",
    ),
    "PORCHBOT_ONBOARDING": ("propose a .porchbot.yaml where packages are: on or off", "on"),
    "PORCHBOT_LOG": ("logs as text or json", "text"),
    "PORCHBOT_SIGNING_KEY_FILES": (
        "SSH keys (ed25519), commas between: the first signs tags, /allowed_signers shows all",
        "tags are not signed",
    ),
    "PORCHBOT_STATUS_TOKEN": ("token that opens /status, 16 characters or more", "no such page"),
    "PORCHBOT_STATUS_TOKEN_FILE": ("file with it", "none"),
}
"""Name to what it is, and its default."""


def help_text() -> str:
    """The variables as `porchbot serve --help` lists them."""
    lines = [f"  {name}\n      {what} (default: {default})" if default not in _NEED
             else f"  {name}\n      {what} ({default})"
             for name, (what, default) in VARIABLES.items()]  # fmt: skip
    return "\n".join(("\b", "Variables of the environment:", *lines))


_NEED: Final = frozenset(("or the file",))
