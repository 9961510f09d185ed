"""Differences between two states of a package, as the summary comment shows them."""

import random

import pytest

from cadlib.diff.changes import changes
from cadlib.diff.values import Change, ChangeKind
from cadlib.findings import ResourceRef
from cadlib.package.files import Entry, Files
from cadlib.yaml import Value, same
from tests.cadlib import real, yaml_texts

CART = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: cart
  namespace: shop
spec:
  replicas: 3
  template:
    spec:
      containers:
      - name: main
        image: cart:v1
      - name: side
        image: proxy:v1
"""
SECRETS = """\
apiVersion: v1
kind: SecretList
metadata: {name: l}
items: [{data: {a: hunter2}}]
"""

SECRET = """\
apiVersion: v1
kind: Secret
metadata:
  name: key
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"data":{"k":"hunter1"}}'
data:
  k: hunter1
  j: hunter2
"""
LINE_80 = "  - {port: 80, targetPort: 8080}\n"
LINE_81 = "  - {port: 81, targetPort: 8080}\n"
PORTS = f"""\
apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  ports:
{LINE_80}{LINE_81}"""


def files(**texts: str) -> Files:
    """Make a package; "_" in a name stands for "."."""
    return {name.replace("_", "."): Entry(text.encode()) for name, text in texts.items()}


ROWS: dict[str, tuple[Files, Files, list[str]]] = {
    "nothing": (files(a_yaml=CART), files(a_yaml=CART), []),
    "a value": (
        files(a_yaml=CART),
        files(a_yaml=CART.replace("replicas: 3", "replicas: 4")),
        ["a.yaml: Deployment shop/cart: spec.replicas: 3 -> 4"],
    ),
    "a value of another type": (
        files(a_yaml=CART),
        files(a_yaml=CART.replace("replicas: 3", "replicas: '3'")),
        ['a.yaml: Deployment shop/cart: spec.replicas: 3 -> "3"'],
    ),
    "true is not 1": (
        files(a_yaml=CART.replace("3", "1")),
        files(a_yaml=CART.replace("3", "true")),
        ["a.yaml: Deployment shop/cart: spec.replicas: 1 -> true"],
    ),
    "a field added and one removed": (
        files(a_yaml=CART),
        files(a_yaml=CART.replace("replicas: 3", "paused: true")),
        [
            "a.yaml: Deployment shop/cart: spec.replicas: removed 3",
            "a.yaml: Deployment shop/cart: spec.paused: added true",
        ],
    ),
    "an item of a list, found by its name": (
        files(a_yaml=CART),
        files(
            a_yaml=CART.replace("- name: main\n        image: cart:v1\n      ", "").replace(
                "proxy:v1", "proxy:v2"
            )
        ),
        [
            "a.yaml: Deployment shop/cart: spec.template.spec.containers[0]:"
            ' removed {"name": "main", "image": "cart:v1"}',
            "a.yaml: Deployment shop/cart: spec.template.spec.containers[0].image:"
            " proxy:v1 -> proxy:v2",
        ],
    ),
    "a resource": ({}, files(a_yaml=CART), ["a.yaml: Deployment shop/cart: added"]),
    "a package removed": (
        files(a_yaml=CART, README_md="x"),
        {},
        ["README.md: removed", "a.yaml: Deployment shop/cart: removed"],
    ),
    "a resource that moved": (
        files(a_yaml=CART),
        files(b_yaml=CART.replace("replicas: 3", "replicas: 4")),
        [
            "b.yaml: Deployment shop/cart: file: a.yaml -> b.yaml",
            "b.yaml: Deployment shop/cart: spec.replicas: 3 -> 4",
        ],
    ),
    "a comment only": (
        files(a_yaml=CART),
        files(a_yaml="# new\n" + CART),
        ["a.yaml: Deployment shop/cart: comments changed"],
    ),
    "a line comment only, in one of two resources": (
        files(a_yaml=CART + "---\n" + SECRET),
        files(a_yaml=CART + "---\n" + SECRET.replace("hunter2", "hunter2 # why")),
        ["a.yaml: Secret key: comments changed"],
    ),
    "layout only": (
        files(a_yaml=CART),
        files(a_yaml=CART.replace("replicas: 3", "replicas:   3")),
        ["a.yaml: Deployment shop/cart: layout changed"],
    ),
    "keys in another order, and a comment": (
        files(a_yaml=SECRET),
        files(
            a_yaml=SECRET.replace(
                "apiVersion: v1\nkind: Secret", "kind: Secret # s\napiVersion: v1"
            )
        ),
        ["a.yaml: Secret key: comments changed", "a.yaml: Secret key: layout changed"],
    ),
    "elements in another order": (
        files(a_yaml=PORTS),
        files(a_yaml=PORTS.replace(LINE_80, "").replace(LINE_81, LINE_81 + LINE_80)),
        ["a.yaml: Service web: spec.ports: order changed"],
    ),
    "an element found by a merge key that is no name": (
        files(a_yaml=PORTS),
        files(a_yaml=PORTS.replace(LINE_80, "  - {port: 79}\n" + LINE_80.replace("8080", "8081"))),
        [
            "a.yaml: Service web: spec.ports[1].targetPort: 8080 -> 8081",
            'a.yaml: Service web: spec.ports[0]: added {"port": 79}',
        ],
    ),
    "another namespace and version": (
        files(a_yaml=CART),
        files(
            a_yaml=CART.replace("namespace: shop", "namespace: prod").replace("apps/v1", "apps/v2")
        ),
        [
            "a.yaml: Deployment prod/cart: apiVersion: apps/v1 -> apps/v2",
            "a.yaml: Deployment prod/cart: metadata.namespace: shop -> prod",
        ],
    ),
    "a resource that was renamed": (
        files(a_yaml=CART),
        files(
            a_yaml=CART.replace("name: cart", "name: basket").replace("replicas: 3", "replicas: 3")
        ),
        ["a.yaml: Deployment shop/basket: metadata.name: cart -> basket"],
    ),
    "another resource in the place of one": (
        files(a_yaml=PORTS),
        files(a_yaml=PORTS.replace("name: web", "name: db").replace("ports", "externalIPs")),
        ["a.yaml: Service web: removed", "a.yaml: Service db: added"],
    ),
    "a file that moved": (
        files(a_md="text", b_md=""),
        files(c_md="text", d_md=""),
        ["b.md: removed", "c.md: file: a.md -> c.md", "d.md: added"],
    ),
    "what is no resource": (
        files(values_yaml="a: 1\n", b_png="x"),
        files(values_yaml="a: 2\n", b_png="y"),
        ["b.png: changed", "values.yaml: changed"],
    ),
    "what cannot be read": (
        files(a_yaml=CART),
        files(a_yaml="{"),
        ["a.yaml: changed"],
    ),
    "the mode of a file": (
        {"run.sh": Entry(b"x", "100644")},
        {"run.sh": Entry(b"x", "100755")},
        ["run.sh: mode: 100644 -> 100755"],
    ),
    "the mode and the text of a file": (
        {"run.sh": Entry(b"x", "100644")},
        {"run.sh": Entry(b"y", "100755")},
        ["run.sh: mode: 100644 -> 100755", "run.sh: changed"],
    ),
    "a list of secrets that goes": (
        files(
            a_yaml="apiVersion: v1\nkind: List\nmetadata: {name: l}\n"
            "items: [{kind: Secret, data: {a: hunter2}}]\n"
        ),
        files(a_yaml="apiVersion: v1\nkind: List\nmetadata: {name: l}\n"),
        ['a.yaml: List l: items: removed [{"kind": "Secret", "data": "(hidden)"}]'],
    ),
    "a value in a list whose elements do not say that they are secrets": (
        files(a_yaml=SECRETS),
        files(a_yaml=SECRETS.replace("hunter2", "hunter3")),
        ["a.yaml: SecretList l: items[0].data.a: (hidden) -> (hidden)"],
    ),
    "a long value": (
        files(a_yaml=CART),
        files(a_yaml=CART.replace("cart:v1", "c" * 100)),
        [
            "a.yaml: Deployment shop/cart: spec.template.spec.containers[0].image:"
            f" cart:v1 -> {'c' * 57}..."
        ],
    ),
    "two resources of one name, in two files": (
        files(a_yaml=CART, b_yaml=CART),
        files(a_yaml=CART, b_yaml=CART.replace("3", "4")),
        ["b.yaml: Deployment shop/cart: spec.replicas: 3 -> 4"],
    ),
    "values of a secret stay hidden": (
        files(a_yaml=SECRET),
        files(a_yaml=SECRET.replace("hunter1", "secret1").replace("j: hunter2", "i: hunter3")),
        [
            "a.yaml: Secret key: metadata.annotations"
            '["kubectl.kubernetes.io/last-applied-configuration"]: (hidden) -> (hidden)',
            "a.yaml: Secret key: data.k: (hidden) -> (hidden)",
            "a.yaml: Secret key: data.j: removed (hidden)",
            "a.yaml: Secret key: data.i: added (hidden)",
        ],
    ),
    "a secret inside of a list stays hidden": (
        files(a_yaml="apiVersion: v1\nkind: List\nmetadata: {name: l}\nitems: []\n"),
        files(
            a_yaml="apiVersion: v1\nkind: List\nmetadata: {name: l}\n"
            "items: [{kind: Secret, stringData: {a: hunter2}}]\n"
        ),
        ['a.yaml: List l: items[0]: added {"kind": "Secret", "stringData": "(hidden)"}'],
    ),
}


@pytest.mark.parametrize(("old", "new", "lines"), ROWS.values(), ids=ROWS)
def test_changes(old: Files, new: Files, lines: list[str]) -> None:
    """The short-cut is a diff of lines, which shows secrets and hides what moved."""
    assert [str(change) for change in changes(old, new)] == lines


BUMPED = CART.replace("cart:v1", "cart:v2")
BUMP = "cart.yaml: Deployment shop/cart: spec.template.spec.containers[0].image: cart:v1 -> cart:v2"
JOB = "apiVersion: v1\nkind: Job\nmetadata: {generateName: a-}\nspec: {image: good}\n"
ROLE = "apiVersion: v1\nkind: Role\nmetadata: {}\nrules: []\n"
BESIDE: dict[str, tuple[str, str, str]] = {
    "a generated name": (JOB, JOB.replace("good", "evil"), "cart.yaml: changed"),
    "no name": (ROLE, ROLE.replace("[]", "['*']"), "cart.yaml: changed"),
    "no name, and new": ("", ROLE, "cart.yaml: changed"),
    "no name, and gone": (ROLE, "", "cart.yaml: changed"),
    "no kind": ("a: 1\n", "a: 2\n", "cart.yaml: changed"),
    "a template": ("{{ x }}\n", "{{ y }}\n", "cart.yaml: changed"),
    "nothing": (JOB, JOB, ""),
}


@pytest.mark.parametrize(("old", "new", "line"), BESIDE.values(), ids=BESIDE)
def test_what_has_no_name_is_told_beside_what_has_one(old: str, new: str, line: str) -> None:
    """Short-cut refused: a file of which one resource is told is told."""
    before, after = (f"{text}---\n{more}" for text, more in ((CART, old), (BUMPED, new)))

    found = [str(each) for each in changes(files(cart_yaml=before), files(cart_yaml=after))]

    assert found == [BUMP, *([line] if line else [])]


def test_comments_are_compared_where_values_differ_too() -> None:
    """Short-cut refused: only where nothing else differs; a setter's comment says what is set."""
    setter = "replicas: 3 # kpt-set: ${replicas}"
    before = CART.replace("replicas: 3", setter)
    after = BUMPED.replace("replicas: 3", setter.replace("${replicas}", "${other}"))

    found = [str(each) for each in changes(files(cart_yaml=before), files(cart_yaml=after))]

    assert found == [BUMP, "cart.yaml: Deployment shop/cart: comments changed"]
    same_comment = BUMPED.replace("replicas: 3", setter)
    assert [
        str(each) for each in changes(files(cart_yaml=before), files(cart_yaml=same_comment))
    ] == [BUMP]


