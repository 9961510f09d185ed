"""Whatever is asked, the forge answers with something of GitLab's, and never with an error of ours.

The same seed makes the same requests; FUZZ_ROUNDS and FUZZ_SEED in the environment look for more.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections import Counter
from typing import Any
from urllib.parse import quote, urlencode

from bot.sandbox.gitlab.routing import routes
from tests.bot.sandbox.gitlab.lab import Lab
from tests.bot.sandbox.odd import ODD_VALUES, ROUNDS

_FIELDS = (
    *("branch", "ref", "name", "path", "url", "title", "body", "key", "scopes", "actions"),
    *("commit_message", "tag_name", "message", "user_id", "access_level", "allowed_to_push"),
    *("source_branch", "target_branch", "state", "sha", "position", "labels", "expires_at"),
    *("from", "to", "refs", "search", "sort", "order_by", "since", "group_id", "username"),
    *("custom_headers", "signing_token", "page", "per_page", "pagination", "cursor", "note"),
)
_GOOD: tuple[Any, ...] = (
    "main",
    "x",
    "1",
    30,
    "net/values.yaml",
    [],
    {},
    ["main", "main"],
    [{"access_level": 30}],
)


def test_odd_requests_of_every_operation(lab: Lab) -> None:
    """Short-cut: catch everything and call it a 400; errors of the forge's own stay unseen."""
    lab.forge.observers.clear()  # most of this nobody has recorded
    chance = random.Random(int(os.environ.get("FUZZ_SEED", "7")))
    state = lab.forge.state
    state.organizations.add("acme", admins=("owner",))
    state.data.gitlab.admins.add(state.user("owner").id)
    state.data.gitlab.tier = "ultimate"
    seen: Counter[int] = Counter()
    for method, template in routes() * ROUNDS:
        if template.endswith(("/test/{trigger}", "/resend")) or method == "DELETE":
            continue  # these call out, or leave nothing to ask for
        token = lab.forge.token(chance.choice(["owner", "owner", "author", "outsider"]))
        values = {"id": "acme" if template.startswith("/groups") else str(lab.repo.id)}

        def value(match: re.Match[str], known: dict[str, str] = values) -> str:
            odd = chance.choice([*ODD_VALUES, 1, "main"])
            return quote(_text(known.get(match[1], odd)), safe="") or "0"

        path = re.sub(r"\{(\w+)\}", value, template)
        asked = {chance.choice(_FIELDS): chance.choice([*ODD_VALUES, *_GOOD]) for _ in range(5)}
        headers = {"PRIVATE-TOKEN": token, "Content-Type": "application/json"}
        raw = b""
        if method == "GET":
            words = {k: _text(v) for k, v in asked.items()}
            path += f"?{urlencode(words)}"
        else:
            raw = json.dumps(asked).encode()
        status, _, _ = lab.forge.answer(method, f"/api/v4{path}", headers, raw)
        assert status < 500, (method, path, asked)
        seen[status] += 1
    assert seen[200] > 40
    assert seen[400] > 40
    assert seen[404] > 40


def _text(value: Any) -> str:
    """A value as it can stand in an address, which is no longer than a server in front takes."""
    return str(value)[:4_000].encode("utf-8", "replace").decode()
