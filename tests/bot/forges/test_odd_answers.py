"""Answers of a forge that are none: each is an error of that forge, and costs little.

Longer than 400 lines: both forges are asked the same questions, and their answers stand here once.
"""

import asyncio
import contextlib
import gzip
import inspect
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from github.Auth import Token

from bot.forges.exchange import Pool, ask, send
from bot.forges.github import http as github
from bot.forges.github.forge import GitHub, GitHubByUser
from bot.forges.github.forges import GitHubForges
from bot.forges.github.user import UserClients
from bot.forges.github.users import UserForges
from bot.forges.gitlab import http as gitlab
from bot.forges.gitlab.forge import GitLab
from bot.forges.gitlab.forges import GitLabForges
from bot.forges.port import (
    BotIdentity,
    Forge,
    ForgeBusyError,
    ForgeMissingError,
    ForgeRefusedError,
    Forges,
    ForgeUnreadableError,
    Repository,
)
from bot.forges.unreadable import TooLargeError
from lifecycle.identity import RepositoryId
from tests.bot.forges.gitlab.conftest import Known
from tests.contract.forges import SandboxGitHub, opened

FORGES: dict[str, Callable[[str], Pool[Any, Any, Any]]] = {
    "github": lambda url: github.Clients(f"{url}/api/v3", lambda: Token("t")),
    "gitlab": lambda url: gitlab.Clients(url, lambda: "glpat-one"),
}
EACH = pytest.mark.parametrize("forge", FORGES)


def answer(body: bytes, *headers: str, status: str = "200 OK", length: int | None = None) -> bytes:
    """One answer; `length` where it says another one than it has."""
    told = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {length or len(body)}", "", ""]
    return "\r\n".join(told).encode() + body


@contextmanager
def served(said: bytes, asked: list[bytes]) -> Iterator[str]:
    """Give this answer to each request; gives the address of who does.

    `%%` in it is that address, `%n` is 0 and 1 by turns. Each connection is closed after it, and
    who asks is told: one that noticed later would send the next request on a closed one.
    """
    said = said.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"

        def serves() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection, contextlib.suppress(OSError):
                        asked.append(connection.recv(65_536))
                        if not asked[-1]:
                            return
                        number = str(len(asked) % 2).encode()
                        connection.sendall(said.replace(b"%%", url.encode()).replace(b"%n", number))

        thread = threading.Thread(target=serves)
        thread.start()
        try:
            yield url
        finally:
            socket.create_connection(server.getsockname()).close()
            thread.join()


def asked_of(forge: str, said: bytes, *, times: int = 1) -> tuple[Any, list[bytes]]:
    """What comes of asking a forge that gives this answer, and what it was asked."""
    asked: list[bytes] = []
    found: Any = None
    with served(said, asked) as url:
        pool = FORGES[forge](url)
        try:
            for _ in range(times):
                found = send(pool, "look", "GET", "/user").data
        except Exception as error:
            found = error
        finally:
            pool.close()
    return found, [each for each in asked if each]


PACKED = gzip.compress(bytes(65 * 1024**2))
LARGE = {
    "packed": answer(PACKED, "Content-Encoding: gzip"),
    "packed twice": answer(gzip.compress(PACKED), "Content-Encoding: gzip, gzip"),
    "of a redirect": answer(PACKED, "Content-Encoding: gzip", "Location: /x", status="302 Found"),
    "in a chunk of -1 bytes": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n"
    + b" " * (65 * 1024**2),
}


@EACH
@pytest.mark.parametrize("what", LARGE)
def test_no_more_of_an_answer_is_read_than_may_be(what: str, forge: str) -> None:
    """Short-cuts read what comes whole, or bound what comes and not what it unpacks to: 800 MB of
    blanks, in 800 kB, took 2.8 GB; or only the body of an answer that is none of a redirect, which
    the client reads by itself."""
    found, _ = asked_of(forge, LARGE[what])

    assert isinstance(found, TooLargeError)
    assert "an answer has more than" in str(found)


