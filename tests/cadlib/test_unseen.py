"""What of a package no function sees, and what is said of it."""

import pytest

from cadlib.limits import DEFAULT
from cadlib.package.files import Entry
from cadlib.package.source import ParsedPackage
from cadlib.package.unseen import BESIDE, GENERATED, NAMED_LIST, NAMELESS_LIST

KPTFILE = b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: a}\n"
POD = "{apiVersion: v1, kind: Pod, metadata: {name: evil}}"
HELD = f"items: [{POD}]\n"
NAME = "metadata: {name: a}\n"

UNSEEN: dict[str, tuple[str, list[tuple[str, int]]]] = {
    "a list without a name": ("apiVersion: v1\nkind: List\n" + HELD, [(NAMELESS_LIST, 1)]),
    "a list without a version": ("kind: List\n" + HELD, [(NAMELESS_LIST, 1)]),
    "a list with a name": ("apiVersion: v1\nkind: List\n" + NAME + HELD, [(NAMED_LIST, 1)]),
    "a list of one kind": (
        "apiVersion: v1\nkind: PodList\n" + NAME + "items: [{metadata: {name: evil}, spec: {}}]\n",
        [(NAMED_LIST, 1)],
    ),
    "a list for functions": (
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n" + NAME + HELD,
        [(NAMED_LIST, 1)],
    ),
    "any kind with items": (
        "apiVersion: v1\nkind: ConfigMap\n" + NAME + HELD,
        [(NAMED_LIST, 1)],
    ),
    "items by an alias": (
        f"apiVersion: v1\nkind: ConfigMap\nx: &x [{POD}]\n" + NAME + "items: *x\n",
        [(NAMED_LIST, 1)],
    ),
    "a list in a list": (
        "apiVersion: v1\nkind: List\n" + NAME + "items: [{apiVersion: v1, kind: List, "
        f"items: [{POD}]}}]\n",
        [(NAMED_LIST, 1)],
    ),
    "the second document": (f"{POD}\n---\nkind: List\n{HELD}", [(NAMELESS_LIST, 3)]),
    "a generated name": (
        "apiVersion: v1\nkind: Pod\nmetadata: {generateName: evil-}\n",
        [(GENERATED, 1)],
    ),
    "beside a document that is a template": (
        f"# first\n{POD}\n---\na: {{{{ .b }}}} c\n--- # last\n\napiVersion: v1\nkind: Job\n{NAME}",
        [(BESIDE, 2), (BESIDE, 7)],
    ),
}


def found(text: str, name: str = "a.yaml") -> list[tuple[str, int | None]]:
    files = {"Kptfile": Entry(KPTFILE), name: Entry(text.encode())}
    return [
        (each.message, each.place.line)
        for each in ParsedPackage(files, DEFAULT).findings
        if each.unseen
    ]


@pytest.mark.parametrize(("text", "told"), UNSEEN.values(), ids=UNSEEN)
def test_what_is_applied_and_that_no_function_sees(text: str, told: list[tuple[str, int]]) -> None:
    """The short-cut looks at kinds that end with List, and only where the name is missing."""
    assert found(text) == told


SEEN = {
    "an empty list": "apiVersion: v1\nkind: List\n" + NAME + "items: []\n",
    "a list of other things": "apiVersion: a/v1\nkind: AllowList\n" + NAME + "items: [{cidr: a}]\n",
    "parts with a kind, such as a menu's": (
        "apiVersion: a/v1\nkind: Menu\n" + NAME + "items: [{kind: soup}, {metadata: {a: b}}]\n"
    ),
    "items further in": (
        "apiVersion: v1\nkind: Pod\n" + NAME + f"spec: {{volumes: [{{items: [{POD}]}}]}}\n"
    ),
    "values, and no resource": HELD,
    "results of functions": (
        "apiVersion: kpt.dev/v1\nkind: FunctionResultList\n" + NAME + "items: [{image: a}]\n"
    ),
    "a name beside a generated one": (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a, generateName: a-}\n"
    ),
    "a template alone": "apiVersion: v1\nkind: Pod\na: {{ .b }} c\n",
}


@pytest.mark.parametrize("text", SEEN.values(), ids=SEEN)
def test_no_false_alarm(text: str) -> None:
    """The short-cut takes every list called `items` for resources."""
    assert found(text) == []


def test_json_objects_before_what_is_no_json() -> None:
    """The short-cut cuts a file at `---` only: kubectl applies object by object."""
    pod = '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "evil"}}'
    assert found(f"{pod}\n{{{{ x }}}}\n", "a.json") == [(BESIDE, 1)]
    assert found(f" {pod}\n{{{{ x }}}}\n{pod}", "a.yaml") == [(BESIDE, 1)]
    assert found('{"kind": {{ x }} }\n', "a.json") == []
