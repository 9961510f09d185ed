"""CODEOWNERS as GitHub reads it."""

import pytest

from lifecycle import owners
from lifecycle.access import Team, TriState, Unreadable
from lifecycle.owners import Owned

FILE = """\
# comments, and lines that GitHub skips
*            @Global1 @global2
*.js         @js-owner # said beside it
*.go         docs@example.com
/build/logs/ @doctocat
docs/*       @docs
apps/        @octocat
/apps/github
**/logs      @logs
a/**/z       @acme/net @other/net
sp\\ ace/x   @space
!*.js        @skipped
[ab].txt     @skipped
x.txt        nobody-without-a-sign
w*ld/?.md    @wild
"""

OWNERS: dict[str, tuple[str, ...]] = {
    "x": ("@global1", "@global2"),
    "deep/in/a.js": ("@js-owner",),
    "b.go": ("docs@example.com",),
    "build/logs/x/y": ("@logs",),
    "docs/start.md": ("@docs",),
    "docs/folder/x.md": ("@global1", "@global2"),
    "in/docs/x.md": ("@global1", "@global2"),
    "in/apps/z/q": ("@octocat",),
    "apps/z": ("@octocat",),
    "apps/github/x": (),
    "apps/github": (),
    "in/logs/z": ("@logs",),
    "a/z": ("@acme/net", "@other/net"),
    "a/b/c/z/file": ("@acme/net", "@other/net"),
    "in/a/z": ("@global1", "@global2"),
    "sp ace/x": ("@space",),
    "a.txt": ("@global1", "@global2"),
    "x.txt": ("@global1", "@global2"),
    "world/a.md": ("@wild",),
    "world/ab.md": ("@global1", "@global2"),
}


@pytest.mark.parametrize(("path", "expected"), OWNERS.items(), ids=OWNERS)
def test_the_last_line_that_matches_names_the_owners(path: str, expected: tuple[str, ...]) -> None:
    """Short-cut refused: the patterns of .gitignore, where `docs/*` means folders as well."""
    (found,) = owners.owned(owners.parse(FILE.encode()), [path])

    assert found.owners == expected


def test_files_with_the_same_owners_stand_together() -> None:
    found = owners.owned(
        owners.parse(FILE.encode()), ["b.js", "a.js", "c.js", "d.js", "apps/github"]
    )

    assert found == (
        Owned(("apps/github",), 1, ()),
        Owned(("a.js", "b.js", "c.js"), 4, ("@js-owner",)),
    )


def test_a_pattern_of_stars_costs_no_more_than_its_length() -> None:
    """Short-cut refused: a regular expression of `.*`, which tries every way to share a path."""
    lines = owners.parse(f"{'*a' * 100}b @x\n{'**/a/' * 100}b @x\n".encode())

    assert owners.owned(lines, ["a" * 2_000, "a/" * 1_000 + "c"])[0].owners == ()


def test_what_is_too_much_to_match_is_unknown() -> None:
    """Short-cut refused: no owners where nobody looked."""
    lines = owners.parse(b"*.js @x\n" * 2_000)
    found = owners.owned(lines, [f"{n}.md" for n in range(1_000)])

    assert found == (Owned(("0.md", "1.md", "10.md"), 1_000, why=Unreadable.LARGE),)
    assert found[0].has("x", {}, "acme") is TriState.UNKNOWN


TEAMS = {"net": Team(frozenset({"ann"})), "dark": Team(None, Unreadable.PERMISSION)}
HAS: dict[str, tuple[tuple[str, ...], str, TriState]] = {
    "the login, however spelled": (("@ann",), "Ann", TriState.YES),
    "another login": (("@bob",), "ann", TriState.NO),
    "nobody": ((), "ann", TriState.NO),
    "a team": (("@acme/net",), "ann", TriState.YES),
    "a team of another organization owns nothing here": (("@other/net",), "ann", TriState.NO),
    "a team that cannot be read": (("@bob", "@acme/dark"), "ann", TriState.UNKNOWN),
    "a team that nobody asked for": (("@acme/new",), "ann", TriState.UNKNOWN),
    "named beside a team that cannot be read": (("@ann", "@acme/dark"), "ann", TriState.YES),
    "an address that tells the login": (("7+ann@users.noreply.github.com",), "ann", TriState.YES),
    "an address of whomever": (("net@acme.example",), "ann", TriState.UNKNOWN),
}


@pytest.mark.parametrize(("named", "login", "expected"), HAS.values(), ids=HAS)
def test_who_is_an_owner(named: tuple[str, ...], login: str, expected: TriState) -> None:
    assert Owned(("f",), 1, named).has(login, TEAMS, "Acme") is expected
