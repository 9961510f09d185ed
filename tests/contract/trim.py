"""Makes the copies in `tests/contract/forge/`: the parts of GitHub's descriptions that are used.

Run `python -m tests.contract.trim` after a new description arrived or an operation was added
below. Kept are the operations and events that the sandbox forge has, with the schemas that they
refer to; examples and prose are dropped, because nothing is checked against them.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[2] / "../shared/forge"
"""Where the whole descriptions lie: the folder `shared` beside the checkout."""
TARGET = Path(__file__).parent / "forge"
"""Where the trimmed copies lie."""

Json = dict[str, Any]

_REPO = "/repos/{owner}/{repo}"
OPERATIONS: Mapping[str, str] = {
    "/app": "get",
    "/app-manifests/{code}/conversions": "post",
    "/app/hook/config": "get patch",
    "/app/hook/deliveries": "get",
    "/app/hook/deliveries/{delivery_id}": "get",
    "/app/hook/deliveries/{delivery_id}/attempts": "post",
    "/app/installations": "get",
    "/app/installations/{installation_id}": "get",
    "/app/installations/{installation_id}/access_tokens": "post",
    "/apps/{app_slug}": "get",
    "/installation/repositories": "get",
    "/installation/token": "delete",
    "/meta": "get",
    "/orgs/{org}/installation": "get",
    "/orgs/{org}/members/{username}": "get",
    "/orgs/{org}/memberships/{username}": "get",
    "/orgs/{org}/teams/{team_slug}": "get",
    "/orgs/{org}/teams/{team_slug}/members": "get",
    "/orgs/{org}/teams/{team_slug}/memberships/{username}": "get",
    "/orgs/{org}/teams/{team_slug}/repos/{owner}/{repo}": "get",
    "/rate_limit": "get",
    "/user": "get",
    "/users/{username}": "get",
    "/users/{username}/installation": "get",
    _REPO: "get",
    f"{_REPO}/activity": "get",
    f"{_REPO}/branches": "get",
    f"{_REPO}/branches/{{branch}}": "get",
    f"{_REPO}/branches/{{branch}}/protection": "get",
    f"{_REPO}/branches/{{branch}}/protection/required_status_checks": "get",
    f"{_REPO}/check-runs": "post",
    f"{_REPO}/check-runs/{{check_run_id}}": "get patch",
    f"{_REPO}/check-runs/{{check_run_id}}/annotations": "get",
    f"{_REPO}/check-runs/{{check_run_id}}/rerequest": "post",
    f"{_REPO}/check-suites": "post",
    f"{_REPO}/check-suites/{{check_suite_id}}": "get",
    f"{_REPO}/check-suites/{{check_suite_id}}/check-runs": "get",
    f"{_REPO}/check-suites/{{check_suite_id}}/rerequest": "post",
    f"{_REPO}/collaborators": "get",
    f"{_REPO}/collaborators/{{username}}": "get",
    f"{_REPO}/collaborators/{{username}}/permission": "get",
    f"{_REPO}/commits": "get",
    f"{_REPO}/commits/{{commit_sha}}/pulls": "get",
    f"{_REPO}/commits/{{ref}}": "get",
    f"{_REPO}/commits/{{ref}}/check-runs": "get",
    f"{_REPO}/commits/{{ref}}/check-suites": "get",
    f"{_REPO}/commits/{{ref}}/status": "get",
    f"{_REPO}/commits/{{ref}}/statuses": "get",
    f"{_REPO}/compare/{{basehead}}": "get",
    f"{_REPO}/contents/{{path}}": "get put delete",
    f"{_REPO}/git/blobs": "post",
    f"{_REPO}/git/blobs/{{file_sha}}": "get",
    f"{_REPO}/git/commits": "post",
    f"{_REPO}/git/commits/{{commit_sha}}": "get",
    f"{_REPO}/git/matching-refs/{{ref}}": "get",
    f"{_REPO}/git/ref/{{ref}}": "get",
    f"{_REPO}/git/refs": "post",
    f"{_REPO}/git/refs/{{ref}}": "patch delete",
    f"{_REPO}/git/tags": "post",
    f"{_REPO}/git/tags/{{tag_sha}}": "get",
    f"{_REPO}/git/trees": "post",
    f"{_REPO}/git/trees/{{tree_sha}}": "get",
    f"{_REPO}/hooks": "get post",
    f"{_REPO}/hooks/{{hook_id}}": "get patch delete",
    f"{_REPO}/hooks/{{hook_id}}/deliveries": "get",
    f"{_REPO}/hooks/{{hook_id}}/deliveries/{{delivery_id}}": "get",
    f"{_REPO}/hooks/{{hook_id}}/deliveries/{{delivery_id}}/attempts": "post",
    f"{_REPO}/hooks/{{hook_id}}/pings": "post",
    f"{_REPO}/installation": "get",
    f"{_REPO}/issues": "get post",
    f"{_REPO}/issues/comments": "get",
    f"{_REPO}/issues/comments/{{comment_id}}": "get patch delete",
    f"{_REPO}/issues/comments/{{comment_id}}/reactions": "get post",
    f"{_REPO}/issues/comments/{{comment_id}}/reactions/{{reaction_id}}": "delete",
    f"{_REPO}/issues/{{issue_number}}": "get patch",
    f"{_REPO}/issues/{{issue_number}}/assignees": "post",
    f"{_REPO}/issues/{{issue_number}}/comments": "get post",
    f"{_REPO}/issues/{{issue_number}}/labels": "get post put delete",
    f"{_REPO}/issues/{{issue_number}}/labels/{{name}}": "delete",
    f"{_REPO}/issues/{{issue_number}}/reactions": "get post",
    f"{_REPO}/issues/{{issue_number}}/timeline": "get",
    f"{_REPO}/labels": "get post",
    f"{_REPO}/labels/{{name}}": "get patch delete",
    f"{_REPO}/merges": "post",
    f"{_REPO}/pulls": "get post",
    f"{_REPO}/pulls/{{pull_number}}": "get patch",
    f"{_REPO}/pulls/{{pull_number}}/comments": "get post",
    f"{_REPO}/pulls/{{pull_number}}/commits": "get",
    f"{_REPO}/pulls/{{pull_number}}/files": "get",
    f"{_REPO}/pulls/{{pull_number}}/merge": "get put",
    f"{_REPO}/pulls/{{pull_number}}/requested_reviewers": "get post delete",
    f"{_REPO}/pulls/{{pull_number}}/reviews": "get post",
    f"{_REPO}/pulls/{{pull_number}}/reviews/{{review_id}}": "get",
    f"{_REPO}/pulls/{{pull_number}}/reviews/{{review_id}}/dismissals": "put",
    f"{_REPO}/pulls/{{pull_number}}/update-branch": "put",
    f"{_REPO}/releases": "get post",
    f"{_REPO}/releases/latest": "get",
    f"{_REPO}/releases/tags/{{tag}}": "get",
    f"{_REPO}/releases/{{release_id}}": "get patch",
    f"{_REPO}/rules/branches/{{branch}}": "get",
    f"{_REPO}/rulesets": "get",
    f"{_REPO}/rulesets/{{ruleset_id}}": "get",
    f"{_REPO}/statuses/{{sha}}": "post",
    f"{_REPO}/tags": "get",
    f"{_REPO}/teams": "get",
}
"""Path template to the methods kept, in GitHub's spelling."""

