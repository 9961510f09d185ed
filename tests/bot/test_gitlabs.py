"""GitLab instances: of the environment and of the secret store, each with a name that stays."""

import fcntl
from dataclasses import replace
from pathlib import Path

import pytest

from bot import gitlabs
from bot.forges.port import ForgeBusyError
from bot.gitlabs import GitLabInstance
from bot.settings import Settings, SettingsError
from bot.vault import Vault, VaultError, open_vault
from tests.bot.test_settings import LEAST

ONE = {
    "PORCHBOT_GITLAB_URL": "https://gitlab.corp/",
    "PORCHBOT_GITLAB_TOKEN": "glpat-corp",
    "PORCHBOT_GITLAB_WEBHOOK_SECRETS": "hook new, hook old",
    "PORCHBOT_MASTER_KEY": "4f" * 32,
    "XDG_STATE_HOME": "/var/state",
}
CORP = GitLabInstance(
    name="gitlab",
    url="https://gitlab.corp",
    token="glpat-corp",
    webhook_secrets=("hook new", "hook old"),
)
SEVERAL = {
    "PORCHBOT_GITLAB_NAMES": "corp, gitlab-com",
    "PORCHBOT_GITLAB_CORP_URL": "https://gitlab.corp",
    "PORCHBOT_GITLAB_CORP_TOKEN": "glpat-corp",
    "PORCHBOT_GITLAB_CORP_WEBHOOK_SECRETS": "hook",
    "PORCHBOT_GITLAB_CORP_CA": "/etc/corp.pem",
    "PORCHBOT_GITLAB_GITLAB_COM_URL": "https://gitlab.com",
    "PORCHBOT_GITLAB_GITLAB_COM_TOKEN": "glpat-com",
    "PORCHBOT_GITLAB_GITLAB_COM_SIGNING_TOKENS": "whsec_one",
    "PORCHBOT_MASTER_KEY": "4f" * 32,
    "XDG_STATE_HOME": "/var/state",
}


def test_a_gitlab_alone_needs_nothing_of_github() -> None:
    """The short-cut asks for an App all the same; and one that is half set then goes unnoticed."""
    settings = Settings.from_env(ONE)

    assert (settings.github, settings.gitlabs) == (False, (CORP,))
    with pytest.raises(SettingsError) as caught:
        Settings.from_env({**ONE, "PORCHBOT_GITHUB_APP_ID": "7"})
    assert [problem.split(" ")[0] for problem in caught.value.problems] == [
        "PORCHBOT_GITHUB_PRIVATE_KEY_FILE",
        "PORCHBOT_WEBHOOK_SECRETS",
    ]


def test_both_are_served_and_sign_with_their_own_keys() -> None:
    """The short-cut signs records at GitLab with the App's key: whoever has it forges them."""
    settings = Settings.from_env({**LEAST, **ONE})

    assert (settings.github, settings.gitlabs) == (True, (CORP,))
    assert not {*settings.record_keys[:1]} & {*settings.record_keys_at("gitlab")}
    assert settings.record_keys_at("github") == settings.record_keys


def test_several_have_names() -> None:
    one, two = Settings.from_env(SEVERAL).gitlabs

    assert (one.name, one.url, one.ca) == ("corp", "https://gitlab.corp", "/etc/corp.pem")
    assert (two.name, two.url, two.signing_tokens) == (
        "gitlab-com",
        "https://gitlab.com",
        ("whsec_one",),
    )


BAD: dict[str, tuple[dict[str, str], str]] = {
    "no address": (
        {"PORCHBOT_GITLAB_URL": ""},
        "PORCHBOT_GITLAB_URL is not set. Set it to the address of the GitLab, such as"
        " https://gitlab.com.",
    ),
    "no scheme": (
        {"PORCHBOT_GITLAB_URL": "gitlab.corp"},
        "PORCHBOT_GITLAB_URL is 'gitlab.corp'. Give the address of the GitLab, such as"
        " https://gitlab.com.",
    ),
    "no token": (
        {"PORCHBOT_GITLAB_TOKEN": ""},
        "PORCHBOT_GITLAB_TOKEN is not set. Set it to the bot's token at https://gitlab.corp, or"
        " run `porchbot setup gitlab`.",
    ),
    "anybody could wake it": (
        {"PORCHBOT_GITLAB_WEBHOOK_SECRETS": " , "},
        "PORCHBOT_GITLAB_WEBHOOK_SECRETS is not set. Set it to the secret token of the webhooks at"
        " https://gitlab.corp, or run `porchbot setup gitlab`.",
    ),
    "a name of another forge": (
        {**dict.fromkeys(ONE, ""), **SEVERAL, "PORCHBOT_GITLAB_NAMES": "corp,gitlab-com,github"},
        "PORCHBOT_GITLAB_NAMES: an instance cannot be named 'github'. Give up to 31 small"
        " letters, digits and '-', beginning with a letter, and not 'github'.",
    ),
    "names, and one without": (
        {**SEVERAL},
        "PORCHBOT_GITLAB_NAMES and PORCHBOT_GITLAB_TOKEN are both set. Put the name of the"
        " instance into the variable, such as PORCHBOT_GITLAB_CORP_URL.",
    ),
    "twice the same": (
        {
            **dict.fromkeys(ONE, ""),
            **SEVERAL,
            "PORCHBOT_GITLAB_GITLAB_COM_URL": "https://gitlab.corp/",
        },
        "The GitLabs corp and gitlab-com have the same address, https://gitlab.corp. Keep one of"
        " them: two would both serve its projects.",
    ),
}


