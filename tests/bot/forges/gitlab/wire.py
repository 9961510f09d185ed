"""An instance of GitLab that gives the answers it was told to give."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.forges.gitlab.http import Clients
from tests.in_process import session

URL = "https://gitlab.example/forge"


@dataclass
class Wire:
    """Gives one answer after the other, the last one for ever; or by the path, where one is told.

    Attributes:
        asked: Verb and path with query of each request.
        bodies: What was sent, as JSON.
        tokens: What each was signed with.
    """

    answers: list[tuple[int, Mapping[str, str], str]] = field(default_factory=list)
    paths: dict[str, tuple[int, Mapping[str, str], str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    bodies: list[object] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    token: str = "glpat-one"

    def gives(self, status: int, body: object, **headers: str) -> None:
        """Give this answer next."""
        self.answers.append(_answer(status, body, headers))

    def has(self, asked: str, body: object, status: int = 200, **headers: str) -> None:
        """Give this answer to each such request: "GET /user", without its query."""
        self.paths[asked] = _answer(status, body, headers)

    def answer(
        self, verb: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Answer a request."""
        path = path.removeprefix("/forge/api/v4")
        self.asked.append(f"{verb.upper()} {path}")
        self.tokens.append(headers.get("private-token", ""))
        self.bodies.append(json.loads(body) if body else None)
        known = self.paths.get(f"{verb.upper()} {path.partition('?')[0]}")
        if known is None and not self.answers:
            known = _answer(404, {"message": "404 Not found"}, {})
        if known is None:
            known = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        status, told, text = known
        return status, told, text.encode()

    def clients(self) -> Clients:
        """Clients that ask it."""
        return Clients(URL, lambda: self.token, session=lambda: session(self.answer))


def _answer(
    status: int, body: object, headers: Mapping[str, str]
) -> tuple[int, Mapping[str, str], str]:
    text = body if isinstance(body, str) else json.dumps(body)
    return status, {k.replace("_", "-"): v for k, v in headers.items()}, text
