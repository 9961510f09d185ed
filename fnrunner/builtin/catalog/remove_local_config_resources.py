"""The catalog's `remove-local-config-resources`: drops what is never applied to a cluster.

Rules:
    - Local is what has the annotation `config.kubernetes.io/local-config: "true"`, in capitals or
      not, in quotes or not. Any other value keeps the resource.
    - A Kptfile stays: without it the folder is no package any more (D140).
    - One result with the number, and one for each that went; a warning where none did.

Source: the catalog's functions/go/remove-local-config-resources.
"""

from typing import Final

from cadlib.package.files import KPTFILE, name
from cadlib.stream.resourcelist import Item, ResourceList
from fnrunner.builtin import resource, verdict
from fnrunner.builtin.about import About
from fnrunner.builtin.verdict import FunctionResult
from fnrunner.contract.results import Result

ABOUT: Final = About(
    tags=("v0.1", "v0.1.0", "~0.1"),
    summary="Removes resources that only configure tools and are never applied to a cluster.",
    doc="""\
It takes no configuration. It removes resources with the annotation
`config.kubernetes.io/local-config: "true"`, including the package context, and files without
any other resource. Kptfiles always stay, because without one there is no package.

Results: the number of removed resources and the name of each, or a warning that there were none.
""",
)


def run(resources: ResourceList) -> FunctionResult:
    """Drop what is local."""
    gone = [item for item in resources.items if _is_local(item)]
    if not gone:
        message = "Found no resources to prune with the local config annotation"
        return FunctionResult(items=resources.items, results=(verdict.result(message, "warning"),))
    dropped = set(map(id, gone))
    return FunctionResult(
        items=tuple(item for item in resources.items if id(item) not in dropped),
        results=(
            verdict.result(f"Number of resources pruned: {len(gone)}", "info"),
            *map(_result, gone),
        ),
    )


def _is_local(item: Item) -> bool:
    said = resource.field(item.value, "metadata", "annotations", resource.LOCAL_CONFIG)
    return str(said).lower() == "true" and name(item.path) != KPTFILE


def _result(item: Item) -> Result:
    message = f"Resource name: [{resource.name(item.value)}]"
    found = verdict.result(message, "info")
    return {**found, "file": verdict.file(item.path, None)} if item.path else found
