"""`porchbot audit`: who asked for what, on which facts, what came of it; and nobody's secret."""

import json
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import psycopg
import pytest
from click.testing import CliRunner, Result

from bot import logs
from bot.cli.root import main
from bot.store import trail
from bot.store.embedded.server import EmbeddedPostgres
from bot.store.hints import BOX, NEIGHBOUR, OPERATOR, PUBLISHING, RUNNER, START, SWEEP
from bot.store.postgres import PostgresStore
from lifecycle.actions import Action
from lifecycle.identity import RepositoryId
from tests.contract.stores import Repository
from tests.databases import copy_cluster
from tests.ids import on_github
from tests.mutations import ROOT

WAKES = {SWEEP, PUBLISHING, RUNNER, NEIGHBOUR, OPERATOR, BOX, START}
KEY = "github:1:proposal:1:drafts/net/core/v1"
OTHER = "github:2:proposal:2:drafts/x"
ANN = {"by": "person", "forge": "github", "id": 12, "login": "Ann", "comment": 3}


def entry(asked: dict[str, Any], number: int = 7, **more: Any) -> dict[str, Any]:
    stood = {"number": number, "stage": "Proposed", "head": "a" * 40}
    return {"asked": [asked], "proposals": [stood], "outcome": "DONE", "values": {}, **more}


@pytest.fixture
async def url(database_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    """A database with five entries of two repositories."""
    monkeypatch.setenv("DATABASE_URL", database_url)
    async with PostgresStore(database_url, patience=60) as store:
        adopted = datetime.now(UTC)
        await store.repositories.adopt(Repository(), adopted, {})
        await store.repositories.adopt(Repository(on_github(2), "acme/other"), adopted, {})
        merge = entry(ANN, values={"method": "merge"})
        refused = entry(ANN, outcome="LOOK_AGAIN", why="409: the head moved")
        await store.audit.add(KEY, [("Merge", refused)])
        await store.audit.add(KEY, [("Merge", merge), ("Tag", entry(ANN))])
        await store.audit.add(OTHER, [("SetCheck", entry({"by": "sweep"}, 8))])
        await store.audit.add(KEY, [("SetCheck", entry({"by": "webhook"}, 12))])
        yield database_url


def test_the_page_names_every_action_and_everything_that_wakes() -> None:
    """The short-cut names the actions that there were once: an operator then reads words that
    stand nowhere."""
    page = (ROOT / "docs/operate/audit.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`\"?(\w+)\"?`", page))

    assert {each.KIND.name for each in get_args(Action)} - named == set()
    assert {*WAKES, "webhook", "rerun"} - named == set()


def run(*args: str) -> Result:
    return CliRunner().invoke(main, ["audit", *args], prog_name="porchbot")


def ids(*args: str) -> list[int]:
    result = run("--json", *args)
    assert result.exit_code == 0, result.output
    return [json.loads(line)["id"] for line in result.stdout.splitlines()]


@pytest.mark.parametrize("word", ["merge", "Published", ""])
async def test_a_word_that_is_no_action_is_refused_with_all_that_are(url: str, word: str) -> None:
    """The short-cut looks for it: "No entries." reads as if nothing had been merged."""
    result = run("--action", "Merge", "--action", word)

    assert result.exit_code
    names = {each.KIND.name for each in get_args(Action)} | {"Began", "TryAgain"}
    assert f"{word!r} is not one of {', '.join(sorted(names))}." in result.output
    assert "Invalid value for '--action'" in result.output


async def test_an_action_that_only_an_earlier_release_wrote_is_found(url: str) -> None:
    """Short-cut refused: the names of this release alone, so that nobody can ask for what the
    trail shows; or a list of names that once were, which the next change of a name makes old."""
    began = {"asked": [ANN], "proposals": [], "actions": [{"action": "PushSeals"}]}
    async with PostgresStore(url, patience=60) as store:
        await store.audit.add(KEY, [("PushLedger", entry(ANN)), ("Began", began)])

    assert ids("--action", "PushLedger") == [6]
    assert ids("--action", "PushLedger", "--action", "Tag") == [3, 6]
    assert ids("--action", "PushSeals") == [7]
    assert run("--action", "PushFlags").exit_code == 1


FILTERS: dict[str, tuple[tuple[str, ...], list[int]]] = {
    "all, oldest first": ((), [1, 2, 3, 4, 5]),
    "of a repository by its name": (("--repository", "ACME/other"), [4]),
    "of a repository by its number": (("--repository", "github:1"), [1, 2, 3, 5]),
    "of a proposal": (("--proposal", "7"), [1, 2, 3]),
    "of a person, in any case": (("--person", "ann"), [1, 2, 3]),
    "of nobody's asking": (("--person", "sweep"), [4]),
    "of several kinds": (("--action", "Tag", "--action", "SetCheck"), [3, 4, 5]),
    "since a time": (("--since", "2d"), [1, 2, 3, 4, 5]),
    "until a day": (("--until", "2020-01-01"), []),
    "the newest few": (("--limit", "2"), [4, 5]),
    "the newest few of some": (("--limit", "1", "--person", "ann"), [3]),
}


