"""Settings: read once, every problem at once, and no secret in what is printed."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from bot import apps, githubs, gitlabs
from bot.apps import KnownApp
from bot.cli.root import main
from bot.reach import Reach
from bot.settings import Settings, SettingsError
from bot.variables import VARIABLES
from bot.vault import open_vault
from tests.bot.signing.signed import KEY, OTHER, key_text

PEM = "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n"
LEAST = {
    "PORCHBOT_GITHUB_APP_ID": "Iv1.abc",
    "PORCHBOT_GITHUB_PRIVATE_KEY": PEM,
    "PORCHBOT_WEBHOOK_SECRETS": "first secret",
    "XDG_STATE_HOME": "/var/state",
}

OF_A_GITHUB = (
    *("APP_ID", *githubs.KEY_VARIABLES, "OLDER_KEY_FILES", "TOKEN", "TOKEN_FILE"),
    *("REPOSITORIES", "WEBHOOK_SECRETS", "WEBHOOK_SECRETS_FILE", "WEBHOOK_URL", "API_URL", "CA"),
    "FORMER_ACCOUNTS",
)
"""Ends of the variables of one GitHub."""


def test_without_a_webhook_secret_there_is_no_start() -> None:
    """The short-cut starts without and accepts everything, as Atlantis does."""
    for given in ({}, {"PORCHBOT_WEBHOOK_SECRETS": " , "}):
        environ = {k: v for k, v in LEAST.items() if k != "PORCHBOT_WEBHOOK_SECRETS"} | given

        with pytest.raises(SettingsError, match=r"PORCHBOT_WEBHOOK_SECRETS is not set\. Set it"):
            Settings.from_env(environ)


def test_every_problem_is_named_at_once(tmp_path: Path) -> None:
    missing = tmp_path / "missing.pem"

    with pytest.raises(SettingsError) as caught:
        Settings.from_env(
            {
                "PORCHBOT_LISTEN": "8080",
                "PORCHBOT_GITHUB_PRIVATE_KEY_FILE": str(missing),
                "PORCHBOT_GITHUB_API_URL": "api.github.com",
                "PORCHBOT_WORKERS": "many",
                "PORCHBOT_SWEEP_SECONDS": "0",
                "PORCHBOT_LOG": "xml",
            }
        )

    assert [problem.split(" ")[0].rstrip(":") for problem in caught.value.problems] == [
        "PORCHBOT_GITHUB_APP_ID",
        "PORCHBOT_GITHUB_PRIVATE_KEY_FILE",
        "PORCHBOT_WEBHOOK_SECRETS",
        "PORCHBOT_GITHUB_API_URL",
        "PORCHBOT_LISTEN",
        "PORCHBOT_WORKERS",
        "PORCHBOT_SWEEP_SECONDS",
        "PORCHBOT_LOG",
    ]


def test_a_token_that_could_be_guessed_opens_nothing(tmp_path: Path) -> None:
    """Short-cut refused: any token will do; "admin" then shows who works on what to everybody."""
    file = tmp_path / "token"
    file.write_text("a long random token\n")

    told = Settings.from_env({**LEAST, "PORCHBOT_STATUS_TOKEN_FILE": str(file)})
    with pytest.raises(SettingsError, match="PORCHBOT_STATUS_TOKEN has fewer than 16 characters"):
        Settings.from_env({**LEAST, "PORCHBOT_STATUS_TOKEN": "admin"})

    assert told.status_token == "a long random token"
    assert "random" not in repr(told)


def test_defaults() -> None:
    settings = Settings.from_env(LEAST)

    assert settings == Settings(
        github_app_id="Iv1.abc",
        private_key=PEM,
        webhook_secrets=(b"first secret",),
        state=Path("/var/state/porchbot"),
        upstream_reach=Reach(served=frozenset({"github.com"})),
    )
    assert (settings.host, settings.port, settings.database_url) == ("127.0.0.1", 8080, "")
    assert settings.github_api_url == "https://api.github.com"
    assert (settings.workers, settings.sweep_interval, settings.runner_address) == (4, 900, "")


def test_everything_given(tmp_path: Path) -> None:
    key, older, secrets = tmp_path / "key.pem", tmp_path / "older.pem", tmp_path / "secrets"
    key.write_text(PEM)
    older.write_text(PEM.replace("MIIE", "MIIF"))
    secrets.write_text("new secret\n\nold, secret\n")

    settings = Settings.from_env(
        {
            "DATABASE_URL": "postgresql://bot:password@db/porchbot",
            "PORCHBOT_LISTEN": "[::1]:0",
            "PORCHBOT_GITHUB_APP_ID": "7",
            "PORCHBOT_GITHUB_PRIVATE_KEY_FILE": str(key),
            "PORCHBOT_GITHUB_OLDER_KEY_FILES": f"{older}, ",
            "PORCHBOT_WEBHOOK_SECRETS_FILE": str(secrets),
            "PORCHBOT_GITHUB_API_URL": "http://127.0.0.1:3000/api/v3/",
            "PORCHBOT_RUNNER_ADDRESS": "unix:/run/runner.sock",
            "PORCHBOT_RUNNER_CA": "ca.pem",
            "PORCHBOT_RUNNER_CERT": "bot.pem",
            "PORCHBOT_RUNNER_KEY": "bot.key",
            "PORCHBOT_RUNNER_CONFIG": "/etc/porchbot/runner.yaml",
            "PORCHBOT_STATE": str(tmp_path / "state"),
            "PORCHBOT_WORKERS": "8",
            "PORCHBOT_SWEEP_SECONDS": "2.5",
            "PORCHBOT_INSTANCE": "second",
            "PORCHBOT_MODE": "observe",
        }
    )

    assert settings == Settings(
        database_url="postgresql://bot:password@db/porchbot",
        host="::1",
        port=0,
        github_app_id="7",
        private_key=PEM,
        older_keys=(PEM.replace("MIIE", "MIIF"),),
        webhook_secrets=(b"new secret", b"old, secret"),
        github_api_url="http://127.0.0.1:3000/api/v3",
        upstream_reach=Reach(served=frozenset({"127.0.0.1"})),
        runner_address="unix:/run/runner.sock",
        runner_ca="ca.pem",
        runner_cert="bot.pem",
        runner_key="bot.key",
        runner_config="/etc/porchbot/runner.yaml",
        state=tmp_path / "state",
        workers=8,
        sweep_interval=2.5,
        instance="second",
        observes=True,
    )
    assert settings.private_keys == (settings.private_key, *settings.older_keys)


def test_no_secret_is_printed() -> None:
    settings = Settings.from_env({**LEAST, "DATABASE_URL": "postgresql://bot:password@db/porchbot"})

    for secret in ("password", "MIIE", "first secret"):
        assert secret not in repr(settings)


def test_a_key_that_is_none_is_named_without_its_text() -> None:
    with pytest.raises(
        SettingsError, match="PORCHBOT_GITHUB_PRIVATE_KEY is not a PEM file"
    ) as caught:
        Settings.from_env({**LEAST, "PORCHBOT_GITHUB_PRIVATE_KEY": "swordfish"})

    assert "swordfish" not in str(caught.value)


def test_state_is_never_in_a_folder_that_others_could_have_made_first() -> None:
    environ = {k: v for k, v in LEAST.items() if k != "XDG_STATE_HOME"}

    assert Settings.from_env(environ).state == Path.home() / ".local" / "state" / "porchbot"


APP = KnownApp(
    id=7,
    slug="porchbot",
    client_id="Iv1.new",
    api_url="https://ghes.corp/api/v3",
    web_url="https://ghes.corp/apps/porchbot",
    private_key=PEM.replace("MIIE", "bmV3"),
    webhook_secret="the new secret",
    client_secret="for logins",
)


def test_an_app_of_the_secret_store_needs_no_variables(tmp_path: Path) -> None:
    """The short-cut reads the newest App only: what the one before it signed counts no more."""
    environ = {"PORCHBOT_STATE": str(tmp_path), "PORCHBOT_MASTER_KEY": "4f" * 32}
    vault = open_vault(environ, tmp_path)
    old = replace(APP, id=3, private_key=PEM, webhook_secret="the old secret")
    apps.keep(vault, old)
    apps.keep(vault, APP)
    vault.put(apps.WEBHOOK_SECRETS, "one more\n")

    found = Settings.from_env(environ)

    assert found.github_app_id == "7"
    assert found.github_api_url == "https://ghes.corp/api/v3"
    assert found.private_keys == (APP.private_key, PEM)
    assert found.webhook_secrets == (b"one more", b"the new secret", b"the old secret")
    assert "for logins" in found.hidden
    assert "for logins" not in repr(found)
    given = Settings.from_env({**environ, **LEAST, "PORCHBOT_GITHUB_API_URL": "https://a.example"})
    assert (given.github_app_id, given.private_key) == ("Iv1.abc", PEM)
    assert given.github_api_url == "https://a.example"
    apps.keep(vault, replace(old, api_url="https://api.github.com"))
    apps.forget(vault, old)
    assert [(a.id, a.api_url) for a in apps.read(vault)] == [
        (3, "https://api.github.com"),
        (7, "https://ghes.corp/api/v3"),
    ]
    apps.forget(vault, replace(old, api_url="https://api.github.com"))
    assert Settings.from_env(environ).private_keys == (APP.private_key,)


def test_older_apps_of_the_same_github_are_served_too(tmp_path: Path) -> None:
    """Short-cuts serve the newest alone, so that a move leaves repositories without a bot; or ask
    an App of another GitHub for repositories whose numbers are of others here.
    """
    environ = {"PORCHBOT_STATE": str(tmp_path), "PORCHBOT_MASTER_KEY": "4f" * 32}
    vault = open_vault(environ, tmp_path)
    old = replace(APP, id=3, slug="old")
    apps.keep(vault, replace(APP, id=2, api_url="https://api.github.com"))
    apps.keep(vault, old)
    apps.keep(vault, APP)

    assert Settings.from_env(environ).older_apps == (old,)
    named = Settings.from_env({**environ, **LEAST, "PORCHBOT_GITHUB_APP_ID": "3"})
    assert [app.id for app in named.older_apps] == [7]
    assert [app.id for app in Settings.from_env(LEAST).older_apps] == []


ROBOT = {
    "PORCHBOT_GITHUB_TOKEN": " github_pat_robot\n",
    "PORCHBOT_WEBHOOK_SECRETS": "first secret",
    "PORCHBOT_MASTER_KEY": "4f" * 32,
    "PORCHBOT_GITHUB_REPOSITORIES": "acme/net, acme/web,",
}


def test_a_token_takes_the_place_of_an_app(tmp_path: Path) -> None:
    """Short-cuts sign records with the token, so that none counts once it is renewed; or with a key
    that each replica makes for itself; or lose what the App before signed.
    """
    environ = {**ROBOT, "PORCHBOT_STATE": str(tmp_path)}
    apps.keep(open_vault(environ, tmp_path), APP)

    found = Settings.from_env(environ)
    renewed = Settings.from_env({**environ, "PORCHBOT_GITHUB_TOKEN": "another"})
    other = Settings.from_env({**environ, "PORCHBOT_INSTANCE": "second"})
    alone = Settings.from_env({**ROBOT, "PORCHBOT_STATE": str(tmp_path / "other")})

    assert (found.github_token, found.github_app_id) == ("github_pat_robot", "")
    assert found.github_repositories == ("acme/net", "acme/web")
    assert found.record_keys == renewed.record_keys
    assert len(found.record_keys) == 2  # the App's, too
    assert alone.record_keys == found.record_keys[:1]
    assert not {*other.record_keys} & {*found.record_keys}
    assert "robot" not in repr(found)


def test_a_token_needs_a_master_key_and_no_app(tmp_path: Path) -> None:
    """Short-cuts make a key up, or take one of two that are given."""
    environ = {**ROBOT, "PORCHBOT_STATE": str(tmp_path)}
    with pytest.raises(
        SettingsError, match=r"needs a master key to sign its records\. There is no"
    ):
        Settings.from_env({k: v for k, v in environ.items() if k != "PORCHBOT_MASTER_KEY"})
    with pytest.raises(SettingsError, match=r"are both set\. Unset one"):
        Settings.from_env({**environ, "PORCHBOT_GITHUB_APP_ID": "7"})
    vault = open_vault(environ, tmp_path)
    vault.put("github-token", "ghp_kept")
    del environ["PORCHBOT_GITHUB_TOKEN"]
    assert Settings.from_env(environ).github_token == "ghp_kept"


def test_a_secret_store_that_cannot_be_read_is_no_start(tmp_path: Path) -> None:
    """The short-cut goes on without it, and says that the App's number is missing."""
    environ = {"PORCHBOT_STATE": str(tmp_path), "PORCHBOT_MASTER_KEY": "4f" * 32}
    apps.keep(open_vault(environ, tmp_path), APP)

    with pytest.raises(SettingsError, match="cannot be decrypted with the master key of"):
        Settings.from_env({**environ, "PORCHBOT_MASTER_KEY": "50" * 32})


