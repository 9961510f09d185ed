"""Validates one answer or one webhook of the sandbox forge against GitHub's descriptions.

Longer than 400 lines: one validator, a method for each keyword of a schema.

The descriptions are the trimmed copies in `forge/` (see `trim`). The official webhook description
leads. Beyond JSON Schema two things are checked that a fake gets wrong unnoticed: keys that GitHub
does not describe, and error bodies, whose description requires no field at all.
"""

from __future__ import annotations

import hashlib
import json
import marshal
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, Protocol

import jsonschema_rs
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError, best_match
from jsonschema.validators import extend

FOLDER = Path(__file__).parent / "forge"
"""The trimmed descriptions."""

Json = dict[str, Any]

MOST_PROBLEMS = 12
"""How many problems of one body are told; the rest are counted."""


class Exchange(Protocol):
    """One request to the sandbox forge and its answer, as its observers are given it."""

    @property
    def method(self) -> str:
        """The HTTP method in capitals."""

    @property
    def path(self) -> str:
        """The path as it was asked for."""

    @property
    def template(self) -> str | None:
        """The route in GitHub's spelling; None or empty where no route was found."""

    @property
    def query(self) -> Mapping[str, str]:
        """Query parameters."""

    @property
    def request_body(self) -> Any:
        """The request's body as parsed JSON; None where there was none."""

    @property
    def status(self) -> int:
        """The HTTP status."""

    @property
    def response_headers(self) -> Mapping[str, str]:
        """The answer's headers."""

    @property
    def response_body(self) -> Any:
        """The answer's body: parsed JSON; text or None where it is not JSON; None where empty."""

    @property
    def fault(self) -> bool:
        """Whether a fault that a test ordered made the answer."""


_NO_COMPONENTS: Json = {"schemas": {}}

ERROR_BODY: Json = {
    "type": "object",
    "required": ["message", "documentation_url"],
    "properties": {
        "message": {"type": "string", "minLength": 1},
        "documentation_url": {"type": "string", "minLength": 1},
        "status": {"type": "string", "pattern": "^[45][0-9][0-9]$"},
        "url": {"type": "string"},
        "errors": {
            "anyOf": [
                {"type": "array", "items": {"type": "string"}},
                {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["code"],
                        "properties": {
                            "resource": {"type": "string"},
                            "field": {"type": "string"},
                            "code": {
                                "enum": [
                                    "missing",
                                    "missing_field",
                                    "invalid",
                                    "already_exists",
                                    "unprocessable",
                                    "custom",
                                ]
                            },
                            "message": {"type": "string"},
                            "index": {"type": "integer"},
                            "value": {},
                        },
                    },
                },
            ]
        },
    },
}
"""What GitHub's errors look like (recorded: 401, 403, 404, 422 in three shapes)."""

SERVER_ERROR_BODY: Json = {
    "anyOf": [
        ERROR_BODY,
        {"type": "object", "required": ["message"], "properties": {"message": {"type": "string"}}},
        {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}},
    ]
}
"""A 5xx comes from GitHub's outer servers too, with less in it."""

UNDESCRIBED = frozenset(
    {
        ("GET", "/user/repos"),
        ("GET", "/orgs/{org}/hooks"),
        ("POST", "/orgs/{org}/hooks"),
        ("PATCH", "/orgs/{org}/hooks/{hook_id}"),
    }
) | frozenset(
    (method, f"/repos/{{owner}}/{{repo}}{rest}")
    for method, rest in (
        ("POST", "/rulesets"),
        ("DELETE", "/issues/{issue_number}/assignees"),
        ("PUT", "/issues/{issue_number}/lock"),
        ("DELETE", "/issues/{issue_number}/lock"),
        ("POST", "/pulls/{pull_number}/comments/{comment_id}/replies"),
        ("GET", "/pulls/comments"),
        ("GET", "/pulls/comments/{comment_id}"),
        ("PATCH", "/pulls/comments/{comment_id}"),
        ("DELETE", "/pulls/comments/{comment_id}"),
        ("DELETE", "/releases/{release_id}"),
        ("GET", "/forks"),
        ("POST", "/forks"),
        ("POST", "/merge-upstream"),
    )
)
"""Operations of GitHub's that the description we have leaves out; only their errors are checked."""