def test_a_change_as_a_value() -> None:
    old, new = files(a_yaml=CART), files(a_yaml=CART.replace("replicas: 3", "replicas: 4"))

    assert changes(old, new) == (
        Change(
            path="a.yaml",
            kind=ChangeKind.CHANGED,
            resource=ResourceRef(
                api_version="apps/v1", kind="Deployment", name="cart", namespace="shop"
            ),
            field="spec.replicas",
            old="3",
            new="4",
        ),
    )


def test_real_packages_differ_from_nothing_in_every_file() -> None:
    for name, whole in real.packages().items():
        assert {change.path for change in changes({}, whole)} == set(whole), name
        assert changes(whole, whole) == ()


@pytest.mark.parametrize("seed", range(60))
def test_a_file_that_differs_is_always_told(seed: int) -> None:
    """The short-cut: comparing values only, which loses comments and layout."""
    rng = random.Random(seed)
    base: dict[str, Value] = {"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}}
    value: dict[str, Value] = {**base, "spec": yaml_texts.mapping(rng, 3, 1)}
    texts = [yaml_texts.Layout(rng).document(value) for _ in range(2)]
    found = changes(files(a_yaml=texts[0]), files(a_yaml=texts[1]))
    assert bool(found) == (texts[0] != texts[1])
    assert {each.kind for each in found} <= {ChangeKind.COMMENTS, ChangeKind.LAYOUT}

    other = {**value, "spec": yaml_texts.changed(rng, value["spec"])}
    found = changes(files(a_yaml=texts[0]), files(a_yaml=yaml_texts.Layout(rng).document(other)))
    assert any(each.field.startswith("spec") for each in found) != same(other, value)
    assert ChangeKind.LAYOUT not in {each.kind for each in found} or same(other, value)