BROKEN = {
    "less than it says": answer(b'{"a": 1}', length=500),
    "chunks without an end": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b'8\r\n{"a": 1}\r\n',
    "chunks that are none": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}",
    "not packed": answer(b"{}", "Content-Encoding: gzip"),
    "two lengths": answer(b"{}", "Content-Length: 5"),
    "no JSON": answer(b"["),
    "deep": answer(b"[" * 100_000),
    "a number of 5,000 digits": answer(b"9" * 5_000),
    "no HTTP": b"SSH-2.0-x\r\n\r\n",
    "an address that is none": answer(b"", "Location: http://[x", status="301 Moved"),
    "an address that is none for now": answer(b"", "Location: http://[x", status="302 Found"),
}


@EACH
@pytest.mark.parametrize("what", BROKEN)
def test_half_an_answer_is_tried_again(what: str, forge: str) -> None:
    """Short-cuts refused: what came of a body taken for all of it; an error that is not the
    forge's, so that a look fails as if the bot were broken."""
    found, _ = asked_of(forge, BROKEN[what])

    assert isinstance(found, ForgeBusyError)


@EACH
def test_nothing_stays_open_of_what_is_no_answer(forge: str) -> None:
    """The short-cut leaves that to the client, which lets go of what has two lengths: its socket is
    open as long as anybody has the error."""
    before = _sockets()
    found, _ = asked_of(forge, BROKEN["two lengths"])

    assert isinstance(found, ForgeBusyError)
    assert _sockets() <= before


def _sockets() -> set[str]:
    return {link for each in Path("/proc/self/fd").iterdir() if (link := _target(each))}


def _target(descriptor: Path) -> str:
    try:
        found = os.readlink(descriptor)
    except FileNotFoundError:  # the one that lists them
        return ""
    return found if found.startswith("socket:") else ""


@pytest.mark.parametrize("number", ["\u00b2", "9" * 400, "nan", "1e999"])
@EACH
def test_limits_that_are_no_numbers_are_heeded_by_nobody(number: str, forge: str) -> None:
    """The short-cut lets the client read them, whose error is nobody's."""
    limits = [
        f"{x}{n}: {number}"
        for x in ("X-RateLimit-", "RateLimit-")
        for n in ("Limit", "Remaining", "Reset")
    ]
    found, _ = asked_of(forge, answer(b"{}", *limits))

    assert found == {} or isinstance(found, ForgeBusyError)


@pytest.mark.parametrize("name", ["undefined", "idna", "punycode", "utf-7", "zlib", "a\0b", "\xff"])
@EACH
def test_the_text_of_an_answer_is_utf_8(name: str, forge: str) -> None:
    """The short-cut reads it as it says of itself: some ways are for no text, and end in an error
    that is nobody's."""
    said = answer('{"a": "é+AGE-"}'.encode(), f"Content-Type: application/json; charset={name}")

    assert asked_of(forge, said)[0] == {"a": "é+AGE-"}


@pytest.mark.parametrize("said", ["5", '{"a": {"b": [1, {"c": null}]}}', "[" * 900 + "]" * 900])
@pytest.mark.parametrize("name", ["message", "errors", "error"])
@EACH
def test_a_refusal_says_what_it_can(name: str, said: str, forge: str) -> None:
    """The short-cut takes the reason of a refusal for what the forge documents."""
    found, _ = asked_of(forge, answer(f'{{"{name}": {said}}}'.encode(), status="422 U"))

    assert isinstance(found, ForgeRefusedError)
    assert len(str(found)) < 12_000


@EACH
def test_a_circle_of_redirections_has_an_end(forge: str) -> None:
    """The short-cut follows as the client does: a thousand requests for one, or as many as fit
    into its memory of calls, of which none was granted."""
    said = answer(b"", "Location: %%/api/v3/other%n", status="301 Moved")
    found, asked = asked_of(forge, said)

    assert isinstance(found, ForgeBusyError | ForgeRefusedError)
    assert not isinstance(found, ForgeMissingError)
    assert len(asked) <= 1 + github.MOST_MOVES


