"""The downstreams that the targets of a set choose."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from lifecycle.variants.objects import KubeObject, KubeObjectIndex
from lifecycle.variants.values import Target, Template, VariantSet

MOST_DOWNSTREAMS: Final = 10_000
"""The most downstreams of one set: ten times as many as the largest known."""


MOST_COMPARED: Final = 10_000_000
"""How often selectors of all rules of a repository are held against objects: some five seconds. A
thousand targets that choose among 5,000 objects each take half of it."""

MOST_ENTRIES: Final = 4_000_000
"""What the templates of all downstreams of a repository have together (`Template.size`), of which
each keeps its own: some 400 MB. 50,000 downstreams with 80 labels each take all of it."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """One downstream before its template.

    Attributes:
        repo: Name of its repository, unless the template says otherwise.
        package: Path of the package in it, unless the template says otherwise.
        template: What is said about it; None for nothing.
        object: What was selected; None where the repository was named.
        target: Position of its target in the set.
    """

    repo: str
    package: str
    template: Template | None = None
    object: KubeObject | None = None
    target: int = 0


def compared(variants: VariantSet, objects: KubeObjectIndex) -> int:
    """Return how often selectors of a set are held against objects, long ones more often.

    Args:
        variants: The set.
        objects: Everything that can be selected, repositories among it.
    """
    chosen = (each.selected for each in variants.targets if each.selected is not None)
    return sum(
        objects.count(variants.namespace, each.api_version, each.kind) * each.selector.steps
        for each in chosen
    )


def unrolled(variants: VariantSet, objects: KubeObjectIndex) -> Iterator[Chosen]:
    """Yield what the targets choose, in their order and in that of the objects.

    Args:
        variants: The set.
        objects: Everything that can be selected, repositories among it.
    """
    for index, target in enumerate(variants.targets):
        yield from _named(variants, index, target)
        chosen = target.selected
        if chosen is None:
            continue
        for each in objects.of(variants.namespace, chosen.api_version, chosen.kind):
            if chosen.selector.matches(each.labels) and chosen.name in ("", each.name):
                package = variants.upstream.package
                yield Chosen(each.name, package, target.template, each, index)


def _named(variants: VariantSet, index: int, target: Target) -> Iterator[Chosen]:
    for repository in target.repositories:
        for package in repository.packages or (variants.upstream.package,):
            yield Chosen(repository.name, package, target.template, target=index)
