"""drop-comments: comments go, and whoever runs it brings them back."""

from pathlib import Path

from click.testing import CliRunner

from bot.cli.fn.group import fn
from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import read
from fnrunner.builtin.catalog import drop_comments

TEXT = """\
# above
apiVersion: v1
kind: ConfigMap
metadata:
  name: a # a name
data: # what it holds
  # of its own
  b: c # a value
"""


def test_all_comments_go_and_no_value_does() -> None:
    """Short-cut: hand the items back, comments and all."""
    document = read(TEXT.encode()).documents[0]
    given = Item(document.value, document.comments, "a.yaml", 0)
    (found,) = drop_comments.run(ResourceList((given,))).items
    assert given.comments
    assert found == Item(document.value, {}, "a.yaml", 0)


def test_they_are_there_after_it(tmp_path: Path) -> None:
    """Short-cut: write what came back."""
    file = tmp_path / "a.yaml"
    file.write_text(TEXT)
    ran = CliRunner().invoke(fn, ["eval", str(tmp_path), "--image", "drop-comments"])
    assert ran.exit_code == 0, ran.stderr
    assert file.read_text() == TEXT
