"""Deploy keys in rules of branches: whom they let in, and which editions take them by the API."""

from typing import Any

import pytest

from bot.sandbox.records.gitlab import AccessLevel
from tests.bot.sandbox.gitlab.conftest import Hub, refusal

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPSEyMN60sDYMQvGZBoxJFrmmJBJ7LWlbn5WTKBdpFtv"


def _protects(hub: Hub, *, can_push: bool = True) -> Any:
    """A Maintainer adds a key and leaves the main branch to it; the project as they have it."""
    project = hub.project("mia")
    key = project.keys.create({"title": "merges", "key": KEY, "can_push": True})
    wanted = {"merge_access_level": 0, "allowed_to_push": [{"deploy_key_id": key.id}]}
    hub.repo.gitlab.protected_branches.pop("main", None)
    project.protectedbranches.create({"name": "main", **wanted})
    if not can_push:
        key.can_push = False
        key.save()
    return project


def test_a_deploy_key_lets_in_who_added_it_and_nobody_else(hub: Hub) -> None:
    """Short-cuts refused: nobody at all, although GitLab asks for the account; every Maintainer,
    since the entry of a key is shown with their level."""
    project = _protects(hub)
    hub.merge_request()
    mr = hub.settled(1, "olga")

    assert hub.project("olga").branches.get("main").can_push is False
    assert refusal(mr.merge) == (401, "401 Unauthorized")
    assert project.branches.get("main").can_push is True
    project.mergerequests.get(mr.iid).merge()
    assert project.mergerequests.get(mr.iid).state == "merged"


def test_a_deploy_key_that_may_not_push_or_is_gone_lets_nobody_in(hub: Hub) -> None:
    """Short-cuts refused: only the rule counts; who added it stays in when the key is gone."""
    project = _protects(hub, can_push=False)
    assert project.branches.get("main").can_push is False

    (key,) = project.keys.list()
    key.can_push = True
    key.save()
    assert project.branches.get("main").can_push is True
    hub.forge.state.add_member(hub.repo, "mia", "triage")
    assert hub.project("mia").branches.get("main").can_push is False
    hub.forge.state.add_member(hub.repo, "mia", "maintain")
    key.delete()
    assert project.branches.get("main").can_push is False
    assert project.protectedbranches.get("main").push_access_levels == []


@pytest.mark.parametrize(("version", "taken"), [("18.9.4", False), ("18.10.0", True)])
def test_the_api_of_free_takes_deploy_keys_from_18_10_on(
    hub: Hub, version: str, taken: bool
) -> None:
    """The short-cut takes them always: whoever sets a rule by it is not told that it was opened."""
    hub.forge.state.data.gitlab.version = version
    _protects(hub)

    pushes = hub.repo.gitlab.protected_branches["main"].push
    assert [each.deploy_key_id is not None for each in pushes] == [taken]
    assert [each.level for each in pushes] == [None if taken else AccessLevel.MAINTAINER]
