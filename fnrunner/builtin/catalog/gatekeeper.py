"""The catalog's `gatekeeper`: checks the resources by the constraints that lie among them.

Rules:
    - Templates and constraints are resources of the package. A constraint says which
      resources it is for and with what parameters its template's policy looks at them; policies
      may look at all resources as `data.inventory`.
    - Every resource is looked at, templates and constraints too. What is no Kubernetes
      resource (a bare `kustomization.yaml`) is not, and stops nothing.
    - A violation is an error, a warning or an info, as the constraint's enforcementAction says.
      One error fails the function.
    - A template or constraint that cannot be used is the only result: nothing was checked then.
    - Policies run in a process of their own, inside limits (`fnrunner.builtin.confined`).

Source: the catalog's functions/go/gatekeeper; Gatekeeper's documentation, "How to use
Gatekeeper" and `gator test`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final

from cadlib.stream import resourcelist
from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value
from fnrunner.builtin import constraints, resource, verdict
from fnrunner.builtin.about import About
from fnrunner.builtin.confined import calls
from fnrunner.builtin.constraints import Constraint, ConstraintError, ConstraintTemplate
from fnrunner.builtin.verdict import FunctionResult
from fnrunner.contract.results import Result

ABOUT: Final = About(
    tags=("v0.1", "v0.1.0", "v0.1.1", "v0.1.2", "v0.1.3", "v0.2", "v0.2.0", "v0.2.1", "v0.2.2"),
    summary="Checks the resources against the Gatekeeper constraints among them.",
    doc="""\
It needs no configuration: a ConstraintTemplate (`templates.gatekeeper.sh`) with Rego for the target
`admission.k8s.gatekeeper.sh` and constraints (`constraints.gatekeeper.sh`) of its kind must be
among the resources. In `spec.match` of a constraint, `kinds`, `scope`, `namespaces`,
`excludedNamespaces`, `labelSelector`, `namespaceSelector`, `name` and `source` are supported;
Namespaces are looked up in the package.

A violation is an error if `spec.enforcementAction` is `deny` or missing, a warning for `warn`,
and an info for `dryrun`. Policies in CEL, expansions (`expansion.gatekeeper.sh`) and `http.send`
are refused. A policy that fails for a resource (for example, by dividing by zero) fails the check
and is named in it (D122).

Policies give the same results as in Open Policy Agent, in both versions of Rego. Whatever is not
supported is refused when the template is read, with its line: `graphql.*`, `io.jwt.*`,
`crypto.x509.*`, `providers.*`, `rego.*`, `uri.*`, `uuid.parse`, `yaml.*`, `json.patch`,
`json.remove`, schemas, `net.cidr_merge`, `net.lookup_ip_addr`, `regex.template_match`; template
strings, `and`, `or` and `not { … }`; a whole package as a value (`data.lib`), and an object whose
keys are separate rules. Types are not checked before a policy runs.

