"""`porchbot setup gitlab` with what people mistype: said with what to do, and nothing stored."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from bot import gitlabs
from bot.cli.root import main
from bot.gitlabs import Marked
from bot.sandbox.records.gitlab import AccessLevel
from bot.vault import open_vault
from tests.bot.sandbox.gitlab.inprocess import client
from tests.cli.test_setup_gitlab import Place, place

__all__ = ["place"]  # a fixture


def _bot_account(place: Place) -> str:
    """The token of an account that an administrator made for the bot, a Maintainer of the group."""
    place.forge.state.add_user("robot")
    group = client(place.forge, place.token).groups.get("acme")
    group.members.create(
        {"user_id": place.forge.state.user("robot").id, "access_level": AccessLevel.MAINTAINER}
    )
    return place.forge.token("robot")


def _other(place: Place) -> str:
    """The token of somebody who owns nothing."""
    place.forge.state.add_user("dev")
    for repository in place.repositories:
        place.forge.state.add_member(repository, "dev", "write")
    return place.forge.token("dev")


MISTYPED: dict[str, tuple[dict[str, str | Callable[[Place], str]], tuple[str, ...], str]] = {
    "a token of two lines": (
        {"PORCHBOT_OWNER_TOKEN": "glpat-one\nglpat-two"},
        ("--group", "acme"),
        "The token for PORCHBOT_OWNER_TOKEN contains white space or characters that no token has."
        " Copy it again.",
    ),
    "a bot's token of two words": (
        {"PORCHBOT_BOT_TOKEN": "glpat one"},
        ("--group", "acme"),
        "The token for PORCHBOT_BOT_TOKEN contains white space or characters that no token has."
        " Copy it again.",
    ),
    "a bot's token that GitLab does not know": (
        {"PORCHBOT_BOT_TOKEN": "glpat-mistyped"},
        ("--project", "acme/deploy"),
        "does not take the token in PORCHBOT_BOT_TOKEN: 401 Unauthorized. Give one that has not"
        " expired and has the scopes api and write_repository.",
    ),
    "the owner's token as the bot's": (
        {"PORCHBOT_BOT_TOKEN": lambda place: place.token},
        ("--project", "acme/deploy"),
        "The token in PORCHBOT_BOT_TOKEN belongs to owner, who sets the bot up. The bot needs an"
        " account of its own: create one, and give its token.",
    ),
    "a token of nobody who owns it": (
        {"PORCHBOT_OWNER_TOKEN": _other},
        ("--project", "acme/deploy"),
        "GitLab refused to create its token: 403 Forbidden. Give the token of an owner of"
        " acme/deploy, with the scope api.",
    ),
    "no path": ({}, ("--project", ""), "--project is ''. Give a full path such as acme/nets."),
    "a path of one space": ({}, ("--group", " "), "--group is ' '. Give a full path such as acme"),
    "an address for a path": (
        {},
        ("--project", "https://gitlab.com/acme/deploy"),
        "--project is 'https://gitlab.com/acme/deploy'. Give a full path such as acme/nets.",
    ),
}


@pytest.mark.parametrize(("variables", "options", "said"), MISTYPED.values(), ids=MISTYPED)
def test_what_is_mistyped_is_said(
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str | Callable[[Place], str]],
    options: tuple[str, ...],
    said: str,
) -> None:
    """Short-cuts refused: what the library raises is called a bug of porchbot; an account that was
    not asked for takes the place of the one whose token is wrong."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value if isinstance(value, str) else value(place))

    told = place.setup(*options)

    assert told.exit_code == 1
    assert said in " ".join(told.output.split())
    assert place.keeps_nothing()
    assert not any(each.gitlab.hooks for each in place.repositories)


