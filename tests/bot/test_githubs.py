"""Several GitHubs in the settings: names, variables of their own, and Apps of the secret store."""

from dataclasses import replace
from pathlib import Path

import pytest

from bot import apps
from bot.cli.reaching import github_of
from bot.cli.references import ProposalReference
from bot.forges.github.deliveries import GitHubWebhooks
from bot.forges.port import BotIdentity
from bot.githubs import unusable
from bot.keys import RepositoryKey, Sweep, SweepKey, at_forge
from bot.settings import Settings, SettingsError
from bot.vault import open_vault
from lifecycle.identity import RepositoryId
from tests.bot.test_settings import APP, LEAST, PEM

CORP = {
    **LEAST,
    "PORCHBOT_GITHUB_NAMES": "corp",
    "PORCHBOT_GITHUB_CORP_APP_ID": "9",
    "PORCHBOT_GITHUB_CORP_PRIVATE_KEY": PEM.replace("MIIE", "MIIC"),
    "PORCHBOT_GITHUB_CORP_API_URL": "https://github.corp/api/v3/",
    "PORCHBOT_GITHUB_CORP_WEBHOOK_SECRETS": "corp secret",
    "PORCHBOT_GITHUB_CORP_WEBHOOK_URL": "https://bot.corp/webhooks/github/corp",
    "PORCHBOT_GITHUB_CORP_CA": "/etc/corp.pem",
    "PORCHBOT_GITHUB_CORP_FORMER_ACCOUNTS": "robot:583231",
}


def test_each_github_has_its_own_and_nothing_of_the_other() -> None:
    """Short-cuts take the first one's secrets for all: whoever knows one wakes every other."""
    settings = Settings.from_env(CORP)
    (corp,) = settings.further_githubs
    there = settings.at(corp)

    assert (settings.github_app_id, settings.webhook_secrets) == ("Iv1.abc", (b"first secret",))
    assert (there.github_app_id, there.webhook_secrets) == ("9", (b"corp secret",))
    assert there.github_api_url == "https://github.corp/api/v3"
    assert there.former_accounts == (("robot", 583231),)
    assert there.webhook_url == "https://bot.corp/webhooks/github/corp"
    assert settings.authorities == ("", "/etc/corp.pem")
    assert settings.record_keys_at("corp") == there.record_keys
    assert not {*settings.record_keys_at("corp")} & {*settings.record_keys_at("github")}
    assert (there.workers, there.state) == (settings.workers, settings.state)
    assert "corp secret" not in repr(settings)


def test_an_enterprise_server_alone_needs_nothing_of_github_com() -> None:
    """The short-cut asks for an App of GitHub.com that nobody has."""
    alone = {name: text for name, text in CORP.items() if name not in LEAST}
    settings = Settings.from_env({**alone, "XDG_STATE_HOME": "/var/state"})

    assert not settings.github
    assert [each.name for each in settings.further_githubs] == ["corp"]


def test_an_app_that_setup_stored_under_a_name_is_served_by_it(tmp_path: Path) -> None:
    """The short-cut takes it for an older App of the first GitHub, or asks for variables."""
    environ = {"PORCHBOT_STATE": str(tmp_path), "PORCHBOT_MASTER_KEY": "4f" * 32}
    vault = open_vault(environ, tmp_path)
    apps.keep(vault, replace(APP, id=2, api_url="https://api.github.com"))
    apps.keep(vault, replace(APP, forge="corp"))
    vault.put("webhook-secrets.corp", "one more")

    settings = Settings.from_env(environ)

    assert (settings.github_app_id, settings.older_keys) == ("2", ())
    (corp,) = settings.further_githubs
    assert (corp.name, corp.github_app_id, corp.github_api_url) == (
        "corp",
        "7",
        "https://ghes.corp/api/v3",
    )
    assert corp.webhook_secrets == (b"one more", b"the new secret")


