"""`/resolve` for a side that has a field no more."""

import pytest

from cadlib import yaml
from tests.lifecycle.test_resolving import Upgraded, entries

POLICY = "apiVersion: cilium.io/v2\nkind: CiliumNetworkPolicy\nmetadata: {name: r}\n"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: r}\n"
AROUND: dict[str, tuple[str, str]] = {
    # What holds a field, and what upstream has in its place.
    "a selector": (
        f"{POLICY}spec: {{a: b, endpointSelector: {{matchLabels: {{app: NEW}}}}}}\n",
        f"{POLICY}spec: {{a: b}}\n",
    ),
    "a selector that is empty upstream": (
        f"{POLICY}spec: {{a: b, endpointSelector: {{matchLabels: {{app: NEW}}}}}}\n",
        f"{POLICY}spec: {{a: b, endpointSelector: {{}}}}\n",
    ),
    "an element": (
        f"{POD}spec: {{containers: [{{name: a, x: {{y: {{z: NEW}}}}}}]}}\n",
        f"{POD}spec: {{containers: [{{name: a}}, {{name: b}}]}}\n",
    ),
}


@pytest.mark.parametrize("case", AROUND)
def test_what_is_taken_out_leaves_nothing_around_it(case: str) -> None:
    """The short-cut makes the mappings around a field that is gone, or leaves them: an empty
    selector, which neither side wrote, selects everything."""
    text, upstream = AROUND[case]
    base, here = (entries({"r.yaml": text.replace("NEW", each)}) for each in "12")
    theirs = entries({"r.yaml": upstream})
    upgraded = Upgraded(base, here, theirs)
    assert len(upgraded.came.conflicts) == 1

    for side in ("upstream", "local", "upstream"):
        assert not upgraded.resolve(side).problem
        found = yaml.read(upgraded.files["r.yaml"].data).documents[0].value
        wanted = yaml.read(upstream.encode()).documents[0].value
        assert (found == wanted) == (side == "upstream"), side
