"""Selectors and exclusions: the resources that a function receives.

Rules
- A resource is selected when any selector fits, or when there is none; then any exclusion that
  fits takes it out. It is given once, however many selectors fit.
- All fields of a selector must fit: texts exactly, labels and annotations those that it names.
  A selector without fields fits everything; an exclusion without fields fits nothing.
- What a function was not given keeps its place; what it drops is deleted, what it adds comes last.

Source: kptdev/kpt, pkg/fn/runtime (SelectInput, MergeWithInput). Differs: kpt gives a resource
that two selectors fit twice, and then refuses it.
"""

from collections.abc import Mapping, Sequence

from cadlib.kptfile.reader import PipelineFunction, Selector
from cadlib.package.source import Resource
from cadlib.yaml import Value


def selects(function: PipelineFunction) -> bool:
    """Tell whether a function has selectors or exclusions."""
    return bool(function.selectors or function.exclude)


def selected(function: PipelineFunction, value: Value) -> bool:
    """Tell whether a function's selectors choose a resource."""
    wanted = not function.selectors or any(fits(each, value) for each in function.selectors)
    return wanted and not any(fits(each, value) for each in function.exclude if each != Selector())


def fits(selector: Selector, value: Value) -> bool:
    """Tell whether a resource matches a selector."""
    whole = _mapping(value)
    metadata = _mapping(whole.get("metadata"))
    texts = (
        (selector.api_version, whole.get("apiVersion")),
        (selector.kind, whole.get("kind")),
        (selector.name, metadata.get("name")),
        (selector.namespace, metadata.get("namespace")),
    )
    return all(wanted == found for wanted, found in texts if wanted) and (
        _has(metadata.get("labels"), selector.labels)
        and _has(metadata.get("annotations"), selector.annotations)
    )


def merged(
    before: Sequence[Resource],
    given: Sequence[Resource],
    returned: Sequence[Resource],
    was: Sequence[Resource | None],
) -> list[Resource]:
    """Return all resources after a function that was given some of them.

    Args:
        before: All resources before it.
        given: Those it was given, the same objects.
        returned: Those it returned.
        was: For each of these, which of `given` it was; None for a new one.
    """
    after = {id(old): new for new, old in zip(returned, was, strict=True) if old is not None}
    dropped = {id(each) for each in given} - after.keys()
    stayed = [after.get(id(each), each) for each in before if id(each) not in dropped]
    added = [new for new, old in zip(returned, was, strict=True) if old is None]
    return [*stayed, *added]


def _has(found: Value, wanted: Mapping[str, str]) -> bool:
    texts = _mapping(found)
    return all(key in texts and texts[key] == text for key, text in wanted.items())


def _mapping(value: Value) -> dict[str, Value]:
    return value if isinstance(value, dict) else {}