_ANYWHERE = frozenset({401, 403, 404, 429})
"""Answers that come on operations which do not list them."""

_KNOWN_UNLISTED: Mapping[tuple[str, str, int], str] = {
    ("*", "*", 301): "documented in prose: any path of a repository that was renamed",
    ("*", "*", 307): "documented in prose: the same for methods that change something",
    ("*", "*", 400): "recorded: 'Problems parsing JSON' on operations that do not list it",
    ("POST", "/repos/{owner}/{repo}/statuses/{sha}", 422): "recorded: description too long",
    ("POST", "/repos/{owner}/{repo}/check-runs", 422): "documented in prose: 50 annotations",
    ("PATCH", "/repos/{owner}/{repo}/check-runs/{check_run_id}", 422): "as for creating one",
    ("POST", "/repos/{owner}/{repo}/check-suites", 422): "recorded for a head that is missing",
    ("GET", "/repos/{owner}/{repo}/contents/{path}", 422): "documented in prose: a bad ref",
} | {
    ("GET", f"/repos/{{owner}}/{{repo}}/commits/{rest}", 422): "recorded: No commit found for SHA"
    for rest in (
        "{commit_sha}/pulls",
        "{ref}/check-runs",
        "{ref}/check-suites",
        "{ref}/status",
        "{ref}/statuses",
    )
}
"""Further answers that GitHub is known to give although the operation does not list them."""

_CORRECTED: tuple[tuple[str, str, str, Json], ...] = (
    # The list wants an account to be a user and an enterprise at once (allOf), which no account
    # is; one installation, described for `GET /app/installations/{installation_id}`, wants either.
    (
        "/app/installations",
        "get",
        "200",
        {"type": "array", "items": {"$ref": "#/components/schemas/installation"}},
    ),
    # One of two errors of which each is the other too: no field of either is required.
    (
        "/repos/{owner}/{repo}/contents/{path}",
        "put",
        "409",
        {"$ref": "#/components/schemas/basic-error"},
    ),
)
"""Answers whose description nothing can meet: template, method, status, the schema that leads."""

_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)\Z")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+\Z")

FORMATS = FormatChecker(formats=())
"""The formats that are checked: `date-time` and `uri`."""


@FORMATS.checks("date-time", raises=ValueError)
def _is_date_time(value: object) -> bool:
    if not isinstance(value, str):
        return True
    return bool(_DATE_TIME.match(value)) and bool(datetime.fromisoformat(value))


@FORMATS.checks("uri")
def _is_uri(value: object) -> bool:
    # Empty is what GitHub sends for a URI that is not set (recorded: `homepage`).
    return not isinstance(value, str) or not value or bool(_URI.match(value))


_QUICK_FORMATS: dict[str, Callable[[str], bool]] = {
    name: partial(FORMATS.conforms, format=name) for name in ("date-time", "uri")
}


def _reach(schema: Any, schemas: Json, reached: Json) -> None:
    """Collect the schemas that one refers to, and those that they refer to."""
    if isinstance(schema, list):
        for part in schema:
            _reach(part, schemas, reached)
    elif isinstance(schema, dict):
        name = str(schema.get("$ref", "")).rpartition("/")[2]
        if name in schemas and name not in reached:
            reached[name] = schemas[name]
            _reach(schemas[name], schemas, reached)
        for part in schema.values():
            _reach(part, schemas, reached)


