"""The operator's settings, read once from environment variables.

Longer than 400 lines: one reading of one environment, every problem of which is told at once.

A setting exists only where two operators need different values; anything else is a constant beside
the code that uses it. Secrets never show in `repr`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from bot import apps, githubs, gitlabs, places, vault
from bot.apps import SIGNING_KEY, KnownApp
from bot.githubs import GitHubInstance
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
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The operator's settings, each from the variable of its name in `bot.variables`.

    What a variable means, its unit and its default stand there. Texts are "" where nothing is set.

    Attributes:
        private_key: PEM, given itself or as a file.
        older_keys: PEM: records that these keys signed still count (docs/design.md, "Records and
            events").
        github: Whether the first GitHub is served; not where the settings name other forges only.
        further_githubs: Others beside it, each with settings of its own; see `at`.
        gitlabs: The GitLabs that are served.
        vault: The secret store; None where there is none.
        webhook_secrets: Of GitHub: several, for rotation; at least one where it is served.
        port: 0 takes a free one.
        state: Below XDG_STATE_HOME, never in a shared temporary folder, where others could have
            made it first. Everything in it can be made again, the secret store excepted.
        github_token: Of a machine user, in place of an App; "" for an App.
        github_repositories: Which a machine user serves; none for all that it may write to.
        former_accounts: Machine users that the App has replaced: login and number.
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
    former_accounts: tuple[tuple[str, int], ...] = ()
    older_apps: tuple[KnownApp, ...] = ()
    older_keys: tuple[str, ...] = field(default=(), repr=False)
    webhook_secrets: tuple[bytes, ...] = field(repr=False)
    vault: Vault | None = field(default=None, repr=False, compare=False)
    github: bool = True
    further_githubs: tuple[GitHubInstance, ...] = ()
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
        further = (each.github_ca for each in self.further_githubs)
        return (*mine, *further, *(each.ca for each in self.gitlabs))

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
        for each in self.further_githubs:
            if each.name == forge:
                return self.at(each).record_keys
        return [records.key_of(self.own_record_key, self.own_name)]

    def at(self, github: GitHubInstance) -> "Settings":
        """The same with what is one GitHub's own in place of what is the first one's."""
        own = {each.name: getattr(github, each.name) for each in fields(github)}
        del own["name"]
        return replace(self, **own)

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> "Settings":
        """Read the environment.

        Raises:
            SettingsError: Something is missing or wrong; all of it is named.
        """
        read = _Reading(environ)
        host, port = read.address("PORCHBOT_LISTEN", f"{HOST}:{PORT}")
        signing_key, public_keys = read.signing()
        first = next((each for each in read.githubs if each.name == GITHUB), None)
        further = tuple(each for each in read.githubs if each.name != GITHUB)
        settings = cls(
            database_url=environ.get("DATABASE_URL", ""),
            vault=read.vault,
            github=first is not None,
            further_githubs=further,
            gitlabs=read.gitlabs,
            host=host,
            port=port,
            own_record_key=read.own_record_key(),
            webhook_secrets=(),
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
            status_token=read.status_token(),
            signing_key=signing_key,
            public_keys=public_keys,
            upstream_reach=read.reach(),
        )
        if read.problems:
            raise SettingsError(read.problems)
        return settings.at(first) if first else settings


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
        known = () if self.vault is None else self._known_gitlabs(self.vault)
        self.gitlabs = gitlabs.configured(environ, known, self.problems)
        self.githubs = githubs.configured(
            environ, self.vault, self.apps, [each.name for each in self.gitlabs], self.problems
        )

    def _known_gitlabs(self, store: Vault) -> tuple[GitLabInstance, ...]:
        try:
            return gitlabs.stored(store)
        except VaultError as error:
            self.problems.append(str(error))
            return ()

    def own_record_key(self) -> bytes:
        """What records of a machine user are made with: each replica needs the same.

        They count for the App that takes its place, too.
        """
        try:
            master = vault.master_key(self._environ, state_folder(self._environ))
        except VaultError as error:
            if not any(each.github_token for each in self.githubs) and not self.gitlabs:
                return b""  # an App signs with its own key, and needs none
            self.problems.append(f"The bot needs a master key to sign its records. {error}")
            return b""
        return master.derive("records")

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
            known = read_credentials(self._file(credentials, path) if path else "", self._homes())
        except ValueError as error:
            self.problems.append(f"{credentials}: {error}.")
            known = ()
        return Reach(
            networks=networks,
            hosts=hosts,
            credentials=known,
            known_hosts=self._there("PORCHBOT_UPSTREAM_KNOWN_HOSTS"),
            ssh_key=self._there("PORCHBOT_UPSTREAM_SSH_KEY"),
            served=frozenset(map(places.host_of, self._homes())),
        )

    def _homes(self) -> list[str]:
        """What addresses of repositories begin with at each forge that is served."""
        github = [places.github_home(each.github_api_url) for each in self.githubs]
        return [*github, *(places.gitlab_home(each.url) for each in self.gitlabs)]

    def _there(self, name: str) -> Path | None:
        """A file that another program reads; None where none is named."""
        path = self._environ.get(name, "").strip()
        if path and not Path(path).is_file():
            self.problems.append(f"{name}: there is no file {path}. Name one.")
        return Path(path).absolute() if path else None

    def _stored(self, name: str) -> str:
        """A secret of the store; "" where there is none."""
        try:
            return self.vault.get(name) if self.vault else ""
        except VaultError as error:
            self.problems.append(str(error))
            return ""

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

    def address(self, name: str, default: str) -> tuple[str, int]:
        """Host and port."""
        value = self._environ.get(name, "").strip() or default
        host, _, port = value.rpartition(":")
        if not host or not port.isdigit() or int(port) > 65_535:
            # It may hold a password: an address of something else, say.
            self.problems.append(f"{name} is no address. Give host:port, such as {default}.")
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
            why = error.strerror if isinstance(error, OSError) else error
            self.problems.append(
                f"{name}: cannot read {path} ({why}). Name a file that the bot can read."
            )
            return ""
