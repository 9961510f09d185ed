"""The catalog's `set-enforcement-action`: says what Gatekeeper's constraints do about violations.

Rules:
    - Changed is `spec.enforcementAction` of every named resource of the version
      `constraints.gatekeeper.sh/v1beta1`; a `spec` that is missing is made.
    - The action is `deny`, `warn` or `dryrun`, and all that the ConfigMap holds.

Source: the catalog's functions/go/set-enforcement-action.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value
from fnrunner.builtin import alone, resource, verdict
from fnrunner.builtin.about import About
from fnrunner.builtin.alone import ConfigRefusedError, PerResourceFunction
from fnrunner.builtin.resource import ShapeError
from fnrunner.builtin.verdict import FunctionResult
from fnrunner.contract.results import Result

ABOUT: Final = About(
    tags=("v0.1", "v0.1.0", "v0.1.1", "v0.1.2", "~0.1"),
    summary="Sets the enforcement action of Gatekeeper constraints.",
    doc="""\
A ConfigMap with only `enforcementAction`, which is `deny`, `warn` or `dryrun`. It is set in
every constraint (`constraints.gatekeeper.sh/v1beta1`).
""",
    example="""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: function-input
data:
  enforcementAction: dryrun
""",
    alone=True,
)

_VERSION: Final = "constraints.gatekeeper.sh/v1beta1"
_PATH: Final = ("spec", "enforcementAction")
_ACTIONS: Final = ("deny", "warn", "dryrun")


def run(resources: ResourceList) -> FunctionResult:
    """Set the action that the configuration names."""
    return alone.run(begin, resources)


def begin(config: Value) -> PerResourceFunction[tuple[Result, ...]]:
    """Read the configuration."""
    data = resource.mapping(resource.field(config, "data"))
    if len(data) != 1:
        raise _refused("expecting exactly 1 enforcementAction as part of the ConfigMap")
    action = data.get("enforcementAction")
    if not isinstance(action, str) or action not in _ACTIONS:
        wanted = " or ".join(f"[{each}]" for each in _ACTIONS)
        raise _refused(f"expected values for enforcementAction are {wanted}")
    return _SetAction(action)


def _refused(problem: str) -> ConfigRefusedError:
    message = f"failed to process policies: {problem}"
    return ConfigRefusedError(verdict.result(message, "error"), log=problem)


class _SetAction:
    def __init__(self, action: str) -> None:
        self._action = action

    def each(self, item: Item) -> tuple[Item, tuple[Result, ...]]:
        value = item.value
        name = resource.name(value)
        named = name and resource.kind(value)
        if not named or resource.api_version(value) != _VERSION:
            return item, ()
        try:
            changed = resource.with_field(value, _PATH, self._action)
        except ShapeError:
            message = f"failed to process policies: spec of [{name}] must be a mapping"
            return item, (verdict.at(item, message, "error", "spec"),)
        said: dict[str, object] = dict(verdict.result(f"Policy name: [{name}]", "info"))
        if item.path:
            said["file"] = {"path": item.path}
        same = resource.field(value, *_PATH) == self._action
        return item if same else replace(item, value=changed), (said,)

    def total(self, notes: Sequence[tuple[Result, ...]]) -> tuple[tuple[Result, ...], bool]:
        said = tuple(each for note in notes for each in note)
        wrong = tuple(each for each in said if each["severity"] == "error")
        if wrong:
            return wrong, True
        if not said:
            message = f"Found no policy to set to [{self._action}]"
            return (verdict.result(message, "warning"),), False
        message = f"Number of policies set to [{self._action}]: {len(said)}"
        return (verdict.result(message, "info"), *said), False