EVENTS: Mapping[str, str] = {
    "check_run": "completed created rerequested requested_action",
    "check_suite": "completed requested rerequested",
    "create": "",
    "delete": "",
    "installation": "created deleted suspend unsuspend new_permissions_accepted",
    "installation_repositories": "added removed",
    "installation_target": "renamed",
    "issue_comment": "created edited deleted",
    "issues": "opened edited closed reopened labeled unlabeled assigned unassigned locked unlocked",
    "merge_group": "checks_requested destroyed",
    "ping": "",
    "pull_request": "opened closed reopened synchronize edited labeled unlabeled"
    " converted_to_draft ready_for_review assigned unassigned locked unlocked review_requested"
    " review_request_removed enqueued dequeued",
    "pull_request_review": "submitted edited dismissed",
    "push": "",
    "repository": "archived created deleted edited privatized publicized renamed transferred"
    " unarchived",
    "status": "",
}
"""Event to the actions kept; an event without actions has an empty list."""

_LICENCES = {
    "LICENSES/octokit-openapi.MIT.txt": "LICENSE.octokit-openapi.txt",
    "LICENSES/octokit-openapi-webhooks.MIT.txt": "LICENSE.octokit-openapi-webhooks.txt",
    "LICENSES/octokit-graphql-schema.MIT.txt": "LICENSE.octokit-graphql-schema.txt",
}
_PROSE = frozenset(
    {
        "description",
        "summary",
        "title",
        "example",
        "examples",
        "externalDocs",
        "tags",
        "deprecated",
        "discriminator",
        "operationId",
        "default",
    }
)
_SUBSCHEMAS = ("items", "additionalProperties", "not")
_LISTS = ("allOf", "anyOf", "oneOf")


def bare_schema(schema: Any) -> Any:
    """Return a JSON Schema without prose, examples and `x-` keys.

    Only keywords are dropped: a property that is called `description` stays.
    """
    if not isinstance(schema, dict):
        return schema
    kept: Json = {}
    for key, value in schema.items():
        if key in _PROSE or key.startswith("x-"):
            continue
        if key == "properties":
            kept[key] = {name: bare_schema(part) for name, part in value.items()}
        elif key in _SUBSCHEMAS:
            kept[key] = bare_schema(value)
        elif key in _LISTS:
            kept[key] = [bare_schema(part) for part in value]
        else:
            kept[key] = value
    return kept


def trim_operations(spec: Json) -> Json:
    """Return the OpenAPI 3.0 description with the operations of `OPERATIONS` alone.

    Raises:
        KeyError: An operation is not in the description.
    """
    paths: Json = {}
    for template, methods in OPERATIONS.items():
        paths[template] = {
            method: _bare_operation(spec, spec["paths"][template][method])
            for method in methods.split()
        }
    return {
        "openapi": spec["openapi"],
        "info": _info(spec),
        "paths": paths,
        "components": {"schemas": _schemas_used(spec, paths)},
    }


