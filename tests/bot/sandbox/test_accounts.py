"""Who may do what: tokens of people, JWTs of the App, tokens of installations."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import github
import httpx
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from bot.sandbox.github.routing import routes
from bot.sandbox.records.repository import Pull
from bot.sandbox.rules.permissions import NEEDS, granted
from tests.bot.sandbox.conftest import Clock
from tests.bot.sandbox.world import World

Api = Callable[..., httpx.Response]
REPO = "/repos/owner/catalog"


def test_a_jwt_is_verified(world: World, api: Api) -> None:
    """Fails on a forge that decodes a JWT and does not look at its signature."""
    assert api("GET", "/app", world.jwt()).json()["slug"] == "porchbot"
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    forged = World(
        forge=world.forge,
        repo=world.repo,
        app=world.app,
        private_key=stranger.decode(),
        received=world.received,
        folder=world.folder,
    ).jwt()
    answer = api("GET", "/app", forged)
    assert (answer.status_code, answer.json()["message"]) == (
        401,
        "A JSON web token could not be decoded",
    )


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ({"exp": 1}, "'Expiration time' claim ('exp') must be a numeric value"),
        ({"exp": 99999999999}, "'Expiration time' claim ('exp') is too far in the future"),
        ({"iat": 99999999999}, "'Issued at' claim ('iat') must be an Integer"),
        ({"iss": "12"}, "A JSON web token could not be decoded"),
    ],
)
def test_a_jwt_that_is_not_good(world: World, api: Api, claims: Any, words: str) -> None:
    answer = api("GET", "/app", world.jwt(**claims))
    assert answer.status_code == 401
    assert answer.json()["message"].startswith(words)


def test_the_client_id_is_an_issuer_too(world: World, api: Api) -> None:
    assert api("GET", "/app", world.jwt(iss=world.app.client_id)).status_code == 200


def test_a_jwt_opens_nothing_but_the_apps_own(world: World, api: Api) -> None:
    assert api("GET", REPO, world.jwt()).status_code == 403
    assert api("GET", "/app", world.installation_token()).status_code == 401
    found = api("GET", f"{REPO}/installation", world.jwt()).json()
    assert api("GET", f"/app/installations/{found['id']}", world.jwt()).json() == found
    assert api("GET", "/app/installations", world.jwt()).json() == [found]
    assert api("GET", "/app/installations/1", world.jwt()).status_code == 404


def test_pygithub_gets_itself_a_token(world: World) -> None:
    auth = github.Auth.AppAuth(world.app.id, world.private_key)
    with github.GithubIntegration(auth=auth, base_url=world.forge.api_url) as apps:
        found = apps.get_repo_installation("owner", "catalog")
        token = apps.get_access_token(found.id)
    assert token.token.startswith(f"ghs_{world.app.id}_")
    assert token.token.count(".") == 2
    assert len(token.token) > 100, "since 2026 they are no longer 40 characters"
    seen = github.Github(auth=github.Auth.Token(token.token), base_url=world.forge.api_url)
    assert seen.get_repo("owner/catalog").permissions.push
    assert [r.full_name for r in found.get_repos()] == ["owner/catalog"]


def test_a_token_of_an_installation_ends_by_the_clock(world: World, api: Api, clock: Clock) -> None:
    """Fails on a forge that tells an end and does not keep to it."""
    found = api("GET", f"{REPO}/installation", world.jwt()).json()["id"]
    made = api("POST", f"/app/installations/{found}/access_tokens", world.jwt(), json={}).json()
    expires = datetime.fromisoformat(made["expires_at"])
    assert timedelta(minutes=59) < expires - clock() <= timedelta(hours=1)
    clock.move(minutes=59)
    assert api("GET", REPO, made["token"]).status_code == 200
    clock.move(minutes=1)
    answer = api("GET", REPO, made["token"])
    assert (answer.status_code, answer.json()["message"]) == (401, "Bad credentials")


def test_a_token_can_be_for_less(world: World, api: Api) -> None:
    found = api("GET", f"{REPO}/installation", world.jwt()).json()["id"]
    url = f"/app/installations/{found}/access_tokens"

    def mint(**wish: Any) -> httpx.Response:
        return api("POST", url, world.jwt(), json=wish)

    small = mint(repositories=["catalog"], permissions={"contents": "read"}).json()
    assert small["permissions"] == {"contents": "read", "metadata": "read"}
    assert [r["full_name"] for r in small["repositories"]] == ["owner/catalog"]
    answer = api("GET", f"{REPO}/pulls", small["token"])
    assert (answer.status_code, answer.json()["message"]) == (
        403,
        "Resource not accessible by integration",
    )
    assert answer.headers["x-accepted-github-permissions"] == "pull_requests=read"
    more = mint(permissions={"administration": "read"})
    assert more.json()["message"] == (
        "The permissions requested are not granted to this installation."
    )
    other = world.state.add_repository("owner", "other")
    assert mint(repository_ids=[other.id]).status_code == 422
    assert api("DELETE", "/installation/token", small["token"]).status_code == 204
    assert api("GET", REPO, small["token"]).status_code == 401


def test_a_suspended_installation_gets_nothing(world: World, api: Api) -> None:
    token = world.installation_token()
    installation = world.state.installation_of(world.app, world.repo)
    assert installation is not None
    world.state.suspend(installation)
    assert api("GET", REPO, token).status_code == 403
    url = f"/app/installations/{installation.id}/access_tokens"
    assert api("POST", url, world.jwt(), json={}).status_code == 403
    assert world.hooks()[-1].name == "installation.suspend"
    world.state.suspend(installation, suspended=False)
    assert api("GET", REPO, token).status_code == 200
    world.state.uninstall(installation)
    assert api("GET", REPO, token).status_code == 401
    assert world.hooks()[-1].name == "installation.deleted"
    assert api("POST", url, world.jwt(), json={}).status_code == 404


def test_a_private_repository_is_not_there_for_others(world: World, api: Api) -> None:
    """Fails on a forge that answers 403: that would tell that it is there."""
    secret = world.state.add_repository("owner", "secret", private=True)
    for token in (None, world.token("author"), world.installation_token()):
        answer = api("GET", "/repos/owner/secret", token)
        assert answer.status_code == 404, token
    assert api("GET", "/repos/owner/secret", world.token("owner")).status_code == 200
    world.state.add_member(secret, "author", "read")
    assert api("GET", "/repos/owner/secret", world.token("author")).status_code == 200


@pytest.mark.parametrize(
    ("login", "permission", "role"),
    [
        ("owner", "admin", "admin"),
        ("approver", "write", "maintain"),
        ("author", "write", "write"),
        ("outsider", "read", "read"),
    ],
)
def test_a_role_has_two_names(world: World, login: str, permission: str, role: str) -> None:
    """Fails for those who read `permission`: maintain looks like write there."""
    read = world.bot().get_collaborator_role_name(login)
    assert (world.bot().get_collaborator_permission(login), read) == (permission, role)


def test_who_asks_for_a_role_must_write(world: World, api: Api) -> None:
    url = f"{REPO}/collaborators/author/permission"
    assert api("GET", url, world.token("outsider")).status_code == 403
    assert api("GET", url.replace("author", "nobody"), world.token("owner")).status_code == 404
    world.state.add_member(world.repo, "outsider", "triage")
    body = api("GET", url.replace("author", "outsider"), world.token("owner")).json()
    assert (body["permission"], body["role_name"]) == ("read", "triage")
    seen = world.repository("owner")
    assert {u.login for u in seen.get_collaborators()} == {
        "owner",
        "author",
        "approver",
        "outsider",
    }
    assert seen.has_in_collaborators("author")


def test_every_operation_says_what_it_needs() -> None:
    assert {f"{method} {template}" for method, template in routes()} == NEEDS.keys()


@pytest.mark.parametrize(
    ("method", "path", "body", "permission"),
    [
        ("PUT", "/pulls/1/merge", {}, "contents"),
        ("POST", "/issues/1/comments", {"body": "x"}, "issues"),
        ("POST", "/check-runs", {"name": "x", "head_sha": "0" * 40}, "checks"),
        ("POST", "/git/refs", {"ref": "refs/tags/x", "sha": "0" * 40}, "contents"),
        ("PATCH", "/pulls/1", {"title": "x"}, "pull_requests"),
        ("POST", "/statuses/" + "0" * 40, {"state": "success"}, "statuses"),
    ],
)
@pytest.mark.usefixtures("pull")
def test_an_app_needs_the_permission(
    world: World, api: Api, method: str, path: str, body: Any, permission: str
) -> None:
    token = world.installation_token(metadata="read", contents="read", issues="read")
    answer = api(method, REPO + path, token, json=body)
    assert (answer.status_code, answer.json()["message"]) == (
        403,
        "Resource not accessible by integration",
    )
    assert permission in answer.headers["x-accepted-github-permissions"]


def test_elsewhere_an_installation_reads_what_is_public_and_nothing_else(
    world: World, api: Api
) -> None:
    """Short-cuts refused: it sees its own repositories alone, or whatever anybody may write to."""
    with world.state.lock:
        world.state.add_repository("owner", "open")
        world.state.add_repository("owner", "shut", private=True)
    token = world.installation_token()

    def status(method: str, path: str, **body: Any) -> int:
        return int(api(method, f"/repos/owner/{path}", token, json=body or None).status_code)

    assert status("GET", "open") == status("GET", "open/branches") == 200
    assert status("GET", "shut") == 404
    assert status("POST", "open/git/refs", ref="refs/heads/x", sha="0" * 40) == 403
    assert status("GET", "open/hooks") == 403


def test_either_permission_is_enough_for_a_comment(world: World, pull: Pull) -> None:
    for name in ("issues", "pull_requests"):
        bot = world.bot(**{name: "write"})
        answer = httpx.post(
            f"{world.forge.api_url}{REPO}/issues/1/comments",
            json={"body": name},
            headers={"Authorization": f"token {world.installation_token(**{name: 'write'})}"},
            timeout=60,
        )
        assert answer.status_code == 201
        assert bot.full_name == "owner/catalog"
    assert [c.user.login for c in pull.comments] == ["porchbot[bot]"] * 2


def test_alternatives_and_conjunctions_of_permissions() -> None:
    assert granted({"issues": "write"}, "issues=read; pull_requests=read")
    assert not granted({"contents": "write"}, "contents=write,pull_requests=write")
    assert granted({"a": "admin"}, "a=write")
    assert not granted({"a": "read"}, "a=write")


def test_wrong_tokens(world: World, api: Api) -> None:
    answer = api("GET", "/user", "ghp_wrong")
    assert (answer.status_code, answer.json()["message"]) == (401, "Bad credentials")
    assert api("GET", "/user").json()["message"] == "Requires authentication"
    assert api("GET", "/user", world.installation_token()).status_code == 403
    assert api("GET", "/user", world.token("author")).json()["login"] == "author"
    assert api("GET", "/users/porchbot%5Bbot%5D").json()["type"] == "Bot"
    assert api("GET", "/apps/porchbot").json()["id"] == world.app.id
    assert api("GET", "/apps/nobody").status_code == 404


def test_an_address_belongs_to_the_login_before_its_at(world: World) -> None:
    state = world.state
    author = state.user("author")
    assert state.account_of("author@anywhere.example") is author
    assert state.account_of(author.email) is author
    bot = state.app_user(world.app)
    assert state.account_of(bot.email) is bot
    assert state.account_of("someone@anywhere.example") is None
