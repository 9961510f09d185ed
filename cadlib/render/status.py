"""kpt's records of a rendering: `status` of the root Kptfile, and results.yaml.

Rules
- The condition `Rendered` says whether it succeeded; its message is kpt's error, with the root's
  path as ".". A root Kptfile that cannot be read gets no status.
- `renderStatus` has all steps of all packages, those that could not be run included.
- results.yaml has the functions that were run, also those that could not be started or whose answer
  cannot be read. It lacks those that broke a rule by what they made of the resources: kpt checks
  that before it takes their result down.
- A result is written with the fields that kpt knows, in its order.

Source: kptdev/kpt, pkg/lib/kptops/render_executor.go; api/fnresult/v1/types.go;
internal/fnruntime/runner.go (`do`).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from cadlib.errors import PackageError
from cadlib.kptfile.reader import Condition, KptfileError
from cadlib.render.calls import RenderStage, Step
from cadlib.yaml import Style, Value, emit

if TYPE_CHECKING:  # `eval` writes results without rendering
    from cadlib.render.pipeline import Failure, Rendered

_HANDLED = "already handled error"
_WIDE = Style(compact=False)


def with_status(kptfile: bytes, rendered: "Rendered") -> bytes:
    """Return the root Kptfile with the rendering's status, in kpt's form.

    Args:
        kptfile: The root Kptfile as the rendering left it.
        rendered: The rendering.
    """
    from cadlib.kptfile import edit as kptfile_edit

    failure = rendered.failure
    if failure is not None and failure.stage is RenderStage.READ and not failure.package:
        return kptfile
    if failure is None:
        condition = Condition("Rendered", "True", "RenderSuccess")
    else:
        condition = Condition("Rendered", "False", "RenderFailed", message(failure))
    return kptfile_edit.set_status(kptfile, condition, render_status(rendered))


def message(failure: "Failure") -> str:
    """Return kpt's error message for a failed rendering, with the packages in front."""
    where = "." if not failure.package else f"./{failure.package}"
    text = error_text(failure.error)
    if failure.stage is not RenderStage.PIPELINE:
        return f"pkg.render: pkg {where}: {text}"
    if failure.breadth_first:
        inner = f"pkg {where}: " if failure.package else ""
        return f"pkg.render: pkg .:\n\tpipeline.run: {inner}{text}"
    above = "".join(f"pkg ./{each}:\n\t" for each in _above(failure.package))
    return f"pkg.render: {above}pkg {where}:\n\tpipeline.run: {text}"


def error_text(error: PackageError | None) -> str:
    """Return kpt's words for an error; None stands for one that a function told itself."""
    match error:
        case None:
            return _HANDLED
        case KptfileError(details=str(details)) if details:
            return details
        case _:
            return error.problem


def _above(package: str) -> list[str]:
    """Return the folders above a package that lie in the root."""
    parts = package.split("/")[:-1]
    return ["/".join(parts[: number + 1]) for number in range(len(parts))]


def render_status(rendered: "Rendered") -> dict[str, Value] | None:
    """Return `status.renderStatus`, or None where nothing was run."""
    if not rendered.steps:
        return None
    groups: dict[str, Value] = {}
    for key, mutates in (("mutationSteps", True), ("validationSteps", False)):
        found: list[Value] = [_step(each) for each in rendered.steps if each.mutates is mutates]
        if found:
            groups[key] = found
    summary = "\n".join(_summary(rendered.steps)) if rendered.failed else ""
    return {**groups, "errorSummary": summary} if summary else groups


def _step(step: Step) -> dict[str, Value]:
    results: list[Value] = [result(each) for each in step.said] if not step.error else []
    errors: list[Value] = [
        each for each in results if isinstance(each, dict) and each.get("severity") == "error"
    ]
    return _filled(
        {
            "name": step.name,
            "image": step.image,
            "exec": step.exec,
            "executionError": step.error,
            "stderr": "" if step.error else step.log,
            "exitCode": step.exit_code,
            "results": results,
            "errorResults": errors,
        }
    )


def _summary(steps: Sequence[Step]) -> list[str]:
    ordered = sorted(steps, key=lambda each: not each.mutates)
    return [
        f"{each.name or each.function}: {each.error or f'exit code {each.exit_code}'}"
        for each in ordered
        if each.error or each.exit_code
    ]


def results(steps: Sequence[Step]) -> bytes:
    """Return results.yaml: what the functions of a rendering or an evaluation said."""
    ran = [each for each in steps if each.listed]
    whole: dict[str, Value] = {
        "apiVersion": "kpt.dev/v1",
        "kind": "FunctionResultList",
        "metadata": {"name": "fnresults"},
        "exitCode": int(any(each.exit_code for each in ran)),
    }
    items: list[Value] = []
    for each in ran:
        step = _step(each)
        step.pop("errorResults", None)
        step.pop("name", None)
        step.pop("executionError", None)
        if each.digest:  # which kpt does not write: a tag may mean something else tomorrow
            step = {"image": step.pop("image", ""), "digest": each.digest, **step}
        items.append(step)
    if items:
        whole["items"] = items
    return emit(whole, style=_WIDE).encode()


def result(said: Mapping[str, object]) -> dict[str, Value]:
    """Return one entry of `results` with kpt's fields, in kpt's order.

    The older forms are read too: the name of a resource below `metadata`, `suggestedValue`.
    All that is text in kpt is text here: a number, and a mapping or list as YAML.
    """
    ref, field, file = (_mapping(said.get(key)) for key in ("resourceRef", "field", "file"))
    older = _mapping(ref.get("metadata"))
    proposed = field.get("proposedValue", field.get("suggestedValue"))
    return _filled(
        {
            "message": _text(said.get("message")),
            "severity": _text(said.get("severity")),
            "resourceRef": _filled(
                {
                    "apiVersion": _text(ref.get("apiVersion")),
                    "kind": _text(ref.get("kind")),
                    "name": _text(ref.get("name") or older.get("name")),
                    "namespace": _text(ref.get("namespace") or older.get("namespace")),
                }
            ),
            "field": _filled(
                {
                    "path": _text(field.get("path")).strip(),
                    "currentValue": _text(field.get("currentValue")).strip(),
                    "proposedValue": _text(proposed).strip(),
                }
            ),
            "file": _filled({"path": _text(file.get("path")), "index": file.get("index") or None}),
            "tags": {key: _text(each) for key, each in _mapping(said.get("tags")).items()},
        }
    )


def line(said: Mapping[str, object]) -> str:
    """Return one entry of `results` as kpt shows it to people."""
    entry = result(said)
    ref, field = _mapping(entry.get("resourceRef")), _mapping(entry.get("field"))
    parts = (ref.get("apiVersion"), ref.get("kind"), ref.get("namespace"), ref.get("name"))
    where = " ".join(
        each
        for each in ("/".join(str(p) for p in parts if p), str(field.get("path") or ""))
        if each
    )
    severity = entry.get("severity") or "info"
    return f"[{severity}]{f' {where}' if where else ''}: {entry.get('message', '')}"


def _text(value: object) -> str:
    """Return what kpt has as text: a text as it is, all else as YAML; "" for null."""
    if isinstance(value, str):
        return value
    return "" if value is None else emit(value).rstrip("\n")  # type: ignore[arg-type]  # as below


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _filled(value: Mapping[str, object]) -> dict[str, Value]:
    """Return what is there; a number is there even when it is 0."""
    return {
        key: each  # type: ignore[misc]  # values of a ResourceList are plain values
        for key, each in value.items()
        if each not in (None, "", [], {})
    }
