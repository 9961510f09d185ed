"""set-name-prefix: which names change, and where the new prefix comes from."""

import pytest

from fnrunner.builtin import resource
from fnrunner.builtin.catalog import set_name_prefix
from tests.fnrunner.calls import Answer, call, config_map, values

LOCAL = 'annotations: {config.kubernetes.io/local-config: "true"}'
CONTEXT = f"""
apiVersion: v1
kind: ConfigMap
metadata: {{name: kptfile.kpt.dev, {LOCAL}}}
data: {{name: shop}}
"""
TEXT = f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: packagename-web}}
spec: {{template: {{spec: {{serviceAccountName: packagename}}}}}}
---
{{apiVersion: v1, kind: ServiceAccount, metadata: {{name: packagename}}}}
---
{{apiVersion: v1, kind: Service, metadata: {{name: packagenames}}}}
---
{{apiVersion: v1, kind: Service, metadata: {{name: my-packagename-web}}}}
---
{{apiVersion: v1, kind: ConfigMap, metadata: {{name: packagename-local, {LOCAL}}}}}
---
{{apiVersion: kpt.dev/v1alpha1, kind: ResourceGroup, metadata: {{name: packagename}}}}
"""


def names(answer: Answer) -> list[str]:
    assert not answer.failed, answer.messages
    assert answer.results == ()
    return [resource.name(value) for value in answer.values]


def test_the_prefix_is_the_package_and_whole_words_only() -> None:
    """Short-cut: replace the text at the beginning of every name."""
    answer = call(set_name_prefix.run, f"{TEXT}---{CONTEXT}", None)
    assert names(answer) == [
        "shop-web",
        "shop",
        "packagenames",
        "my-packagename-web",
        "packagename-local",
        "packagename",
        "kptfile.kpt.dev",
    ]
    path = ("spec", "template", "spec", "serviceAccountName")
    assert resource.field(answer.values[0], *path) == "shop"


def test_given_prefixes() -> None:
    config = config_map(prefix="new", oldPrefix="my-packagename")
    assert names(call(set_name_prefix.run, TEXT, config))[2:4] == ["packagenames", "new-web"]


FAILS = {
    "no context": (None, TEXT, "unable to find package context object"),
    "two contexts": (
        None,
        f"{CONTEXT}---{CONTEXT}",
        "found multiple matches for package-context object",
    ),
    "a context without a name": (
        None,
        CONTEXT.replace("name: shop", "other: shop"),
        "package name (data.name) not set in package context object",
    ),
    "an empty prefix": (config_map(prefix=""), CONTEXT, "`data.prefix` should not be empty"),
    "an empty old prefix": (
        config_map(prefix="a", oldPrefix=""),
        CONTEXT,
        "`data.oldPrefix` should not be empty",
    ),
    "a number": (
        "{apiVersion: v1, kind: ConfigMap, data: {prefix: 7}}",
        CONTEXT,
        "functionConfig error: `data.prefix` must be a text; put it in quotes",
    ),
    "no mapping": (
        "{apiVersion: v1, kind: ConfigMap, data: [a]}",
        CONTEXT,
        "functionConfig error: `data` must be a mapping",
    ),
    "another kind": (
        "{apiVersion: g/v1, kind: K}",
        CONTEXT,
        "functionConfig error: unknown functionConfig Kind g/v1, Kind=K; give a ConfigMap",
    ),
}


@pytest.mark.parametrize(("config", "text", "message"), FAILS.values(), ids=FAILS)
def test_failed(config: str | None, text: str, message: str) -> None:
    answer = call(set_name_prefix.run, text, config)
    assert answer.failed
    assert answer.messages == [f"error: {message}"]
    assert answer.values == tuple(values(text))
