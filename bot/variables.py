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
        "master key of the secret store: 32 bytes, hexadecimal or base64",
        "none",
    ),
    "PORCHBOT_MASTER_KEY_FILE": (
        "file that contains the master key",
        "master.key next to the secret store",
    ),
    "PORCHBOT_SECRETS_STORE": (
        "file where `porchbot setup` stores secrets, encrypted",
        "secrets.json in the state folder",
    ),
    "PORCHBOT_GITHUB_APP_ID": ("App ID or client ID", "that of `porchbot setup`"),
    "PORCHBOT_GITHUB_PRIVATE_KEY": ("private key of the App, PEM", "or the file"),
    "PORCHBOT_GITHUB_PRIVATE_KEY_FILE": (
        "file that contains the private key",
        "that of `porchbot setup`",
    ),
    "PORCHBOT_GITHUB_OLDER_KEY_FILES": (
        "files of keys that were replaced, separated by commas",
        "none",
    ),
    "PORCHBOT_GITHUB_TOKEN": (
        "token of a machine user, instead of an App; needs a master key",
        "the bot is an App",
    ),
    "PORCHBOT_GITHUB_TOKEN_FILE": (
        "file that contains the token",
        "the secret github-token of the store",
    ),
    "PORCHBOT_GITHUB_REPOSITORIES": (
        "repositories that a machine user serves: owner/name, separated by commas",
        "all that it can write to",
    ),
    "PORCHBOT_WEBHOOK_SECRETS": ("webhook secrets, separated by commas", "or the file"),
    "PORCHBOT_WEBHOOK_SECRETS_FILE": (
        "file that contains the secrets, one per line",
        "that of `porchbot setup`",
    ),
    "PORCHBOT_WEBHOOK_URL": (
        "webhook address that `porchbot doctor` expects",
        "any https address ending in /webhooks/github",
    ),
    "PORCHBOT_GITHUB_API_URL": ("address of GitHub's API", GITHUB_API),
    "PORCHBOT_GITHUB_CA": ("certificate authorities for GitHub, PEM file", "the system's"),
    "PORCHBOT_GITHUB_FORMER_ACCOUNTS": (
        "machine users that the App has replaced, login:number, separated by commas: what they"
        " wrote still counts",
        "none",
    ),
    "PORCHBOT_GITHUB_NAMES": (
        "names of further GitHubs, separated by commas: each has its own copies of the "
        "variables above, such as PORCHBOT_GITHUB_<NAME>_APP_ID or"
        " PORCHBOT_GITHUB_<NAME>_WEBHOOK_SECRETS, the name in capitals and"
        " - written _",
        "those of `porchbot setup --as`",
    ),
    "PORCHBOT_GITLAB_URL": ("address of a GitLab, such as https://gitlab.com", "none is served"),
    "PORCHBOT_GITLAB_TOKEN": ("token of the bot there", "that of `porchbot setup gitlab`"),
    "PORCHBOT_GITLAB_TOKEN_FILE": ("file that contains the token", "none"),
    "PORCHBOT_GITLAB_WEBHOOK_SECRETS": (
        "secret tokens of its webhooks, separated by commas",
        "that of `porchbot setup gitlab`",
    ),
    "PORCHBOT_GITLAB_WEBHOOK_SECRETS_FILE": ("file that contains the tokens, one per line", "none"),
    "PORCHBOT_GITLAB_SIGNING_TOKENS": (
        "signing tokens of its webhooks, separated by commas",
        "that of `porchbot setup gitlab`",
    ),
    "PORCHBOT_GITLAB_SIGNING_TOKENS_FILE": ("file that contains the tokens, one per line", "none"),
    "PORCHBOT_GITLAB_CA": ("certificate authorities for that GitLab, PEM file", "the system's"),
    "PORCHBOT_GITLAB_WEBHOOK_URL": (
        "webhook address that `porchbot doctor` expects there",
        "that of `porchbot setup gitlab`",
    ),
    "PORCHBOT_GITLAB_MOVED_FROM": ("address that it had before, if it has moved", "none"),
    "PORCHBOT_GITLAB_PROJECTS": (
        "projects and groups to serve there: full paths, separated by commas",
        "those of `porchbot setup gitlab`, otherwise all of which the bot is a member",
    ),
    "PORCHBOT_GITLAB_NAMES": (
        "names of several GitLabs, separated by commas: the variables above are then "
        "written as PORCHBOT_GITLAB_<NAME>_URL and so on, the name in capitals and - written _",
        "one, named gitlab",
    ),
    "PORCHBOT_LISTEN": ("address to receive webhooks on, host:port", f"{HOST}:{PORT}"),
    "DATABASE_URL": ("PostgreSQL connection string (libpq)", "an embedded server"),
    "PORCHBOT_STATE": ("folder for mirrors and the embedded database", "~/.local/state/porchbot"),
    "PORCHBOT_RUNNER_ADDRESS": (
        "address of a function runner, host:port or unix:/path",
        "the bot starts its own",
    ),
    "PORCHBOT_RUNNER_CA": ("certificate authorities for that runner, PEM file", "no TLS"),
    "PORCHBOT_RUNNER_CERT": ("client certificate for that runner, PEM file", "none"),
    "PORCHBOT_RUNNER_KEY": ("private key of that certificate, PEM file", "none"),
    "PORCHBOT_RUNNER_CONFIG": ("configuration of the bot's own runner", "the catalog only"),
    "PORCHBOT_WORKERS": (
        "keys of one repository processed at a time, 1 to 64; one more for other repositories",
        f"{WORKERS}",
    ),
    "PORCHBOT_SWEEP_SECONDS": ("seconds between sweeps, 1 to 86400", f"{SWEEP_SECONDS:g}"),
    "PORCHBOT_INSTANCE": (
        "name of this bot, if another one serves the same repositories",
        INSTANCE,
    ),
    "PORCHBOT_MODE": (
        "active, or observe: only shows neutral checks, in every repository",
        "active",
    ),
    "PORCHBOT_ONBOARDING": (
        "open a pull request with a .porchbot.yaml where there are packages: on or off",
        "on",
    ),
    "PORCHBOT_LOG": ("log format: text or json", "text"),
    "PORCHBOT_SIGNING_KEY_FILES": (
        "SSH keys (ed25519), separated by commas: the first signs tags, /allowed_signers lists all",
        "tags are not signed",
    ),
    "PORCHBOT_UPSTREAM_PRIVATE": (
        "networks and hosts on private networks that packages may come from, such as"
        " 10.1.0.0/16,git.corp",
        "none",
    ),
    "PORCHBOT_UPSTREAM_CREDENTIALS_FILE": (
        "file with credentials for upstreams, one per line: https://user:token@host/path, "
        "followed by the repositories that may use it, such as github.com/acme/*",
        "none",
    ),
    "PORCHBOT_UPSTREAM_KNOWN_HOSTS": (
        "file of known hosts: upstreams by ssh are used only with it",
        "ssh is not used",
    ),
    "PORCHBOT_UPSTREAM_SSH_KEY": (
        "file with a private key for upstreams by ssh; lines such as "
        "ssh://git.corp/platform in the file of credentials say where it may be used, "
        "followed by the repositories that may use it; required for a forge that the bot "
        "serves",
        "none",
    ),
    "PORCHBOT_STATUS_TOKEN": ("token for /status, 16 characters or more", "the page is off"),
    "PORCHBOT_STATUS_TOKEN_FILE": ("file that contains the token", "none"),
}
"""Name to what it is, and its default."""


def help_text() -> str:
    """The variables as `porchbot serve --help` lists them."""
    lines = [f"  {name}\n      {what} (default: {default})" if default not in _NEED
             else f"  {name}\n      {what} ({default})"
             for name, (what, default) in VARIABLES.items()]  # fmt: skip
    return "\n".join(("\b", "Environment variables:", *lines))


_NEED: Final = frozenset(("or the file",))
