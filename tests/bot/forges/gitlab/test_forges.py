"""An instance of GitLab: who the bot is there, what its token reaches, what it could not bring."""

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from bot.clock import SystemClock
from bot.forges.gitlab.forge import GitLab
from bot.forges.gitlab.forges import GitLabForges
from bot.forges.gitlab.hooks import PROJECT, HookOwner, HookSecrets, OurHooks
from bot.forges.gitlab.serving import Served
from bot.forges.gitlab.token import lacking
from bot.forges.gitlab.user import GitLabUser, TokenAbout
from bot.forges.port import BotIdentity, ForgeMissingError, Installation, Repository
from lifecycle.identity import RepositoryId
from tests.bot.forges.gitlab.wire import URL, Wire
from tests.in_process import session

NOW = datetime(2026, 11, 24, 12, 0, tzinfo=UTC)
ME = {"id": 99, "username": "porchbot", "created_at": "2026-01-02T00:00:00.000Z"}
TO = "https://bot.example/webhooks/gitlab"
OURS = OurHooks(TO, HookSecrets("gitlab", (b"root",)))
HOOK = {"id": 5, **OURS.shown(HookOwner(PROJECT, 7))}


class Stopped(SystemClock):
    def now(self) -> datetime:
        return NOW


def project(number: int, path: str, **more: object) -> dict[str, object]:
    return {
        "id": number,
        "path_with_namespace": path,
        "default_branch": "main",
        "http_url_to_repo": f"{URL}/{path}.git",
        "created_at": "2026-02-03T00:00:00.000Z",
        "last_activity_at": "2026-11-01T00:00:00.000Z",
        "updated_at": "2026-11-02T00:00:00.000Z",
        "archived": False,
        "issues_access_level": "enabled",
        **more,
    }


@pytest.fixture
def wire() -> Wire:
    made = Wire()
    made.has("GET /user", ME)
    made.has("GET /version", {"version": "18.5.0"})
    return made


def forges_of(wire: Wire, name: str = "gitlab") -> GitLabForges:
    def nothing(*_: object) -> object:
        raise AssertionError("no project is asked here")

    user = GitLabUser(name, URL, lambda: "t", clock=Stopped(), session=lambda: session(wire.answer))
    return GitLabForges(user, OURS, project=nothing)  # type: ignore[arg-type] # not called


async def test_who_the_bot_is_is_told_by_the_number(wire: Wire) -> None:
    """Fails when it is asked for at each look."""
    forges = forges_of(wire)

    found = [await forges.identity() for _ in range(2)]

    address = "99-porchbot@users.noreply.gitlab.example"
    assert found == [BotIdentity("porchbot", address, 99)] * 2
    assert wire.asked == ["GET /user"]


async def test_commits_carry_the_address_that_gitlab_links(wire: Wire) -> None:
    wire.has("GET /user", {**ME, "commit_email": "bot@noreply.gitlab.example"})

    assert (await forges_of(wire).identity()).address == "bot@noreply.gitlab.example"


async def test_a_sweep_asks_once_for_each_hundred_projects(wire: Wire) -> None:
    """Fails when each project is asked for by itself, or pages are counted: behind 50,000 projects
    GitLab refuses that."""
    wire.answers = []
    pages = [[project(n, f"acme/p{n}") for n in range(at, at + 100)] for at in range(0, 1_000, 100)]
    for page in pages:
        last = page[-1]["id"]
        link = f'<{URL}/api/v4/projects?id_after={last}&pagination=keyset>; rel="next"'
        wire.gives(200, page, **({"Link": link} if page is not pages[-1] else {}))

    found = await forges_of(wire).repositories_of(99)

    assert len(found) == 1_000
    asked = [each for each in wire.asked if each != "GET /user"]
    assert len(asked) == 10
    assert "membership=true" in asked[0]
    assert "min_access_level=30" in asked[0]
    assert asked[1].endswith("&id_after=99")


async def test_the_newest_project_takes_one_request(wire: Wire) -> None:
    """Short-cuts refused: all projects are listed for it; one that the settings leave out is
    served."""
    wire.has("GET /projects", [project(1_000, "acme/new")])

    assert await forges_of(wire).newest() == RepositoryId("gitlab", 1_000)

    (asked,) = wire.asked
    assert asked.startswith("GET /projects?")
    wanted = ("membership=true", "min_access_level=30", "order_by=id", "sort=desc", "per_page=1")
    assert not [each for each in wanted if each not in asked.partition("?")[2].split("&")]
    left_out = forges_of(wire)
    left_out._serves = Served(("other",))
    assert await left_out.newest() is None
    wire.has("GET /projects", [])
    assert await forges_of(wire).newest() is None


