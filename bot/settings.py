"""The operator's settings, read once from environment variables.

Longer than 400 lines: one reading of one environment, every problem of which is told at once.

A setting exists only where two operators need different values; anything else is a constant beside
the code that uses it. Secrets never show in `repr`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from bot import apps, gitlabs, vault
from bot.apps import GITHUB_TOKEN, SIGNING_KEY, KnownApp
from bot.gitlabs import GitLabInstance
from bot.logs import Form
from bot.reach import Reach, read_credentials, read_private
from bot.signing.ssh import KeyUnusableError, PublicKey, SigningKey, read_public
from bot.variables import GITHUB_API, HOST, INSTANCE, PORT, SWEEP_SECONDS, WORKERS
from bot.vault import Vault, VaultError
from lifecycle import records
from lifecycle.identity import GITHUB

_INSTANCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
"""Part of names of checks, of addresses and of marks: no brackets, spaces or separators."""

LEAST_TOKEN = 16
"""Characters of a token: at random, that many are not guessed."""


class SettingsError(Exception):
    """The environment cannot be used; every problem at once."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The operator's settings, each from the variable of its name in `bot.variables`.

    What a variable means, its unit and its default stand there. Texts are "" where nothing is set.

    Attributes:
        private_key: PEM, given itself or as a file.
        older_keys: PEM: records that these keys signed still count (docs/design.md, "Records and
            events").
        github: Whether GitHub is served; not where the settings name a GitLab only.
        gitlabs: The GitLabs that are served.
        vault: The secret store; None where there is none.
        webhook_secrets: Of GitHub: several, for rotation; at least one where it is served.
        port: 0 takes a free one.
        state: Below XDG_STATE_HOME, never in a shared temporary folder, where others could have
            made it first. Everything in it can be made again, the secret store excepted.
        github_token: Of a machine user, in place of an App; "" for an App.
        github_repositories: Which a machine user serves; none for all that it may write to.
        own_record_key: For hidden records of a machine user; from the master key, b"" without one.
        older_apps: Served as well, until they are removed; newest first.
        hidden: Secrets of the store that must not be logged and are used by nobody here.
        sweep_interval: In seconds (docs/design.md, "Sweeps").
        observes: It judges and shows, and writes nothing else in any repository.
        signing_key: Signs tags; None where they are not signed.
        public_keys: Of that key and of those that it replaced, newest first: what verifies tags.
        upstream_reach: What of the network packages may come from.
    """

    database_url: str = field(default="", repr=False)
    host: str = HOST
    port: int = PORT
    github_app_id: str = ""
    private_key: str = field(default="", repr=False)
    github_token: str = field(default="", repr=False)
    github_repositories: tuple[str, ...] = ()
    own_record_key: bytes = field(default=b"", repr=False)
    older_apps: tuple[KnownApp, ...] = ()
    older_keys: tuple[str, ...] = field(default=(), repr=False)
    webhook_secrets: tuple[bytes, ...] = field(repr=False)
    vault: Vault | None = field(default=None, repr=False, compare=False)
    github: bool = True
    gitlabs: tuple[GitLabInstance, ...] = ()
    github_api_url: str = GITHUB_API
    github_ca: str = ""
    runner_address: str = ""
    runner_ca: str = ""
    runner_cert: str = ""
    runner_key: str = ""
    runner_config: str = ""
    state: Path = field(default_factory=lambda: state_folder({}))
    workers: int = WORKERS
    sweep_interval: float = SWEEP_SECONDS
    instance: str = INSTANCE
    log_form: Form = Form.TEXT
    observes: bool = False
    onboarding: bool = True
    status_token: str = field(default="", repr=False)
    hidden: tuple[str, ...] = field(default=(), repr=False)
    webhook_url: str = ""
    signing_key: SigningKey | None = field(default=None, repr=False)
    public_keys: tuple[PublicKey, ...] = ()
    upstream_reach: Reach = field(default_factory=Reach)

    @property
    def private_keys(self) -> tuple[str, ...]:
        """The current key and older ones, newest first."""
        return tuple(key for key in (self.private_key, *self.older_keys) if key)

    @property
    def authorities(self) -> tuple[str, ...]:
        """The file of certificate authorities of each forge that is served."""
        mine = (self.github_ca,) if self.github else ()
        return (*mine, *(each.ca for each in self.gitlabs))

    @property
    def own_name(self) -> str:
        """What tells this bot from another one of the same App; "" without a name of its own."""
        return "" if self.instance == INSTANCE else self.instance

    @property
    def record_keys(self) -> list[bytes]:
        """For hidden records and marks, newest first; of two bots on one repository its own."""
        own = [self.own_record_key] if self.own_record_key else []
        apps_own = [records.derive_key(key.encode()) for key in self.private_keys]
        found = [*own, *apps_own] if self.github_token else [*apps_own, *own]
        return [records.key_of(key, self.own_name) for key in found]

    def record_keys_at(self, forge: str) -> list[bytes]:
        """The same for one forge: an App signs with its key at GitHub alone."""
        if forge == GITHUB:
            return self.record_keys
        return [records.key_of(self.own_record_key, self.own_name)]

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> "Settings":
        """Read the environment.

        Raises:
            SettingsError: Something is missing or wrong; all of it is named.
        """
        read = _Reading(environ)
        host, port = read.address("PORCHBOT_LISTEN", f"{HOST}:{PORT}")
        signing_key, public_keys = read.signing()
        settings = cls(
            database_url=environ.get("DATABASE_URL", ""),
            vault=read.vault,
            github=read.github,
            gitlabs=read.gitlabs,
            host=host,
            port=port,
            github_token=read.token,
            github_repositories=read.listed("PORCHBOT_GITHUB_REPOSITORIES"),
            own_record_key=read.own_record_key(),
            github_app_id=read.app_id(),
            private_key=read.key(),
            older_apps=read.older_apps(),
            older_keys=read.older_keys(),
            webhook_secrets=read.secrets(),
            github_api_url=read.url("PORCHBOT_GITHUB_API_URL", read.known_api_url),
            github_ca=environ.get("PORCHBOT_GITHUB_CA", "").strip(),
            runner_address=environ.get("PORCHBOT_RUNNER_ADDRESS", ""),
            runner_ca=environ.get("PORCHBOT_RUNNER_CA", ""),
            runner_cert=environ.get("PORCHBOT_RUNNER_CERT", ""),
            runner_key=environ.get("PORCHBOT_RUNNER_KEY", ""),
            runner_config=environ.get("PORCHBOT_RUNNER_CONFIG", ""),
            state=state_folder(environ),
            workers=int(read.number("PORCHBOT_WORKERS", WORKERS, least=1, most=64)),
            sweep_interval=read.number(
                "PORCHBOT_SWEEP_SECONDS", SWEEP_SECONDS, least=1, most=86_400
            ),
            instance=read.instance("PORCHBOT_INSTANCE"),
            log_form=read.form("PORCHBOT_LOG"),
            observes=read.observes("PORCHBOT_MODE"),
            onboarding=read.switch("PORCHBOT_ONBOARDING"),
            webhook_url=environ.get("PORCHBOT_WEBHOOK_URL", "").strip(),
            status_token=read.status_token(),
            hidden=tuple(each.client_secret for each in read.apps),
            signing_key=signing_key,
            public_keys=public_keys,
            upstream_reach=read.reach(),
        )
        if read.problems:
            raise SettingsError(read.problems)
        return settings


def state_folder(environ: Mapping[str, str]) -> Path:
    """The folder for what we keep between runs."""
    if given := environ.get("PORCHBOT_STATE"):
        return Path(given).absolute()
    base = environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "porchbot"


class _Reading:
    """Reads one variable after another and gathers what is wrong."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.problems: list[str] = []
        self.vault: Vault | None = None
        self.apps: tuple[KnownApp, ...] = ()
        folder = state_folder(environ)
        if vault.secrets_file(environ, folder).exists():
            try:
                self.vault = vault.open_vault(environ, folder)
                self.apps = apps.read(self.vault)
            except VaultError as error:
                self.problems.append(str(error))
        self.token = self._token()
        known = () if self.vault is None else self._known_gitlabs(self.vault)
        self.gitlabs = gitlabs.configured(environ, known, self.problems)
        self.github = not self.gitlabs or bool(self.token or self.apps or self._names_github())

    def _known_gitlabs(self, store: Vault) -> tuple[GitLabInstance, ...]:
        try:
            return gitlabs.stored(store)
        except VaultError as error:
            self.problems.append(str(error))
            return ()

    def _names_github(self) -> bool:
        """Whether any variable of GitHub's is set: then all that it needs has to be."""
        names = ("APP_ID", "PRIVATE_KEY", "PRIVATE_KEY_FILE")
        return any(self._environ.get(f"PORCHBOT_GITHUB_{name}", "").strip() for name in names)

    def _token(self) -> str:
        """A machine user's token; "" where the bot is an App."""
        name = "PORCHBOT_GITHUB_TOKEN"
        path = self._environ.get(f"{name}_FILE", "").strip()
        token = self._file(f"{name}_FILE", path) if path else self._environ.get(name, "")
        token = (token or self._stored(GITHUB_TOKEN)).strip()
        if token and self._environ.get("PORCHBOT_GITHUB_APP_ID", "").strip():
            self.problems.append(
                f"{name} and PORCHBOT_GITHUB_APP_ID are both set. Unset one of them: the bot is"
                " either an App or a machine user."
            )
        return token

    def own_record_key(self) -> bytes:
        """What records of a machine user are made with: each replica needs the same.

        They count for the App that takes its place, too.
        """
        try:
            master = vault.master_key(self._environ, state_folder(self._environ))
        except VaultError as error:
            if not self.token and not self.gitlabs:
                return b""  # an App signs with its own key, and needs none
            self.problems.append(f"The bot needs a master key to sign its records. {error}")
            return b""
        return master.derive("records")

    def listed(self, name: str) -> tuple[str, ...]:
        """Words with commas between them."""
        return tuple(w.strip() for w in self._environ.get(name, "").split(",") if w.strip())

    @property
    def known_api_url(self) -> str:
        """Where the App of the secret store is registered; GitHub.com's where there is none."""
        return self.apps[0].api_url if self.apps else GITHUB_API

    def reach(self) -> Reach:
        """What of the network packages may come from."""
        private, credentials = "PORCHBOT_UPSTREAM_PRIVATE", "PORCHBOT_UPSTREAM_CREDENTIALS_FILE"
        path = self._environ.get(credentials, "").strip()
        try:
            networks, hosts = read_private(self._environ.get(private, ""))
        except ValueError as error:
            self.problems.append(f"{private}: {error}. Give networks and hosts.")
            networks, hosts = (), frozenset()
        try:
            known = read_credentials(self._file(credentials, path) if path else "")
        except ValueError as error:
            self.problems.append(f"{credentials}: {error}. Write https://user:token@host there.")
            known = ()
        return Reach(
            networks=networks,
            hosts=hosts,
            credentials=known,
            known_hosts=self._there("PORCHBOT_UPSTREAM_KNOWN_HOSTS"),
            ssh_key=self._there("PORCHBOT_UPSTREAM_SSH_KEY"),
        )

    def _there(self, name: str) -> Path | None:
        """A file that another program reads; None where none is named."""
        path = self._environ.get(name, "").strip()
        if path and not Path(path).is_file():
            self.problems.append(f"{name}: there is no file {path}. Name one.")
        return Path(path).absolute() if path else None

    def app_id(self) -> str:
        """The App's number or client id: the variable's, or that of the newest App we know."""
        if self.token or not self.github:
            return ""
        if self.apps and not self._environ.get("PORCHBOT_GITHUB_APP_ID", "").strip():
            return str(self.apps[0].id)
        return self.needed(
            "PORCHBOT_GITHUB_APP_ID",
            "Set it to the App ID, or run `porchbot setup`, or for GitLab `porchbot setup gitlab`",
        )

    def _stored(self, name: str) -> str:
        """A secret of the store; "" where there is none."""
        try:
            return self.vault.get(name) if self.vault else ""
        except VaultError as error:
            self.problems.append(str(error))
            return ""

    def needed(self, name: str, fix: str) -> str:
        """A variable that must be there."""
        value = self._environ.get(name, "").strip()
        if not value:
            self.problems.append(f"{name} is not set. {fix}.")
        return value

    def key(self) -> str:
        """The App's private key."""
        if self.token or not self.github:
            return ""
        if text := self._environ.get("PORCHBOT_GITHUB_PRIVATE_KEY", ""):
            return self._pem("PORCHBOT_GITHUB_PRIVATE_KEY", text)
        name = "PORCHBOT_GITHUB_PRIVATE_KEY_FILE"
        if self.apps and not self._environ.get(name, "").strip():
            return self.apps[0].private_key
        path = self.needed(name, "Set it to the PEM file that you downloaded from GitHub")
        return self._pem(name, self._file(name, path)) if path else ""

    def older_keys(self) -> tuple[str, ...]:
        """Keys that were replaced."""
        name = "PORCHBOT_GITHUB_OLDER_KEY_FILES"
        paths = [p.strip() for p in self._environ.get(name, "").split(",") if p.strip()]
        given = tuple(self._pem(name, self._file(name, path)) for path in paths)
        return (*given, *(each.private_key for each in self._replaced()))

    def older_apps(self) -> tuple[KnownApp, ...]:
        """Apps of the same GitHub that are served as well."""
        here = self._environ.get("PORCHBOT_GITHUB_API_URL", "").strip() or self.known_api_url
        return tuple(app for app in self._replaced() if app.api_url.rstrip("/") == here.rstrip("/"))

    def _replaced(self) -> list[KnownApp]:
        """The Apps of the secret store that the bot is not."""
        named = self._environ.get("PORCHBOT_GITHUB_APP_ID", "").strip()
        if not named and not self.token:
            return list(self.apps[1:])
        return [app for app in self.apps if named not in (str(app.id), app.client_id)]

    def secrets(self) -> tuple[bytes, ...]:
        """The webhook's secrets: without one anybody could wake us with anything."""
        name = "PORCHBOT_WEBHOOK_SECRETS"
        if path := self._environ.get(f"{name}_FILE", ""):
            given = self._file(f"{name}_FILE", path).splitlines()
        else:
            given = self._environ.get(name, "").split(",")
        given += self._stored(apps.WEBHOOK_SECRETS).splitlines()
        given += [each.webhook_secret for each in self.apps]
        found = tuple(dict.fromkeys(s.strip().encode() for s in given if s.strip()))
        if not found and self.github:
            self.problems.append(f"{name} is not set. Set it to the App's webhook secret.")
        return found

    def status_token(self) -> str:
        """What opens the operator's page; "" where there is none."""
        name = "PORCHBOT_STATUS_TOKEN"
        path = self._environ.get(f"{name}_FILE", "").strip()
        token = (self._file(f"{name}_FILE", path) if path else self._environ.get(name, "")).strip()
        if 0 < len(token) < LEAST_TOKEN:
            self.problems.append(
                f"{name} has fewer than {LEAST_TOKEN} characters, so it could be guessed. Use a "
                "long random one, for example from `openssl rand -hex 32`."
            )
        return token

    def signing(self) -> tuple[SigningKey | None, tuple[PublicKey, ...]]:
        """The key that signs tags, and all keys that verify them."""
        name = "PORCHBOT_SIGNING_KEY_FILES"
        paths = [p.strip() for p in self._environ.get(name, "").split(",") if p.strip()]
        texts = [(f"{name}: {path}", self._file(name, path)) for path in paths]
        if stored := self._stored(SIGNING_KEY):
            texts.insert(0, (f"the secret {SIGNING_KEY}", stored))
        signs: SigningKey | None = None
        public: list[PublicKey] = []
        for place, (called, text) in enumerate(texts):
            try:
                if place and not text.lstrip().startswith("-----BEGIN"):
                    public.append(read_public(text))  # of an older key the public half will do
                    continue
                key = SigningKey.read(text)
            except KeyUnusableError as error:
                self.problems.append(f"{called} cannot be used: {error}.")
                continue
            signs = signs or key
            public.append(key.public)
        return signs, tuple(public)

    def instance(self, name: str) -> str:
        """A bot's name, which has to come back from the forge as it was put."""
        value = self._environ.get(name, "") or INSTANCE
        if not _INSTANCE.fullmatch(value):
            self.problems.append(
                f"{name} is {value!r}. Give up to 40 letters, digits, '.', '-' and '_', beginning"
                " with a letter or a digit."
            )
        return value

    def url(self, name: str, default: str) -> str:
        """An address for HTTP, without a slash at its end."""
        value = self._environ.get(name, "").strip() or default
        if urlsplit(value).scheme not in {"http", "https"} or not urlsplit(value).netloc:
            self.problems.append(f"{name} is {value!r}. Give an address such as {default}.")
        return value.rstrip("/")

    def address(self, name: str, default: str) -> tuple[str, int]:
        """Host and port."""
        value = self._environ.get(name, "").strip() or default
        host, _, port = value.rpartition(":")
        if not host or not port.isdigit() or int(port) > 65_535:
            self.problems.append(f"{name} is {value!r}. Give host:port, such as {default}.")
            return default.rsplit(":", 1)[0], 0
        return host.removeprefix("[").removesuffix("]"), int(port)

    def number(self, name: str, default: float, *, least: float, most: float) -> float:
        """A number within bounds."""
        text = self._environ.get(name, "").strip() or str(default)
        try:
            value = float(text)
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            self.problems.append(f"{name} is {text!r}. Give a number from {least} to {most}.")
            return default
        return value

    def switch(self, name: str) -> bool:
        """On, unless it says off."""
        text = self._environ.get(name, "").strip().lower() or "on"
        if text not in ("on", "off"):
            self.problems.append(f"{name} is {text!r}. Give on or off.")
        return text != "off"

    def observes(self, name: str) -> bool:
        """Whether the bot only observes, whatever repositories say."""
        text = self._environ.get(name, "").strip().lower() or "active"
        if text not in ("active", "observe"):
            self.problems.append(f"{name} is {text!r}. Give active or observe.")
        return text != "active"

    def form(self, name: str) -> Form:
        """How logs are written."""
        text = self._environ.get(name, "").strip().lower() or Form.TEXT
        if text not in set(Form):
            self.problems.append(f"{name} is {text!r}. Give {' or '.join(Form)}.")
            return Form.TEXT
        return Form(text)

    def _file(self, name: str, path: str) -> str:
        try:
            return Path(path).read_text()
        except (OSError, UnicodeDecodeError) as error:
            self.problems.append(
                f"{name}: cannot read {path} ({error}). Name a file that the bot can read."
            )
            return ""

    def _pem(self, name: str, text: str) -> str:
        if text and "-----BEGIN" not in text:
            self.problems.append(
                f"{name} is not a PEM file. Use the file that you downloaded from GitHub."
            )
        return text
