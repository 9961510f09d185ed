"""`porchbot setup gitlab` against the sandbox forge: made once, said, and no token kept."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import gitlab
import pytest
from click.testing import CliRunner, Result

from bot import gitlabs
from bot.cli.root import main
from bot.forges.gitlab import hooks
from bot.forges.gitlab.hooks import PROJECT, HookOwner
from bot.gitlabs import GitLabInstance
from bot.sandbox.records.gitlab import AccessLevel
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules.context import FileChange
from bot.sandbox.serve import SandboxForge
from bot.vault import open_vault
from tests.bot.sandbox.gitlab.inprocess import client
from tests.fnrunner.wire.test_tls import Authority

BOT = "https://bot.example"
HOOK = f"{BOT}/webhooks/gitlab/gitlab"


class Place:
    """A forge with a group of two projects, and who sets the bot up there."""

    def __init__(self, folder: Path, forge: SandboxForge, environ: pytest.MonkeyPatch) -> None:
        self.forge = forge
        self.folder = folder
        state = forge.state
        state.add_user("owner")
        state.organizations.add("acme", admins=("owner",))
        self.repositories = [self._repository(name) for name in ("blueprints", "deploy")]
        self.token = forge.token("owner")
        environ.setenv("PORCHBOT_STATE", str(folder / "state"))
        environ.setenv("PORCHBOT_OWNER_TOKEN", self.token)

    def _repository(self, name: str) -> Repository:
        state = self.forge.state
        repository = state.add_repository("acme", name)
        change = FileChange(path="README.md", content=b"Hello\n")
        with state.lock:
            state.commit_files(repository, "main", [change], "Begin", actor=state.user("owner"))
        return repository

    def setup(self, *options: str) -> Result:
        """Run the command."""
        return self.invoke("--url", BOT, *options)

    def invoke(self, *options: str) -> Result:
        """Run the command, without the bot's address."""
        command = ["setup", "gitlab", "--gitlab", self.forge.web_url, *options]
        return CliRunner().invoke(main, command)

    def stored(self) -> GitLabInstance:
        """What the secret store has."""
        (found,) = gitlabs.stored(open_vault({}, self.folder / "state"))
        return found

    def keeps_nothing(self) -> bool:
        """Whether the secret store has no instance, and no token is being made for one."""
        if not (self.folder / "state" / "secrets.json").exists():
            return True
        vault = open_vault({}, self.folder / "state")
        return not gitlabs.stored(vault) and not gitlabs.Making(vault, gitlabs.FIRST).marked

    def as_bot(self) -> gitlab.Gitlab:
        """python-gitlab with the token that the bot got."""
        return client(self.forge, self.stored().token)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    for name in ("PORCHBOT_MASTER_KEY", "PORCHBOT_SECRETS_STORE", "PORCHBOT_BOT_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with SandboxForge(tmp_path / "forge", dialect="gitlab") as forge:
        yield Place(tmp_path, forge, monkeypatch)


def test_a_group_is_set_up_with_an_account_of_the_bots_own(place: Place) -> None:
    """The short-cut keeps the owner's token as the bot's: it is everything the owner is."""
    told = place.setup("--group", "acme")

    assert told.exit_code == 0, told.output
    bot = place.as_bot()
    bot.auth()
    assert bot.user is not None
    assert bot.user.username == "porchbot"
    for repository in place.repositories:
        project = bot.projects.get(repository.id)
        assert project.permissions["group_access"] or project.permissions["project_access"]
        (hook,) = project.hooks.list()
        (kept,) = repository.gitlab.hooks.values()
        wanted = hooks.of_instance(place.stored()).settings(HookOwner(PROJECT, repository.id))
        assert (hook.url, hook.note_events) == (wanted["url"], True)
        assert (kept.token, kept.signing_token) == (wanted["token"], wanted["signing_token"])
        assert hook.url.partition("?")[0] == HOOK
        (tags,) = project.protectedtags.list()
        assert (tags.name, tags.create_access_levels[0]["access_level"]) == ("*/v*", 40)
    text = (place.folder / "state" / "secrets.json").read_text()
    for secret in (place.token, *place.stored().secrets):
        assert secret not in told.output
        assert secret not in text
    assert place.token not in place.stored().secrets


def test_again_it_changes_nothing(place: Place) -> None:
    """The short-cut makes a second webhook and a second token: each event then comes twice."""
    place.setup("--group", "acme")
    before, tokens = place.stored(), dict(place.forge.state.data.gitlab.tokens)

    told = place.setup("--group", "acme")

    assert told.exit_code == 0, told.output
    assert place.stored() == before
    assert place.forge.state.data.gitlab.tokens == tokens
    assert "Created" not in told.output
    assert "Changed" not in told.output
    assert told.output.count("Kept: the webhook of acme/") == 2


def test_what_was_taken_away_is_made_again(place: Place) -> None:
    place.setup("--group", "acme")
    blueprints, _ = place.repositories
    (hook,) = blueprints.gitlab.hooks.values()
    hook.events.discard("note_events")
    blueprints.gitlab.protected_tags.clear()

    told = place.setup("--group", "acme")

    assert f"Changed: the webhook of acme/blueprints to {HOOK} (note_events)." in told.output
    assert "Created: the protected tags */v* of acme/blueprints" in told.output
    assert "note_events" in hook.events


def test_a_dry_run_makes_nothing(place: Place) -> None:
    """The short-cut asks the same requests and forgets one: an account is there all the same."""
    tokens = dict(place.forge.state.data.gitlab.tokens)

    told = place.setup("--group", "acme", "--dry-run")

    assert told.exit_code == 0, told.output
    assert f"Would have created: the webhook of acme/blueprints to {HOOK}." in told.output
    assert place.forge.state.data.gitlab.tokens == tokens
    assert not place.forge.state.data.gitlab.service_accounts
    assert not any(each.gitlab.hooks for each in place.repositories)
    assert not (place.folder / "state" / "secrets.json").exists()


def test_a_project_of_nobodys_group_gets_a_token_of_its_own(place: Place) -> None:
    """Nobody but an administrator makes service accounts outside groups."""
    told = place.setup("--project", "acme/deploy")

    assert told.exit_code == 0, told.output
    assert "which reaches acme/deploy only." in told.output
    _, deploy = place.repositories
    assert [each.name for each in place.as_bot().projects.get(deploy.id).hooks.list()] == [None]
    assert (
        place.forge.state.member_role(deploy, place.forge.state.user(_login(place)))
        == AccessLevel.MAINTAINER.role
    )


def _login(place: Place) -> str:
    bot = place.as_bot()
    bot.auth()
    assert bot.user is not None
    return str(bot.user.username)


REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "nothing named": (
        (),
        "Nothing to set up. Name a --group or a --project by its full path.",
    ),
    "no such project": (
        ("--project", "acme/nothing"),
        "There is no project acme/nothing, or your token does not see it. Give its full path, as"
        " in its address.",
    ),
    "a name that is GitHub's": (
        ("--project", "acme/deploy", "--name", "github"),
        "An instance cannot be named 'github'. Give up to 31 small letters, digits and '-',"
        " beginning with a letter, and not 'github'.",
    ),
    "an address that is none": (
        ("--project", "acme/deploy", "--gitlab", "gitlab.corp"),
        "--gitlab is 'gitlab.corp'. Give an address without a user, such as https://gitlab.example.",
    ),
    "an address on which others listen": (
        ("--project", "acme/deploy", "--gitlab", "http://gitlab.corp"),
        "--gitlab is 'http://gitlab.corp', which is not encrypted: anyone on the network"
        " path could read your token and the bot's. Use https: https://gitlab.corp.",
    ),
    "an address of the bot on which others listen": (
        ("--project", "acme/deploy", "--url", "http://bot.corp:8000"),
        "--url is 'http://bot.corp:8000', which is not encrypted: GitLab would send the secrets of"
        " its webhooks to it for anyone on the network path to read. Put the bot behind https, and"
        " give https://bot.corp:8000.",
    ),
    "two projects and no account": (
        ("--project", "acme/deploy", "--project", "acme/blueprints"),
        "You may not create a service account here. Either name one --group that you own, or one"
        " --project; or make an account for the bot, and run this with its token in"
        " PORCHBOT_BOT_TOKEN.",
    ),
}


