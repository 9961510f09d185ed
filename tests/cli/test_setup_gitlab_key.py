"""`porchbot setup gitlab --merge-by-deploy-key`: on every tier nobody but the bot merges."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from click.testing import CliRunner

from bot.cli.root import main
from bot.forges.gitlab.setting_key import TITLE
from bot.sandbox.api import Exchange
from bot.sandbox.faults.calls import Faults
from bot.sandbox.records.gitlab import AccessLevel, Allowance, DeployKey, ProtectedRef
from tests.bot.sandbox.gitlab.inprocess import client
from tests.cli.test_setup_gitlab import Place, place

__all__ = ["place"]

OPTIONS = ("--project", "acme/deploy", "--merge-by-deploy-key")
WHAT = "the protected branch main of acme/deploy"


def _project(place: Place) -> Any:
    return client(place.forge, place.token).projects.get("acme/deploy")


def _rule(place: Place) -> ProtectedRef:
    return place.repositories[1].gitlab.protected_branches["main"]


def _keys(place: Place) -> list[tuple[str, str, bool]]:
    """How its title begins, owner and right to push of each deploy key of the project."""
    state = place.forge.state
    logins = {user.id: user.login for user in state.data.users.values()}
    enabled = place.repositories[1].gitlab.deploy_keys
    known = state.data.gitlab.deploy_keys
    return [
        (known[n].title.rpartition(" ")[0], logins[known[n].user_id], may)
        for n, may in enabled.items()
    ]


def test_only_the_bots_deploy_key_is_let_in(place: Place) -> None:
    """Short-cuts refused: the owner adds the key, who then merges by it past the bot; the private
    half is kept, or shown."""
    told = place.setup(*OPTIONS)

    assert told.exit_code == 0, told.output
    assert f"Changed: {WHAT}: only the bot's deploy key pushes and merges." in told.output
    bot = place.as_bot()
    bot.auth()
    assert bot.user is not None
    assert _keys(place) == [(TITLE, bot.user.username, True)]
    assert bot.projects.get("acme/deploy").branches.get("main").can_push is True
    assert _project(place).branches.get("main").can_push is False
    rule = _rule(place)
    assert [each.deploy_key_id is not None for each in rule.push] == [True]
    assert [each.level for each in rule.merge] == [AccessLevel.NO_ACCESS]
    assert list(place.repositories[1].gitlab.protected_branches) == ["main"]
    assert "PRIVATE" not in told.output + (place.folder / "state" / "secrets.json").read_text()


def test_again_it_changes_nothing(place: Place) -> None:
    """The short-cut adds a key each time, and unprotects the branch for a moment."""
    place.setup(*OPTIONS)
    rule, keys = _rule(place), _keys(place)
    told = place.setup(*OPTIONS)

    assert f"Kept: {WHAT}, to which only the bot's deploy key pushes and merges." in told.output
    assert (_rule(place), _keys(place)) == (rule, keys)
    assert _rule(place) is rule


def test_a_dry_run_makes_nothing(place: Place) -> None:
    place.setup("--project", "acme/deploy")
    rule = _rule(place)
    told = place.setup(*OPTIONS, "--dry-run")

    assert f"Would have changed: {WHAT}: only the bot's deploy key" in told.output
    assert _rule(place) is rule
    assert _keys(place) == []


def test_a_gitlab_that_takes_no_key_by_its_api_keeps_its_rule(place: Place) -> None:
    """Short-cuts refused: it says that only the bot merges, while GitLab passed over the key and
    lets Maintainers push; the rule is lost on the way, with the keys in it that pages allow."""
    place.forge.state.data.gitlab.version = "18.9.4"
    place.setup("--project", "acme/deploy")
    theirs = Allowance(id=5, deploy_key_id=77)
    _rule(place).push += (theirs,)
    place.forge.state.data.gitlab.deploy_keys[77] = _a_key(place, 77)
    place.repositories[1].gitlab.deploy_keys[77] = True
    before = _rule(place)

    told = place.setup(*OPTIONS)

    assert told.exit_code == 0, told.output
    assert f"Left: {WHAT} as it was. By its API this GitLab takes no deploy key" in told.output
    assert _rule(place) is before
    assert theirs in before.push
    assert list(place.repositories[1].gitlab.protected_branches) == ["main"]

    # Somebody sets the rule by hand, as they were told.
    own = next(n for n in place.repositories[1].gitlab.deploy_keys if n != 77)
    title = place.forge.state.data.gitlab.deploy_keys[own].title
    assert title.startswith(f"{TITLE} ")
    assert f"let the deploy key {title!r} push and merge" in told.output
    before.push, before.merge = (Allowance(id=6, deploy_key_id=own),), ()
    assert f"Kept: {WHAT}" in place.setup(*OPTIONS).output


def _a_key(place: Place, number: int) -> DeployKey:
    state = place.forge.state
    return DeployKey(
        id=number,
        title="ci",
        key="ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPSEyMN60sDYMQvGZBoxJFrmmJBJ7LWlbn5WTKBdpFtv",
        user_id=state.user("owner").id,
        created_at=state.now(),
    )


def _disown(place: Place, exchange: Exchange) -> None:
    """Have GitLab let keys in, and not their owners."""
    if exchange.method == "POST" and exchange.path.endswith("/deploy_keys"):
        for key in place.forge.state.data.gitlab.deploy_keys.values():
            key.user_id = 0


def test_where_the_key_does_not_let_the_bot_in_the_rule_is_put_back(place: Place) -> None:
    """The short-cut believes the rule: nobody could merge any more, the bot neither."""
    place.setup("--project", "acme/deploy")
    _rule(place).allow_force_push = True
    before = _rule(place)

    place.forge.observers.append(partial(_disown, place))
    told = place.setup(*OPTIONS)

    assert told.exit_code == 0, told.output
    assert f"Left: {WHAT} as it was. This GitLab lets a deploy key in by SSH alone" in told.output
    after = _rule(place)
    assert [each.level for each in after.push] == [each.level for each in before.push]
    assert [each.level for each in after.merge] == [each.level for each in before.merge]
    assert after.allow_force_push
    assert _keys(place) == []


def test_a_run_that_breaks_off_leaves_no_branch_open(place: Place) -> None:
    """The short-cut unprotects the branch, is refused, and ends."""
    place.setup("--project", "acme/deploy")
    faults: Faults = place.forge.faults
    # The first is the rule that is tried, the second the branch's.
    faults.fail("POST /projects/{id}/protected_branches", 500, nth=2)
    told = place.setup(*OPTIONS)

    assert told.exit_code == 1
    assert [each.level for each in _rule(place).push] == [AccessLevel.MAINTAINER]
    assert list(place.repositories[1].gitlab.protected_branches) == ["main"]
    assert f"Changed: {WHAT}" in place.setup(*OPTIONS).output


@pytest.mark.parametrize("writes", range(1, 6))
def test_a_run_that_is_killed_leaves_nothing_that_the_next_one_does_not_mend(
    place: Place, writes: int
) -> None:
    """The short-cut tries the key in a rule of a new name each time, and forgets that when it dies.

    Whatever is asked for after so many writes fails: what a killed run would not have asked for.
    """
    place.setup("--project", "acme/deploy")
    left = writes

    def kill(exchange: Exchange) -> None:
        nonlocal left
        left -= exchange.method != "GET" and "/projects/" in exchange.path
        if left == 0:
            place.forge.faults.fail("*", 500, times=None)

    place.forge.observers.append(kill)
    assert place.setup(*OPTIONS).exit_code == 1
    place.forge.observers.remove(kill)
    place.forge.faults.clear()
    told = place.setup(*OPTIONS)

    assert "only the bot's deploy key pushes and merges" in told.output, told.output
    assert list(place.repositories[1].gitlab.protected_branches) == ["main"]
    assert [title for title, _, _ in _keys(place)] == [TITLE]


def _pattern(place: Place) -> None:
    maintainers = (Allowance(id=9, level=AccessLevel.MAINTAINER),)
    rules = place.repositories[1].gitlab.protected_branches
    rules["m*"] = ProtectedRef(id=8, name="m*", push=maintainers, merge=maintainers)


def _nobody(place: Place) -> None:
    _pattern(place)
    rule = place.repositories[1].gitlab.protected_branches["m*"]
    rule.push = rule.merge = (Allowance(id=9, level=AccessLevel.NO_ACCESS),)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (_pattern, f"Left: {WHAT}. The rule m* lets others in too: remove it first."),
        (_nobody, f"Changed: {WHAT}"),
    ],
)
def test_another_rule_for_the_branch_counts(
    place: Place, other: Callable[[Place], None], said: str
) -> None:
    """The short-cut looks at one rule: GitLab lets in whom any of them does."""
    place.setup("--project", "acme/deploy")
    other(place)
    told = place.setup(*OPTIONS)

    assert said in told.output, told.output


def test_one_way_to_keep_others_out_is_enough(place: Place) -> None:
    told = place.setup(*OPTIONS, "--only-bot")

    assert told.exit_code == 1
    assert "--only-bot and --merge-by-deploy-key do the same. Give one of them." in told.output


@pytest.mark.parametrize("tier", ["free", "premium"])
def test_a_rule_is_put_back_with_all_that_it_said(place: Place, tier: str) -> None:
    """Short-cuts refused: only roles come back; of two entries one; who may unprotect is lost."""
    place.forge.state.data.gitlab.tier = tier
    place.setup("--project", "acme/deploy")
    place.forge.state.data.gitlab.deploy_keys[77] = _a_key(place, 77)
    place.repositories[1].gitlab.deploy_keys[77] = True
    rule = _rule(place)
    rule.push += (Allowance(id=5, deploy_key_id=77),)
    rule.merge = (Allowance(id=6, level=AccessLevel.NO_ACCESS),)
    if tier == "premium":
        owner = place.forge.state.user("owner").id
        rule.merge += (Allowance(id=7, user_id=owner),)
        rule.unprotect = (Allowance(id=8, level=AccessLevel.ADMIN),)

    place.forge.observers.append(partial(_disown, place))
    told = place.setup(*OPTIONS)

    assert "as it was" in told.output, told.output
    after = _rule(place)
    assert after is not rule
    for act in ("push", "merge", "unprotect"):
        before = [replace(each, id=0) for each in getattr(rule, act)]
        assert sorted(map(repr, before)) == sorted(
            repr(replace(each, id=0)) for each in getattr(after, act)
        )


def test_a_key_from_before_that_lets_nobody_in_is_replaced(place: Place) -> None:
    """The short-cut puts it into the rule that is asked for anew: GitLab knows it no more."""
    place.setup(*OPTIONS)
    for key in place.forge.state.data.gitlab.deploy_keys.values():
        key.user_id = 0
    told = place.setup(*OPTIONS)

    assert f"Changed: {WHAT}" in told.output, told.output
    assert len(_keys(place)) == 1
    assert "Kept: the protected branch main" in place.setup(*OPTIONS).output


@pytest.mark.parametrize("lets_in", [True, False])
def test_a_key_that_the_bot_did_not_make_is_left_and_told_of(place: Place, lets_in: bool) -> None:
    """Short-cuts refused: whatever is titled so is removed; so is the key of another bot, or one
    that somebody added under the title of the bot's; only what is titled otherwise is left."""
    place.setup(*OPTIONS)
    (made,) = place.repositories[1].gitlab.deploy_keys
    keys = place.forge.state.data.gitlab.deploy_keys
    keys[made].user_id = 0  # so that it is replaced
    for number, title in ((77, TITLE), (78, keys[made].title), (79, f"{TITLE} by CI"), (80, "ci")):
        keys[number] = replace(_a_key(place, number), title=title)
        place.repositories[1].gitlab.deploy_keys[number] = True
    if not lets_in:
        place.forge.observers.append(partial(_disown, place))
    told = place.setup(*OPTIONS)

    assert told.exit_code == 0, told.output
    there = place.repositories[1].gitlab.deploy_keys
    assert made not in there
    assert {77, 78, 79, 80} <= set(there)
    assert len(there) == 4 + lets_in
    for number in (77, 78, 79):
        left = f"Left: the deploy key {keys[number].title!r} (number {number}) of acme/deploy"
        assert f"{left}, which this bot did not make as it is." in told.output
    assert "'ci'" not in told.output


def test_the_doctor_tells_whom_the_branch_lets_in(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts refused: it looks at the rule alone, which still names nobody else; it asks with
    the owner's token whether the bot is let in."""
    for name in ("APP_ID", "TOKEN", "PRIVATE_KEY", "PRIVATE_KEY_FILE"):
        monkeypatch.delenv(f"PORCHBOT_GITHUB_{name}", raising=False)

    def told() -> str:
        found = CliRunner().invoke(main, ["doctor", "acme/deploy"]).output
        return "\n".join(line for line in found.splitlines() if "protected branch main" in line)

    place.setup(*OPTIONS)
    assert told() == ""

    rule = _rule(place)
    rule.merge = (Allowance(id=5, level=AccessLevel.MAINTAINER),)
    assert "others may push or merge to it beside the bot's deploy key" in told()
    rule.merge = ()
    (key,) = _project(place).keys.list(get_all=True)
    key.delete()
    assert "nobody may merge to it, the bot neither" in told()