ROOT = Path(__file__).resolve().parents[2]
NAME = re.compile(r"\b(?:PORCHBOT_[A-Z_]+|DATABASE_URL)\b")


def test_every_setting_stands_in_the_help_and_no_other() -> None:
    """Fails when a setting is read and told nowhere, or told and read no more."""
    code = (ROOT / "bot/settings.py").read_text().partition("def from_env")[2]
    code += (ROOT / "bot/vault.py").read_text()
    read = set(re.findall(r'"(PORCHBOT_[A-Z_]+|DATABASE_URL)"', code))
    assert 'f"{name}_FILE"' in code
    # These have no text of their own there.
    files = ("GITHUB_TOKEN", "MASTER_KEY", "STATUS_TOKEN", "WEBHOOK_SECRETS")
    read |= {f"PORCHBOT_{what}_FILE" for what in files}
    read |= {githubs.NAMES, *map(githubs.variable, OF_A_GITHUB)}
    read |= {gitlabs.NAMES, *(f"PORCHBOT_GITLAB_{kind}" for kind in gitlabs.GIVEN)}
    shown = CliRunner().invoke(main, ["serve", "--help"]).output

    several = {"PORCHBOT_GITHUB_", "PORCHBOT_GITLAB_"}  # before the name of one of several
    assert set(NAME.findall(shown)) - several == read == set(VARIABLES)