@pytest.mark.parametrize(("given", "problem"), BAD.values(), ids=BAD)
def test_what_cannot_be_used_is_named(given: dict[str, str], problem: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.from_env({**ONE, "XDG_STATE_HOME": "/var/state", **given})

    assert caught.value.problems[0] == problem


def test_no_secret_is_printed() -> None:
    shown = repr(Settings.from_env(ONE))

    assert "glpat" not in shown
    assert "hook new" not in shown


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    """A secret store with one GitLab."""
    store = open_vault({"PORCHBOT_MASTER_KEY": "4f" * 32}, tmp_path)
    gitlabs.keep(store, CORP)
    return store


def test_what_setup_stored_is_served(vault: Vault, tmp_path: Path) -> None:
    environ = {"PORCHBOT_STATE": str(tmp_path), "PORCHBOT_MASTER_KEY": "4f" * 32}

    (found,) = Settings.from_env(environ).gitlabs

    assert (found.token, found.webhook_secrets, found.stored) == (
        "glpat-corp",
        ("hook new", "hook old"),
        True,
    )


def test_a_stored_token_goes_to_no_other_address(vault: Vault, tmp_path: Path) -> None:
    """The short-cut takes what is missing from the store: a typing error sends the token away."""
    environ = {"PORCHBOT_STATE": str(tmp_path), "PORCHBOT_MASTER_KEY": "4f" * 32}

    with pytest.raises(SettingsError, match="PORCHBOT_GITLAB_TOKEN is not set"):
        Settings.from_env({**environ, "PORCHBOT_GITLAB_URL": "https://gitlab.evil"})


def test_a_token_is_exchanged_once(vault: Vault) -> None:
    """The short-cut hands on the token that the process knows: GitLab then revokes all of them."""
    given: list[str] = []

    def exchange(token: str) -> str:
        given.append(token)
        return f"{token}+"

    assert gitlabs.rotate(vault, "gitlab", exchange) == "glpat-corp+"
    assert gitlabs.rotate(vault, "gitlab", exchange) == "glpat-corp++"

    assert given == ["glpat-corp", "glpat-corp+"]
    assert [each.token for each in gitlabs.stored(vault)] == ["glpat-corp++"]


def test_an_exchange_that_fails_keeps_the_token(vault: Vault) -> None:
    def refuse(token: str) -> str:
        raise ForgeBusyError("exchange its token", f"503 for a token of {len(token)} characters")

    with pytest.raises(ForgeBusyError, match="503 for a token of 10 characters"):
        gitlabs.rotate(vault, "gitlab", refuse)
    with pytest.raises(VaultError, match="it has no GitLab named other"):
        gitlabs.rotate(vault, "other", str)

    assert [each.token for each in gitlabs.stored(vault)] == ["glpat-corp"]
    assert gitlabs.forget(vault, "gitlab")
    assert not gitlabs.forget(vault, "gitlab")


def test_the_store_is_not_locked_while_gitlab_is_asked(vault: Vault) -> None:
    """The short-cut holds the lock of all secrets: a slow GitLab keeps everybody from storing one,
    and one that was stored meanwhile would be overwritten by what was read before."""
    gitlabs.keep(vault, replace(CORP, name="other", token="glpat-other"))

    def exchange(token: str) -> str:
        with vault.file.with_name(f".{vault.file.name}.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        gitlabs.keep(vault, replace(CORP, name="other", token="glpat-newer"))
        return f"{token}+"

    assert gitlabs.rotate(vault, "gitlab", exchange) == "glpat-corp+"

    kept = {each.name: each.token for each in gitlabs.stored(vault)}
    assert kept == {"gitlab": "glpat-corp+", "other": "glpat-newer"}


def test_only_one_exchanges_a_token_at_a_time(vault: Vault) -> None:
    """The short-cut locks nothing: two replicas hand on the same token, and both are dead."""

    def exchange(token: str) -> str:
        file = vault.file.with_name(f".{vault.file.name}.{gitlabs.STORED}.gitlab.lock")
        with file.open("a") as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return f"{token}+"

    assert gitlabs.rotate(vault, "gitlab", exchange) == "glpat-corp+"


def test_a_token_that_setup_stores_meanwhile_is_kept(vault: Vault) -> None:
    """The short-cut writes what it exchanged over the new account's token."""

    def exchange(token: str) -> str:
        gitlabs.keep(vault, replace(CORP, token="glpat-of-setup"))
        return f"{token}+"

    assert gitlabs.rotate(vault, "gitlab", exchange) == "glpat-of-setup"
