"""What lines below commits say of the draft that a release was made from, as a table."""

import pytest

from lifecycle import annotations
from lifecycle.annotations import CommitAnnotation
from lifecycle.records import trailer

PORCH = (
    "Approving package revision net/core/3\n\n"
    'kpt:{"package":"net/core","workspaceName":"fix","revision":"3",'
    '"task":{"type":"edit"}}\n'
)
OURS = f"Publish net/core v3 (#7)\n\n{trailer('net/core', 'fix', 3, None)}\n"

WORKSPACES: dict[str, tuple[str, str]] = {
    "Porch's own": (PORCH, "fix"),
    "ours, as we write it": (OURS, "fix"),
    "with Windows' ends of lines": (OURS.replace("\n", "\r\n"), "fix"),
    "of another package": (PORCH.replace("net/core", "net/edge"), "v3"),
    "of another revision": (PORCH.replace('"3"', '"2"'), "v3"),
    "the revision as Porch once wrote it": (PORCH.replace('"3"', '"v3"'), "fix"),
    "a draft's, without a number": ('x\n\nkpt:{"package":"net/core","workspaceName":"w"}', "w"),
    "the second of two": (f'x\n\nkpt:{{"package":"a","workspaceName":"b"}}\n{OURS}', "fix"),
    "no JSON": ("x\n\nkpt:{package: net/core}\n", "v3"),
    "nested without end": ("x\n\nkpt:" + '{"a":' * 50_000 + "}" * 50_000, "v3"),
    "JSON of other types": ('x\n\nkpt:{"package":7,"workspaceName":[],"revision":{}}\n', "v3"),
    "merged by hand at GitHub": ("Merge pull request #7 from acme/drafts/net/core/fix\n\nX", "fix"),
    "merged by hand at GitLab": ("Merge branch 'drafts/net/core/fix' into 'main'\n\nX", "fix"),
    "merged by hand, another package": ("Merge branch 'drafts/net/edge/fix' into 'main'", "v3"),
    "merged by hand, a package inside": ("Merge branch 'drafts/net/core/in/fix' into 'main'", "v3"),
    "nothing": ("Fix it", "v3"),
}


@pytest.mark.parametrize(("message", "expected"), WORKSPACES.values(), ids=WORKSPACES)
def test_the_draft_of_a_release(message: str, expected: str) -> None:
    """Short-cuts refused: the first line whatever it is about; bad JSON breaks the whole look."""
    assert annotations.workspace(message, "net/core", 3) == expected


def test_the_root_package() -> None:
    """The short-cut joins an empty path with a slash, and finds no branch."""
    message = "Merge branch 'drafts/fix' into 'main'"

    assert annotations.workspace(message, "", 1) == "fix"


def test_what_is_read() -> None:
    found = [*annotations.read(PORCH + 'kpt:[]\nkpt:{"package":""}\n')]

    assert found == [CommitAnnotation("net/core", "fix", 3, "edit"), CommitAnnotation("")]


def test_what_porch_did() -> None:
    """The short-cut takes our own lines for Porch's: they say no task."""
    assert annotations.by_porch(PORCH, "net/core") == "fix"
    assert annotations.by_porch(OURS, "net/core") == ""
    assert annotations.by_porch(PORCH, "net") == ""
