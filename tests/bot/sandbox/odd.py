"""Requests that no client sends: made from GitHub's description, with odd parts here and there.

Longer than 400 lines: an odd part for each kind of parameter.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

from bot.sandbox.github.routing import routes
from bot.sandbox.rules.checks import CheckRunFields
from tests.bot.sandbox.world import World
from tests.contract.watch import session_validator

ROUNDS = int(os.environ.get("FUZZ_ROUNDS", "4"))
"""How many requests of each operation."""

ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**63,
    10**30,
    1.5,
    1e308,
    "",
    " ",
    "\0",
    "a\0b",
    "\n",
    "x" * 300,
    "é" * 40_000,
    "y" * 70_000,
    "../..",
    "..",
    "%00",
    "refs/heads/",
    "refs/heads/main",
    "refs/heads/a..b",
    "0" * 40,
    "f" * 40,
    "main",
    "HEAD",
    "main\nmain",
    "\ud800",
    "2026-13-45T00:00:00Z",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59+14:00",
    "²",
    "-",
    [],
    {},
    [None],
    [[]],
    ["x"],
    [{}],
    [{"name": None}],
    {"a": {}},
    {"x": ["y"]},
    [1] * 60,
    "http://[",
    "👍",
    "<!--",
    "approved",
    "closed",
    "open",
)
ODD_PATHS = (
    "",
    " ",
    "0",
    "-1",
    "1",
    "2",
    "99999999999999999999999",
    "²",
    "%00",
    "%0a",
    "%ff",
    "..",
    ".",
    "a%2Fb",
    "main",
    "main%0aHEAD",
    "main...main",
    "...",
    "main...",
    "a...b",
    "HEAD",
    "nobody",
    "porchbot%5Bbot%5D",
    "x" * 300,
    "*",
    "net",
    "0" * 40,
    "F" * 40,
    "heads%2Fmain",
    "%E2%82%AC",
    "?",
    "owner",
    "a:b...c:d",
)
RAW_BODIES = (
    b"",
    b"null",
    b"[]",
    b'"x"',
    b"1",
    b"{",
    b"\xff\xfe",
    b"\0",
    b"NaN",
    b'{"a": NaN}',
    b"[" * 20_000,
    b'{"a":' * 20_000,
    b'{"body": "\\u0000"}',
    b'{"body": "\\ud800"}',
    b'{"title": 1e999}',
    b"9" * 5000,
    b"--x\r\n\r\n--x--",
    b"a=b&c=d",
    b'["x", null]',
    b'[{"name": {}}]',
)
TYPES = (
    "application/json",
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "",
    "é",
)
QUERIES = (
    "page",
    "per_page",
    "after",
    "before",
    "since",
    "sha",
    "path",
    "ref",
    "state",
    "sort",
    "direction",
    "filter",
    "head",
    "base",
    "app_id",
    "cursor",
    "author",
    "targets",
    "time_period",
    "activity_type",
    "protected",
    "content",
    "recursive",
)


class Asker:
    """Sends requests to the forge's door without a socket."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.seen: Counter[int] = Counter()
        self.tokens = ["", *(f"token {world.token(n)}" for n in ("owner", "author", "outsider"))]
        self.tokens += [f"token {world.installation_token()}", f"Bearer {world.jwt()}"]

    async def ask(
        self, method: str, path: str, query: str, headers: dict[str, str], body: bytes
    ) -> int:
        """One request; its status."""
        sent: list[Any] = []
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(errors="replace"),
            "query_string": query.encode(errors="replace"),
            "headers": [
                (k.lower().encode(), v.encode("utf-8", "replace")) for k, v in headers.items()
            ],
        }

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.world.forge(scope, receive, send)
        status = int(sent[0]["status"])
        self.seen[status] += 1
        return status