def test_what_github_has_not_ready_is_asked_for_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """The short-cut leaves it to the client, which sleeps and asks again for as long as its stack
    is deep: a quarter of an hour for one request."""
    monkeypatch.setattr("github.Consts.PROCESSING_202_WAIT_TIME", 0)
    found, asked = asked_of("github", answer(b"{}", status="202 Accepted"))

    assert isinstance(found, ForgeBusyError)
    assert len(asked) == 1


def test_what_github_accepts_is_done() -> None:
    """The short-cut takes it for what is not ready."""
    asked: list[bytes] = []
    with served(answer(b'{"a": 1}', status="202 Accepted"), asked) as url:
        pool = FORGES["github"](url)
        assert ask(pool, "ask", "POST", "/x", body={}).data == {"a": 1}
        pool.close()


@EACH
def test_a_connection_is_kept_for_the_next_request(forge: str) -> None:
    """The short-cut opens one for each request, with all that TLS does first."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        connections = 0

        def serves() -> None:
            nonlocal connections
            left = 3
            while left:
                connection, _ = server.accept()
                connections += 1
                with connection:
                    while left and connection.recv(65_536):
                        connection.sendall(answer(b"{}"))
                        left -= 1

        thread = threading.Thread(target=serves)
        thread.start()
        pool = FORGES[forge](f"http://127.0.0.1:{server.getsockname()[1]}")
        for _ in range(3):
            send(pool, "look", "GET", "/user")
        pool.close()
        thread.join()

    assert connections == 1


@EACH
def test_no_cookie_is_sent_back(forge: str) -> None:
    """The short-cut keeps them: a forge has thousands sent along with each request."""
    found, asked = asked_of(forge, answer(b"{}", "Set-Cookie: a=b"), times=2)

    assert found == {}
    assert [b"cookie" in each.lower() for each in asked] == [False, False]


@EACH
def test_a_redirect_to_another_host_is_not_followed(forge: str) -> None:
    """The short-cut sends the token along."""
    elsewhere: list[bytes] = []
    with served(answer(b"{}"), elsewhere) as url:
        other = url.replace("127.0.0.1", "localhost")
        for status in ("301 Moved", "302 Found", "307 Temporary", "308 Permanent"):
            said = answer(b"", f"Location: {other}/x", status=status)
            assert isinstance(asked_of(forge, said)[0], ForgeRefusedError)

    assert [each for each in elsewhere if each] == []


LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
HERE = Repository(
    id=RepositoryId("", 1),
    full_name="acme/net",
    default_branch="main",
    clone_url="",
    installation=1,
    installed_at=LONG_AGO,
)
QUESTIONS: dict[str, tuple[object, ...]] = {
    "proposal": (1,),
    "open_proposals": (),
    "merged_proposals": ("main", LONG_AGO),
    "conversation": (1,),
    "checks": ("1" * 40,),
    "statuses_by": ("1" * 40,),
    "required_checks": ("main",),
    "commits": (1,),
    "pushes": ("main", 1),
    "role": ("ann", 5),
    "issue": (1,),
    "comment": (1, "words"),
}
NOT_DOCUMENTED = {
    "nothing": b"",
    "null": b"null",
    "a text": b'"well"',
    "a list of none": b"[null]",
    "a list of texts": b'["a"]',
    "an object of none": b"{}",
    "other kinds in it": b'{"id": [], "number": {}, "user": 5, "state": null, "data": 7}',
    "the same in a list": b'[{"id": {}, "number": [], "user": 5, "sha": {}, "body": 1}]',
}


def _spoken_to(forge: str, pool: Any) -> Forge:
    if forge == "gitlab":
        return GitLab(Known(BotIdentity("porchbot", "bot@x", 1)), HERE, pool)
    return GitHub(UserClients("https://forge.example", "token"), HERE, pool)


@EACH
@pytest.mark.parametrize("what", NOT_DOCUMENTED)
async def test_what_a_forge_does_not_document_is_its_error(what: str, forge: str) -> None:
    """The short-cut takes apart whatever claims success: a look then breaks as if the bot were, and
    people are told so."""
    with served(answer(NOT_DOCUMENTED[what]), []) as url:
        pool = FORGES[forge](url)
        wrong = {}
        for name, asked in QUESTIONS.items():
            try:
                await getattr(_spoken_to(forge, pool), name)(*asked)
            except (ForgeBusyError, ForgeRefusedError):
                pass
            except Exception as error:
                wrong[name] = error
        pool.close()

    assert wrong == {}


LISTS: dict[str, tuple[object, ...]] = {
    "open_proposals": (),
    "proposals_at": ("1" * 40,),
    "newest_change": (),
    "commits": (1,),
    "pushes": ("main", 1),
    "base_moves": ("main", LONG_AGO),
    "required_checks": ("main",),
    "statuses_by": ("1" * 40,),
    "team": ("ops",),
}


@EACH
@pytest.mark.parametrize("name", LISTS)
async def test_an_object_is_no_empty_list(name: str, forge: str) -> None:
    """Short-cut refused: going through whatever came. Of `{}` that leaves nothing: no check is
    required, nobody wrote or pushed a commit."""
    with served(answer(b"{}"), []) as url:
        pool = FORGES[forge](url)
        with pytest.raises((ForgeBusyError, ForgeRefusedError)):
            await getattr(_spoken_to(forge, pool), name)(*LISTS[name])
        pool.close()


async def test_what_stands_for_a_list_in_graphql_is_no_empty_one() -> None:
    """The short-cut goes through it: nobody said or approved anything, nobody put it on hold."""
    odd = b'{"data": {"node": {"comments": {"nodes": {}}}}}'
    with served(answer(odd), []) as url:
        pool = FORGES["github"](url)
        assert isinstance(pool, github.Clients)
        with pytest.raises(ForgeUnreadableError, match="its answer is no list but dict"):
            await asyncio.to_thread(github.graphql, pool, "read", "query", {})
        pool.close()


@pytest.mark.parametrize(
    ("told", "wanted"),
    [
        ({"name": "main", "protection": {}}, ()),
        ({"name": "trunk", "protection": {"required_status_checks": {"contexts": ["x"]}}}, ()),
        ({"name": "main", "protection": {"required_status_checks": {"contexts": ["x"]}}}, ("x",)),
    ],
)
async def test_a_branch_that_was_renamed_has_not_the_rules_of_what_it_is_called_now(
    told: dict[str, object], wanted: tuple[str, ...], tmp_path: Path
) -> None:
    """The short-cut takes what GitHub leads on to for the branch that was asked for."""
    with opened("github", tmp_path) as place:
        assert isinstance(place, SandboxGitHub)
        assert place.sandbox is not None
        place.sandbox.faults.fail("GET /repos/{owner}/{repo}/branches/{branch}", 200, told)

        found = await place.forge.required_checks("main")

    assert tuple(each.name for each in found) == wanted


@pytest.mark.parametrize("told", [{}, {"name": "main"}])
async def test_what_is_no_branch_does_not_say_that_nothing_is_required(
    told: dict[str, object], tmp_path: Path
) -> None:
    """The short-cut takes what is not there for what is not required."""
    with opened("github", tmp_path) as place:
        assert isinstance(place, SandboxGitHub)
        assert place.sandbox is not None
        assert await place.forge.required_checks("main") == ()
        call = "GET /repos/{owner}/{repo}/branches/{branch}"
        place.sandbox.faults.fail(call, 200, told)

        with pytest.raises(ForgeBusyError, match="its answer is no branch"):
            await place.forge.required_checks("main")


@pytest.mark.parametrize(
    ("port", "made"),
    [
        *((Forge, each) for each in (GitHub, GitHubByUser, GitLab)),
        *((Forges, each) for each in (GitHubForges, UserForges, GitLabForges)),
    ],
)
def test_each_question_to_a_forge_is_held_so(port: type, made: type) -> None:
    """Fails when one is added, or overridden, and its answer is taken for what it should be."""
    asked = {name for name, _ in inspect.getmembers(port, inspect.iscoroutinefunction)}

    assert asked - {n for n in asked if getattr(getattr(made, n), "__wrapped__", None)} == set()
    assert len(asked) > 5
