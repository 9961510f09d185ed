"""Injection: what is chosen, what never is, and what is said about it."""

from dataclasses import replace

import pytest

from cadlib.errors import PackageError
from cadlib.package.files import Entry
from cadlib.yaml import Value
from lifecycle.variants.injection import inject
from lifecycle.variants.objects import KubeObject, KubeObjectIndex, of_value
from lifecycle.variants.values import Injector

KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: edge\n"


def _asks(version: str, kind: str, how: str = "required") -> str:
    return (
        f"apiVersion: {version}\nkind: {kind}\nmetadata:\n  name: point\n  annotations:\n"
        f"    kpt.dev/config-injection: {how}\nspec: {{}}\ndata: {{}}\n"
    )


def _object(version: str, kind: str, name: str, **more: Value) -> KubeObject:
    fields: dict[str, Value] = {"spec": {"a": 1}, "data": {"a": "1"}, **more}
    given = {key: each for key, each in fields.items() if each is not None}
    return of_value({"apiVersion": version, "kind": kind, "metadata": {"name": name}, **given})


def _message(
    text: str, injectors: list[Injector], objects: list[KubeObject], namespace: str = ""
) -> tuple[str, str]:
    files = {"Kptfile": Entry(KPTFILE.encode()), "x.yaml": Entry(text.encode())}
    done = inject(files, injectors, KubeObjectIndex(objects), namespace)
    kptfile = done.files["Kptfile"].decode()
    status, message = (
        next(line.partition(f"{key}: ")[2] for line in kptfile.split("\n") if f"{key}: " in line)
        for key in ("status", "message")
    )
    return status, message


TEAM = _object("hr.example.com/v1", "Team", "north")
WANTED = Injector("north")


@pytest.mark.parametrize(
    ("injectors", "objects", "status", "message"),
    [
        ([WANTED], [TEAM], '"True"', 'injected resource "north" from cluster'),
        ([], [TEAM], '"False"', "no injectors defined"),
        ([WANTED], [], '"False"', "no in-cluster resources of type hr.example.com/v1.Team"),
        (
            [WANTED],
            [_object("hr.example.com/v2", "Team", "north")],
            '"False"',
            "no in-cluster resources of type hr.example.com/v1.Team",
        ),
        (
            [Injector("south")],
            [TEAM],
            '"False"',
            "no resource matched any injection selector for this injection point",
        ),
        (
            [Injector("north", group="other")],
            [TEAM],
            '"False"',
            "no resource matched any injection selector for this injection point",
        ),
        (
            [Injector("south"), Injector("north", "hr.example.com", "v1", "Team")],
            [TEAM],
            '"True"',
            'injected resource "north" from cluster',
        ),
        (
            [WANTED],
            [_object("hr.example.com/v1", "Team", "north", spec=None)],
            '"False"',
            'field "spec" not found in resource "north"',
        ),
    ],
)
def test_what_is_said(
    injectors: list[Injector], objects: list[KubeObject], status: str, message: str
) -> None:
    found = _message(_asks("hr.example.com/v1", "Team"), injectors, objects)

    assert found == (status, message)


def test_several_objects_are_an_error() -> None:
    """The short-cut takes the first of them, whichever that is today."""
    both = [replace(TEAM, origin="inv/b.yaml"), replace(TEAM, origin="inv/a.yaml")]

    with pytest.raises(PackageError) as caught:
        _message(_asks("hr.example.com/v1", "Team", "optional"), [WANTED], both)

    assert caught.value.problem == (
        'errors in injection points: several objects match "north": inv/a.yaml, inv/b.yaml'
    )


def test_secrets_are_never_injected() -> None:
    """The short-cut injects `spec` of whatever is named; git keeps it for ever."""
    secret = _object("v1", "Secret", "north")

    assert _message(_asks("v1", "Secret"), [WANTED], [secret]) == (
        '"False"',
        "Secrets are never injected",
    )


def test_objects_of_other_namespaces_are_not_seen() -> None:
    there = replace(TEAM, namespace="prod")
    text = _asks("hr.example.com/v1", "Team")

    assert _message(text, [WANTED], [there])[0] == '"False"'
    assert _message(text, [WANTED], [there], "prod")[0] == '"True"'
    assert _message(text, [WANTED], [TEAM], "default")[0] == '"True"'


def test_a_config_map_gets_data_and_everything_else_spec() -> None:
    objects = [
        _object("v1", "ConfigMap", "north", data={"k": "v"}),
        _object("x.io/v1", "ConfigMap", "north", spec={"s": 2}),
    ]
    text = f"{_asks('v1', 'ConfigMap', 'optional')}---\n{_asks('x.io/v1', 'ConfigMap')}".replace(
        "name: point", "name: other", 1
    )
    files = {"x.yaml": Entry(text.encode())}

    found = inject(files, [WANTED], KubeObjectIndex(objects), "").files["x.yaml"].decode()

    first, second = found.split("---\n")
    assert "data:\n  k: v\n" in first
    assert "spec: {}" in first
    assert "spec:\n  s: 2\n" in second
    assert "data: {}" in second


def test_only_what_is_required_is_a_gate() -> None:
    files = {
        "Kptfile": Entry(KPTFILE.encode()),
        "x.yaml": Entry(_asks("hr.example.com/v1", "Team", "optional").encode()),
    }

    text = inject(files, [WANTED], KubeObjectIndex([TEAM]), "").files["Kptfile"].decode()

    assert "readinessGates" not in text
    assert "type: config.injection.Team.point" in text


def test_the_commit_changes_with_what_is_injected_only() -> None:
    """The short-cut writes the newest commit, so that each push there changes every package."""
    start = {"x.yaml": Entry(_asks("hr.example.com/v1", "Team").encode())}
    first = replace(TEAM, commit="1" * 40, origin="inv/t.yaml")
    moved = replace(first, commit="2" * 40)
    changed = replace(
        of_value({**TEAM.value, "spec": {"a": 2}}), commit="3" * 40, origin="inv/t.yaml"
    )

    def after(files: dict[str, Entry], source: KubeObject) -> dict[str, Entry]:
        done = inject(files, [WANTED], KubeObjectIndex([source]), "").files
        return {**files, **{path: Entry(data) for path, data in done.items()}}

    once = after(start, first)
    again = after(once, moved)
    then = after(again, changed)

    assert f"injected-from: inv/t.yaml@{'1' * 40}".encode() in once["x.yaml"].data
    assert again == once
    assert f"injected-from: inv/t.yaml@{'3' * 40}".encode() in then["x.yaml"].data