def test_an_account_that_exists_serves_what_is_named_alone(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut takes a token that is given for an older instance, which serves whatever makes
    the account a member: anybody can."""
    monkeypatch.setenv("PORCHBOT_BOT_TOKEN", _bot_account(place))

    told = place.setup("--group", "acme")

    assert told.exit_code == 0, told.output
    assert "Served: acme, and no other project." in told.output
    assert "Kept: the bot is robot, by the token in PORCHBOT_BOT_TOKEN." in told.output
    assert place.stored().projects == ("acme",)


def test_a_path_may_be_copied_with_its_slashes(place: Place) -> None:
    assert place.setup("--group", "/acme/").exit_code == 0
    assert place.stored().projects == ("acme",)


def test_forgetting_needs_no_address(place: Place) -> None:
    """The short-cut asks for the address of a bot that may be gone."""
    place.setup("--group", "acme")

    assert place.invoke("--forget").output.startswith("Forgot gitlab. Restart the bot")
    assert "Give --url: where GitLab reaches the bot." in place.invoke("--group", "acme").output


def test_only_what_was_changed_is_called_changed(place: Place) -> None:
    """The short-cut says "Changed" before it asks, and takes it back in the next line."""
    told = place.setup("--project", "acme/deploy", "--only-bot")

    assert "only the bot pushes and merges" not in told.output
    assert "Naming one account there needs Premium" in told.output


def _ends_before_it_keeps(*_: object) -> None:
    raise OSError("no space is left")


@pytest.mark.parametrize("options", [("--group", "acme"), ("--project", "acme/deploy")])
def test_a_token_that_could_not_be_kept_is_revoked_by_the_next_run(
    place: Place, monkeypatch: pytest.MonkeyPatch, options: tuple[str, str]
) -> None:
    """Short-cuts refused: it stays at GitLab for a year, and nobody has it; all tokens of that name
    are revoked, another bot's too; the one that is kept by then is."""
    tokens = place.forge.state.data.gitlab.tokens
    place.setup(*options)  # another bot's, which has its store elsewhere
    theirs = place.stored().token
    (place.folder / "state").rename(place.folder / "theirs")
    with monkeypatch.context() as cut:
        cut.setattr("bot.gitlabs.keep", _ends_before_it_keeps)
        assert "no space is left" in place.setup(*options).output
    lost = next(t for t in reversed(tokens.values()) if t.description)

    told = place.setup(*options)

    assert told.exit_code == 0, told.output
    assert "Revoked: a token of the bot that an earlier run could not store." in told.output
    kept = place.stored().token
    assert [tokens[each].revoked for each in (lost.value, theirs, kept)] == [True, False, False]
    again = place.setup(*options)
    assert "Revoked" not in again.output
    assert not tokens[kept].revoked


def test_where_tokens_cannot_be_listed_it_is_said_which_may_be_left(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut says nothing, where an older GitLab lists no tokens of service accounts."""
    with monkeypatch.context() as cut:
        cut.setattr("bot.gitlabs.keep", _ends_before_it_keeps)
        place.setup("--group", "acme")
    route = "GET /groups/{id}/service_accounts/{user_id}/personal_access_tokens"
    place.forge.faults.fail(route, 404, {"message": "404 Not Found"}, times=1)

    told = " ".join(place.setup("--group", "acme").output.split())

    assert "Check: an earlier run ended early, and may have left a token of the bot" in told
    assert "its description is 'Made by porchbot setup, " in told


PLACES = {
    "a project's, by a run for the group": (("--project", "acme/deploy"), ("--group", "acme")),
    "a group's, by a run for a project": (("--group", "acme"), ("--project", "acme/deploy")),
    "the instance's, by a run for a project": (
        ("--project", "acme/deploy", "--project", "acme/blueprints"),
        ("--project", "acme/deploy"),
    ),
}


@pytest.mark.parametrize(("first", "second"), PLACES.values(), ids=PLACES)
def test_a_lost_token_is_found_where_it_was_made(
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
    first: tuple[str, ...],
    second: tuple[str, ...],
) -> None:
    """Short-cuts refused: it is looked for where the next run makes one; among a hundred tokens."""
    state = place.forge.state
    if len(first) > 2:
        state.data.gitlab.admins.add(state.user("owner").id)
    with monkeypatch.context() as cut:
        cut.setattr("bot.gitlabs.keep", _ends_before_it_keeps)
        assert "no space is left" in place.setup(*first).output
    tokens = state.data.gitlab.tokens
    lost = next(t for t in reversed(tokens.values()) if t.description)
    del tokens[lost.value]
    for _ in range(120):
        more = replace(lost, id=state.next_id(), value=f"glpat-{state.next_id()}")
        more.description = "another"
        tokens[more.value] = more
    lost.id = state.next_id()
    tokens[lost.value] = lost

    told = place.setup(*second)

    assert told.exit_code == 0, told.output
    assert "Revoked: a token of the bot that an earlier run could not store." in told.output
    assert tokens[lost.value].revoked
    assert not tokens[place.stored().token].revoked


def test_a_mark_of_an_earlier_version_is_looked_for_where_the_token_is_made(place: Place) -> None:
    """The short-cut does not read it: setting up ends with an error, and the token stays."""
    vault = open_vault({}, place.folder / "state", make=True)
    vault.put(gitlabs.MAKING, json.dumps({gitlabs.FIRST: "Made by porchbot setup, 0123"}))
    assert gitlabs.Making(vault, gitlabs.FIRST).marked == Marked("", "Made by porchbot setup, 0123")

    told = place.setup("--project", "acme/deploy")

    assert told.exit_code == 0, told.output
    assert gitlabs.Making(vault, gitlabs.FIRST).marked is None


TYPED = ("https://[::1", "https://git.corp:x", "https://oauth2:glpat-SECRET@git.corp")
WITH_ADDRESS = {
    "setup gitlab": ("setup", "gitlab", "--url", "https://bot.corp", "--group", "a", "--gitlab"),
    "setup gitlab, the bot": ("setup", "gitlab", "--gitlab", "https://g.corp", "--url"),
    "setup": ("setup", "--url", "https://bot.corp", "--github"),
    "setup, the bot": ("setup", "--url"),
    "setup, its page": ("setup", "--url", "https://bot.corp", "--page"),
}


@pytest.mark.parametrize("address", TYPED)
@pytest.mark.parametrize("command", WITH_ADDRESS)
def test_an_address_that_is_none_is_told_without_what_is_secret_in_it(
    command: str, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts: a password is printed, into the logs of a pipeline; a slip is a bug of ours."""
    monkeypatch.setenv("PORCHBOT_STATE", str(tmp_path / "state"))
    done = CliRunner().invoke(main, [*WITH_ADDRESS[command], address], prog_name="porchbot")

    assert done.exit_code == 1, done.output
    assert "SECRET" not in done.output
    assert "bug of porchbot" not in done.output
    assert "Give " in done.output
