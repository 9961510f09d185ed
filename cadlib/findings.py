"""Findings: results of functions and checks, each about one location in a package.

Functions report them as the `results` of a ResourceList; reading a package makes
some too. `from_result` translates the former, `from_error` a `PackageError`.

Source: the KRM functions specification, `results`
(kubernetes-sigs/kustomize, cmd/config/docs/api-conventions/functions-spec.md).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from cadlib.errors import PackageError, Place


class Severity(StrEnum):
    """How bad a finding is; only an error fails a check."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRef:
    """Names one resource, as Kubernetes does.

    `str()` gives "apps/v1/Deployment/shop/cart", leaving out what is unknown.

    Attributes:
        api_version: Such as "apps/v1"; "" when unknown.
        kind: Such as "Deployment"; "" when unknown.
        name: `metadata.name`; "" when unknown.
        namespace: `metadata.namespace`; "" when there is none.
    """

    api_version: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""

    def __str__(self) -> str:
        parts = (self.api_version, self.kind, self.namespace, self.name)
        return "/".join(part for part in parts if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One result about one location in a package.

    `str()` is the text for people: where, what, and how to mend it if that is known.

    Attributes:
        message: What is wrong or worth knowing, without a full stop if it is ours;
            as the function wrote it if it comes from a function.
        severity: An error fails the check that made it.
        place: Where; its path is relative to the package that was read.
        function: Image of the function that said it; "" if none did.
        resource: The resource it is about, or None.
        current: The value found at the field, or None if not given.
        proposed: The value the function proposes, or None if not given.
        fix: What to do, a sentence without its full stop; "" if unknown.
        unseen: It points out resources that no function sees, or not as they would be applied.
        guardrail: Place of the guardrail that said it among all of them, such as "validators[0]";
            "" for what anything else said.
    """

    message: str
    severity: Severity
    place: Place = field(default_factory=Place)
    function: str = ""
    resource: ResourceRef | None = None
    current: str | None = None
    proposed: str | None = None
    fix: str = ""
    unseen: bool = False
    guardrail: str = ""

    def __str__(self) -> str:
        text = f"{self.place}: {self.message}"
        return f"{text}. {self.fix}." if self.fix else text


def order(finding: Finding) -> tuple[str, int, int, str, str, str, str]:
    """Return the sort key of a finding: file, line, severity, field, and the rest."""
    return (
        finding.place.path,
        finding.place.line or 0,
        list(Severity).index(finding.severity),
        finding.place.field,
        finding.function,
        finding.message,
        str(finding.resource or ""),
    )


def from_error(error: PackageError, severity: Severity = Severity.ERROR) -> Finding:
    """Return a package error as a finding at the same place."""
    return Finding(message=error.problem, severity=severity, place=error.place, fix=error.fix)


def from_result(result: object, *, function: str) -> Finding:
    """Translate one entry of a ResourceList's `results`.

    Nothing that a function writes there raises: what cannot be understood is kept
    as text, since losing a complaint is worse than showing it badly.

    Args:
        result: The entry as plain values; a mapping if the function keeps the rules.
        function: Image of the function that wrote it.

    Returns:
        A finding without a line, which only a reader of the file can add. No
        severity counts as info, as kpt shows it; an unknown one as an error.
        Older shapes (`resourceRef.metadata`, `field.suggestedValue`) are read too.
    """
    if not isinstance(result, Mapping):
        return Finding(message=_text(result), severity=Severity.ERROR, function=function)
    field_ = _mapping(result.get("field"))
    proposed = field_.get("proposedValue", field_.get("suggestedValue"))
    return Finding(
        message=_text(result.get("message")) or "the function gave no message",
        severity=_severity(result.get("severity")),
        place=Place(
            path=_text(_mapping(result.get("file")).get("path")),
            field=_text(field_.get("path")),
        ),
        function=function,
        resource=_resource(_mapping(result.get("resourceRef"))),
        current=_optional(field_.get("currentValue")),
        proposed=_optional(proposed),
    )


def _severity(value: object) -> Severity:
    text = _text(value).strip().lower()
    if not text:
        return Severity.INFO
    return Severity(text) if text in list(Severity) else Severity.ERROR


def _resource(ref: Mapping[object, object]) -> ResourceRef | None:
    metadata = _mapping(ref.get("metadata"))
    found = ResourceRef(
        api_version=_text(ref.get("apiVersion")),
        kind=_text(ref.get("kind")),
        name=_text(ref.get("name") or metadata.get("name")),
        namespace=_text(ref.get("namespace") or metadata.get("namespace")),
    )
    return found if found != ResourceRef() else None


def _mapping(value: object) -> Mapping[object, object]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    """Return text as it is, and all else as JSON, which people know as well as YAML."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)


def _optional(value: object) -> str | None:
    return None if value is None else _text(value)