async def test_a_project_as_it_is_listed(wire: Wire) -> None:
    wire.has(
        "GET /projects",
        [project(7, "acme/sub/net"), project(8, "acme/old", archived=True, default_branch=None)],
    )

    found = await forges_of(wire, "gitlab-eu").repositories_of(99)

    assert found == [
        Repository(
            id=RepositoryId("gitlab-eu", 7),
            full_name="acme/sub/net",
            default_branch="main",
            clone_url=f"{URL}/acme/sub/net.git",
            installation=99,
            installed_at=datetime(2026, 2, 3, tzinfo=UTC),
        ),
        Repository(
            id=RepositoryId("gitlab-eu", 8),
            full_name="acme/old",
            default_branch="main",
            clone_url=f"{URL}/acme/old.git",
            installation=99,
            installed_at=datetime(2026, 2, 3, tzinfo=UTC),
            archived=True,
        ),
    ]
    assert (found[0].owner, found[0].path) == ("acme/sub", "forge/acme/sub/net")


async def test_an_activity_of_the_last_hour_tells_nothing(wire: Wire) -> None:
    """Fails when `last_activity_at` is believed: it stands still for an hour, and what is pushed
    meanwhile would be found by no sweep."""
    recent = "2026-11-24T11:30:00.000Z"
    wire.has("GET /projects", [project(7, "a/b"), project(8, "a/c", last_activity_at=recent)])

    old, new = await forges_of(wire).repositories_of(99)

    assert old.changed == "2026-11-01T00:00:00.000Z 2026-11-02T00:00:00.000Z"
    assert new.changed == ""


@pytest.mark.parametrize(
    ("permissions", "expected"),
    [
        ({"project_access": {"access_level": 30}, "group_access": None}, True),
        ({"project_access": None, "group_access": {"access_level": 40}}, True),
        ({"project_access": {"access_level": 20}, "group_access": None}, False),
        ({"project_access": None, "group_access": None}, False),
        (None, False),
    ],
)
async def test_installed_is_where_we_may_push(
    wire: Wire, permissions: object, expected: bool
) -> None:
    """Fails when a public project counts that anybody may read."""
    wire.has("GET /projects/7", project(7, "acme/net", permissions=permissions))

    assert await forges_of(wire).is_installed(RepositoryId("gitlab", 7)) is expected


async def test_a_project_that_is_gone_is_not_installed(wire: Wire) -> None:
    forges = forges_of(wire)

    assert not await forges.is_installed(RepositoryId("gitlab", 404))
    with pytest.raises(ForgeMissingError, match="404 Not found"):
        await forges.repository_by_id(RepositoryId("gitlab", 404), 99)


async def test_the_account_is_the_one_place(wire: Wire) -> None:
    forges = forges_of(wire)

    assert await forges.installations() == [Installation(99)]
    assert await forges.installation(99) == Installation(99)
    assert await forges.installation(7) is None


TODAY = date(2026, 11, 24)
API = frozenset({"api"})

TOKENS: dict[str, tuple[TokenAbout, list[str]]] = {
    "all is well": (TokenAbout(API, date(2027, 6, 1)), []),
    "without an end": (TokenAbout(API, None), []),
    "it may only read": (
        TokenAbout(frozenset({"read_api"}), None),
        [
            "True The scopes of the token for gitlab: read_api. Needed: api, which includes git."
            " Create a token with the scope api, and give it to the bot."
        ],
    ),
    "it ends in a month": (
        TokenAbout(API, date(2026, 12, 24)),
        [
            "False The token for gitlab: ends on 2026-12-24, in 30 days. Needed: a token that lasts"
            " longer. One of the secret store (`porchbot setup gitlab`) is exchanged by the bot"
            " itself; give it a new one where it comes from the environment."
        ],
    ),
}


@pytest.mark.parametrize(("about", "expected"), TOKENS.values(), ids=TOKENS)
def test_what_a_token_lacks(about: TokenAbout, expected: list[str]) -> None:
    found = [f"{each.harmful} {each}" for each in lacking("gitlab", about, TODAY)]

    assert found == expected


def test_a_token_that_ends_within_days_is_no_hint_any_more() -> None:
    (found,) = lacking("gitlab", TokenAbout(API, date(2026, 11, 25)), TODAY)

    assert found.harmful
    assert found.found == "ends on 2026-11-25, in 1 day"


async def test_what_the_instance_can_do_is_asked_of_it(wire: Wire) -> None:
    """Fails when the edition is believed: it does not tell what is paid for."""
    wire.has("GET /personal_access_tokens/self", {"scopes": ["api"], "expires_at": "2027-06-01"})
    wire.has("GET /projects", [project(7, "acme/net")])
    wire.has("GET /projects/7/merge_trains", [])
    wire.has("GET /projects/7/approval_rules", {"message": "403 Forbidden"}, 403)

    served, found = await forges_of(wire).drift()

    assert not served.harmful
    assert served.found.startswith("every project that makes the bot a member")
    assert not found.harmful
    assert found.found == "version 18.5.0, without approval rules, external status checks"


