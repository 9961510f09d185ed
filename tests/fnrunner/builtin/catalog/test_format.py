"""format: order of fields, types of values, and what is left alone."""

from pathlib import Path

from click.testing import CliRunner

from bot.cli.disk.parallel import LEAST
from bot.cli.fn.group import fn
from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import read
from fnrunner.builtin.catalog import format as formatting
from fnrunner.builtin.verdict import FunctionResult

MIXED = """\
# top
spec: # what it does
  replicas: "3"
  template:
    spec:
      containers:
      - image: x # an image
        name: web
        args: [1]
      - name: app
kind: Deployment
# which version
apiVersion: apps/v1
metadata:
  name: a
"""
ORDERED = """\
# top
# which version
apiVersion: apps/v1
kind: Deployment
metadata:
  name: a
spec: # what it does
  replicas: 3
  template:
    spec:
      containers:
      - name: app
      - name: web
        image: x # an image
        args: ["1"]
"""


def run(text: str) -> FunctionResult:
    document = read(text.encode()).documents[0]
    return formatting.run(ResourceList((Item(document.value, document.comments, "a.yaml", 0),)))


def evaluated(folder: Path) -> None:
    ran = CliRunner().invoke(fn, ["eval", str(folder), "--image", "format"])
    assert ran.exit_code == 0, ran.stderr


def test_order_and_types() -> None:
    """Short-cut: compare values, for which the order of keys does not count."""
    (item,) = run(MIXED).items
    wanted = read(ORDERED.encode()).documents[0]
    assert repr(dict(item.value)) == repr(wanted.value)  # type: ignore[arg-type] # a mapping
    assert item.comments == wanted.comments


def test_what_is_in_order_is_the_very_object() -> None:
    document = read(ORDERED.encode()).documents[0]
    given = Item(document.value, document.comments, "a.yaml", 0)
    assert formatting.run(ResourceList((given,))).items[0] is given


def test_files_get_the_order_with_their_comments(tmp_path: Path) -> None:
    """Short-cut: leave the file as it is, since its values are the same."""
    file = tmp_path / "a.yaml"
    file.write_text(MIXED)
    for _ in range(2):
        evaluated(tmp_path)
        assert file.read_text() == ORDERED


WORDS = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: n # as it is
  labels: {switch: on, b: 'off'}
data:
  mode: 0644
  version: 1.10 # of it
  yes: yes
  size: 1e3
"""
QUOTED = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: "n" # as it is
  labels: {b: 'off', switch: "on"}
data:
  mode: "0644"
  size: "1e3"
  version: "1.10" # of it
  yes: "yes"
"""


def test_text_is_quoted_as_it_is_written(tmp_path: Path) -> None:
    """Short-cut: compare values, for which `on` is text already, and write 0644 as "420"."""
    file = tmp_path / "a.yaml"
    file.write_text(WORDS)
    for _ in range(2):
        evaluated(tmp_path)
        assert file.read_text() == QUOTED


def test_nothing_but_quotes_may_change(tmp_path: Path) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: off\n"
    file = tmp_path / "a.yaml"
    file.write_text(text)
    evaluated(tmp_path)
    assert file.read_text() == text.replace("off", '"off"')


def test_of_kinds_that_are_not_known_the_quotes_stay(tmp_path: Path) -> None:
    """Short-cut: quote every such word, as one that is written anew is."""
    file = tmp_path / "a.yaml"
    file.write_text("kind: Mine\napiVersion: x.io/v1\nb: off\na: 1.10\nmetadata: {name: m}\n")
    evaluated(tmp_path)
    assert file.read_text() == (
        "apiVersion: x.io/v1\nkind: Mine\nmetadata: {name: m}\na: 1.10\nb: off\n"
    )


def test_other_documents_of_a_file_stay(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    other = "metadata: {name: b, annotations: {config.kubernetes.io/formatting: none}}\nkind: X\n"
    file.write_text(f"{MIXED}---\n{other}apiVersion: v1\n")
    evaluated(tmp_path)
    assert file.read_text() == f"{ORDERED}---\n{other}apiVersion: v1\n"


def test_a_folder_large_enough_for_two_processes(tmp_path: Path) -> None:
    """Short-cut: tell the other process the values, and lose the order on the way."""
    above = "".join(f"# {'x' * 70}\n" for _ in range(LEAST // 200))
    for number in range(8):
        (tmp_path / f"{number}.yaml").write_text(f"{above}\n{MIXED}")
    evaluated(tmp_path)
    for number in range(8):
        assert (tmp_path / f"{number}.yaml").read_text() == f"{above}\n{ORDERED}"


def test_an_unknown_way_is_refused() -> None:
    verdict = run(
        "apiVersion: v1\nkind: X\n"
        "metadata: {name: a, annotations: {config.kubernetes.io/formatting: wild}}"
    )
    assert verdict.failed
    assert verdict.log == "failed to format resources: formatting strategy 'wild' is not known"
    assert verdict.results == (
        {
            "message": "failed to format resources: formatting strategy 'wild' is not known",
            "severity": "error",
            "resourceRef": {"apiVersion": "v1", "kind": "X", "name": "a"},
            "file": {"path": "a.yaml"},
        },
    )