def trim_webhooks(spec: Json) -> Json:
    """Return the webhook description with the events and actions of `EVENTS` alone.

    Raises:
        KeyError: An event or action is not in the description.
    """
    by_name = {item["post"]["operationId"]: item["post"] for item in spec["webhooks"].values()}
    webhooks: Json = {}
    for event, actions in EVENTS.items():
        for action in actions.split() or [""]:
            name = f"{event}/{action}" if action else event
            body = by_name[name.replace("_", "-")]["requestBody"]
            webhooks[name] = bare_schema(body["content"]["application/json"]["schema"])
    return {
        "openapi": spec["openapi"],
        "info": _info(spec),
        "webhooks": webhooks,
        "components": {"schemas": _schemas_used(spec, webhooks)},
    }


def trim_graphql(text: str) -> str:
    """Return the GraphQL schema without its prose."""
    bare = re.sub(r'^ *""".*?"""\n', "", text, flags=re.MULTILINE | re.DOTALL)
    bare = re.sub(r"^#.*\n", "", bare, flags=re.MULTILINE)
    heading = (
        "# Trimmed from npm @octokit/graphql-schema (MIT; GitHub's public GraphQL schema):"
        " mutations with their inputs and payloads, and parts of other types.\n"
    )
    return heading + re.sub(r"\n{2,}", "\n\n", "\n" + bare)


def trimmed(source: Path) -> dict[str, str]:
    """Return what belongs into `tests/contract/forge/`: file name to text.

    Args:
        source: The folder with `github/` and `LICENSES/`.
    """
    github = source / "github"
    files = {
        "openapi.json": _lines(trim_operations(json.loads(_text(github / "openapi.json")))),
        "webhooks.openapi.json": _lines(
            trim_webhooks(json.loads(_text(github / "webhooks.openapi.json")))
        ),
        "subset.graphql": trim_graphql(_text(github / "graphql-subset.graphql")),
    }
    for name, copy in _LICENCES.items():
        files[copy] = _text(source / name)
    return files


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _info(spec: Json) -> Json:
    return {key: spec["info"][key] for key in ("title", "version", "license")}


def _bare_operation(spec: Json, operation: Json) -> Json:
    kept: Json = {
        "parameters": [
            _bare_parameter(_follow(spec, part)) for part in operation.get("parameters", [])
        ],
        "responses": {
            status: _bare_body(_follow(spec, answer))
            for status, answer in operation["responses"].items()
        },
    }
    if "requestBody" in operation:
        kept["requestBody"] = _bare_body(operation["requestBody"])
    return kept


def _bare_parameter(parameter: Json) -> Json:
    kept = {key: parameter[key] for key in ("name", "in", "required") if key in parameter}
    return kept | {"schema": bare_schema(parameter["schema"])}


def _bare_body(body: Json) -> Json:
    kept: Json = {}
    if "required" in body:
        kept["required"] = body["required"]
    if "content" in body:
        kept["content"] = {
            kind: {"schema": bare_schema(part["schema"])} for kind, part in body["content"].items()
        }
    return kept


def _follow(spec: Json, part: Json) -> Json:
    """Replace a reference to a shared parameter or response by what it refers to."""
    if "$ref" not in part:
        return part
    _, _, kind, name = part["$ref"].split("/")
    found: Json = spec["components"][kind][name]
    return found


def _schemas_used(spec: Json, roots: Any) -> Json:
    """Return the component schemas that `roots` reach, each bare, by name."""
    used: Json = {}
    open_ends = sorted(_references(roots))
    while open_ends:
        name = open_ends.pop()
        if name not in used:
            used[name] = bare_schema(spec["components"]["schemas"][name])
            open_ends += sorted(_references(used[name]))
    return dict(sorted(used.items()))


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        target = value.get("$ref")
        if isinstance(target, str):
            yield target.removeprefix("#/components/schemas/")
        for part in value.values():
            yield from _references(part)
    elif isinstance(value, list):
        for part in value:
            yield from _references(part)


def _lines(document: Json) -> str:
    """Return JSON with one path, event or schema on a line, so that a change shows as a line."""
    parts = []
    for key, value in document.items():
        if key == "components":
            value, before, after = value["schemas"], '{"schemas": ', "}"
        elif key in ("paths", "webhooks"):
            before = after = ""
        else:
            parts.append(f"{json.dumps(key)}: {json.dumps(value)}")
            continue
        rows = ",\n".join(f"{json.dumps(k)}: {_compact(v)}" for k, v in value.items())
        parts.append(f"{json.dumps(key)}: {before}{{\n{rows}\n}}{after}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def main() -> int:
    """Write the trimmed copies anew; return the exit status."""
    if not SOURCE.is_dir():
        print(f"{SOURCE}: not found; put the descriptions there first", file=sys.stderr)
        return 1
    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir()
    for name, text in trimmed(SOURCE).items():
        (TARGET / name).write_text(text, encoding="utf-8")
        print(f"{name}: {len(text):,} characters")
    return 0


if __name__ == "__main__":
    sys.exit(main())
