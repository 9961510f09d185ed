"""Gatekeeper's templates and constraints, read from resources, and which resources one is for.

Longer than 400 lines: reading `match` and obeying it have to be read side by side.

Rules:
    - What cannot be used is an error that names the template or constraint: a policy that is
      passed over looks like a check that passed.
    - A constraint without `match` is for everything; each part of `match` that is there must
      fit. `namespaceSelector` looks at the Namespace, which must be known.

Source: Gatekeeper's documentation, "Constraint Templates" and "How to use Gatekeeper"; its API
`templates.gatekeeper.sh`, versions v1, v1beta1 and v1alpha1.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cadlib.stream.resourcelist import Item
from cadlib.yaml import Value, field_text
from fnrunner.builtin import resource, structural
from fnrunner.builtin.resource import field, items, mapping, text
from fnrunner.builtin.structural import DefinitionError

TARGET: Final = "admission.k8s.gatekeeper.sh"
_TEMPLATES: Final = "templates.gatekeeper.sh"
_CONSTRAINTS: Final = "constraints.gatekeeper.sh"
_EXPANSIONS: Final = "expansion.gatekeeper.sh"
_POINTS: Final = ("*", "gator.gatekeeper.sh")  # enforcement points that mean a check of files
_STRICTEST: Final = ("deny", "warn", "dryrun")
_SOURCES: Final = ("All", "Original", "Generated")
_SCHEMA: Final = ("spec", "crd", "spec", "validation", "openAPIV3Schema")
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")


class ConstraintError(Exception):
    """A template or constraint cannot be used."""


@dataclass(frozen=True, slots=True)
class ConstraintTemplate:
    """A constraint template.

    Attributes:
        name: Its name.
        kind: The kind of its constraints.
        modules: Its policy and the libraries of that, with the name of their field.
        v1: Whether they are written in the first stable version of Rego.
        schema: OpenAPI schema of the parameters; {} if it has none.
    """

    name: str
    kind: str
    modules: Sequence[tuple[str, str]]
    v1: bool
    schema: dict[str, Value]

    @property
    def referential(self) -> bool:
        """Whether its policy looks at other resources."""
        return any("inventory" in source for _, source in self.modules)

    def payload(self) -> dict[str, Any]:
        """Return it as the engine takes it."""
        modules = [{"file": at, "text": source, "v1": self.v1} for at, source in self.modules]
        return {"name": self.name, "modules": modules}


def is_template(value: Value) -> bool:
    """Tell whether a resource is a constraint template."""
    return (resource.group(value), resource.kind(value)) == (_TEMPLATES, "ConstraintTemplate")


def is_namespace(value: Value) -> bool:
    """Tell whether a resource is a Namespace."""
    return (resource.group(value), resource.kind(value)) == ("", "Namespace")


def templates(found: Sequence[Item]) -> Iterator[ConstraintTemplate]:
    """Yield the templates among resources.

    Raises:
        ConstraintError: One cannot be used.
    """
    for item in found:
        if is_template(item.value):
            yield _template(item.value)
        elif resource.group(item.value) == _EXPANSIONS:
            raise ConstraintError(
                f'adding expansion "{resource.name(item.value)}": what would be made of resources'
                " is not checked here. Take the expansion out of the package, or run the image"
            )


def _template(value: Value) -> ConstraintTemplate:
    name = resource.name(value)

    def refused(problem: str) -> ConstraintError:
        return ConstraintError(f'adding template "{name}": {problem}')

    kind = text(field(value, "spec", "crd", "spec", "names", "kind"))
    if not kind:
        raise refused("spec.crd.spec.names.kind is missing. Name the kind of its constraints there")
    if name != kind.lower():
        raise refused(
            f'its name must be "{kind.lower()}", the kind of its constraints in lower case'
        )
    targets = items(field(value, "spec", "targets"))
    if len(targets) != 1 or text(field(targets[0], "target")) != TARGET:
        raise refused(f'spec.targets must have one entry, with target "{TARGET}"')
    policy, libs, v1 = _policy(targets[0])
    if not policy[1]:
        raise refused(
            "its target has no Rego. Write it into spec.targets[0].rego; policies in other"
            " languages do not run here"
        )
    schema = field(value, *_SCHEMA)
    modules = [policy, *((f"{at}[{number}]", each) for at, number, each in libs)]
    return ConstraintTemplate(name, kind, modules, v1, mapping(schema))


def _policy(target: Value) -> tuple[tuple[str, str], list[tuple[str, int, str]], bool]:
    """Return field and text of the policy, those of its libraries, and their version."""
    for number, code in enumerate(items(field(target, "code"))):
        if text(field(code, "engine")) == "Rego":
            at, source = f"spec.targets[0].code[{number}].source", field(code, "source")
            v1 = text(field(source, "version")) == "v1"
            return (f"{at}.rego", text(field(source, "rego"))), _libs(source, f"{at}.libs"), v1
    at = "spec.targets[0]"
    return (f"{at}.rego", text(field(target, "rego"))), _libs(target, f"{at}.libs"), False


def _libs(value: Value, at: str) -> list[tuple[str, int, str]]:
    return [(at, number, text(each)) for number, each in enumerate(items(field(value, "libs")))]


@dataclass(frozen=True, slots=True)
class Constraint:
    """A constraint.

    Attributes:
        name: Its name.
        kind: Its kind, which names its template.
        action: Its enforcementAction, "deny" if it gives none.
        match: What it is for.
        parameters: What it hands its policy.
    """

    name: str
    kind: str
    action: str
    match: Mapping[str, Value]
    parameters: Mapping[str, Value]

    def fits(self, value: Value, namespace: Value) -> bool | None:
        """Tell whether it is for a resource; None where only its Namespace could tell.

        Args:
            value: The resource.
            namespace: The Namespace it is in; None if that is not known.
        """
        match = self.match
        plain = (
            text(match.get("source")) in ("", "All", "Original")
            and _kinds(match, value)
            and _scope(match, value)
            and _in_namespace(match, value)
            and _selected(match.get("labelSelector"), value)
        )
        if not plain:
            return False
        by_namespace = _by_namespace(match, value, namespace)
        if by_namespace is None:
            return None
        return by_namespace and _named(match, value)


def constraints(found: Sequence[Item], known: Mapping[str, ConstraintTemplate]) -> list[Constraint]:
    """Return the constraints among resources that are in force for files.

    Of several with one kind and name the last one counts.

    Args:
        found: The resources.
        known: The templates by kind.

    Raises:
        ConstraintError: One cannot be used.
    """
    read = [
        _constraint(item.value, known)
        for item in found
        if resource.group(item.value) == _CONSTRAINTS
    ]
    last = {(each.kind, each.name): each for each in read}
    return [each for each in last.values() if each.action]


def _constraint(value: Value, known: Mapping[str, ConstraintTemplate]) -> Constraint:
    name, kind = resource.name(value), resource.kind(value)

    def refused(problem: str) -> ConstraintError:
        return ConstraintError(f'adding constraint "{name}": {problem}')

    if kind not in known:
        raise refused(f'no template has the kind "{kind}". Add its ConstraintTemplate')
    if not name:
        raise refused("metadata.name is missing. Name it")
    template = known[kind]
    parameters = field(value, "spec", "parameters")
    problem = next(_parameter_problems(parameters, template), "")
    if problem and parameters is not None:
        raise refused(problem)
    parameters = _with_defaults(value, template.schema)
    match = field(value, "spec", "match")
    for problem in _match_problems(match):
        raise refused(problem)
    return Constraint(name, kind, _action(value), mapping(match), mapping(parameters))


def _action(value: Value) -> str:
    """Return what a constraint asks for; "" if nothing where files are checked."""
    action = text(field(value, "spec", "enforcementAction")) or "deny"
    if action != "scoped":
        return action
    scoped = {
        text(field(each, "action"))
        for each in items(field(value, "spec", "scopedEnforcementActions"))
        if any(
            text(field(point, "name")) in _POINTS
            for point in items(field(each, "enforcementPoints"))
        )
    }
    return next((each for each in _STRICTEST if each in scoped), "")


# --- match -----------------------------------------------------------------------------------


def _match_problems(match: Value) -> Iterator[str]:
    if match is not None and not isinstance(match, dict):
        yield "spec.match must be a mapping"
        return
    for key in ("kinds", "namespaces", "excludedNamespaces"):
        if field(match, key) is not None and not isinstance(field(match, key), list):
            yield f"spec.match.{key} must be a list"
    source = field(match, "source")
    if source is not None and source not in ("", *_SOURCES):
        yield f"spec.match.source is {source!r}; it must be one of {', '.join(_SOURCES)}"
    for key in ("labelSelector", "namespaceSelector"):
        at = f"spec.match.{key}"
        selector = field(match, key)
        if selector is not None and not isinstance(selector, dict):
            yield f"{at} must be a mapping"
        for number, each in enumerate(items(field(selector, "matchExpressions"))):
            yield from _expression_problems(each, f"{at}.matchExpressions[{number}]")


def _expression_problems(expression: Value, at: str) -> Iterator[str]:
    operator, values = text(field(expression, "operator")), items(field(expression, "values"))
    if operator not in _OPERATORS:
        yield f'{at}.operator is "{operator}"; it must be one of {", ".join(_OPERATORS)}'
    elif bool(values) != (operator in ("In", "NotIn")):
        wanted = "needs values" if not values else "takes no values"
        yield f"{at}: the operator {operator} {wanted}"


def _kinds(match: Mapping[str, Value], value: Value) -> bool:
    wanted = items(match.get("kinds"))
    return not wanted or any(
        _listed(field(each, "kinds"), resource.kind(value))
        and _listed(field(each, "apiGroups"), resource.group(value))
        for each in wanted
    )


def _listed(wanted: Value, name: str) -> bool:
    return not items(wanted) or "*" in items(wanted) or name in items(wanted)


def _scope(match: Mapping[str, Value], value: Value) -> bool:
    inside = bool(resource.namespace(value)) and not is_namespace(value)
    match match.get("scope"):
        case "Cluster":
            return not inside
        case "Namespaced":
            return inside
    return True  # "*", and what nobody knows


def _in_namespace(match: Mapping[str, Value], value: Value) -> bool:
    name = resource.name(value) if is_namespace(value) else resource.namespace(value)
    if not name:
        return True
    wanted, excluded = items(match.get("namespaces")), items(match.get("excludedNamespaces"))
    if wanted and not any(_globbed(text(each), name) for each in wanted):
        return False
    return not any(_globbed(text(each), name) for each in excluded)


def _named(match: Mapping[str, Value], value: Value) -> bool:
    wanted = text(match.get("name"))
    if not wanted or _globbed(wanted, resource.name(value)):
        return True
    # Of a name that will be generated only the beginning is known.
    begin = text(field(value, "metadata", "generateName"))
    return bool(begin) and wanted.endswith("*") and _globbed(wanted, begin)


def _globbed(pattern: str, name: str) -> bool:
    """Tell whether a name fits; "*" stands for anything at the beginning and at the end."""
    if pattern == "*":
        return True
    inner = pattern.removeprefix("*").removesuffix("*")
    if pattern.startswith("*") and pattern.endswith("*"):
        return inner in name
    if pattern.startswith("*"):
        return name.endswith(inner)
    return name.startswith(inner) if pattern.endswith("*") else name == pattern


def _by_namespace(match: Mapping[str, Value], value: Value, namespace: Value) -> bool | None:
    selector = match.get("namespaceSelector")
    if selector is None:
        return True
    if is_namespace(value):
        return _selected(selector, value)
    if not resource.namespace(value):
        return True
    return None if namespace is None else _selected(selector, namespace)


def _selected(selector: Value, value: Value) -> bool:
    labels = mapping(field(value, "metadata", "labels"))
    wanted = mapping(field(selector, "matchLabels"))
    if any(labels.get(key) != each for key, each in wanted.items()):
        return False
    return all(_holds(each, labels) for each in items(field(selector, "matchExpressions")))


def _holds(expression: Value, labels: Mapping[str, Value]) -> bool:
    key, values = text(field(expression, "key")), items(field(expression, "values"))
    match field(expression, "operator"):
        case "In":
            return key in labels and labels[key] in values
        case "NotIn":
            return key not in labels or labels[key] not in values
        case "Exists":
            return key in labels
    return key not in labels


# --- parameters ------------------------------------------------------------------------------

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}


def _parameter_problems(parameters: Value, template: ConstraintTemplate) -> Iterator[str]:
    yield from _mismatches(parameters, template.schema, "spec.parameters")
    try:
        found = structural.problems(
            parameters, _readable(template.schema), _SCHEMA, ("spec", "parameters")
        )
    except DefinitionError as error:
        raise ConstraintError(f'adding template "{template.name}": {error}') from error
    yield from (f"{field_text(each.path)}: {each.message}" for each in found)


def _readable(schema: Value) -> Value:
    """Return a schema without `items` that are none, as many old templates have them."""
    if isinstance(schema, list):
        return [_readable(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _readable(each)
        for key, each in schema.items()
        if key != "items" or isinstance(each, dict)
    }


def _with_defaults(constraint: Value, schema: Value) -> Value:
    """Return the parameters of a constraint, with the defaults of its template's schema."""
    spec = mapping(field(constraint, "spec"))
    whole: Value = {"properties": {"parameters": schema}}
    return mapping(_defaulted(spec, whole)).get("parameters")