BAD: dict[str, tuple[dict[str, str], str]] = {
    "no key": (
        {"PORCHBOT_GITHUB_CORP_PRIVATE_KEY": ""},
        "PORCHBOT_GITHUB_CORP_PRIVATE_KEY_FILE is not set. Set it to the PEM file that you"
        " downloaded from GitHub.",
    ),
    "no App": (
        {"PORCHBOT_GITHUB_CORP_APP_ID": ""},
        "PORCHBOT_GITHUB_CORP_APP_ID is not set. Set it to the App ID, or run `porchbot setup"
        " --as corp`.",
    ),
    "no secret": (
        {"PORCHBOT_GITHUB_CORP_WEBHOOK_SECRETS": " , "},
        "PORCHBOT_GITHUB_CORP_WEBHOOK_SECRETS is not set. Set it to the App's webhook secret.",
    ),
    "no address": (
        {"PORCHBOT_GITHUB_CORP_API_URL": ""},
        "PORCHBOT_GITHUB_CORP_API_URL is not set. Set it to the address of this GitHub's API, such"
        " as https://github.corp/api/v3.",
    ),
    "a name that is taken": (
        {"PORCHBOT_GITHUB_NAMES": "corp,github"},
        "PORCHBOT_GITHUB_NAMES: a further GitHub cannot be named 'github'. Give up to 31 small"
        " letters, digits and '-', beginning with a letter, and neither 'github', which is the"
        " first one, nor 'gitlab'.",
    ),
    "the name of a GitLab": (
        {
            "PORCHBOT_GITLAB_NAMES": "corp",
            "PORCHBOT_GITLAB_CORP_URL": "https://gitlab.corp",
            "PORCHBOT_GITLAB_CORP_TOKEN": "glpat",
            "PORCHBOT_GITLAB_CORP_WEBHOOK_SECRETS": "x",
            "PORCHBOT_MASTER_KEY": "4f" * 32,
        },
        "PORCHBOT_GITHUB_NAMES: a GitLab is named 'corp' already. Give this GitHub another name.",
    ),
    "twice the same": (
        {"PORCHBOT_GITHUB_CORP_API_URL": "https://api.github.com/"},
        "The GitHubs github and corp have the same address, https://api.github.com. Keep one of"
        " them: two would both serve its repositories.",
    ),
    "twice the same, spelled otherwise": (
        {"PORCHBOT_GITHUB_CORP_API_URL": "http://GitHub.com.:80/"},
        "The GitHubs github and corp have the same address, https://api.github.com. Keep one of"
        " them: two would both serve its repositories.",
    ),
    "an account without a number": (
        {"PORCHBOT_GITHUB_CORP_FORMER_ACCOUNTS": "robot"},
        "PORCHBOT_GITHUB_CORP_FORMER_ACCOUNTS has 'robot'. Write the login and the number of each"
        " account, such as robot:583231; GitHub's API tells the number.",
    ),
}


@pytest.mark.parametrize(("given", "problem"), BAD.values(), ids=BAD)
def test_what_cannot_be_used_is_named_by_its_own_variable(
    given: dict[str, str], problem: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.from_env({**CORP, **given})

    assert caught.value.problems[0] == problem


def test_a_delivery_wakes_the_keys_of_its_own_github() -> None:
    """The short-cut wakes the repository of the same number at the first GitHub."""
    body = b'{"action": "renamed", "repository": {"id": 42, "full_name": "a/b"}}'
    headers = {"x-github-delivery": "1", "x-github-event": "repository"}

    found = GitHubWebhooks([b"x"], forge="corp").read_verified(headers, body)

    assert found.repository_id == RepositoryId("corp", 42)
    assert set(found.wakes) == {
        RepositoryKey(RepositoryId("corp", 42)),
        SweepKey(Sweep.CHANGES, "corp"),
    }
    assert at_forge(SweepKey(Sweep.HEALTH, "github"), "corp") == SweepKey(Sweep.HEALTH, "corp")


def test_an_account_that_an_app_replaces_is_known_by_its_number() -> None:
    """Short-cuts forget it, so that its summaries and records count for nobody; or know it by a
    login, which somebody else can take."""
    me = BotIdentity("porchbot[bot]", "x", accounts=frozenset({("robot", 583231)}))

    assert me.is_us(583231, "renamed", app=False)
    assert not me.is_us(7, "robot", app=False)
    assert me.is_us(0, "porchbot[bot]", app=True)
    assert me.earlier == ["robot"]
    assert unusable("corp", ["other"]) == ""


def test_a_pull_request_is_looked_at_where_its_address_says() -> None:
    """The short-cut refuses an address of a further GitHub, or asks the first one for it."""
    settings = Settings.from_env(CORP)
    alone = {name: text for name, text in CORP.items() if name not in LEAST}
    served = Settings.from_env({**alone, "XDG_STATE_HOME": "/var/state"})

    def name(origin: str, where: Settings = settings) -> str:
        return github_of(ProposalReference(7, "acme/net", origin), where)[1]

    assert name("https://github.corp") == "corp"
    assert name("https://github.com") == "github"
    assert name("https://github.corp:8443") == "github"  # which then says that it is elsewhere
    assert (name(""), name("", served)) == ("github", "corp")
    found, _ = github_of(ProposalReference(7, "acme/net", "https://github.corp"), settings)
    assert found.github_app_id == "9"
