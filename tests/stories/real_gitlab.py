"""The stage with everything that the bot has in operation, at GitLab; see `real`."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bot.forges.gitlab.hooks import HookSecrets, OurHooks
from bot.sandbox.serve import SandboxForge
from tests.ports import free_port
from tests.stories.gitlab_people import NAME, GitLabPerson
from tests.stories.people import Person
from tests.stories.real import RealWorld, beginning, surroundings
from tests.stories.world import CONFIG, ROLES, SECRET, seconds_pass

STATUS_EVENTS = ("Pipeline Hook", "Job Hook")


@contextmanager
def gitlab_world(
    folder: Path, database_url: str, runner: str, *, config: str | None = CONFIG
) -> Iterator[RealWorld]:
    """As `real.world`; the bot is an account with a token, and the project has its webhook."""
    with SandboxForge(folder / "forge", dialect="gitlab") as forge:
        state = forge.state
        for login in (*ROLES, "acme", NAME):
            state.add_user(login)
        repository = state.add_repository("acme", "blueprints", beginning(config))
        repository.has_issues = False
        for login, role in {**ROLES, NAME: "maintain"}.items():
            state.add_member(repository, login, role)
        port = free_port()
        people: Mapping[str, Person] = {
            login: GitLabPerson(
                login,
                forge.token(login),
                forge.web_url,
                forge.clone_url("acme", "blueprints"),
                "acme/blueprints",
                folder / "people" / login,
                lambda: seconds_pass(forge, 1),
            )
            for login in ROLES
        }
        owner = people["owner"]
        assert isinstance(owner, GitLabPerson)
        url = f"http://127.0.0.1:{port}/webhooks/gitlab"
        webhook = OurHooks(url, HookSecrets("gitlab", (SECRET.encode(),)))
        owner.makes_webhook(webhook)
        environment = surroundings(folder, database_url, runner, port) | {
            "PORCHBOT_MASTER_KEY": "ab" * 32,
            "PORCHBOT_GITLAB_URL": forge.web_url,
            "PORCHBOT_GITLAB_TOKEN": forge.token(NAME),
            "PORCHBOT_GITLAB_WEBHOOK_SECRETS": SECRET,
            # So that one that GitLab turned off while no bot was there is tried at once.
            "PORCHBOT_GITLAB_WEBHOOK_URL": url,
        }
        made = RealWorld(forge, repository, None, people, environment, port, name="gitlab")
        made.caller, made.status_events, made.webhook = NAME, STATUS_EVENTS, webhook
        made.statuses_are_told = False
        made.mark, made.pushes_to_forks_are_told, made.checks_hold_text = "!", True, False
        made.releases_are_drafts = False
        try:
            yield made
        finally:
            made.stop_bot()