def test_the_first_key_signs_and_all_are_published(tmp_path: Path) -> None:
    """The short-cut publishes the key in use: tags of before a rotation verify no more."""
    new, old, bad = (tmp_path / name for name in ("new", "old.pub", "bad"))
    new.write_text(key_text(1))
    old.write_text(OTHER.public.line + " porchbot\n")
    bad.write_text("-----BEGIN OPENSSH PRIVATE KEY-----\nsecret\n")
    told = Settings.from_env({**LEAST, "PORCHBOT_SIGNING_KEY_FILES": f"{new}, {old}"})
    assert told.signing_key is not None
    assert told.public_keys == (KEY.public, OTHER.public)
    assert told.signing_key.public == KEY.public
    assert Settings.from_env(LEAST).public_keys == ()
    kept = {**LEAST, "PORCHBOT_STATE": str(tmp_path / "state")}
    open_vault(kept, tmp_path / "state", make=True).put("signing-key", key_text(2))
    told = Settings.from_env({**kept, "PORCHBOT_SIGNING_KEY_FILES": str(new)})
    assert told.public_keys == (OTHER.public, KEY.public)  # the store's signs
    for given in (f"{bad}", f"{old},{new}"):
        with pytest.raises(SettingsError, match="it is no SSH private key") as caught:
            Settings.from_env({**LEAST, "PORCHBOT_SIGNING_KEY_FILES": given})
        assert "secret" not in str(caught.value)