async def test_entries_are_chosen(url: str) -> None:
    found = {name: ids(*args) for name, (args, _) in FILTERS.items()}

    assert found == {name: expected for name, (_, expected) in FILTERS.items()}


async def test_a_line_holds_who_asked_what_stood_and_what_came_of_it(url: str) -> None:
    """Short-cut refused: the digest of the facts alone, from which nobody finds them again."""
    line = json.loads(run("--json", "--limit", "1", "--action", "Merge").stdout)
    at = datetime.fromisoformat(line.pop("at"))

    assert abs(at - datetime.now(UTC)) < timedelta(hours=1)
    assert line == {
        "id": 2,
        "repository": "acme/blueprints",
        "key": KEY,
        "actor": "bot",
        "action": "Merge",
        **entry(ANN, values={"method": "merge"}),
    }


async def test_the_table(url: str) -> None:
    lines = run("--proposal", "7").stdout.splitlines()

    assert [line.split("  ")[0] for line in lines[:1]] == ["TIME"]
    assert [" ".join(line[22:].split()) for line in lines] == [
        "REPOSITORY PROPOSAL ACTION OUTCOME ASKED BY DETAIL",
        "acme/blueprints #7 Merge look again Ann 409: the head moved",
        "acme/blueprints #7 Merge done Ann merge",
        "acme/blueprints #7 Tag done Ann",
    ]


async def test_a_merge_request_is_written_as_at_its_forge(url: str) -> None:
    """Short-cuts: `#` for all; the name of the forge, which a GitLab may have of its own."""
    corp, gitlab = "corp:5:proposal:5:drafts/x", "gitlab:6:proposal:6:drafts/x"
    written = entry(ANN, 13)
    written["proposals"][0]["written"] = "!13"
    async with PostgresStore(url, patience=60) as store:
        await store.audit.add(corp, [("Tag", written)])
        await store.audit.add(gitlab, [("Tag", entry(ANN, 14))])
        await store.audit.add(gitlab, [("Reply", entry(ANN, -1))])

    told = [run("--proposal", each).stdout.splitlines()[1].split()[3] for each in ("13", "14")]

    assert told == ["!13", "!14"]
    assert run("--action", "Reply").stdout.splitlines()[1].split()[3] == "#1"


async def test_who_asked_by_several_comments_stands_in_the_table_once(url: str) -> None:
    """The short-cut names a person for each comment, past the end of the column."""
    asked = [ANN | {"comment": n} for n in range(5)] + [{"by": "sweep"}, ANN]
    async with PostgresStore(url, patience=60) as store:
        await store.audit.add(KEY, [("Tag", entry(ANN, 95) | {"asked": asked})])

    row = run("--proposal", "95").stdout.splitlines()[1]

    assert row.split()[-1] == "Ann,(sweep)"


async def test_what_was_begun_is_shown_until_its_end_is(url: str) -> None:
    """Fails when what a killed bot was about is nowhere, or when each action is told twice."""
    told = entry(ANN, 50, outcome="BEGAN", actions=[{"action": "Merge", "values": {}}])
    async with PostgresStore(url, patience=60) as store:
        killed = await store.audit.begin(KEY, told)
        again = await store.audit.begin(KEY, told)
        await store.audit.add(KEY, [("Merge", entry(ANN, 50, began=again))])

    assert ids("--proposal", "50") == ids("--proposal", "50", "--action", "Merge")
    assert ids("--proposal", "50") == [killed, again + 1]
    assert " ".join(run("--proposal", "50").stdout.splitlines()[1][52:].split()) == (
        "#50 Began began Ann Merge"
    )


async def test_nothing_found_is_said(url: str) -> None:
    result = run("--person", "nobody")

    assert (result.exit_code, result.stderr) == (0, "No entries.\n")


async def test_a_terminal_is_told_nothing_by_what_is_shown(url: str) -> None:
    """Short-cut refused: print what a forge said; it may hold what clears or colours a screen."""
    async with PostgresStore(url, patience=60) as store:
        await store.audit.add(KEY, [("Merge", entry(ANN, 99, why="\x1b[2Jgone\nnext"))])

    shown = run("--proposal", "99").stdout.splitlines()

    assert shown[1].endswith("?[2Jgone?next")
    assert len(shown) == 2


async def test_nothing_that_acts_on_a_terminal_is_in_a_line_of_json(url: str) -> None:
    """Short-cut refused: JSON leaves the second set of control characters as they are."""
    async with PostgresStore(url, patience=60) as store:
        await store.audit.add(KEY, [("Merge", entry(ANN, 98, why="\x9b2Jgone \u202eback"))])

    shown = run("--json", "--proposal", "98").stdout

    assert shown.isascii()
    assert json.loads(shown)["why"] == "\x9b2Jgone \u202eback"


