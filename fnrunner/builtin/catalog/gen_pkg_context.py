"""kpt's `gen-pkg-context`: the ConfigMap that tells functions what their package is called.

Rules:
    - One context, in `package-context.yaml` beside the outermost Kptfile; every other one that
      is among the resources goes. Without a Kptfile at the root none is made.
    - It is made anew: of one that is there already, only the place stays.

Source: docs/design.md, "kpt: files of a package".
"""

from typing import Final

from cadlib.render import context
from cadlib.stream.resourcelist import ResourceList
from fnrunner.builtin import resource
from fnrunner.builtin.about import About
from fnrunner.builtin.verdict import FunctionResult

_PATH_KEY: Final = "package-path"
ABOUT: Final = About(
    tags=(">=0",),  # kpt's own: it has no version
    summary="Writes package-context.yaml, which tells functions the name of their package.",
    doc="""\
Its name in kpt, `builtins/gen-pkg-context`, works here too.

Data of a ConfigMap, optional: `package-path`, the path of the package in its repository or
organization, such as "net/edge/core". The context is a ConfigMap named `kptfile.kpt.dev` with
`name`, the name in the Kptfile, and `package-path` if it is given. It is never applied to a
cluster. Contexts of subpackages are removed: they inherit that of the package that contains them.
""",
    example="""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: function-input
data:
  package-path: net/edge/core
""",
)


def run(resources: ResourceList) -> FunctionResult:
    """Make the context."""
    path = resource.text(resource.field(resources.config, "data", _PATH_KEY))
    items, results = context.generated(resources.items, path)
    return FunctionResult(items=tuple(items), results=tuple(results))