def test_the_master_key_lies_beside_the_secrets(tmp_path: Path) -> None:
    """The short-cut looks for it in the state folder: with a store elsewhere nothing starts."""
    environ = {
        **{name: value for name, value in ROBOT.items() if name != "PORCHBOT_MASTER_KEY"},
        "PORCHBOT_STATE": str(tmp_path / "state"),
        "PORCHBOT_SECRETS_STORE": str(tmp_path / "kept" / "secrets.json"),
    }
    vault = open_vault(environ, tmp_path / "state", make=True)
    vault.put("webhook-secrets", "another")

    assert (tmp_path / "kept" / "master.key").exists()
    assert Settings.from_env(environ).own_record_key


def test_what_a_machine_user_signed_counts_for_the_app_after_it(tmp_path: Path) -> None:
    """Short-cuts drop its key with its token, or go on signing with it."""
    environ = {**ROBOT, "PORCHBOT_STATE": str(tmp_path)}
    before = Settings.from_env(environ).record_keys
    apps.keep(open_vault(environ, tmp_path), APP)
    del environ["PORCHBOT_GITHUB_TOKEN"]
    after = Settings.from_env(environ).record_keys

    assert (len(after), after[-1:]) == (2, before)


@pytest.mark.parametrize("name", ["prod (eu)", "team/eu", "a b", "a:b", "-a", "a" * 41, "é", "a\n"])
def test_a_name_of_a_bot_that_the_forge_gives_back_as_another_is_refused(name: str) -> None:
    """The short-cut takes any: its own checks and records are never recognised as its own."""
    with pytest.raises(SettingsError, match=r"PORCHBOT_INSTANCE is .* Give up to 40 letters"):
        Settings.from_env({**LEAST, "PORCHBOT_INSTANCE": name})

    assert Settings.from_env({**LEAST, "PORCHBOT_INSTANCE": "eu-1.b_C"}).own_name == "eu-1.b_C"


@pytest.mark.parametrize("address", ["https://u:S3CRET@[bad", "u:S3CRET"])
def test_an_address_that_is_none_is_not_printed(address: str) -> None:
    """The short-cut quotes what was given: an address of something else, with its password."""
    with pytest.raises(SettingsError) as caught:
        Settings.from_env({"PORCHBOT_LISTEN": address})

    assert "PORCHBOT_LISTEN is no address. Give host:port" in str(caught.value)
    assert "S3CRET" not in str(caught.value)