All policies together have 10 seconds and 256 MiB of memory, and no access to files or network.
""",
)

_SEVERITIES: Final = {"warn": "warning", "dryrun": "info"}
_ORDER: Final = {"error": 0, "warning": 1, "info": 2}
# The words of Gatekeeper, of its matcher and of what calls that, with the resource's name.
_MISSING_NAMESPACE: Final = (
    "unable to match constraints: error matching the requested object: {} :failed to run Match"
    " criteria: namespace selector for namespace-scoped object but missing Namespace"
)
# This namespace is in every cluster, and need not be in the package.
_DEFAULT_NAMESPACE: Final[Value] = {"metadata": {"name": "default"}}


@dataclass(frozen=True, slots=True)
class _Check:
    """One resource that one constraint is for, both by their positions."""

    rule: int
    item: int


NO_ENGINE: Final = (
    "the policy engine is not installed: install porchbot[policy] where functions are run"
)


def run(resources: ResourceList) -> FunctionResult:
    """Check the resources by the constraints among them."""
    items = [item for item in resources.items if resource.is_krm(item.value)]
    try:
        found = sort_results(_results(items))
    except (ConstraintError, calls.BrokenError, calls.CallStoppedError) as error:
        text = str(error) if isinstance(error, ConstraintError) else f"the policies: {error}"
        if isinstance(error, calls.BrokenError) and find_spec("regorus") is None:
            text = NO_ENGINE
        found = [verdict.result(text, "error")]
    failed = any(each["severity"] == "error" for each in found)
    log = "\n\n".join(map(_line, found)) if failed else ""
    return FunctionResult(items=resources.items, results=tuple(found), failed=failed, log=log)


def _results(items: Sequence[Item]) -> list[Result]:
    templates = {each.kind: each for each in constraints.templates(items)}
    rules = constraints.constraints(items, templates)
    namespaces = {
        resource.name(item.value): item.value
        for item in items
        if constraints.is_namespace(item.value)
    }
    checks: list[_Check] = []
    found: list[Result] = []
    for position, item in enumerate(items):
        namespace = _namespace(item.value, namespaces)
        for number, rule in enumerate(rules):
            fits = rule.fits(item.value, namespace)
            if fits is None:
                missing = _MISSING_NAMESPACE.format(resource.name(item.value))
                found.append(_result(rule, item, missing))
            elif fits:
                checks.append(_Check(number, position))
    answers = _asked(templates, rules, checks, items, namespaces)
    for check, violations in zip(checks, answers, strict=True):
        rule = rules[check.rule]
        texts = _messages(violations, templates[rule.kind])
        found += (_result(rule, items[check.item], text) for text in texts)
    return found


def _namespace(value: Value, namespaces: Mapping[str, Value]) -> Value:
    """Return the Namespace a resource is in; None if that is not known."""
    name = resource.namespace(value)
    return namespaces.get(name, _DEFAULT_NAMESPACE if name == "default" else None)


def _asked(
    templates: Mapping[str, ConstraintTemplate],
    rules: Sequence[Constraint],
    checks: Sequence[_Check],
    items: Sequence[Item],
    namespaces: Mapping[str, Value],
) -> list[list[Any]]:
    """Have the policies look at what they are for; return their violations for each check."""
    if not templates:
        return []
    kinds = {kind: number for number, kind in enumerate(templates)}
    used = list(dict.fromkeys(each.item for each in checks))
    objects = {item: number for number, item in enumerate(used)}
    referential = any(each.referential for each in templates.values())
    payload = {
        "templates": [each.payload() for each in templates.values()],
        "data": {"inventory": _inventory(items) if referential else {}},
        "objects": [_review(items[each], namespaces) for each in used],
        "parameters": [each.parameters for each in rules],
        "checks": [[kinds[rules[c.rule].kind], objects[c.item], c.rule] for c in checks],
    }
    answer = calls.call("rego", payload)
    if "error" in answer:
        raise _policy_error(answer["error"], list(templates.values()), rules, checks, items)
    found: list[list[Any]] = answer["found"]
    return found


def _policy_error(
    error: Mapping[str, Any],
    templates: Sequence[ConstraintTemplate],
    rules: Sequence[Constraint],
    checks: Sequence[_Check],
    items: Sequence[Item],
) -> ConstraintError:
    name = templates[error["template"]].name
    if error["check"] is None:
        return ConstraintError(f'adding template "{name}": {error["text"]}')
    check = checks[error["check"]]
    at = "/".join(resource.reference(items[check.item].value).values())
    return ConstraintError(
        f'reviewing {at} for constraint "{rules[check.rule].name}": template "{name}":'
        f" {error['text']}"
    )


def _messages(violations: Sequence[Any], template: ConstraintTemplate) -> Iterator[str]:
    """Yield what violations say; those with the same text and details are one."""
    seen = set()
    for each in violations:
        message = _message(each, template)
        told = message, json.dumps(each.get("details", {}), sort_keys=True)
        if told not in seen:
            seen.add(told)
            yield message


def _message(violation: Any, template: ConstraintTemplate) -> str:
    message = violation.get("msg") if isinstance(violation, dict) else None
    if not isinstance(message, str):
        raise ConstraintError(
            f'template "{template.name}": a violation has no text `msg`: {violation!r}. Write'
            ' violation[{"msg": msg}] with a string'
        )
    return message


def _review(item: Item, namespaces: Mapping[str, Value]) -> dict[str, Value]:
    """Return what a policy finds as `input.review`, in the form in which an API server asks."""
    value = resourcelist.placed(item)
    kind: Value = {
        "group": resource.group(value),
        "version": resource.version(value),
        "kind": resource.kind(value),
    }
    review: dict[str, Value] = {
        "uid": "",
        "kind": kind,
        "resource": {"group": "", "version": "", "resource": ""},
        "name": resource.name(value),
        "operation": "",
        "userInfo": {},
        "object": value,
        "oldObject": None,
        "options": None,
    }
    namespace = resource.namespace(value)
    if namespace:
        review["namespace"] = namespace
        if namespace in namespaces:
            review["_unstable"] = {"namespace": namespaces[namespace]}
    return review


def _inventory(items: Sequence[Item]) -> dict[str, Any]:
    """Return all resources as policies find them: by scope, namespace, version, kind, name."""
    found: dict[str, Any] = {"cluster": {}, "namespace": {}}
    for item in items:
        value = resourcelist.placed(item)
        namespace = resource.namespace(value)
        place = found["cluster"]
        if namespace:
            place = found["namespace"].setdefault(namespace, {})
        for key in (resource.api_version(value), resource.kind(value)):
            place = place.setdefault(key, {})
        place[resource.name(value)] = value
    return found


def _result(rule: Constraint, item: Item, message: str) -> Result:
    severity = _SEVERITIES.get(rule.action, "error")
    return verdict.at(item, f"{message}\nviolatedConstraint: {rule.name}", severity, "")


def _line(result: Result) -> str:
    """Return a result as the catalog's function prints it."""
    value = result.get("resourceRef")
    ref: Mapping[str, str] = value if isinstance(value, dict) else {}
    parts = (ref.get(key, "") for key in ("apiVersion", "kind", "namespace", "name"))
    named = "/".join(part for part in parts if part)
    return f"[{result['severity']}] {f'{named} ' if named else ''}: {result['message']}"


