"""What a set asks for of one downstream: its template, with the expressions evaluated.

The steps are in Porch's order, since they see one another's results: the repository is known before
the path of the package is worked out, and `repository` only from then on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from cadlib.yaml import Value
from lifecycle.messages import porch as texts
from lifecycle.variants.costs import Input, Inputs
from lifecycle.variants.expressions import ExpressionError, compiled
from lifecycle.variants.objects import KubeObject
from lifecycle.variants.targets import Chosen
from lifecycle.variants.values import (
    Downstream,
    FunctionTemplate,
    Injector,
    InjectorTemplate,
    MapExpr,
    Template,
    VariantSpec,
    VariantUpstream,
)


class TemplateError(Exception):
    """A template gives nothing for a downstream; the text is Porch's.

    Attributes:
        field: The expression that gives nothing, such as "template.downstream.packageExpr"; "" for
            none.
    """

    def __init__(self, text: str, field: str = "") -> None:
        super().__init__(text)
        self.field = field


def rendered(
    upstream: VariantUpstream,
    chosen: Chosen,
    repositories: Mapping[str, KubeObject],
    revision: KubeObject,
) -> VariantSpec:
    """Return what is asked for of one downstream.

    Args:
        upstream: The set's.
        chosen: The downstream.
        repositories: All that are known, by name.
        revision: The upstream's revision, as expressions see it.

    Raises:
        TemplateError: An expression gives nothing, or the repository is not known.
    """
    plain = VariantSpec(upstream=upstream, downstream=Downstream(chosen.repo, chosen.package))
    template = chosen.template
    if template is None:
        return plain
    inputs = _inputs(chosen, revision)
    repo = template.repo or chosen.repo
    if template.repo_expr:
        repo = evaluated(template.repo_expr, inputs, "template.downstream.repoExpr")
    if repo not in repositories:
        raise TemplateError(texts.no_repository(repo))
    inputs["repository"] = repositories[repo].as_input
    package = template.package or chosen.package
    if template.package_expr:
        package = evaluated(template.package_expr, inputs, "template.downstream.packageExpr")
    return replace(
        plain,
        downstream=Downstream(repo, package),
        adoption_policy=template.adoption_policy,
        deletion_policy=template.deletion_policy,
        labels=overlaid(template.labels, template.label_exprs, inputs, "template.labelExprs"),
        annotations=overlaid(
            template.annotations, template.annotation_exprs, inputs, "template.annotationExprs"
        ),
        context=overlaid(
            template.context, template.context_exprs, inputs, "template.packageContext.dataExprs"
        ),
        context_removed=_removed(template, inputs),
        injectors=tuple(
            _injector(each, inputs, f"template.injectors[{index}].nameExpr")
            for index, each in enumerate(template.injectors)
        ),
        validators=_functions(template.validators, inputs, "template.pipeline.validators"),
        mutators=_functions(template.mutators, inputs, "template.pipeline.mutators"),
    )


def _inputs(chosen: Chosen, revision: KubeObject) -> dict[str, Input]:
    named = {"repo": chosen.repo, "package": chosen.package}
    return {
        "repoDefault": chosen.repo,
        "packageDefault": chosen.package,
        "upstream": revision.as_input,
        "target": named if chosen.object is None else chosen.object.as_input,
    }


def _removed(template: Template, inputs: Inputs) -> tuple[str, ...]:
    name = "template.packageContext.removeKeyExprs"
    found = {
        evaluated(each, inputs, f"{name}[{index}]")
        for index, each in enumerate(template.context_removed_exprs)
    }
    return tuple(sorted({*template.context_removed, *found}))


def _injector(template: InjectorTemplate, inputs: Inputs, field: str) -> Injector:
    if not template.name_expr:
        return template.injector
    return replace(template.injector, name=evaluated(template.name_expr, inputs, field))


def _functions(
    templates: Sequence[FunctionTemplate], inputs: Inputs, field: str
) -> tuple[Mapping[str, Value], ...]:
    made: list[Mapping[str, Value]] = []
    for index, each in enumerate(templates):
        name = f"{field}[{index}].configMapExprs"
        config = overlaid(_config(each.function), each.config_exprs, inputs, name)
        made.append({**each.function, "configMap": {**config}} if config else each.function)
    return tuple(made)


def _config(function: Mapping[str, Value]) -> dict[str, str]:
    given = function.get("configMap")
    found = given if isinstance(given, dict) else {}
    return {key: each for key, each in found.items() if isinstance(each, str)}


def overlaid(
    given: Mapping[str, str], entries: Sequence[MapExpr], inputs: Inputs, field: str
) -> dict[str, str]:
    """Return a mapping with entries laid over it, in their order.

    Args:
        given: The mapping.
        entries: The entries; a key or a value that none gives is "".
        inputs: The variables.
        field: What the entries are called, for messages.

    Raises:
        TemplateError: An expression gives nothing.
    """
    result = dict(given)
    for index, each in enumerate(entries):
        key, value = each.key or "", each.value or ""
        if each.key_expr is not None:
            key = evaluated(each.key_expr, inputs, f"{field}[{index}].keyExpr")
        if each.value_expr is not None:
            value = evaluated(each.value_expr, inputs, f"{field}[{index}].valueExpr")
        result[key] = value
    return result


def evaluated(text: str, inputs: Inputs, field: str) -> str:
    """Return what an expression gives.

    Args:
        text: The expression.
        inputs: The variables.
        field: What it is called, for messages.

    Raises:
        TemplateError: It gives nothing; the text names the field and says why.
    """
    try:
        return compiled(text).evaluate(inputs)
    except ExpressionError as error:
        raise TemplateError(f"{field}: {error.text}", field) from error