class Maker:
    """Makes requests of operations, likely ones and odd ones."""

    def __init__(self, world: World, asker: Asker, seed: int) -> None:
        self.random = random.Random(seed)
        self.asker = asker
        tip = world.repo.branch("main")
        assert tip is not None
        self.likely: dict[str, list[Any]] = {
            "owner": ["owner"],
            "repo": ["catalog"],
            "org": ["owner"],
            "username": ["author", "porchbot[bot]"],
            "path": ["net/values.yaml", "net", "new"],
            "branch": ["main"],
            "basehead": ["main...drafts/net"],
            "commit_sha": [tip],
            "head_sha": [tip],
            "tree_sha": [tip],
            "base": ["main"],
            "message": ["m"],
            "content": ["eA==", "eyes"],
            "body": ["/approve"],
            "title": ["T"],
            "object": [tip],
            "type": ["commit"],
            "tag": ["v1"],
            "event": ["APPROVE", "COMMENT"],
            "state": ["success", "open"],
            "name": ["bug"],
            "status": ["completed"],
            "conclusion": ["success"],
            "labels": [["bug"]],
            "merge_method": ["merge", "squash", "rebase"],
            "app_slug": ["porchbot"],
            "color": ["ff0000"],
        }
        self.world = world
        self.likely["installation_id"] = [str(n) for n in world.state.data.installations]
        self.operations = session_validator()._operations

    def refresh(self, number: int) -> None:
        """Make anew what requests may have taken away."""
        world, state = self.world, self.world.state
        with state.lock:
            branch, author = f"drafts/{number}", state.user("author")
            world.commit(branch, {"net/values.yaml": f"a: {number}\n"}, "author")
            made = state.pulls.open(world.repo, author, title="T", head=branch, base="main")
            comment = state.talk.comment(made, author, "here")
            review = state.reviews.submit(made, state.user("owner"), "APPROVE", "")
            tip = world.repo.branch("main") or made.base_sha
            wish = CheckRunFields(name="c", status="completed", conclusion="success")
            run = state.checks.create(world.repo, world.app, made.head_sha, wish)
            state.update_ref(world.repo, f"refs/heads/scratch{number}", tip, author)
        self.asker.tokens[4] = f"token {world.installation_token()}"
        self.likely |= {
            "pull_number": [str(made.number)],
            "issue_number": [str(made.number)],
            "comment_id": [str(comment.id)],
            "review_id": [str(review.id)],
            "check_run_id": [str(run.id)],
            "check_suite_id": [str(run.suite.id)],
            "ref": ["main", f"heads/scratch{number}", made.head_sha],
            "head": [branch],
            "sha": [tip, made.head_sha],
        }

    def path(self, template: str) -> str:
        """A path of an operation, now and then with an odd part."""
        odd = self.random.random() < 0.25
        names = [part[1:-1] for part in template.split("/") if part.startswith("{")]
        strange = self.random.choice(names) if odd and names else ""
        parts = []
        for part in template.split("/"):
            name = part[1:-1] if part.startswith("{") else ""
            if name and name == strange:
                parts.append(self.random.choice(ODD_PATHS))
            elif name:
                likely = self.likely.get(name, ["1"])
                parts.append(quote(self.random.choice(likely), safe="/[]:"))
            else:
                parts.append(part)
        return "/api/v3" + "/".join(parts)

    def body(self, method: str, template: str) -> bytes:
        """A body of an operation: of its described fields, some odd, or odd altogether."""
        if self.random.random() < 0.15:
            return self.random.choice(RAW_BODIES)
        described = self.operations.get(template, {}).get(method.lower(), {}).get("requestBody")
        if described is None and method == "GET":
            return b""
        schema = (described or {}).get("content", {}).get("application/json", {}).get("schema", {})
        made = self.value(schema, "", 0)
        return json.dumps(made).encode()

    def value(self, schema: Any, name: str, depth: int) -> Any:
        """A value of a schema, now and then an odd one."""
        if depth > 4 or self.random.random() < (0.15 if depth else 0.05):
            return self.random.choice(ODD_VALUES)
        if name in self.likely and self.random.random() < 0.7:
            return self.random.choice(self.likely[name])
        choices = schema.get("oneOf") or schema.get("anyOf")
        if choices:
            return self.value(self.random.choice(choices), name, depth + 1)
        if schema.get("enum"):
            return self.random.choice(schema["enum"])
        match schema.get("type"):
            case "object":
                fields = schema.get("properties", {})
                needed = schema.get("required", ())
                return {
                    key: self.value(part, key, depth + 1)
                    for key, part in fields.items()
                    if key in needed or self.random.random() < 0.5
                }
            case "array":
                count = self.random.randrange(3)
                return [self.value(schema.get("items", {}), name, depth + 1) for _ in range(count)]
            case "integer":
                return self.random.choice([0, 1, 3])
            case "boolean":
                return self.random.random() < 0.5
            case _:
                return self.random.choice(["x", *self.likely.get(name, ["y"])])

    def query(self) -> str:
        """Query parameters, odd ones among them."""
        if self.random.random() < 0.6:
            return ""
        values = [
            "1",
            "100",
            "0",
            "-1",
            "²",
            "x",
            "\0",
            "9" * 30,
            "main",
            "2020-01-01T00:00:00Z",
            "asc",
        ]
        pairs = [
            (self.random.choice(QUERIES), self.random.choice(values))
            for _ in range(self.random.randrange(1, 4))
        ]
        return urlencode(pairs)

    def headers(self) -> dict[str, str]:
        """Headers, mostly of somebody who may."""
        made = {"user-agent": "fuzz", "content-type": self.random.choice(TYPES)}
        token = self.random.choice(
            self.asker.tokens + [self.asker.tokens[1], self.asker.tokens[4]] * 5
        )
        if self.random.random() < 0.03:
            token = self.random.choice(["Basic ?", "Bearer a.b.c", "x", "Basic " + "A" * 40, "é"])
        if token:
            made["authorization"] = token
        if self.random.random() < 0.1:
            made["accept"] = self.random.choice(["application/vnd.github.raw", "*/*", "é", ""])
        if self.random.random() < 0.05:
            made["x-github-api-version"] = self.random.choice(["2022-11-28", "1999-01-01", ""])
        return made


def requests(world: World, asker: Asker, seed: int) -> Iterator[tuple[Any, ...]]:
    """All requests of a seed."""
    maker = Maker(world, asker, seed)
    listed = sorted(routes())
    for number in range(ROUNDS):
        maker.refresh(number)
        maker.random.shuffle(listed)
        for method, template in listed:
            verb = (
                method
                if maker.random.random() < 0.97
                else maker.random.choice(["PUT", "HEAD", "OPTIONS", "TRACE", "DELETE", "PATCH"])
            )
            yield (
                verb,
                maker.path(template),
                maker.query(),
                maker.headers(),
                maker.body(method, template),
            )


GIT_BODIES = (
    b"",
    b"0000",
    b"0032want " + b"0" * 40 + b"\n00000009done\n",
    b"ffff",
    b"zzzz",
    b"\x1f\x8b\x08garbage",
    b"PACK" * 10,
    b"0067" + b"0" * 40 + b" " + b"f" * 40 + b" refs/heads/x\0 report-status\n0000",
    b"0004",
    b"0014command=ls-refs\n0000",
    b"0011command=fetch0001000ewant 1\n0000",
    b"00" * 40_000,
)
