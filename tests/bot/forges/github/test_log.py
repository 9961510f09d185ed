"""The App's log of deliveries, as GitHub answers it."""

from pathlib import Path
from typing import Any

from bot.keys import PullKey
from bot.store.hints import Hint
from tests.contract.forges import SandboxGitHub, opened
from tests.ids import on_github

SECRET = "X-Hub-Signature-256"


def _comment(login: str, kind: str) -> dict[str, Any]:
    return {
        "action": "created",
        "issue": {"number": 7, "pull_request": {}},
        "comment": {"id": 5},
        "repository": {"id": 3, "full_name": "a/b"},
        "installation": {"id": 9},
        "sender": {"login": login, "type": kind},
    }


def _logged(payload: object, **headers: str) -> dict[str, Any]:
    return {
        "id": 1,
        "guid": "g",
        "event": "issue_comment",
        "request": {"headers": headers, "payload": payload},
    }


async def test_what_is_read_from_the_log_is_as_if_it_had_come_in(tmp_path: Path) -> None:
    """Fails when a form is read as one, secrets are stored, or the bot answers itself."""
    sent = {"Content-Type": "application/x-www-form-urlencoded", SECRET: "sha256=00"}
    with opened("github", tmp_path) as place:
        assert isinstance(place, SandboxGitHub)
        sandbox = place.sandbox
        assert sandbox is not None

        async def read(body: dict[str, Any]) -> Any:
            sandbox.faults.fail("GET /app/hook/deliveries/{delivery_id}", 200, body)
            return await place.forges.logged_delivery(1)

        said = await read(_logged(_comment("ann", "User"), **sent))
        own = await read(_logged(_comment("porchbot[bot]", "Bot"), **sent))
        bodies: list[object] = [None, [], {"action": "created"}, "text"]
        odd = [await read(_logged(body)) for body in bodies]

    assert dict(said.wakes) == {PullKey(on_github(3), 7): Hint(comments=frozenset({5}))}
    assert said.delivered.guid == "g"
    assert set(said.delivered.headers) == {"content-type", "x-github-delivery", "x-github-event"}
    assert own.wakes == {}
    assert odd == [None] * 4


async def test_a_cursor_is_sent_as_the_link_has_it(tmp_path: Path) -> None:
    """Fails when what is quoted in the link is quoted once more."""
    link = '<https://api/app/hook/deliveries?cursor=v1_17%3D&per_page=100>; rel="next"'
    asked: list[str] = []
    with opened("github", tmp_path) as place:
        assert isinstance(place, SandboxGitHub)
        sandbox = place.sandbox
        assert sandbox is not None
        sandbox.observers.append(lambda exchange: asked.append(exchange.query.get("cursor", "")))
        call = "GET /app/hook/deliveries"
        sandbox.faults.fail(call, 200, [], headers={"Link": link})
        first = await place.forges.failed_deliveries()
        sandbox.faults.fail(call, 200, [])
        await place.forges.failed_deliveries(first.older)

    assert first.older == "v1_17="
    assert asked == ["", "v1_17="]


async def test_a_delivery_is_found_among_the_newest_accepted_or_not(tmp_path: Path) -> None:
    """Short-cuts refused: the first page alone; the whole log of three days for one that somebody
    made up; what was not accepted alone, as sweeps read it."""
    path = "/app/hook/deliveries?cursor=p&per_page=100"
    headers = {"Link": f'<https://api{path}>; rel="next"'}
    queries: list[Any] = []
    with opened("github", tmp_path) as place:
        assert isinstance(place, SandboxGitHub)
        sandbox = place.sandbox
        assert sandbox is not None
        sandbox.observers.append(
            lambda exchange: (
                queries.append(exchange.query) if "per_page" in exchange.query else None
            )
        )
        listed, one = "GET /app/hook/deliveries", "GET /app/hook/deliveries/{delivery_id}"
        sandbox.faults.fail(listed, 200, [{"id": 2, "guid": "other"}], headers=headers)
        sandbox.faults.fail(listed, 200, [{"id": 1, "guid": "g"}], nth=2)
        sandbox.faults.fail(one, 200, _logged(_comment("ann", "User")))
        found = await place.forges.delivery("g")
        asked = len(queries)
        sandbox.faults.fail(listed, 200, [{"id": 2, "guid": "x"}], headers=headers, times=9)
        missing = await place.forges.delivery("made-up")

    assert found is not None
    assert dict(found.wakes) == {PullKey(on_github(3), 7): Hint(comments=frozenset({5}))}
    assert missing is None
    assert "status" not in queries[0]
    assert (asked, len(queries) - asked) == (2, 5)