def _defaulted(value: Value, schema: Value) -> Value:
    if isinstance(value, list):
        return [_defaulted(each, field(schema, "items")) for each in value]
    if not isinstance(value, dict):
        return value
    properties, more = mapping(field(schema, "properties")), field(schema, "additionalProperties")
    given = {
        key: field(part, "default")
        for key, part in properties.items()
        if field(part, "default") is not None and _lacks(value, key, part)
    }
    return {
        key: _defaulted(each, properties.get(key, more)) for key, each in (value | given).items()
    }


def _lacks(value: Mapping[str, Value], key: str, schema: Value) -> bool:
    return key not in value or (value[key] is None and field(schema, "nullable") is not True)


def _mismatches(value: Value, schema: Value, at: str) -> Iterator[str]:
    """Yield what is wrong with parameters, by the keywords that OpenAPI schemas of CRDs have."""
    kind = text(field(schema, "type"))
    wanted = _TYPES.get(kind)
    if value is None and (field(schema, "nullable") is True or wanted is None):
        return
    if wanted and (
        not isinstance(value, wanted) or (isinstance(value, bool) and kind != "boolean")
    ):
        yield f"{at} must be of type {kind}, and is {value!r}"
        return
    choices = items(field(schema, "enum"))
    if choices and value not in choices:
        yield f"{at} must be one of {', '.join(map(repr, choices))}, and is {value!r}"
    if isinstance(value, dict):
        yield from _field_mismatches(value, schema, at)
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _mismatches(each, field(schema, "items"), f"{at}[{number}]")


def _field_mismatches(value: dict[str, Value], schema: Value, at: str) -> Iterator[str]:
    properties, more = mapping(field(schema, "properties")), field(schema, "additionalProperties")
    for key in items(field(schema, "required")):
        if key not in value:
            yield f"{at}.{key} is missing"
    for key, each in value.items():
        if key in properties:
            yield from _mismatches(each, properties[key], f"{at}.{key}")
        elif isinstance(more, dict):
            yield from _mismatches(each, more, f"{at}.{key}")
