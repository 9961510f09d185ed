"""Whatever is asked, the forge answers with something of GitHub's, and never with a 5xx.

The same seed makes the same requests; FUZZ_ROUNDS and FUZZ_SEED in the environment look for more.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import random
from typing import Any

import pytest

from bot.sandbox.records.repository import Pull
from tests.bot.sandbox.odd import GIT_BODIES, ODD_VALUES, ROUNDS, TYPES, Asker, requests
from tests.bot.sandbox.world import World


@pytest.mark.usefixtures("pull")
def test_odd_requests_of_every_operation(world: World) -> None:
    """Short-cut: catch everything and call it a 422; errors of the forge's own stay unseen."""
    world.forge.observers.clear()  # most of this GitHub does not describe
    asker = Asker(world)

    async def send_all() -> None:
        seed = int(os.environ.get("FUZZ_SEED", "7"))
        for asked in requests(world, asker, seed):
            status = await asker.ask(*asked)
            assert status < 500, (status, asked)

    asyncio.run(send_all())
    assert asker.seen[200] > 20
    assert asker.seen[422] > 20


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/v3/nothing", 404),
        ("GET", "/api/v3", 404),
        ("POST", "/api/v3/repos/owner/catalog/branches", 404),
        ("PATCH", "/api/v3/user", 404),
        ("GET", "/api/v3/repos/owner/catalog/", 404),
        ("GET", "/api/v3//repos/owner/catalog", 404),
        ("GET", "/api/graphql", 404),
        ("GET", "/api/v3/repositories/0", 404),
        ("GET", "/api/v3/repositories/99999999999999999999999999", 404),
        ("HEAD", "/api/v3/repos/owner/catalog", 200),
    ],
)
def test_what_github_does_not_know_is_not_found(
    world: World, method: str, path: str, status: int
) -> None:
    world.forge.observers.clear()
    asker = Asker(world)
    headers = {"user-agent": "x", "authorization": asker.tokens[1]}
    assert asyncio.run(asker.ask(method, path, "", headers, b"")) == status


@pytest.mark.parametrize("seed", range(3))
def test_odd_graphql(world: World, pull: Pull, seed: int) -> None:
    chance = random.Random(seed)
    asker = Asker(world)
    plain = (
        "{ } ( ) : $ ! [ ] @include query mutation fragment on ... __schema __typename node id"
        " repository owner name pullRequest number comments first last after nodes body 1 -1"
        " 99999999999 1e9 null convertPullRequestToDraft input pullRequestId true PullRequest"
    )
    words = [*plain.split(), '"x"', '"""', "#", "\0", "é", "@skip(if: true)"]
    world.forge.observers.clear()

    async def send_all() -> None:
        for _ in range(60):
            text = " ".join(chance.choice(words) for _ in range(chance.randrange(1, 40)))
            if chance.random() < 0.5:
                asked = chance.choice(["first: -1", "first: 0", "last: 2147483648", "after: 1"])
                inner = f"... on PullRequest {{ comments({asked}) }}"
                text = f'{{ node(id: "{pull.id}") {{ {inner} }} {text} }}'
            body: Any = {"query": text, "variables": chance.choice(ODD_VALUES)}
            headers = {"user-agent": "x", "authorization": chance.choice(asker.tokens)}
            raw = json.dumps(body).encode()
            assert await asker.ask("POST", "/api/graphql", "", headers, raw) < 500, text

    asyncio.run(send_all())


@pytest.mark.usefixtures("pull")
def test_odd_requests_of_git(world: World) -> None:
    """Short-cut: hand on what git's own door answers, which dies of a bad body with a 500."""
    chance = random.Random(5)
    asker = Asker(world)
    paths = [
        f"/{name}/{rest}"
        for name in (
            "owner/catalog.git",
            "owner/catalog",
            "owner/none.git",
            "%ff/catalog.git",
            "../x.git",
        )
        for rest in (
            "info/refs",
            "git-upload-pack",
            "git-receive-pack",
            "HEAD",
            "objects/info/packs",
        )
    ]
    queries = (
        "",
        "service=git-upload-pack",
        "service=git-receive-pack",
        "service=evil",
        "service=%00",
    )

    async def send_all() -> None:
        for _ in range(10 * ROUNDS):
            headers = {"user-agent": "git/2", "authorization": "Basic ?"}
            if chance.random() < 0.8:
                login, token = "author", world.token("author")
                coded = base64.b64encode(f"{login}:{token}".encode()).decode()
                headers["authorization"] = f"Basic {coded}"
            for name, values in (
                (
                    "content-type",
                    ("", *(f"application/x-git-{n}-pack-request" for n in ("receive", "upload"))),
                ),
                ("content-encoding", ("gzip", "identity", "br")),
                ("git-protocol", ("version=2", "version=99", "\n")),
                ("content-length", ("0", "5", "-1", "x")),
            ):
                if chance.random() < 0.4:
                    headers[name] = chance.choice(values)
            method = chance.choice(["GET", "POST", "PUT", "HEAD"])
            asked = (method, chance.choice(paths), chance.choice(queries), headers)
            body = chance.choice(GIT_BODIES)
            async with asyncio.timeout(60):
                status = await asker.ask(*asked, body)
            assert status < 500, (status, asked)

    asyncio.run(send_all())
    assert world.repo.branch("x") is None


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.usefixtures("pull")
def test_odd_pages(world: World, seed: int) -> None:
    chance = random.Random(seed)
    asker = Asker(world)
    parts = (
        "owner",
        "catalog",
        "pull",
        "1",
        "files",
        "tree",
        "main",
        "net",
        "blob",
        "values.yaml",
        "%00",
        "%ff",
        "²",
        "pulls",
        "branches",
        "tags",
        "commit",
        "0" * 40,
        "x" * 300,
        "..",
        "",
        "static",
        "merge",
        "compare",
    )

    async def send_all() -> None:
        for _ in range(80):
            path = "/" + "/".join(chance.choice(parts) for _ in range(chance.randrange(6)))
            if chance.random() < 0.6:
                path = "/owner/catalog" + path
            body = chance.choice([b"", b"a=b", b"\xff=%zz", b"body=%00&event=APPROVE", b"x" * 9000])
            headers = {
                "content-type": chance.choice(TYPES),
                "cookie": chance.choice(["", "é=;;", "user=x"]),
            }
            asked = (
                chance.choice(["GET", "POST", "HEAD"]),
                path,
                chance.choice(["", "page=²", "q=%00"]),
            )
            status = await asker.ask(*asked, headers, body)
            assert status < 500, (status, asked)

    asyncio.run(send_all())