def with_null(schema: Any) -> Any:
    """Return an OpenAPI 3.0 schema as JSON Schema: `nullable` becomes a choice of null."""
    if isinstance(schema, list):
        return [with_null(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: with_null(value) for key, value in schema.items() if key != "nullable"}
    return {"anyOf": [kept, {"type": "null"}]} if schema.get("nullable") is True else kept


class _Keys:
    """What some schemas say together of the keys and items of a value.

    Attributes:
        items: The schemas of a list's items.
        below: Those of what each key has.
        is_open: Whether other keys may be there.
    """

    def __init__(self, parts: list[Json]) -> None:
        self.items = [part["items"] for part in parts if "items" in part]
        self.below: dict[str, list[Any]] = {}
        for part in parts:
            for key, schema in (part.get("properties") or {}).items():
                self.below.setdefault(key, []).append(schema)
        rest = [part["additionalProperties"] for part in parts if "additionalProperties" in part]
        self.is_open = not self.below or any(schema is not False for schema in rest)


class Schema:
    """One schema with the components it refers to, ready to check many values.

    Attributes:
        closed: Whether a key that the schema does not name is a problem.
        elsewhere: Keys that may stand anywhere although the schema does not name them.
        forge: Whose description it is, for people.
    """

    def __init__(
        self,
        schema: Json,
        components: Json,
        *,
        closed: bool,
        elsewhere: frozenset[str] = frozenset(),
        kind: Any = Draft202012Validator,
        forge: str = "GitHub",
    ) -> None:
        self.closed = closed
        self.forge = forge
        self.elsewhere = elsewhere
        self._sound: set[bytes] = set()
        self._known: dict[tuple[int, ...], _Keys] = {}  # by the ids of schemas, which stay
        self._schema = schema
        self._schemas: Json = components["schemas"]
        self._validator = kind({**schema, "components": components}, format_checker=FORMATS)
        reached: Json = {}
        _reach(schema, self._schemas, reached)
        self._quick = jsonschema_rs.Draft202012Validator(
            {**schema, "components": {"schemas": reached}},
            formats=_QUICK_FORMATS,
            validate_formats=True,
        )

    def problems(self, value: Any) -> Iterator[str]:
        """Yield what is wrong with a value, each with the place where it is wrong."""
        # Who waits for something is sent the same again and again.
        digest = _digest(value)
        if digest in self._sound:
            return
        found = []
        if not self._is_valid(value):
            found = [_told(error) for error in self._validator.iter_errors(value)]
        if self.closed:
            found += [
                f"{place}: {self.forge} does not describe this key"
                for place in self._extra([self._schema], value, "")
            ]
        if not found:
            self._sound.add(digest)
        yield from found

    def _is_valid(self, value: Any) -> bool:
        """Whether the faster of the two validators finds nothing; the other one names problems."""
        try:
            return self._quick.is_valid(value)
        except ValueError:  # it is no JSON
            return False

    def _extra(self, schemas: list[Any], value: Any, place: str) -> Iterator[str]:
        """Yield the places of keys that none of the schemas names."""
        if not isinstance(value, dict | list):
            return
        about = tuple(map(id, schemas))
        known = self._known.get(about)
        if known is None:
            known = self._known[about] = _Keys(list(self._flat(schemas)))
        if isinstance(value, list):
            for index, item in enumerate(value):
                yield from self._extra(known.items, item, f"{place}/{index}")
            return
        for key, item in value.items():
            below = known.below.get(key)
            if below:
                yield from self._extra(below, item, f"{place}/{key}")
            elif not known.is_open and key not in self.elsewhere:
                yield f"{place}/{key}"

    def _flat(self, schemas: Iterable[Any]) -> Iterator[Json]:
        """Yield the schemas with references followed and choices opened up."""
        for schema in schemas:
            if not isinstance(schema, dict):
                continue
            if "$ref" in schema:
                yield from self._flat([self._schemas[schema["$ref"].rsplit("/", 1)[1]]])
            for key in ("allOf", "anyOf", "oneOf"):
                yield from self._flat(schema.get(key, ()))
            yield schema


_REF = Draft202012Validator.VALIDATORS["$ref"]


class _Remembering:
    """The keyword `$ref`, which does not look twice at the same: users and repositories mostly."""

    def __init__(self) -> None:
        self._sound: set[tuple[str, bytes]] = set()

    def __call__(
        self, validator: Any, ref: str, value: Any, schema: Any
    ) -> Iterator[ValidationError]:
        key = (ref, _digest(value))
        if key in self._sound:
            return
        found = list(_REF(validator, ref, value, schema))
        if not found:
            self._sound.add(key)
        yield from found


def _digest(value: Any) -> bytes:
    try:
        plain = marshal.dumps(value, 2)  # later versions tell which parts are one object
    except ValueError:  # it holds what is no JSON
        plain = json.dumps(value, default=repr).encode()
    return hashlib.sha256(plain).digest()


def _told(error: ValidationError) -> str:
    """Return one error in a line: the place, and for a choice the likeliest cause."""
    cause = best_match([error]) if error.context else error
    place = "/".join(str(part) for part in cause.absolute_path)
    return f"/{place}: {cause.message[:200]}"


@cache
def _openapi() -> Json:
    """The API's description; nobody changes what is shared here."""
    spec: Json = with_null(json.loads((FOLDER / "openapi.json").read_text(encoding="utf-8")))
    for template, method, status, schema in _CORRECTED:
        answer = spec["paths"][template][method]["responses"][status]
        answer["content"]["application/json"]["schema"] = schema
    return spec


@cache
def _webhook_spec() -> Json:
    """The webhooks' description; nobody changes what is shared here."""
    text = (FOLDER / "webhooks.openapi.json").read_text(encoding="utf-8")
    spec: Json = json.loads(text)
    # What an App may subscribe to: the description lists it again for each event, a few of the
    # names missing each time.
    lists = list(_event_lists(spec))
    for each in lists:
        each["enum"] = sorted({name for other in lists for name in other["enum"]})
    return spec


@cache
def _event_keys() -> frozenset[str]:
    """Every key that the webhook description names at some place.

    The description repeats its objects for each event and forgets keys while doing so: real
    payloads carry `has_discussions` in repositories for which it is not described.
    """
    return frozenset(_property_names(_webhook_spec()))


class Validator:
    """Checks answers and webhooks, and counts which operations and events it saw.

    Compiled schemas are kept, so that one validator serves thousands of answers.

    Attributes:
        forge: Whose descriptions these are.
        closed: Whether a key that GitHub does not describe is a problem. Recordings are held
            against it open, for GitHub sends more than it describes.
        answers: How often each (method, template, status) was seen.
        webhooks: How often each `event/action` was seen.
    """

    forge = "GitHub"

    def __init__(self, *, closed: bool = True) -> None:
        self.closed = closed
        self.answers: Counter[tuple[str, str, int]] = Counter()
        self.webhooks: Counter[str] = Counter()
        self._made: dict[tuple[object, ...], Schema] = {}
        self._kinds: dict[int, Any] = {}

    def answer(self, exchange: Exchange) -> list[str]:
        """Return what is wrong with an answer and, if it was accepted, with its request.

        Args:
            exchange: The request and its answer.

        Returns:
            A line for each problem, beginning with the operation; empty if there is none.
        """
        method, template, status = exchange.method.upper(), exchange.template, exchange.status
        if not template:
            return self._unrouted(exchange)
        if template.endswith("graphql"):
            self.answers[method, "/graphql", status] += 1
            return prefixed(f"{method} /graphql -> {status}", self._graphql(exchange))
        self.answers[method, template, status] += 1
        where = f"{method} {template} -> {status}"
        operation = self._operations.get(template, {}).get(method.lower())
        if operation is None and (method, template) in UNDESCRIBED:
            return prefixed(where, self._error(exchange) if status >= 400 else ())
        if operation is None:
            return [
                f"{where}: GitHub's description has no such operation; if it should, add it to"
                " OPERATIONS in tests/contract/trim.py and run `python -m tests.contract.trim`"
            ]
        found = list(self._response(operation, exchange))
        if status < 400:
            found += self._request(operation, exchange)
        return prefixed(where, found)

    def webhook(self, event: str, headers: Mapping[str, str], payload: Any) -> list[str]:
        """Return what is wrong with a webhook: the payload, and what the headers say of it.

        Args:
            event: The header `X-GitHub-Event`, such as `pull_request`.
            headers: As they were sent.
            payload: The body as parsed JSON.
        """
        found = self.payload(event, payload)
        named = {name.lower(): value for name, value in headers.items()}.get("x-github-event")
        if named != event:
            found.append(f"webhook {event}: the header X-GitHub-Event says {named!r}")
        return found

    def payload(self, event: str, payload: Any) -> list[str]:
        """Return what is wrong with the payload of a webhook; see `webhook`."""
        action = payload.get("action") if isinstance(payload, dict) else None
        name = f"{event}/{action}" if action is not None else event
        self.webhooks[name] += 1
        if name not in self._events:
            return [
                f"webhook {name}: GitHub's description has no such event and action; if it"
                " should, add it to EVENTS in tests/contract/trim.py and run"
                " `python -m tests.contract.trim`"
            ]
        components = _webhook_spec()["components"]
        key = ("webhook", name)
        schema = self._schema(key, self._events[name], components, _event_keys())
        return prefixed(f"webhook {name}", schema.problems(payload))

    @cached_property
    def operations(self) -> list[tuple[str, str]]:
        """The operations described, as (method, template)."""
        return [
            (method.upper(), template)
            for template, methods in self._operations.items()
            for method in methods
        ]

    @cached_property
    def events(self) -> list[str]:
        """The webhooks described, as `event/action` or `event`."""
        return list(self._events)

    @cached_property
    def _operations(self) -> Json:
        paths: Json = _openapi()["paths"]
        return paths

    @cached_property
    def _events(self) -> Json:
        events: Json = _webhook_spec()["webhooks"]
        return events

    @cached_property
    def _inputs(self) -> dict[str, dict[str, bool]]:
        """GraphQL input to its fields; true for a required field."""
        text = (FOLDER / "subset.graphql").read_text(encoding="utf-8")
        return {
            name: {field: kind.endswith("!") for field, kind in re.findall(r"(\w+): (\S+)", body)}
            for name, body in re.findall(r"^input (\w+) \{(.*?)^\}", text, re.MULTILINE | re.DOTALL)
        }

    def _schema(
        self,
        key: tuple[object, ...],
        schema: Json,
        components: Json,
        elsewhere: frozenset[str] = frozenset(),
    ) -> Schema:
        made = self._made.get(key)
        if made is None:
            # A reference means the same wherever the same components are.
            kind = self._kinds.get(id(components))
            if kind is None:
                kind = extend(  # type: ignore[no-untyped-call] # it comes without types
                    Draft202012Validator, {"$ref": _Remembering()}
                )
                self._kinds[id(components)] = kind
            made = self._made[key] = Schema(
                schema, components, closed=self.closed, elsewhere=elsewhere, kind=kind
            )
        return made

    def _unrouted(self, exchange: Exchange) -> list[str]:
        """An unknown path is answered by 404, or by what comes before routes are looked at."""
        method, status = exchange.method.upper(), exchange.status
        where = f"{method} {exchange.path} -> {status}"
        if status not in _ANYWHERE and status < 500:
            return [f"{where}: the answer names no route of GitHub's description"]
        return prefixed(where, self._error(exchange))

    def _response(self, operation: Json, exchange: Exchange) -> Iterator[str]:
        status, body = exchange.status, exchange.response_body
        if status in (204, 304):
            if status == 204 and "204" not in operation["responses"]:
                yield "the operation does not list this status"
            if body not in (None, "", b""):
                yield "an answer with this status has no body"
            return
        described = operation["responses"].get(str(status))
        if described is None and not self._may_be_unlisted(exchange):
            yield "the operation does not list this status"
            return
        if status >= 400:
            yield from self._error(exchange)
        content = (described or {}).get("content")
        # Of the three shapes of 422 the description names one for each operation; GitHub was
        # recorded to send any of them, so there the error's shape alone is looked at.
        if content and status != 422 and not (status >= 400 and _media_type(exchange) is None):
            yield from self._content(content, exchange)

    def _content(self, content: Json, exchange: Exchange) -> Iterator[str]:
        """Check a body against the schema of its media type."""
        status, body = exchange.status, exchange.response_body
        kind = _media_type(exchange)
        if kind is None:
            if not isinstance(body, str | bytes | None):
                yield "the headers say text, but the body is not"
            return
        part = content.get(kind) or content["application/json"]
        key = (exchange.method.upper(), exchange.template, status, kind)
        # Newer errors carry `status` (recorded), which the description has in some places only.
        extra = frozenset({"status"}) if status >= 400 else frozenset()
        components = _openapi()["components"]
        yield from self._schema(key, part["schema"], components, extra).problems(body)

    def _may_be_unlisted(self, exchange: Exchange) -> bool:
        status = exchange.status
        if status in _ANYWHERE or status >= 500 or ("*", "*", status) in _KNOWN_UNLISTED:
            return True
        return (exchange.method.upper(), exchange.template or "", status) in _KNOWN_UNLISTED

    def _error(self, exchange: Exchange) -> Iterator[str]:
        """Check the body of an error against the shapes that GitHub was seen to send."""
        status, body = exchange.status, exchange.response_body
        if _media_type(exchange) is None or isinstance(body, str | bytes):
            # An outer server answers with a page, and refuses a missing User-Agent with text.
            if status < 500 and not (status == 403 and "octet-stream" in _type(exchange)):
                yield "the error is not JSON"
            return
        server = status >= 500
        schema = SERVER_ERROR_BODY if server else ERROR_BODY
        yield from self._schema(("error", server), schema, _NO_COMPONENTS).problems(body)
        told = body.get("status") if isinstance(body, dict) else None
        if told is not None and told != str(status):
            yield f"/status: {told!r} is not the status that was sent"

    def _request(self, operation: Json, exchange: Exchange) -> Iterator[str]:
        """Check body and query of a request that was accepted."""
        described = operation.get("requestBody")
        if described is not None and exchange.request_body not in (None, "", b""):
            key = ("request", exchange.method.upper(), exchange.template)
            schema = described["content"]["application/json"]["schema"]
            checked = self._schema(key, schema, _openapi()["components"])
            for problem in checked.problems(exchange.request_body):
                yield f"request body {problem}"
        elif described is not None and described.get("required"):
            yield "request body: missing, but required"
        known = {part["name"]: part for part in operation["parameters"] if part["in"] == "query"}
        for name, value in exchange.query.items():
            if name not in known:
                yield f"query {name}={value}: GitHub does not describe this parameter"
                continue
            allowed = known[name]["schema"].get("enum")
            if allowed and value not in allowed:
                yield f"query {name}={value}: one of {', '.join(allowed)} is allowed"

    def _graphql(self, exchange: Exchange) -> Iterator[str]:
        """Check a mutation's input by its fields, and that errors come with status 200."""
        if exchange.status >= 400:
            yield from self._error(exchange)
            return
        answer = exchange.response_body
        if not isinstance(answer, dict) or not {"data", "errors"} & answer.keys():
            yield "a GraphQL answer has data, errors or both"
        request = exchange.request_body if isinstance(exchange.request_body, dict) else {}
        query = str(request.get("query", ""))
        for name in re.findall(r":\s*(\w+Input)!?", query):
            fields = self._inputs.get(name)
            if fields is None:
                yield f"{name}: the GraphQL schema kept here has no such input"
                continue
            sent = (request.get("variables") or {}).get("input") or {}
            for field in sorted(sent.keys() - fields.keys()):
                yield f"{name}.{field}: no such field"
            for field in sorted(field for field, needed in fields.items() if needed):
                if not isinstance(sent.get(field), str):
                    yield f"{name}.{field}: a required field, and a string"


def _event_lists(value: Any) -> Iterator[Json]:
    """Yield the schemas of the names in `events`, wherever there are some."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if isinstance(value, dict) and isinstance(value.get("events"), dict):
        items = value["events"].get("items")
        if isinstance(items, dict) and "enum" in items:
            yield items
    for each in inner:
        yield from _event_lists(each)


def _property_names(value: Any) -> Iterator[str]:
    """Yield the names under every `properties` of a description."""
    if isinstance(value, dict):
        if isinstance(value.get("properties"), dict):
            yield from value["properties"]
        for part in value.values():
            yield from _property_names(part)
    elif isinstance(value, list):
        for part in value:
            yield from _property_names(part)


def _type(exchange: Exchange) -> str:
    headers = {name.lower(): value for name, value in exchange.response_headers.items()}
    return headers.get("content-type", "application/json")


def _media_type(exchange: Exchange) -> str | None:
    """Return the media type that a body is described under; None for raw text and diffs."""
    headers = {name.lower(): value for name, value in exchange.response_headers.items()}
    asked = headers.get("x-github-media-type", "")
    kind = _type(exchange)
    if "param=object" in asked:
        return "application/vnd.github.object"
    if re.search(r"param=(raw|diff|patch|sha)\b", asked) or ".raw" in kind:
        return None
    return "application/json" if "json" in kind else None


def prefixed(where: str, problems: Iterable[str]) -> list[str]:
    """Return problems with the operation before each; what is too much is counted."""
    found = [f"{where}: {problem}" for problem in problems]
    if len(found) > MOST_PROBLEMS:
        rest = len(found) - MOST_PROBLEMS
        found[MOST_PROBLEMS:] = [f"{where}: and {rest} more problems"]
    return found