async def test_a_person_called_like_a_cause_is_told_from_it(url: str) -> None:
    """Short-cut refused: the bare word, so that somebody called `operator` seems to be one."""
    both: list[dict[str, Any]] = [ANN | {"login": "operator"}, {"by": "operator"}]
    for number, asked in enumerate(both, start=96):
        async with PostgresStore(url, patience=60) as store:
            await store.audit.add(KEY, [("Tag", entry(asked, number))])

    person, cause = (run("--proposal", n).stdout.splitlines()[1].split() for n in ("96", "97"))

    assert ("operator" in person, "(operator)" in cause) == (True, True)


async def test_what_an_entry_holds_takes_the_place_of_nothing(url: str) -> None:
    """Short-cut refused: the detail over what the database itself says of the entry."""
    async with PostgresStore(url, patience=60) as store:
        odd = entry(ANN, 95) | {"actor": "operator", "id": 1, "at": "never"}
        await store.audit.add(KEY, [("Tag", odd)])

    line = json.loads(run("--json", "--proposal", "95").stdout)

    assert (line["actor"], line["id"] > 1, line["at"] != "never") == ("bot", True, True)


async def test_pages_follow_one_another(url: str) -> None:
    """Short-cut refused: fetch everything at once, which a million rows do not fit."""
    rows = trail.entries(url, trail.TrailFilter(), page=2)
    next(rows)
    async with PostgresStore(url, patience=60) as store:  # added while somebody reads
        await store.audit.add(KEY, [("Tag", entry(ANN))])

    assert [e["id"] for e in rows] == [2, 3, 4, 5, 6]


async def test_no_secret_is_ever_kept(url: str) -> None:
    """Short-cut refused: trust every writer; what a forge or git said may repeat a token."""
    token = "ghs_" + "a1B2" * 9
    logs.configure(["a secret of the webhook"])
    try:
        why = f"403: {token} is not allowed; header: a secret of the webhook"
        async with PostgresStore(url, patience=60) as store:
            detail = entry(ANN, 77, why=why, values={"head_ref": f"drafts/{token}"})
            await store.audit.begin(KEY, detail)
            await store.audit.add(KEY, [("Merge", detail)])
    finally:
        logs.configure()

    shown = run("--json", "--proposal", "77").stdout
    async with await psycopg.AsyncConnection.connect(url) as connection:
        rows = await (await connection.execute("SELECT a::text FROM audit a")).fetchall()
    for text in (shown, *(row[0] for row in rows)):
        assert token not in text
        assert "a secret of the webhook" not in text
    assert [json.loads(line)["why"] for line in shown.splitlines()] == [
        "403: [secret] is not allowed; header: [secret]"
    ] * 2


WRONG: dict[str, tuple[tuple[str, ...], str]] = {
    "a repository that is not known": (
        ("--repository", "acme/none"),
        "error: The bot has no entries for a repository 'acme/none'. Write OWNER/NAME as on the"
        " forge, or FORGE:NUMBER, such as github:42.\n",
    ),
    "no time": (
        ("--since", "yesterday"),
        "error: Invalid value for '--since': 'yesterday' is not a time. Write 2026-11-22,"
        " 2026-11-22T14:00Z, or 36h for 36 hours ago (m, h, d, w).\n",
    ),
}


async def test_what_is_wrong_is_said(url: str) -> None:
    results = {name: run(*args) for name, (args, _) in WRONG.items()}

    assert {n: r.stderr for n, r in results.items()} == {n: said for n, (_, said) in WRONG.items()}
    assert {r.exit_code for r in results.values()} == {1}


async def test_a_database_without_a_trail(
    bare_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", bare_database_url)

    result = run()

    assert result.exit_code == 1
    assert result.stderr.startswith("error: The database holds no audit trail: no porchbot has")


def test_a_database_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://u:hunter2@127.0.0.1:1/postgres")

    result = run()

    assert result.exit_code == 1
    assert result.stderr.startswith("error: The database cannot be reached: ")
    assert "hunter2" not in result.stderr


def test_no_database_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("PORCHBOT_STATE", str(tmp_path))

    result = run()

    assert result.stderr == (
        f"error: {tmp_path}/postgres does not exist, so there is no bot's database here. Set"
        " PORCHBOT_STATE to the bot's folder, or DATABASE_URL to its server.\n"
    )


async def test_the_embedded_database_is_read_while_the_bot_runs_and_after(
    tmp_path: Path, cluster: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cut refused: start a server beside the bot's, which has its folder locked."""
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("PORCHBOT_STATE", str(tmp_path))
    copy_cluster(cluster, tmp_path / "postgres")
    with EmbeddedPostgres(tmp_path / "postgres") as server:
        async with PostgresStore(server.url) as store:
            await store.audit.add(str(RepositoryId("github", 1)), [("Tag", entry(ANN))])
        while_it_runs = ids()
    after = ids()

    assert while_it_runs == after == [1]
