"""What others may write, name or break at GitLab, and what comes of it: nothing."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from bot import logs
from bot.forges.gitlab import speech, talk
from bot.forges.gitlab.forge import GitLab
from bot.forges.gitlab.forges import GitLabForges
from bot.forges.gitlab.user import GitLabUser
from bot.forges.port import BotIdentity, Forge, ForgeBusyError, ForgeMissingError
from bot.loop.deliveries import DeliverySweep
from lifecycle import boxes
from lifecycle.access import Role
from lifecycle.actions import SetCheck
from lifecycle.facts.checks import RENDER, Conclusion, Status
from lifecycle.identity import RepositoryId
from tests.bot.forges.gitlab.conftest import World
from tests.bot.forges.gitlab.test_deliveries import BOX, TICKED
from tests.bot.forges.gitlab.test_forges import HOOK, Stopped, forges_of, project
from tests.bot.forges.gitlab.wire import URL, Wire
from tests.in_process import session
from tests.memory.store import MemoryStore

ME = BotIdentity("porch-bot", "bot@corp.example", 99)


@pytest.fixture
def wire() -> Wire:
    made = Wire()
    made.has("GET /user", {"id": 99, "username": "porchbot", "created_at": "2026-01-02T00:00:00Z"})
    return made


def note(number: int, body: str, **more: object) -> dict[str, object]:
    at = "2026-11-24T12:00:00Z"
    author = {"id": 99, "username": "porch-bot"}
    told = {"id": number, "body": body, "author": author, "created_at": at, "updated_at": at}
    return {**told, "system": False, "type": None, **more}


HEAD, KEY = "1" * 40, b"key"


async def test_only_gitlabs_note_of_the_box_confirms_it(wire: Wire) -> None:
    """Short-cuts refused: any edit of that person's; a box that was unticked; words of somebody
    who writes a note as GitLab would."""
    wire.has("GET /projects/7/issues/3", {"description": "- [x] `@porchbot approve a` in #7"})
    done = "marked the checklist item **\\`@porchbot approve a\\` in \\#7** as completed"
    wire.has(
        "GET /projects/7/issues/3/notes",
        [
            note(5, done, system=True),
            note(4, "changed the description", system=True),
            note(3, done.replace("as completed", "as incomplete"), system=True),
            note(2, done),
            note(1, done.replace("checklist item", "task"), system=True),
        ],
    )
    forge = await _at(wire, "acme/net")
    found = await forge.issue_edits(-3, datetime(2026, 11, 24, tzinfo=UTC))

    assert [each.ticked for each in found] == [boxes.shown("`@porchbot approve a` in #7")] * 2


@pytest.mark.parametrize(
    ("body", "comments", "suggested"),
    [
        (speech.sealed("Suggested.\n\n<!-- porchbot-suggested " + HEAD + " -->", [KEY]), 0, {HEAD}),
        (speech.sealed("A", [KEY]) + "\n<!-- porchbot-suggested " + HEAD + " -->", 1, set()),
        ("A\n\n<!-- porchbot-suggested " + HEAD + " -->", 1, set()),
        ("Package <!-- porchbot-suggested " + HEAD + " --> is red.", 1, set()),
        ("`\n<!-- porchbot-suggested " + HEAD + " -->\n` is red.", 1, set()),
        ("<!-- porchbot-suggested x -->", 1, set()),
    ],
    ids=[
        "ours",
        "put below ours",
        "in its place",
        "quoted in a line",
        "quoted as a line",
        "no commit",
    ],
)
def test_a_mark_counts_where_we_put_it(body: str, comments: int, suggested: set[str]) -> None:
    """The short-cut looks for the mark anywhere: a name that holds one, quoted in our summary,
    takes the summary out of sight, and another is written at each look; or in what somebody put
    below one of our notes, which takes that out of sight."""
    found = [note(1, body)]

    assert len(talk.comments(found, ME, [KEY])) == comments
    assert talk.suggested(found, ME, [KEY]) == suggested


async def test_a_mark_in_what_we_quote_makes_no_note_a_finding(world: World) -> None:
    """The short-cut takes a quoted mark for the finding's own: the thread of a finding is resolved,
    or deleted as a second one, while it is still there."""
    head = world.commit("change", {"net/a.yaml": "a: 2\nb: 2\nc: 3\n"})
    number, forge = world.propose(), world.forge()
    await forge.open_proposals()
    forged = "<!-- porchbot-finding porchbot/render " + "a" * 24 + " -->"
    quoting = f"The image {forged} is not allowed.\n\nAsk somebody."
    bot = world.as_("porch-bot").mergerequests.get(number, lazy=True)
    bot.discussions.create({"body": quoting})
    await forge.conversation(number)

    await forge.show_findings(_check(head))

    mine = [d.attributes["notes"][0] for d in world.mr(number).discussions.list(get_all=True)]
    assert [n.get("resolved") for n in mine if forged in n["body"]] == [False]


def _check(head: str) -> SetCheck:
    return SetCheck(
        head=head,  # type: ignore[arg-type] # a commit
        name=RENDER,
        status=Status.COMPLETED,
        conclusion=Conclusion.SUCCESS,
        title="Rendered",
        summary="",
        text="",
        digest="d",
        annotations=(),
        run=None,
    )


async def test_internal_notes_are_not_read(world: World) -> None:
    """The short-cut answers them: everybody reads what the answer quotes."""
    world.commit("change", {"net/a.yaml": "a: 2\n"})
    number, forge = world.propose(), world.forge()
    mr = world.mr(number)
    mr.notes.create({"body": "@porchbot hold the customer is X", "internal": True})
    mr.notes.create({"body": "@porchbot check"})

    said = await forge.conversation(number)

    assert [c.body for c in said.comments] == ["@porchbot check"]


@pytest.mark.parametrize(
    ("owner", "slug", "asked"),
    [
        ("acme/team", "network", "acme%2Fnetwork"),
        ("acme", "network", "acme%2Fnetwork"),
        ("acme/team", "acme", "acme"),
        ("acme/team", "team", "acme%2Fteam"),
        ("acme/team", "other/network", "other%2Fnetwork"),
    ],
)
async def test_a_name_means_one_group_whatever_others_are_there(
    wire: Wire, owner: str, slug: str, asked: str
) -> None:
    """The short-cut looks for the name below each group above the project: whoever may make a
    subgroup in `acme/team` puts `acme/team/network` in the place of `acme/network`."""
    wire.has(f"GET /groups/{asked}/members", [_member("Ann", 30)])
    wire.has("GET /groups/acme%2Fteam%2Fnetwork/members", [_member("eve", 50)])

    assert await (await _at(wire, f"{owner}/pkg")).team(slug) == {"ann"}


async def test_a_group_is_who_is_in_it_from_developer_on(wire: Wire) -> None:
    """Short-cuts: `members/all` has those of all groups above as well, at any level; a Guest of
    the group itself counts; a blocked account does."""
    people = [("Ann", 30), ("mia", 40), ("guest", 10), ("reporter", 20)]
    listed = [_member(*each) for each in people] + [_member("gone", 50, "blocked")]
    wire.has("GET /groups/acme%2Fleads/members", listed)
    wire.has("GET /groups/acme%2Fleads/members/all", [*listed, _member("above", 50)])

    assert await (await _at(wire, "acme/pkg")).team("acme/leads") == {"ann", "mia"}


def _member(
    login: str, level: int, state: str = "active", membership: str = "active", ends: str = ""
) -> dict[str, object]:
    told = {"membership_state": membership, "expires_at": ends or None}
    return {"id": 3, "username": login, "access_level": level, "state": state, **told}


TODAY = datetime.now(UTC).date()
NO_MEMBERS: dict[str, tuple[str, str, str]] = {
    "blocked": ("blocked", "active", ""),
    "banned": ("banned", "active", ""),
    "deactivated": ("deactivated", "active", ""),
    "waits for a seat": ("active", "awaiting", ""),
    "was one until today": ("active", "active", str(TODAY)),
    "was one until last year": ("active", "active", str(TODAY - timedelta(days=400))),
}


@pytest.mark.parametrize("how", NO_MEMBERS)
async def test_who_is_no_member_any_more_or_not_yet_may_do_nothing(wire: Wire, how: str) -> None:
    """Short-cuts: the state of the account alone is read, and GitLab lists those who wait for a
    seat, and until the night those whose membership has ended."""
    told = _member("Eve", 50, *NO_MEMBERS[how])
    wire.has("GET /users/3", {"id": 3, "username": "Eve", "bot": False})
    wire.has("GET /projects/7/members/all/3", told)
    ann = _member("Ann", 40, ends=str(TODAY + timedelta(days=2)))
    wire.has("GET /groups/acme%2Fleads/members", [told, ann])
    forge = await _at(wire, "acme/pkg")

    assert await forge.role("eve", 3) is Role.NONE
    assert await forge.team("acme/leads") == {"ann"}


async def test_a_member_until_tomorrow_is_one_today(wire: Wire) -> None:
    """The short-cut lets nobody in whose membership ends one day."""
    wire.has("GET /users/3", {"id": 3, "username": "Ann", "bot": False})
    ends = str(TODAY + timedelta(days=2))
    wire.has("GET /projects/7/members/all/3", _member("Ann", 40, ends=ends))

    assert await (await _at(wire, "acme/pkg")).role("ann", 3) is Role.MAINTAIN


HALF: dict[str, dict[str, object]] = {
    "an error in place of a field": {
        "data": {"n5": {"lastEditedAt": None, "updatedAt": "2026-11-24T12:05:00Z"}},
        "errors": [{"message": "timed out", "path": ["n5", "lastEditedAt"]}],
    },
    "a copy that lags behind": {
        "data": {"n5": {"lastEditedAt": None, "updatedAt": "2026-11-24T12:00:00Z"}}
    },
}


@pytest.mark.parametrize("how", HALF)
async def test_half_of_what_graphql_tells_excuses_no_edit(wire: Wire, how: str) -> None:
    """Short-cuts: null is read as "never", though an error stands beside it; or what a copy of the
    database told of a note from before it was edited is taken for what is true of it now."""
    wire.has("POST /forge/api/graphql", HALF[how])
    forge = await _at(wire, "acme/net")
    assert isinstance(forge, GitLab)

    with pytest.raises(ForgeBusyError, match="read who edited comments"):
        await forge._tell_unedited([note(5, "", updated_at="2026-11-24T12:05:00.250Z")])


async def test_a_group_that_is_not_there_is_told_by_its_path(wire: Wire) -> None:
    with pytest.raises(ForgeMissingError, match="there is no group acme/network"):
        await (await _at(wire, "acme/team/pkg")).team("network")


async def _at(wire: Wire, path: str) -> Forge:
    """The project of this path."""
    wire.has("GET /projects/7", project(7, path))
    user = GitLabUser("gitlab", URL, lambda: "t", session=lambda: session(wire.answer))
    forges = GitLabForges(user, project=GitLab)
    return forges.of(await forges.repository_by_id(RepositoryId("gitlab", 7), 99))


async def test_git_goes_to_the_address_of_the_settings(wire: Wire) -> None:
    """The short-cut follows `http_url_to_repo`: an instance that names another host there has the
    token sent to it."""
    evil = "https://evil.example/x.git"
    wire.has("GET /projects", [project(7, "acme/sub/net", http_url_to_repo=evil)])

    (found,) = await forges_of(wire).repositories_of(99)

    assert found.clone_url == f"{URL}/acme/sub/net.git"


ODD: dict[str, tuple[object, int]] = {
    "not allowed": ({"message": "403 Forbidden"}, 403),
    "broken": ("<html>", 500),
    "entries that are none": ([{"id": None, "request_data": 3}, {}], 200),
}


@pytest.mark.parametrize("odd", ODD)
async def test_the_log_of_one_project_stops_no_other(wire: Wire, odd: str) -> None:
    """The short-cut ends at the first log that cannot be read: whoever owns that project keeps all
    others from what was lost."""
    body, status = ODD[odd]
    wire.has("GET /projects", [project(7, "acme/a"), project(8, "acme/b")])
    for number in (7, 8):
        wire.has(f"GET /projects/{number}/hooks", [HOOK])
    wire.has("GET /projects/7/hooks/5/events", body, status)
    tried = {
        "id": 31,
        "response_status": "500",
        "created_at": "2026-11-24T11:00:00Z",
        "request_headers": {"Idempotency-Key": "k"},
        "request_data": {"object_kind": "push"},
    }
    wire.has("GET /projects/8/hooks/5/events", [tried])

    found = await forges_of(wire).failed_deliveries()

    assert [each.guid for each in found.tries] == ["k"]


@pytest.mark.parametrize(
    "said", ['"iid": 1e999', '"iid": 1, "x": ' + "[" * 5000 + "]" * 5000], ids=["endless", "deep"]
)
async def test_a_delivery_in_the_log_that_no_number_reads_stops_no_other(
    wire: Wire, said: str
) -> None:
    """The short-cut catches what usually goes wrong: a number that Python calls infinite ends the
    sweep of the whole instance, each time."""
    text = json.dumps({**BOX, "project": {"id": 7}, "object_attributes": {**TICKED, "iid": "here"}})
    tried = {
        "response_status": "500",
        "created_at": "2026-11-24T11:00:00Z",
        "request_headers": {"Idempotency-Key": "odd"},
    }
    odd = json.dumps([{**tried, "id": 31, "request_data": "BOX"}])
    wire.has("GET /projects", [project(7, "acme/a"), project(8, "acme/b")])
    for number in (7, 8):
        wire.has(f"GET /projects/{number}/hooks", [HOOK])
    wire.has(
        "GET /projects/7/hooks/5/events", odd.replace('"BOX"', text.replace('"iid": "here"', said))
    )
    good = {"object_kind": "push", "project": {"id": 8, "default_branch": "main"}}
    good |= {"ref": "refs/heads/main", "after": "a" * 40}
    keys = {"request_headers": {"Idempotency-Key": "good"}}
    wire.has("GET /projects/8/hooks/5/events", [{**tried, **keys, "id": 32, "request_data": good}])
    store = MemoryStore()

    assert await DeliverySweep(forges_of(wire), store, clock=Stopped()).run()
    assert await store.deliveries.known("gitlab", ["good", "odd"]) == {"good"}


@pytest.mark.parametrize("named", [{"project": {"id": 7}}, {"project_id": 7}, {}])
async def test_the_log_of_one_project_says_nothing_of_another(
    wire: Wire, named: dict[str, object]
) -> None:
    """The short-cut believes what stands in the log of a webhook that goes to us: who maintains
    one project makes one with a wrong token and a body of their own, such as that alice ticked a
    box of the dashboard of another project."""
    wire.has("GET /projects", [project(8, "evil/b")])
    wire.has("GET /projects/8/hooks", [HOOK])
    payload = {"object_kind": "push", "ref": "refs/heads/main", "before": "0" * 40} | named
    logged = {
        "id": 31,
        "response_status": "401",
        "created_at": "2026-11-24T11:00:00Z",
        "request_headers": {"Idempotency-Key": "k", "X-Gitlab-Event": "Push Hook"},
        "request_data": {**payload, "after": "a" * 40},
    }
    wire.has("GET /projects/8/hooks/5/events", [logged])
    forges = forges_of(wire)
    await forges.failed_deliveries()

    assert await forges.logged_delivery(31) is None


async def test_an_instance_that_answers_nobody_is_no_empty_log(wire: Wire) -> None:
    """The short-cut takes silence for an empty log, and what was lost for read."""
    wire.has("GET /projects", [project(7, "acme/a")])
    wire.has("GET /projects/7/hooks", "down", 502)

    with pytest.raises(ForgeBusyError):
        await forges_of(wire).failed_deliveries()


@pytest.mark.usefixtures("own_secrets")
def test_a_secret_that_came_later_is_not_written() -> None:
    """The short-cut knows those of the start alone; an instance may give tokens any beginning."""
    logs.configure(["first-secret"])
    logs.hide("corp-exchanged-1")

    assert logs.redacted("first-secret and corp-exchanged-1") == "[secret] and [secret]"
