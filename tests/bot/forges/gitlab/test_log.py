"""The logs of webhooks, where some are so large that not all of them is kept."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs

import pytest

from bot.forges.gitlab import log
from bot.forges.gitlab.hooks import PROJECT, HookOwner
from bot.forges.gitlab.log import SHARE
from bot.forges.port import ForgeMissingError
from tests.bot.forges.gitlab.test_forges import ME, OURS, forges_of, project
from tests.bot.forges.gitlab.wire import Wire


@dataclass
class Logs(Wire):
    """Logs that are given in the pages that are asked for.

    Attributes:
        logs: Number of a project, and of its webhook, to its entries, newest first.
    """

    logs: dict[int, list[dict[str, object]]] = field(default_factory=dict)

    def answer(
        self, verb: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        """A page of a log; anything else as `Wire` has it."""
        plain, _, query = path.removeprefix("/forge/api/v4").partition("?")
        if not plain.endswith("/events"):
            return super().answer(verb, path, headers, body)
        self.asked.append(f"{verb.upper()} {plain}?{query}")
        asked = {name: int(values[0]) for name, values in parse_qs(query).items()}
        size, number = asked["per_page"], asked["page"]
        shown = self.logs[int(plain.split("/")[2])][(number - 1) * size : number * size]
        return 200, {}, json.dumps(shown).encode()


def entry(number: int, about: int, note: str = "") -> dict[str, object]:
    """One that was refused, with a note of some length."""
    return {
        "id": number,
        "response_status": "403",
        "created_at": "2026-11-24T11:00:00Z",
        "request_headers": {"X-Gitlab-Event": "Push Hook", "Idempotency-Key": f"k{number}"},
        "request_data": {
            "object_kind": "push",
            "project": {"id": about},
            "ref": "refs/heads/main",
            "before": "0" * 40,
            "after": "a" * 40,
            "note": note,
        },
    }


@pytest.fixture
def logs() -> Logs:
    """Two projects: of the first, forty deliveries that take four times its share."""
    made = Logs()
    made.has("GET /user", ME)
    made.has("GET /projects", [project(7, "evil/a"), project(8, "acme/b")])
    for number in (7, 8):
        made.has(
            f"GET /projects/{number}/hooks",
            [{"id": number, **OURS.shown(HookOwner(PROJECT, number))}],
        )
    long = "x" * (SHARE // 10)
    made.logs[7] = [entry(100 + n, 7, long) for n in reversed(range(40))]
    made.logs[8] = [entry(50, 8, long)]
    return made


async def test_a_large_log_takes_no_room_of_another(
    logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts refused: one room for all projects, in the order in which they are listed; what
    was not kept is lost; each of it is asked for alone."""
    monkeypatch.setattr(log, "MOST_KEPT", 2 * SHARE)
    forges = forges_of(logs)
    found = await forges.failed_deliveries()
    assert len(found.tries) == 41
    listed = len(logs.asked)

    read = await forges.logged_delivery(50)
    assert read is not None
    assert read.delivered.guid == "k50"
    assert len(logs.asked) == listed  # it was kept

    for number in range(100, 140):  # as a sweep reads them
        again = await forges.logged_delivery(number)
        assert again is not None
        assert again.delivered.guid == f"k{number}"
    assert len(logs.asked) - listed <= 8


async def test_an_entry_is_found_again_where_others_came_meanwhile(logs: Logs) -> None:
    """Short-cut refused: it is looked for at the place alone where it stood."""
    forges = forges_of(logs)
    await forges.failed_deliveries()
    logs.logs[7][:0] = [entry(200 + n, 7) for n in reversed(range(25))]
    read = await forges.logged_delivery(105)
    assert read is not None
    assert read.delivered.guid == "k105"

    del logs.logs[7][:]
    with pytest.raises(ForgeMissingError, match="no delivery 120"):
        await forges.logged_delivery(120)


async def test_more_than_the_share_in_one_entry_is_read_all_the_same(logs: Logs) -> None:
    """Short-cut refused: what fits in no share is no entry."""
    logs.logs[7] = [entry(100, 7, "x" * (SHARE + 1))]
    forges = forges_of(logs)
    await forges.failed_deliveries()
    read = await forges.logged_delivery(100)
    assert read is not None
    assert read.delivered.guid == "k100"
