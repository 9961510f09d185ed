"""Makes the copies in `tests/contract/forge_gitlab/`: the shapes of GitLab's answers and webhooks.

Run `python -m tests.contract.trim_gitlab` after new recordings arrived. GitLab publishes no schema
of either. The shapes of answers were inferred from recordings of gitlab.com and from what clients
keep as test data; those of webhooks are inferred here, from payloads that others recorded or keep
under permissive licences. GitLab's documentation (CC BY-SA) goes into neither.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.contract.trim import SOURCE as SOURCES

SOURCE = SOURCES / "gitlab"
"""Where the recordings lie."""
TARGET = Path(__file__).parent / "forge_gitlab"
"""Where the copies lie."""

Json = dict[str, Any]

PERMISSIVE = ("recorded", "client-test", "system-hooks")
"""Folders of webhooks whose licences are Apache-2.0 and BSD-2-Clause-Patent."""

_LICENCES = ("packit-ogr.MIT.txt", "drone-go-scm.BSD-2-Clause-Patent.txt", "Apache-2.0.txt")


def event_name(payload: Json) -> str:
    """Name the kind of a payload: what the header `X-Gitlab-Event` comes to, and its object.

    Source: https://docs.gitlab.com/user/project/integrations/webhook_events/
    """
    kind = payload.get("object_kind") or payload.get("event_name")
    if kind == "note":
        return f"note/{payload['object_attributes']['noteable_type']}"
    return str(kind)


def inferred(samples: Sequence[Any]) -> Json:
    """Return what holds for all samples: their types, and keys that none of them lacks."""
    kinds = sorted({_kind(sample) for sample in samples})
    schema: Json = {"type": kinds[0] if len(kinds) == 1 else kinds}
    objects = [sample for sample in samples if isinstance(sample, dict)]
    if objects:
        keys = sorted({key for each in objects for key in each})
        schema["properties"] = {
            key: inferred([each[key] for each in objects if key in each]) for key in keys
        }
        needed = [key for key in keys if all(key in each for each in objects)]
        if needed:
            schema["required"] = needed
    items = [item for sample in samples if isinstance(sample, list) for item in sample]
    if items:
        schema["items"] = inferred(items)
    return schema


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def loosened(schema: Any, *, needed: bool = True) -> Any:
    """Return a schema bare of prose, in which whatever was missing once may be null as well.

    What was only ever null, or was an object without keys, may be anything.
    """
    if not isinstance(schema, dict):
        return schema
    kept: Json = {}
    kinds = schema.get("type")
    if kinds is not None and kinds != "null":
        several = [kinds] if isinstance(kinds, str) else list(kinds)
        if not needed and "null" not in several:
            several.append("null")
        kept["type"] = several[0] if len(several) == 1 else sorted(several)
    if "required" in schema:
        kept["required"] = sorted(schema["required"])
    wanted = set(schema.get("required", ()))
    if schema.get("properties"):
        kept["properties"] = {
            key: loosened(value, needed=key in wanted)
            for key, value in sorted(schema["properties"].items())
        }
    if "items" in schema:
        kept["items"] = loosened(schema["items"])
    return kept


def plain(operation: str) -> str:
    """Return "GET /projects/{}/hooks" for an operation with whatever names of parameters."""
    return re.sub(r"\{[^}]*\}", "{}", operation.replace(" /api/v4", " "))


def trimmed(source: Path) -> dict[str, str]:
    """Return the files of the copies by name."""
    index = json.loads((source / "schemas/observed/index.json").read_text(encoding="utf-8"))
    operations, schemas = {}, {}
    for operation, about in sorted(index.items()):
        if not about["schema"] or operation.startswith("DELETE "):
            continue
        name = Path(about["schema"]).name.removesuffix(".schema.json")
        whole = json.loads((source / "schemas" / about["schema"]).read_text(encoding="utf-8"))
        schemas[name] = loosened(whole)
        operations[plain(operation)] = {"schema": name, "array": about["array"]}
    events: dict[str, list[Json]] = {}
    for folder in PERMISSIVE:
        for path in sorted((source / "webhook-examples" / folder).iterdir()):
            payload = json.loads(path.read_text(encoding="utf-8"))
            # Deliveries of system hooks lack what those of projects have.
            name = ("system/" if folder == "system-hooks" else "") + event_name(payload)
            events.setdefault(name, []).append(payload)
    webhooks = {name: loosened(inferred(each)) for name, each in sorted(events.items())}
    files = {
        "answers.json": _lines(
            {"operations": operations, "schemas": dict(sorted(schemas.items()))}
        ),
        "webhooks.json": _lines({"webhooks": webhooks}),
    }
    licences = source.parent / "LICENSES"
    return files | {
        f"LICENSE.{name}": (licences / name).read_text(encoding="utf-8") for name in _LICENCES
    }


def _lines(document: Json) -> str:
    """Return JSON with one operation, event or schema on a line, as `trim` does."""
    parts = []
    for key, value in document.items():
        rows = ",\n".join(
            f"{json.dumps(name)}: {json.dumps(each, separators=(',', ':'))}"
            for name, each in value.items()
        )
        parts.append(f"{json.dumps(key)}: {{\n{rows}\n}}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def payloads() -> Iterator[Path]:
    """Every example of a webhook, those of the documentation as well."""
    yield from sorted((SOURCE / "webhook-examples").glob("*/*.json"))


def main() -> int:
    """Write the copies anew; return the exit status."""
    if not SOURCE.is_dir():
        print(f"{SOURCE}: not found; put the recordings there first", file=sys.stderr)
        return 1
    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir()
    for name, text in trimmed(SOURCE).items():
        (TARGET / name).write_text(text, encoding="utf-8")
        print(f"{name}: {len(text):,} characters")
    return 0


if __name__ == "__main__":
    sys.exit(main())