@pytest.mark.parametrize(("options", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_done_is_said(place: Place, options: tuple[str, ...], said: str) -> None:
    told = place.setup(*options)

    assert told.exit_code == 1
    assert said in " ".join(told.output.split())
    assert not (place.folder / "state" / "secrets.json").exists()


def test_a_token_that_is_none_is_said_without_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PORCHBOT_OWNER_TOKEN", "glpat-mistyped")

    told = place.setup("--group", "acme")

    assert told.exit_code == 1
    assert "401 Unauthorized" in told.output
    assert "glpat-mistyped" not in told.output


def test_a_name_stays_with_its_instance(place: Place) -> None:
    """The short-cut overwrites: the first GitLab is then served by nobody, its token is lost."""
    place.setup("--group", "acme")
    before = place.stored()
    other = ["setup", "gitlab", "--gitlab", "http://127.0.0.1:1", "--url", BOT, "--group", "acme"]

    told = CliRunner().invoke(main, other)

    assert told.exit_code == 1
    assert f"gitlab is the GitLab at {place.forge.web_url}. Give this one another --name." in (
        told.output
    )
    assert place.stored() == before


def test_it_can_be_forgotten(place: Place) -> None:
    place.setup("--group", "acme")

    assert place.setup("--forget").output.startswith("Forgot gitlab. Restart the bot")
    assert "has no GitLab named gitlab" in place.setup("--forget").output
    assert gitlabs.stored(open_vault({}, place.folder / "state")) == ()


def test_what_was_set_up_is_what_is_served(place: Place) -> None:
    """The short-cut serves whatever makes the account a member: on gitlab.com anybody may."""
    told = place.setup("--project", "acme/deploy", "--name", "gitlab")
    more = place.setup("--group", "acme")

    assert "Served: acme/deploy, and no other project." in told.output
    assert "Served: acme/deploy, acme, and no other project." in more.output
    assert place.stored().projects == ("acme/deploy", "acme")


def test_a_group_with_premium_has_one_webhook(place: Place) -> None:
    """Short-cuts refused: a webhook of each project beside it, so that all comes twice; none for a
    project that is made later."""
    place.forge.state.data.gitlab.tier = "premium"
    owner = client(place.forge, place.token)

    told = place.setup("--group", "acme")
    again = place.setup("--group", "acme")

    there = owner.groups.get("acme").hooks.list(get_all=True)
    assert [each.url.partition("?")[0] for each in there] == [HOOK], told.output
    assert place.stored().group_hooks == ("acme",)
    assert all(owner.projects.get(r.id).hooks.list(get_all=True) == [] for r in place.repositories)
    assert f"Created: the webhook of acme to {HOOK}." in told.output
    assert f"Kept: the webhook of acme to {HOOK}." in again.output


@pytest.mark.parametrize("tier", ["free", "premium"])
def test_only_the_bot_merges_where_that_is_wanted_and_can_be(place: Place, tier: str) -> None:
    """Short-cuts refused: a branch left unprotected where a rule cannot name people; the promise
    that only the bot merges where Maintainers may, too."""
    place.forge.state.data.gitlab.tier = tier
    options = ("--project", "acme/deploy", "--only-bot")
    dry = place.setup(*options, "--dry-run")
    told = place.setup(*options)
    again = place.setup(*options)

    project = client(place.forge, place.token).projects.get("acme/deploy")
    rule = project.protectedbranches.get("main")
    bot = place.as_bot()
    bot.auth()
    assert bot.user is not None
    alone = [each.get("user_id") for each in rule.merge_access_levels + rule.push_access_levels]
    if tier == "premium":
        assert alone == [bot.user.id] * 2
        assert (
            "Kept: the protected branch main of acme/deploy, to which only the bot" in again.output
        )
    else:
        levels = rule.merge_access_levels + rule.push_access_levels
        assert [each["access_level"] for each in levels] == [40, 40]
        assert "Naming one account there needs Premium" in told.output
    assert dry.exit_code == told.exit_code == again.exit_code == 0, told.output


def test_the_doctor_mends_a_project_of_gitlab(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts refused: the command asks GitHub alone; it says "fixed" and asks nobody; it mends
    with the bot's token what the bot may not."""
    for name in ("APP_ID", "TOKEN", "PRIVATE_KEY", "PRIVATE_KEY_FILE"):
        monkeypatch.delenv(f"PORCHBOT_GITHUB_{name}", raising=False)
    place.setup("--group", "acme")
    project = client(place.forge, place.token).projects.get("acme/deploy")
    project.protectedbranches.delete("main")
    project.protectedtags.delete("*/v*")
    (hook,) = project.hooks.list(get_all=True)
    hook.note_events = False
    hook.save()
    monkeypatch.delenv("PORCHBOT_OWNER_TOKEN")
    ill = CliRunner().invoke(main, ["doctor", "acme/deploy"])
    monkeypatch.setenv("PORCHBOT_OWNER_TOKEN", place.token)
    fixed = CliRunner().invoke(main, ["doctor", "--fix", "acme/deploy"])
    well = CliRunner().invoke(main, ["doctor", "acme/deploy"])

    assert (ill.exit_code, well.exit_code) == (1, 0), ill.output + fixed.output + well.output
    assert "set otherwise: note_events" in ill.output
    assert fixed.output.count("fixed: ") == 5, fixed.output
    assert well.output.splitlines()[-1] == "No problems found."
    assert "wrong: " not in well.output
    (hook,) = project.hooks.list(get_all=True)
    assert hook.note_events
    levels = project.protectedbranches.get("main").merge_access_levels
    assert [each["access_level"] for each in levels] == [40]
    assert (
        client(place.forge, place.token)
        .projects.get("acme/deploy")
        .only_allow_merge_if_pipeline_succeeds
    )


def test_the_doctor_tells_of_the_instance(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The short-cut looks at GitHub alone: a token that ends tomorrow is told nowhere."""
    for name in ("APP_ID", "TOKEN", "PRIVATE_KEY", "PRIVATE_KEY_FILE"):
        monkeypatch.delenv(f"PORCHBOT_GITHUB_{name}", raising=False)
    place.setup("--group", "acme")

    well = CliRunner().invoke(main, ["doctor"])
    tokens = place.forge.state.data.gitlab.tokens
    token = tokens[place.stored().token]
    token.expires_at = place.forge.state.now().date() + timedelta(days=3)
    ill = CliRunner().invoke(main, ["doctor", "acme/blueprints"])

    assert (well.exit_code, well.output.splitlines()[-1]) == (0, "No problems found.")
    assert "hint: The GitLab gitlab: version 18.10.0, without approval rules" in well.output
    assert (ill.exit_code, ill.output.splitlines()[-1]) == (1, "1 problem found.")
    assert "wrong: The token for gitlab: ends on" in ill.output


def test_a_wrong_address_or_token_is_said_with_what_to_do(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut passes on what the library says: "ConnectionError. It is tried again."."""
    url = place.forge.web_url
    wrong = {
        ("--gitlab", f"{url}/acme"): f"{url}/acme does not answer as a GitLab does (404). Give",
        ("--gitlab", "http://127.0.0.1:1"): "http://127.0.0.1:1 does not answer (ConnectionError).",
        ("--ca", "/nonexistent.pem"): "--ca: cannot read /nonexistent.pem. Name a file",
        ("--group", "acmee"): "There is no group acmee, or your token does not see it.",
    }
    for options, words in wrong.items():
        told = place.setup("--group", "acme", *options)
        assert (told.exit_code, words in told.output) == (1, True), told.output
        assert "tried again" not in told.output
    monkeypatch.setenv("PORCHBOT_OWNER_TOKEN", "glpat-wrong")
    told = place.setup("--group", "acme")
    assert f"{url} does not take the owner's token: 401 Unauthorized. Give one" in told.output
    assert place.forge.state.data.gitlab.service_accounts == {}


def test_a_certificate_of_ones_own_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut says that the settings are to name it: there are none yet."""
    authority = Authority(tmp_path, "corp")
    signed = authority.sign("forge")
    tls = (signed.certificate, signed.key)
    with SandboxForge(tmp_path / "forge", dialect="gitlab", tls=tls) as forge:
        there = Place(tmp_path, forge, monkeypatch)
        told = there.setup("--group", "acme")
        assert f"The certificate of {forge.web_url} is not trusted. Name the file" in told.output
        trusted = there.setup("--group", "acme", "--ca", str(authority.path))
        assert trusted.exit_code == 0, trusted.output
