"""Tests of merging one package that two branches changed."""

import pytest

from cadlib.package.files import Entry
from cadlib.update.branches import MergedBranches, merge_branches

KPTFILE = """\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: core # ours
upstream:
  type: git
  git: {repo: example/base, directory: /, ref: v1}
  updateStrategy: force-delete-replace
pipeline:
  mutators:
    - image: set-labels:v0.2
      configMap: {tier: web}
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 1 # by hand
  template:
    spec:
      containers:
        - name: web
          image: web:1
        - name: log
          image: log:1
"""
SECRET = """\
apiVersion: v1
kind: Secret
metadata:
  name: door
stringData:
  key: opensesame
"""
BASE = {"Kptfile": KPTFILE, "web.yaml": DEPLOYMENT}


def merged(base: dict[str, str], ours: dict[str, str], theirs: dict[str, str]) -> MergedBranches:
    """Merge texts."""
    sides = [
        {path: Entry(text.encode()) for path, text in each.items()} for each in (base, ours, theirs)
    ]
    return merge_branches(*sides)


def text(found: MergedBranches, path: str) -> str:
    """One file of the result."""
    entry = found.files[path]
    assert entry is not None
    return entry.data.decode()


def changed(path: str, old: str, new: str, files: dict[str, str] = BASE) -> dict[str, str]:
    """The package with a text exchanged."""
    assert old in files[path]
    return {**files, path: files[path].replace(old, new)}


def test_different_fields_of_one_resource_are_both_kept_with_comments() -> None:
    """Fails with git's merge of lines: the changes are in neighbouring lines."""
    ours = changed("web.yaml", "replicas: 1 # by hand", "replicas: 3 # by hand, for Friday")
    theirs = changed(
        "web.yaml", "  replicas: 1 # by hand\n", "  replicas: 1 # by hand\n  paused: true\n"
    )
    found = merged(BASE, ours, theirs)
    assert found.conflicts == ()
    said = text(found, "web.yaml")
    assert "  replicas: 3 # by hand, for Friday\n" in said
    assert "  paused: true\n" in said


def test_one_field_changed_twice_is_told_with_its_three_values() -> None:
    found = merged(
        BASE,
        changed("web.yaml", "image: log:1", "image: log:2"),
        changed("web.yaml", "image: log:1", "image: log:3"),
    )
    [told] = found.conflicts
    assert (told.path, told.base, told.ours, told.theirs) == ("web.yaml", "log:1", "log:2", "log:3")
    assert told.field == "spec.template.spec.containers[1].image"


def test_no_strategy_of_the_kptfile_is_asked() -> None:
    """Fails where the merge is `pkg update`'s: its strategy here throws one side away."""
    found = merged(
        BASE,
        changed("web.yaml", "image: web:1", "image: web:2"),
        changed("web.yaml", "image: log:1", "image: log:2"),
    )
    assert found.conflicts == ()
    said = text(found, "web.yaml")
    assert "web:2" in said
    assert "log:2" in said


@pytest.mark.parametrize(
    ("old", "new"), [("ref: v1", "ref: v2"), ("name: core #", "name: kernel #")]
)
def test_what_the_other_branch_changed_in_the_kptfile_comes_along(old: str, new: str) -> None:
    """Fails where the Kptfile is merged as an upstream's, which has no say in these."""
    ours = changed("Kptfile", "tier: web", "tier: back")
    found = merged(BASE, ours, changed("Kptfile", old, new))
    assert found.conflicts == ()
    said = text(found, "Kptfile")
    assert new in said
    assert "tier: back" in said
    assert "# ours" in said


def test_an_upstream_changed_on_both_sides_is_a_conflict_and_no_mixture() -> None:
    found = merged(
        BASE,
        changed("Kptfile", "ref: v1", "ref: v2"),
        changed("Kptfile", "directory: /", "directory: /sub"),
    )
    assert [each.field for each in found.conflicts] == ["upstream"]


def test_values_of_secrets_are_not_in_conflicts() -> None:
    base = {**BASE, "door.yaml": SECRET}
    found = merged(
        base,
        changed("door.yaml", "opensesame", "oursesame", base),
        changed("door.yaml", "opensesame", "theirsesame", base),
    )
    assert len(found.conflicts) == 1
    assert "sesame" not in repr(found.conflicts)


GONE = {path: text for path, text in BASE.items() if path != "web.yaml"}
NOTES = {**BASE, "README.md": "one\n", "sub/Kptfile": KPTFILE, "sub/web.yaml": DEPLOYMENT}
IN_SUB = changed("sub/web.yaml", "replicas: 1", "replicas: 2", NOTES)
CONFLICTS = {
    "removed here, changed there": (
        BASE,
        GONE,
        changed("web.yaml", "web:1", "web:2"),
        ["web.yaml"],
    ),
    "changed here, removed there": (
        BASE,
        changed("web.yaml", "web:1", "web:2"),
        GONE,
        ["web.yaml"],
    ),
    "removed on both sides": (BASE, GONE, GONE, []),
    "a file that is no resource, added twice": (
        BASE,
        {**BASE, "README.md": "a\n"},
        {**BASE, "README.md": "b\n"},
        ["README.md"],
    ),
    "lines of a text are git's": (
        NOTES,
        changed("README.md", "one", "two", NOTES),
        changed("README.md", "one", "three", NOTES),
        [],
    ),
    "a package inside": (
        NOTES,
        IN_SUB,
        changed("sub/web.yaml", "replicas: 1", "replicas: 3", NOTES),
        ["sub/web.yaml"],
    ),
    "a Kptfile removed here": (
        NOTES,
        {path: text for path, text in NOTES.items() if path != "sub/Kptfile"},
        changed("sub/Kptfile", "tier: web", "tier: back", NOTES),
        ["sub/Kptfile"],
    ),
}


@pytest.mark.parametrize("case", CONFLICTS)
def test_conflicts(case: str) -> None:
    base, ours, theirs, wanted = CONFLICTS[case]
    assert [each.path for each in merged(base, ours, theirs).conflicts] == wanted


def test_only_resources_and_kptfiles_are_written() -> None:
    """Fails where a text comes back as our side had it, though git merged both sides' lines."""
    found = merged(NOTES, changed("README.md", "one", "two", NOTES), IN_SUB)
    assert "README.md" not in found.files
    assert "replicas: 2" in text(found, "sub/web.yaml")


def test_a_file_that_cannot_be_read_is_a_conflict_as_a_whole() -> None:
    theirs = changed("web.yaml", "web:1", "web:2")
    [told] = merged(BASE, {**BASE, "web.yaml": "a: [\n"}, theirs).conflicts
    assert (told.path, told.field) == ("web.yaml", "")
