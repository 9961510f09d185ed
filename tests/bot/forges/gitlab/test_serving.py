"""Which projects are served of those that make the bot a member."""

import pytest

from bot.forges.gitlab.forge import GitLab
from bot.forges.gitlab.forges import GitLabForges
from bot.forges.gitlab.serving import Served
from bot.forges.gitlab.user import GitLabUser
from bot.forges.port import ForgeMissingError
from lifecycle.identity import RepositoryId
from tests.bot.forges.gitlab.test_forges import project
from tests.bot.forges.gitlab.wire import URL, Wire
from tests.in_process import session

ME = {"id": 99, "username": "porchbot", "created_at": "2026-01-02T00:00:00.000Z"}
LEVEL = {"permissions": {"project_access": {"access_level": 40}, "group_access": None}}


def forges_of(wire: Wire, *names: str) -> GitLabForges:
    user = GitLabUser("gitlab", URL, lambda: "t", session=lambda: session(wire.answer))
    return GitLabForges(user, None, names, project=GitLab)


@pytest.mark.parametrize(
    ("path", "served"),
    [
        ("acme/net", True),
        ("ACME/sub/net", True),
        ("acme", True),
        ("acme-2/net", False),
        ("other/acme/net", False),
        ("team/one", True),
        ("team/one-more", False),
        ("team", False),
    ],
)
def test_a_name_means_a_project_or_all_below_a_group(path: str, served: bool) -> None:
    """The short-cut compares beginnings: `acme-2` is anybody's."""
    assert Served(["Acme/", "team/one"]).has(path) is served
    assert Served().has(path)


async def test_a_project_that_nobody_named_is_not_served(wire_of_two: Wire) -> None:
    """The short-cut filters the list alone: a webhook of the other project still has it looked at.
    Anybody may make the bot a member, and its functions run by that."""
    forges = forges_of(wire_of_two, "acme")

    assert [each.full_name for each in await forges.repositories_of(99)] == ["acme/net"]
    assert await forges.is_installed(RepositoryId("gitlab", 7))
    assert not await forges.is_installed(RepositoryId("gitlab", 8))
    with pytest.raises(ForgeMissingError, match=r"eve/x is not among those that PORCHBOT_GITLAB_P"):
        await forges.repository_by_id(RepositoryId("gitlab", 8), 99)


async def test_operators_are_told_what_is_left_out_and_what_is_not(wire_of_two: Wire) -> None:
    """The short-cut leaves it silent: nobody knows why a project is not served, or that all are."""
    some = [each async for each in _drift(forges_of(wire_of_two, "acme"))]
    every = [each async for each in _drift(forges_of(wire_of_two))]

    assert some == [("not eve/x, where the bot is a member", False)]
    assert every == [("every project that makes the bot a member, and anybody's may", False)]


async def _drift(forges: GitLabForges):  # type: ignore[no-untyped-def] # pairs
    for each in await forges.drift():
        if each.place == "Which projects of gitlab are served":
            yield each.found, each.harmful


@pytest.fixture
def wire_of_two() -> Wire:
    wire = Wire()
    wire.has("GET /user", ME)
    wire.has("GET /version", {"version": "18.5.0"})
    wire.has("GET /personal_access_tokens/self", {"scopes": ["api"], "expires_at": None})
    both = [project(7, "acme/net", **LEVEL), project(8, "eve/x", **LEVEL)]
    wire.has("GET /projects", both)
    for each in both:
        wire.has(f"GET /projects/{each['id']}", each)
    return wire