async def test_a_token_that_reaches_nothing_is_told(wire: Wire) -> None:
    wire.has("GET /personal_access_tokens/self", {"scopes": ["api"], "expires_at": None})
    wire.has("GET /projects", [])

    found = [each for each in await forges_of(wire).drift() if each.harmful]

    assert [each.fix for each in found] == [
        "Invite porchbot into the projects, or into their group"
    ]


async def test_webhooks_that_go_nobody_knows_where_are_told(wire: Wire) -> None:
    """The short-cut keeps silent: they have the secret of all projects, and boxes count for nothing
    by them, for ever."""
    wire.has("GET /personal_access_tokens/self", {"scopes": ["api"], "expires_at": None})
    wire.has("GET /projects", [project(7, "acme/net")])
    user = GitLabUser("gitlab", URL, lambda: "t", session=lambda: session(wire.answer))
    nowhere = replace(OURS, url="")

    told = [
        [each.place for each in await GitLabForges(user, hooks, project=GitLab).drift()]
        for hooks in (OURS, nowhere)
    ]

    assert ["The webhooks at gitlab" in places for places in told] == [False, True]


def tried(number: int, status: object, **more: object) -> dict[str, object]:
    payload = {
        "object_kind": "push",
        "project": {"id": 7, "path_with_namespace": "acme/net", "default_branch": "main"},
        "ref": "refs/heads/drafts/core/one",
        "before": "0" * 40,
        "after": "a" * 40,
    }
    headers = {
        "Content-Type": "application/json",
        "X-Gitlab-Event": "Push Hook",
        "Idempotency-Key": f"k-{number}",
        "X-Gitlab-Token": "[REDACTED]",
    }
    about = {"id": number, "trigger": "push_hooks", "response_status": status}
    return {**about, "request_headers": headers, "request_data": payload, **more}


async def test_what_was_not_brought_is_read_out_of_the_logs_of_all_projects(wire: Wire) -> None:
    """Fails when GitLab is asked for a kind of failure: "internal error", which is what a bot that
    is away comes to, is in none of them."""
    other = {"id": 6, "url": "https://elsewhere.example/hook"}
    wire.has("GET /projects", [project(7, "acme/net"), project(8, "acme/web")])
    wire.has("GET /projects/7/hooks", [HOOK, other])
    wire.has("GET /projects/8/hooks", {"message": "403 Forbidden"}, 403)
    wire.has(
        "GET /projects/7/hooks/5/events",
        [
            tried(13, "internal error"),
            tried(12, "202"),
            tried(11, 503, created_at="2026-11-24T10:00:00.000Z"),
        ],
    )
    forges = forges_of(wire)

    found = await forges.failed_deliveries()
    read = await forges.logged_delivery(11)

    assert [(each.number, each.guid, each.heard) for each in found.tries] == [
        (13, "k-13", True),
        (11, "k-11", True),
    ]
    assert found.older == ""
    assert found.tries[1].at == datetime(2026, 11, 24, 10, tzinfo=UTC)
    assert read is not None
    assert read.delivered.guid == "k-11"
    assert [str(key) for key in read.wakes] == ["gitlab:7:proposal:7:drafts/core/one"]
    assert "[REDACTED]" not in str(read.delivered.headers)


async def test_what_was_not_listed_is_lost(wire: Wire) -> None:
    with pytest.raises(ForgeMissingError, match="no delivery 4"):
        await forges_of(wire).logged_delivery(4)


async def test_the_wakes_of_a_stored_delivery(wire: Wire) -> None:
    forges, body = forges_of(wire), b'{"object_kind": "moon"}'

    assert forges.wakes_of({"idempotency-key": "k"}, body) == {}
    assert forges.wakes_of({}, b"no JSON") == {}


async def test_a_webhook_that_gitlab_turned_off_is_tried_again(wire: Wire) -> None:
    """Fails when its log is read and it stays off: no event would come until somebody looks."""
    wire.has("GET /projects", [project(7, "acme/net")])
    off = {**HOOK, "alert_status": "disabled"}
    theirs = {"id": 6, "url": "https://elsewhere.example/hook", "alert_status": "disabled"}
    wire.has("GET /projects/7/hooks", [off, theirs])
    wire.has("GET /projects/7/hooks/5/events", [])
    wire.has("POST /projects/7/hooks/5/test/push_events", {"message": "201 Created"}, 201)

    await forges_of(wire).failed_deliveries()

    assert [each for each in wire.asked if each.startswith("POST")] == [
        "POST /projects/7/hooks/5/test/push_events"
    ]
