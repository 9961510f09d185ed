"""Changes to a Kptfile: what getting, updating, rendering and saving a function write into one.

Rules
- Only the lines of the change differ; comments, order and style stay (`kptfile_text`).
- A field that would be empty is left out, as in kpt; new fields have kpt's order.

Source: kptdev/kpt, pkg/kptfile/kptfileutil, pkg/lib/kptops, thirdparty/cmdconfig (eval).
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from cadlib.kptfile import text as kptfile_text
from cadlib.kptfile.values import Condition, GenericRef, GitRef, PipelineFunction, Selector
from cadlib.yaml import Value, read

RENDERED = "Rendered"
"""Type of the condition that says how the last render went."""

Step = Literal["mutators", "validators"]


def set_upstream(data: bytes, upstream: GitRef, strategy: str) -> bytes:
    """Return a Kptfile with another package upstream.

    Args:
        data: The Kptfile.
        upstream: The package; its `commit` does not count.
        strategy: How an update merges, such as "resource-merge".
    """
    root = _root(data)
    wanted: dict[str, Value] = {
        "type": "git",
        "git": _git(upstream),
        "updateStrategy": strategy,
    }
    kept = {key: value for key, value in _map(root.get("upstream")).items() if key not in wanted}
    return kptfile_text.write(data, {**root, "upstream": {**wanted, **kept}})


def set_lock(data: bytes, lock: GitRef | GenericRef) -> bytes:
    """Return a Kptfile with another version fetched last."""
    if isinstance(lock, GitRef):
        wanted: dict[str, Value] = {"type": "git", "git": {**_git(lock), "commit": lock.commit}}
    else:
        store = {
            "storeID": lock.store,
            "resourceID": lock.resource,
            "resourceVersion": lock.version,
        }
        wanted = {"type": "generic", "generic": _filled(store)}
    return kptfile_text.write(data, {**_root(data), "upstreamLock": wanted})


def set_status(
    data: bytes, condition: Condition, render_status: Mapping[str, Value] | None
) -> bytes:
    """Return a Kptfile that says how the last render went.

    Args:
        data: The Kptfile.
        condition: Takes the place of the condition of its type, or comes behind all others.
        render_status: `status.renderStatus` in kpt's form and order; None for none.
    """
    root = _root(data)
    status = _map(root.get("status"))
    wanted: dict[str, Value] = _filled(
        {
            "type": condition.type,
            "status": condition.status,
            "reason": condition.reason,
            "message": condition.message,
        }
    )
    found = _list(status.get("conditions"))
    types = [_map(each).get("type") for each in found]
    if condition.type in types:
        conditions = [
            wanted if type_ == condition.type else each
            for type_, each in zip(types, found, strict=True)
        ]
    else:
        conditions = [*found, wanted]
    changed: dict[str, Value] = {**status, "conditions": conditions}
    changed.pop("renderStatus", None)
    if render_status is not None:
        changed["renderStatus"] = dict(render_status)
    return kptfile_text.write(data, {**root, "status": changed})


def clear_status(data: bytes) -> bytes:
    """Return a Kptfile that says nothing of a render; other conditions stay."""
    root = _root(data)
    wanted = without_render_status(root.get("status"))
    if wanted == root.get("status"):
        return data
    kept = {key: value for key, value in root.items() if key != "status"}
    return kptfile_text.write(data, {**kept, "status": wanted} if wanted else kept)


def without_render_status(status: Value) -> dict[str, Value]:
    """Return a `status` without what a render wrote into it."""
    kept = {key: value for key, value in _map(status).items() if key != "renderStatus"}
    conditions = [
        each for each in _list(kept.pop("conditions", None)) if _map(each).get("type") != RENDERED
    ]
    return {"conditions": conditions, **kept} if conditions else kept


def add_function(data: bytes, function: PipelineFunction, step: Step) -> tuple[bytes, str]:
    """Return a Kptfile with a function in its pipeline, and what kpt says about it.

    A function with exactly the same image, or the same command, is replaced where it
    stands; otherwise the new one comes last.
    """
    root = _root(data)
    pipeline = _map(root.get("pipeline"))
    found = _list(pipeline.get(step))
    key, mark = ("image", function.image) if function.image else ("exec", function.exec)
    wanted = function_value(function)
    old = [_map(each).get(key) == mark for each in found]
    functions = [wanted if match else each for match, each in zip(old, found, strict=True)]
    if not any(old):
        functions.append(wanted)
    verb = "Updated" if any(old) else "Added"
    message = f'{verb} "{mark}" as {step.removesuffix("s")} in the Kptfile.'
    changed = {**root, "pipeline": {**pipeline, step: functions}}
    return kptfile_text.write(data, changed), message


def function_value(function: PipelineFunction) -> dict[str, Value]:
    """Return a function as a Kptfile has it."""
    return _filled(
        {
            "image": function.image,
            "exec": function.exec,
            "configPath": function.config_path or "",
            "configMap": dict(function.config_map or {}),
            "name": function.name,
            "tag": function.tag,
            "selectors": [_selector(each) for each in function.selectors],
            "exclude": [_selector(each) for each in function.exclude],
        }
    )


def _selector(selector: Selector) -> dict[str, Value]:
    return _filled(
        {
            "apiVersion": selector.api_version,
            "kind": selector.kind,
            "name": selector.name,
            "namespace": selector.namespace,
            "labels": dict(selector.labels),
            "annotations": dict(selector.annotations),
        }
    )


def _git(ref: GitRef) -> dict[str, Value]:
    return _filled({"repo": ref.repo, "directory": ref.directory, "ref": ref.ref})


def _filled(value: Mapping[str, Value]) -> dict[str, Value]:
    return {key: inner for key, inner in value.items() if inner not in ("", {}, [], None)}


def _root(data: bytes) -> dict[str, Value]:
    return _map(kptfile_text.document(read(data, path="Kptfile"))[1].value)


def _map(value: Value) -> dict[str, Value]:
    return value if isinstance(value, dict) else {}


def _list(value: Value) -> Sequence[Value]:
    return value if isinstance(value, list) else []
