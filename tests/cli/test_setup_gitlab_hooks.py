"""The secrets of webhooks that `porchbot setup gitlab` sets up: each has its own."""

import pytest

from bot.forges.gitlab import hooks
from tests.cli.test_setup_gitlab import HOOK, Place, place

__all__ = ["place"]


def test_new_secrets_take_the_place_of_the_old_ones(place: Place) -> None:
    """Short-cuts refused: the webhooks keep the secrets that leaked; the store keeps them, so that
    they are still good."""
    place.setup("--group", "acme")
    before = place.stored()
    tokens = [hook.token for r in place.repositories for hook in r.gitlab.hooks.values()]

    told = place.setup("--group", "acme", "--new-secrets")

    after = place.stored()
    assert told.output.count("(its secret).") == 2, told.output
    assert set(after.webhook_secrets).isdisjoint(before.webhook_secrets)
    now = [hook.token for r in place.repositories for hook in r.gitlab.hooks.values()]
    assert set(now).isdisjoint(tokens)
    assert len(set(now)) == 2


def test_secrets_of_a_variable_are_not_made_useless(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut stores new ones and gives them to the webhooks: the bot goes by the variable,
    takes what was made of the secret that leaked, and refuses every webhook."""
    place.setup("--group", "acme")
    before = [hook.token for r in place.repositories for hook in r.gitlab.hooks.values()]
    monkeypatch.setenv("PORCHBOT_GITLAB_WEBHOOK_SECRETS", "of a variable")

    told = place.setup("--group", "acme", "--new-secrets")

    assert told.exit_code == 1
    assert "PORCHBOT_GITLAB_WEBHOOK_SECRETS is set, and the bot uses those secrets" in told.output
    assert before == [hook.token for r in place.repositories for hook in r.gitlab.hooks.values()]


def test_webhooks_from_before_get_secrets_of_their_own(place: Place) -> None:
    """The short-cut leaves a webhook that is there: it has the secret of the whole instance."""
    place.setup("--group", "acme")
    (hook,) = place.repositories[0].gitlab.hooks.values()
    own, hook.url, hook.token = hook.token, HOOK, place.stored().webhook_secrets[0]

    told = place.setup("--group", "acme")

    assert f"Changed: the webhook of acme/blueprints to {HOOK} (its secret)." in told.output
    assert hook.token == own


def test_an_administrator_sets_up_a_system_hook(place: Place) -> None:
    """Short-cuts refused: the secret of a project, which speaks for that alone; every event, of
    which GitLab takes none for a system hook."""
    state = place.forge.state
    state.data.gitlab.admins.add(state.user("owner").id)
    place.setup("--group", "acme", "--system-hook")
    again = place.setup("--group", "acme", "--system-hook")

    (hook,) = state.data.gitlab.system_hooks.values()
    assert hook.token == hooks.of_instance(place.stored()).secrets.token(hooks.INSTANCE)
    assert hook.events == set(hooks.SYSTEM_EVENTS)
    assert f"Kept: the webhook of {place.forge.web_url} to {HOOK}." in again.output
    assert again.exit_code == 0
