"""A patch is what `git apply` takes; suggestions stand at lines that a proposal shows."""

import subprocess
from pathlib import Path

import pytest

from cadlib.diff.patch import Suggestion, patch, suggestions

OLD = b"".join(b"line %d\n" % n for n in range(1, 41))

CHANGES: dict[str, tuple[str, bytes | None, bytes | None]] = {
    "lines changed far apart": (
        "net/core/a.yaml",
        OLD,
        OLD.replace(b"line 3\n", b"line three\n").replace(b"line 30\n", b""),
    ),
    "a new file": ("net/core/new.yaml", None, b"a: 1\nb: 2\n"),
    "a deleted file": ("net/core/old.yaml", b"a: 1\n", None),
    "no line feed at the end, before and after": ("a.yaml", b"a: 1\nb: 2", b"a: 1\nb: 3"),
    "a line feed put at the end": ("a.yaml", b"a: 1", b"a: 1\n"),
    "a name with a blank": ("net/my core/a b.yaml", b"a: 1\n", b"a: 2\n"),
    "letters of other alphabets": ("net/kern/größe.yaml", "ä: 字\n".encode(), "ä: 書\n".encode()),
    "lines that look like a patch": ("a.yaml", b"--- a\n+++ b\n@@ -1 +1 @@\n", b"+++ b\n-- \n"),
}


@pytest.mark.parametrize(("path", "old", "new"), CHANGES.values(), ids=CHANGES)
def test_git_applies_it(tmp_path: Path, path: str, old: bytes | None, new: bytes | None) -> None:
    """Short-cut: `difflib.unified_diff` alone: no ends of files, no new and deleted ones."""
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    if old is not None:
        file.write_bytes(old)

    made = patch(path, old, new)

    assert made is not None
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=made.encode(), check=True)
    assert (file.read_bytes() if file.exists() else None) == new


@pytest.mark.parametrize(
    ("path", "new"),
    {
        "no text": ("a.yaml", b"\xff\xfe"),
        "carriage returns": ("a.yaml", b"a: 1\r\n"),
        "text that turns around": ("a.yaml", "a: \u202e1\n".encode()),
        "a control character": ("a.yaml", b"a: \x1b[2J\n"),
        "too large": ("a.yaml", b"a: 1\n" * 50_000),
        "a name that git would quote": ('a"b.yaml', b"a: 1\n"),
        "a name with a line feed": ("a\n+++ b/evil.yaml", b"a: 1\n"),
    }.values(),
)
def test_what_cannot_be_copied_is_not_shown(path: str, new: bytes) -> None:
    """Short-cut: whatever decodes is shown, and what people copy is not what was meant."""
    assert patch(path, b"", new) is None
    assert path != "a.yaml" or suggestions(path, None, b"a: 2\n", new) == []


def test_suggestions_stand_where_the_proposal_shows_lines() -> None:
    """Short-cut: every change is suggested, and the forge refuses all of them for one line."""
    base = OLD
    old = OLD.replace(b"line 5\n", b"line five\n")
    new = old.replace(b"line 7\n", b"line seven\n").replace(b"line 30\n", b"line thirty\n")

    assert suggestions("a.yaml", base, old, new) == [Suggestion("a.yaml", 7, 7, "line seven\n")]


def test_what_is_put_in_replaces_the_line_before_it() -> None:
    """Short-cut: no suggestion, or one at no line."""
    old = b"metadata:\n  name: core\ndata: {}\n"
    new = b"metadata:\n  name: core\n  labels:\n    owner: network\ndata: {}\n"

    (found,) = suggestions("a.yaml", None, old, new)

    assert found == Suggestion("a.yaml", 2, 2, "  name: core\n  labels:\n    owner: network\n")
    assert suggestions("a.yaml", None, b"a: 1\n", b"# first\na: 1\n") == [
        Suggestion("a.yaml", 1, 1, "# first\na: 1\n")
    ]


def test_a_long_change_is_left_to_the_patch() -> None:
    assert suggestions("a.yaml", None, b"a: 1\n", b"b: 1\n" * 60) == []