def sort_results(results: Sequence[Result]) -> list[Result]:
    """Return results by file and index, then severity, then resource, field and message."""
    return sorted(results, key=_key)


def _key(result: Result) -> tuple[str, int, int, str]:
    path, index = _part(result, "file", "path"), _part(result, "file", "index")
    field = f"{{{_part(result, 'field', 'path') or ''} }}"
    return (
        str(path or ""),
        index if isinstance(index, int) else 0,
        _ORDER.get(str(result.get("severity", "")), 3),
        # One text, since the catalog compares what Go prints of all three.
        f"resource-ref:{_printed(result)},field:{field},message:{result.get('message', '')}",
    )


def _part(result: Result, name: str, key: str) -> object:
    value = result.get(name)
    return value.get(key) if isinstance(value, dict) else None


def _printed(result: Result) -> str:
    """Return the resource of a result as Go prints it: version and kind, then its names."""
    value = result.get("resourceRef")
    ref = value if isinstance(value, dict) else {}
    kind, names = ref.get("typeMeta") or ref, ref.get("nameMeta") or ref
    version = kind.get("apiVersion") or kind.get("aPIVersion") or ""
    return (
        f"{{{{{version} {kind.get('kind', '')}}}"
        f" {{{names.get('name', '')} {names.get('namespace', '')}}}}}"
    )
