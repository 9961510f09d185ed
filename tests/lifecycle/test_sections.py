"""CODEOWNERS as GitLab reads it."""

import pytest

from lifecycle import owners, sections
from lifecycle.access import Known, Team
from lifecycle.owners import Owned

FILE = """\
# before any section
* @all
*.md @writers docs@example.com
docs/ @docs
/only/* @top
sp\\ ace/x @space
\\#odd @hash
/deep/**/z.yaml @deep
nobody-named

[Security] @sec @acme/sub/sec
/secrets/
/secrets/team/ @team-sec
!/secrets/public.yaml

[Database][2] @dba
*.sql
[database]
/legacy/*.sql @old-dba

^[Hints] @hints
*.yaml
^[Alone]
/quiet/x @quiet
"""

OWNERS: dict[str, list[tuple[tuple[str, ...], int]]] = {
    "x": [(("@all",), 1)],
    "in/a.md": [(("@writers", "docs@example.com"), 1)],
    "in/docs/deep/x": [(("@docs",), 1)],
    "only/x": [(("@top",), 1)],
    "only/in/x": [(("@all",), 1)],
    "in/sp ace/x": [(("@space",), 1)],
    "#odd": [(("@hash",), 1)],
    "deep/z.yaml": [(("@deep",), 1)],
    "deep/a/b/z.yaml": [(("@deep",), 1)],
    "secrets/a/b": [(("@acme/sub/sec", "@sec"), 1), (("@all",), 1)],
    "secrets/team/x": [(("@all",), 1), (("@team-sec",), 1)],
    "secrets/public.yaml": [(("@all",), 1)],
    "db/x.sql": [(("@all",), 1), (("@dba",), 2)],
    "legacy/x.sql": [(("@all",), 1), (("@old-dba",), 2)],
    "a.yaml": [(("@all",), 1)],
}


def shown(found: tuple[Owned, ...]) -> list[tuple[tuple[str, ...], int]]:
    return [(each.owners, each.least) for each in found]


@pytest.mark.parametrize(("path", "expected"), OWNERS.items(), ids=OWNERS)
def test_each_section_names_its_owners(
    path: str, expected: list[tuple[tuple[str, ...], int]]
) -> None:
    """Short-cut refused: one list of lines, whose last match names all owners: then the owners of
    one section stand in for those of another."""
    assert shown(sections.owned(sections.parse(FILE.encode()), [path])) == expected


def test_who_need_not_approve_may_where_nobody_else_has_to() -> None:
    """Short-cut refused: leaving optional sections out, so that nobody at all could approve."""
    found = sections.owned(sections.parse(b"^[Hints] @hints\n*.yaml\n"), ["a.yaml", "b"])

    assert shown(found) == [((), 1), (("@hints",), 1)]


def test_a_name_twice_is_one_section_and_required_once_required() -> None:
    found = sections.parse(b"^[A] @x\n*.a\n[a][3] @y\n*.b\n")

    assert [(len(each.lines), each.optional, each.least) for each in found] == [
        (0, False, 1),
        (2, False, 3),
    ]


def test_groups_are_named_by_their_whole_paths() -> None:
    """Short-cut refused: the groups of the project's own alone, as teams of an organization are."""
    (found,) = sections.owned(sections.parse(b"* @acme/sub/sec @ann\n"), ["x"])
    teams = {"acme/sub/sec": Team(frozenset({"bob"}))}

    assert found.teams("acme") == {"acme/sub/sec"}
    assert found.has("bob", teams, "acme") is Known.YES
    assert found.has("ann", teams, "acme") is Known.YES
    assert found.has("eve", teams, "acme") is Known.NO
    assert found.has("eve", {}, "acme") is Known.UNKNOWN


def test_an_address_that_gitlab_made_tells_the_login() -> None:
    (found,) = sections.owned(
        sections.parse(b"* 42-ann.b@users.noreply.gitlab.example c@example.com\n"), ["x"]
    )

    assert found.owners == ("@ann.b", "c@example.com")
    assert found.has("ann.b", {}, "acme") is Known.YES
    assert found.has("eve", {}, "acme") is Known.UNKNOWN


@pytest.mark.parametrize("data", [b"", b"\\\n!\n!!\n[\n^[\n\xff\n", b"[]\n* @x\n"])
def test_whatever_is_pushed_is_read(data: bytes) -> None:
    """Short-cut refused: an error at what anybody may write into a branch."""
    assert len(sections.owned(sections.parse(data), ["x"])) == 1


def test_the_two_dialects_differ_in_what_a_folder_without_a_slash_means() -> None:
    file = b"apps/github @x\n"

    assert shown(owners.PLAIN.read(file, ["apps/github/a"])) == [(("@x",), 1)]
    assert shown(sections.SECTIONS.read(file, ["apps/github/a"])) == [((), 1)]
