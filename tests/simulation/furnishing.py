"""What there is before anything happens: people, an App, and a repository with packages."""

from bot.sandbox.records.accounts import App
from bot.sandbox.records.repository import Repository
from tests.simulation.forge import SimulatedForge
from tests.simulation.setting import (
    CONFIG,
    PACKAGES,
    PEOPLE,
    ROLES,
    TEAM,
    RulesText,
    kptfile,
    resource,
)

OWNER = "acme"


def furnish(forge: SimulatedForge, rules: RulesText | None) -> tuple[App, Repository]:
    """Make all that is there at the beginning.

    Args:
        forge: Where.
        rules: Those of the repository; None without a file.
    """
    state = forge.state
    for login in PEOPLE:
        state.add_user(login)
    state.organizations.add(OWNER)
    app = forge.add_app(OWNER)
    files = {}
    for package in PACKAGES:
        files[f"{package}/Kptfile"] = kptfile(package)
        for name in "ab":
            files[f"{package}/{name}.yaml"] = resource(name, "v0")
    if rules is not None:
        files[CONFIG] = rules.text
    repo = forge.add_repository(OWNER, "blueprints", files, ROLES)
    state.organizations.add_team(OWNER, TEAM)
    return app, repo
