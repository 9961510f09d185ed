"""CODEOWNERS as GitLab reads it."""

import pytest

from lifecycle import owners, sections
from lifecycle.access import Team, TriState
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
    assert found.has("bob", teams, "acme") is TriState.YES
    assert found.has("ann", teams, "acme") is TriState.YES
    assert found.has("eve", teams, "acme") is TriState.NO
    assert found.has("eve", {}, "acme") is TriState.UNKNOWN


def test_an_address_that_gitlab_made_tells_the_login() -> None:
    (found,) = sections.owned(
        sections.parse(b"* 42-ann.b@users.noreply.gitlab.example c@example.com\n"), ["x"]
    )

    assert found.owners == ("@ann.b", "c@example.com")
    assert found.has("ann.b", {}, "acme") is TriState.YES
    assert found.has("eve", {}, "acme") is TriState.UNKNOWN


PATTERNS = {
    # pattern: (what it matches, what it does not)
    "/net[a-m]/x": (["neta/x", "netm/x"], ["netn/x", "net[a-m]/x", "net/x"]),
    "/net[!a-m]": (["netz", "net-"], ["neta", "net"]),
    "/net[^a]/x": (["netb/x"], ["neta/x"]),
    "/x[]]": ([], ["x]", "x"]),
    "/x[\\]]": (["x]"], ["x\\]"]),
    "/x[a-]": (["xa", "x-"], ["xb"]),
    "/x[a/b]y": (["xay", "xby"], ["x/y", "x[a/b]y"]),
    "/x[a": ([], ["xa", "x[a"]),
    "/\\*.yaml": (["*.yaml"], ["a.yaml"]),
    "/\\[x\\]": (["[x]"], ["x"]),
    "a\\ b": (["in/a b"], ["a", "a\\ b"]),
    "a\\\\ b": (["a b"], ["a\\"]),
    "/**/z": (["z", "a/z", "a/b/z"], ["z/a"]),
    "/a/**": (["a/b"], ["a/b/c", "a"]),
    "/a/**/": (["a/b", "a/b/c"], ["a", "b/a/c"]),
    "/a**/b": (["a/b", "axy/b"], ["a/x/b"]),
    "**/b/**/c": (["b/c", "x/b/y/z/c"], ["b/x"]),
    "/a//b": ([], ["a/b"]),
    "/": (["x", "a/b"], []),
    "a?c": (["abc", "in/abc"], ["ac", "a/c"]),
    "*a*b*": (["xaxbx", "in/ab"], ["ba"]),
    ".*": ([".hidden", "in/.x"], ["x"]),
    "{a,b}": (["{a,b}"], ["a", "b"]),
}


@pytest.mark.parametrize(("pattern", "expected"), PATTERNS.items(), ids=PATTERNS)
def test_patterns_are_read_as_gitlab_reads_them(
    pattern: str, expected: tuple[list[str], list[str]]
) -> None:
    """Short-cut refused: the patterns of the other dialect, in which `[a-m]` and `\\*` mean
    themselves: then owners are not asked whom GitLab would ask."""
    file = f"{pattern} @x\n".encode()
    yes, no = expected

    found = {path: shown(sections.SECTIONS.read(file, [path])) for path in (*yes, *no)}

    assert [path for path, owned in found.items() if owned == [(("@x",), 1)]] == yes
    assert [path for path, owned in found.items() if owned == [((), 1)]] == no


def test_a_pattern_costs_its_length_times_the_paths() -> None:
    """Short-cut refused: a regular expression, which tries every way to divide the text."""
    file = f"{'*a' * 500}z @x\n{'**/' * 200}{'*a/' * 200}z @y\n".encode()
    paths = ["a" * 1_000, "/".join("a" * 500)]

    assert [group.owners for group in sections.SECTIONS.read(file, paths)] == [()]


def test_what_follows_a_name_at_once_owns_nothing() -> None:
    """A pattern that begins with a class is a section's head to GitLab, with no owners."""
    assert shown(sections.SECTIONS.read(b"[a-m]*.yaml @x\n*\n", ["a.yaml"])) == [((), 1)]


@pytest.mark.parametrize("data", [b"", b"\\\n!\n!!\n[\n^[\n\xff\n", b"[]\n* @x\n"])
def test_whatever_is_pushed_is_read(data: bytes) -> None:
    """Short-cut refused: an error at what anybody may write into a branch."""
    assert len(sections.owned(sections.parse(data), ["x"])) == 1


def test_the_two_dialects_differ_in_what_a_folder_without_a_slash_means() -> None:
    file = b"apps/github @x\n"

    assert shown(owners.PLAIN.read(file, ["apps/github/a"])) == [(("@x",), 1)]
    assert shown(sections.SECTIONS.read(file, ["apps/github/a"])) == [((), 1)]
