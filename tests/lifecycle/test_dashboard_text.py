"""The dashboard's text: the most important first, within what an issue takes, and harmless."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lifecycle import limits
from lifecycle.boxes import UNSEALED
from lifecycle.facts.overview import (
    ListedBehind,
    ListedChange,
    ListedPackage,
    ListedStage,
    ListedUpstream,
    ListedVariant,
    ListedWait,
    Overview,
)
from lifecycle.messages.dashboard import INTRODUCTION, dashboard, waits_told
from lifecycle.messages.upstreams import unserved
from lifecycle.messages.variant_waits import LATER
from lifecycle.messages.variant_waits import later as later_text
from lifecycle.terms import KEEP

AT = datetime(2026, 11, 20, 23, 59, tzinfo=UTC)
WAIT = ListedWait(gate="approved", actual="0 of 1", since=AT)
CHANGE = ListedChange(
    number=7,
    title="Grow core",
    stage=ListedStage.PROPOSED,
    packages=("net/core",),
    waits=(WAIT, ListedWait(gate="check lint", actual="still running", since=AT)),
)
OVERVIEW = Overview(
    packages=(
        ListedPackage(package="app/web"),
        ListedPackage(
            package="net/core",
            revision=5,
            deprecated={4: "use v5"},
            withdrawn=1,
            held=(3, "v5 loses packets"),
        ),
        ListedPackage(package="", branch="release", revision=2),
    ),
    changes=(
        CHANGE,
        ListedChange(number=0, title="drafts/net/x/w", stage=ListedStage.DRAFT),
        ListedChange(number=3, title="", stage=ListedStage.MERGED, waits=(WAIT,)),
    ),
    deletions=("net/core/v2",),
)


def test_what_the_dashboard_says() -> None:
    """Short-cuts refused: "#7", which leaves a line in that proposal each time; relative times."""
    assert dashboard(OVERVIEW) == (
        f"{INTRODUCTION}\n\n"
        "### Proposals (2)\n\n"
        "- [#3](../pull/3) was merged but is not published. Waiting since 2026-11-20: "
        "**approved** (0 of 1)\n"
        "- [#7](../pull/7) Grow core: `net/core`. Waiting since 2026-11-20: **approved** (0 of 1); "
        "**check `lint`** (still running)\n\n"
        "### Drafts (1)\n\n"
        "- drafts/net/x/w\n\n"
        "### Deletion proposed (1)\n\n"
        "- `net/core/v2`, with Porch. Comment `/delete net/core@v2` on a pull request\n\n"
        "### Packages (3)\n\n"
        "- [ ] `/resume net/core`: `net/core`: v5; held at v3: v5 loses packets; v4 deprecated: use"
        f" v5; 1 revision withdrawn{UNSEALED}\n"
        "- the root package on `release`: v2\n"
        "- `app/web`: not published yet"
    )


def test_an_empty_repository_has_nothing_to_tell() -> None:
    """The short-cut opens an issue wherever the bot is installed."""
    assert Overview(packages=(), changes=()).empty
    assert not OVERVIEW.empty
    assert "There are no open proposals." in dashboard(replace(OVERVIEW, changes=()))


def test_thousands_of_packages_and_hundreds_of_proposals_have_room() -> None:
    """The short-cut cuts the text: who waits longest is not shown, and nobody knows what is not."""
    old = AT - timedelta(days=300)
    changes = [
        replace(CHANGE, number=n, title="x" * 200, packages=tuple(f"p{k}" for k in range(50)))
        for n in range(1, 501)
    ]
    changes[400] = replace(
        changes[400], waits=(ListedWait(gate="valid", actual="y" * 5_000, since=old),)
    )
    drafts = [replace(c, stage=ListedStage.DRAFT, number=c.number + 1000) for c in changes]
    packages = [
        ListedPackage(package=f"net/{'long-' * 10}{n:04}", revision=n) for n in range(5_000)
    ]
    packages[4_999] = replace(packages[4_999], deprecated={1: "z" * 500})

    text = dashboard(Overview(packages=tuple(packages), changes=(*drafts, *changes)))

    assert len(text) <= limits.TEXT
    assert "### Proposals (500)\n\n- [#401](../pull/401)" in text
    assert "### Drafts (500)" in text
    assert "### Packages (5000)\n\n- `net/long-long-long-long-long-long-long-long-long-long-4999`: "
    assert "v1 deprecated" in text.split("### Packages (5000)")[1].split("\n")[2]
    for section in text.split("### ")[1:]:
        lines = [line for line in section.split("\n")[1:] if line]
        more = int(lines[-1].split()[2])
        assert len(lines) - 1 + more == int(section.split("(")[1].split(")")[0])


def test_hundreds_of_boxes_take_the_room_that_there_is() -> None:
    """Short-cuts refused: each list keeps to its share while the rest of the issue is empty; the
    packages, which wait for nobody, come before boxes; what has no box is only counted."""
    head = "0123456789abcdef" * 2 + "01234567"
    drafts = tuple(
        ListedChange(
            number=n,
            title=f"Create edge/p{n:04} from net/base@v1",
            stage=ListedStage.DRAFT,
            packages=(f"edge/p{n:04}",),
            variant=True,
            head=head,
        )
        for n in range(1, 501)
    )
    packages = tuple(ListedPackage(package=f"net/{n:04}", revision=1) for n in range(1_000))

    text = dashboard(Overview(packages=packages, changes=drafts))

    shown = text.count(UNSEALED)
    assert len(text) <= limits.TEXT
    assert shown > 250, shown
    assert f"- and {500 - shown} more; they move up as the ones above are done" in text
    assert "`porchbot rpkg propose --selector` reaches all of them" in text
    assert f"[#1](../pull/1) Create edge/p0001 from net/base@<!-- -->v1{UNSEALED}" in text
    assert "### Packages (1000)\n\n- `net/0000`: v1" in text
    few = dashboard(Overview(packages=packages, changes=drafts[:3]))
    assert few.count(": v1") > 900, "they have what is left"


def test_texts_of_others_stay_text() -> None:
    """The short-cut shows a title as it is: it mentions people, closes issues, or opens a list."""
    bad = replace(CHANGE, title="@team fixes #9 <!-- porchbot:record {} --> [x](http://y)\n- [ ] z")

    text = dashboard(Overview(packages=(), changes=(bad,)))

    assert "@team" not in text
    assert "#9" not in text
    assert " <!-- porchbot" not in text
    assert "[x](" not in text
    assert "\n- [ ]" not in text


def test_boxes_about_proposals_and_packages() -> None:
    """Short-cuts refused: a box that names no commit; an approval before its checks, or of what
    needs none; a rollback wherever there is an older revision."""
    head = "a" * 40
    draft = replace(CHANGE, stage=ListedStage.DRAFT, number=8, head=head, waits=())
    early = replace(CHANGE, number=9, head=head, waits=(WAIT, replace(WAIT, gate="valid")))
    approved = replace(CHANGE, number=10, head=head, waits=(replace(WAIT, gate="check lint"),))
    bad = ListedPackage(package="a", revision=3, back=(2, "its upstream b@v3 is withdrawn"))
    overview = Overview(
        packages=(bad, replace(bad, branch="release", package="b")),
        changes=(replace(CHANGE, head=head), CHANGE, draft, early, approved),
    )

    lines = [each for each in dashboard(overview).split("\n") if each.startswith("- ")]

    assert [each.partition("](")[0] for each in lines if each.startswith("- [ ]")] == [
        f"- [ ] `/approve {head}` in [#7",
        f"- [ ] `/propose {head}` in [#8",
        f"- [ ] `/rollback a@v2 its upstream b@v3 is withdrawn`: `a`: v3{UNSEALED}",
    ]


def test_what_is_behind_and_what_can_be_cloned() -> None:
    """Short-cut refused: the newest only, and the least urgent first."""
    behind = (
        ListedBehind(package="a", upstream="net/core", revision=3, newer=(4,)),
        ListedBehind(package="c", upstream="x", revision=3, newer=(4,), conflicts=0),
        ListedBehind(
            package="d", upstream="x", revision=3, newer=(4,), conflicts=1, conflict="d/a.yaml: a.b"
        ),
        ListedBehind(
            package="e", upstream="x", revision=3, newer=(4,), conflicts=9, conflict="e/`a`: [x]"
        ),
        ListedBehind(
            package="b",
            branch="release-1",
            upstream="acme/blueprints//net/core",
            revision=1,
            newer=(2, 3, 4),
        ),
    )
    overview = Overview(
        packages=(),
        changes=(),
        behind=behind,
        cloneable=(ListedUpstream("acme/blueprints//net/core@v4"),),
    )

    said = dashboard(overview)

    told = (
        "### Behind their upstream (5)\n\n"
        "- [ ] `/upgrade b v4`: `b` on `release-1` is made from `acme/blueprints//net/core@v1`;"
        " v4 is 3 revisions ahead\n"
        "- [ ] `/upgrade a v4`: `a` is made from `net/core@v3`; v4 is 1 revision ahead\n"
        "- [ ] `/upgrade c v4`: `c` is made from `x@v3`; v4 is 1 revision ahead; an upgrade has no"
        " conflicts\n"
        "- [ ] `/upgrade d v4`: `d` is made from `x@v3`; v4 is 1 revision ahead; an upgrade has 1"
        " conflict, at `d/a.yaml: a.b`\n"
        "- [ ] `/upgrade e v4`: `e` is made from `x@v3`; v4 is 1 revision ahead; an upgrade has 9"
        " conflicts, the first at ``e/`a`: [x]``\n\n"
    )
    assert said.count(UNSEALED) == 5
    assert told in said.replace(UNSEALED, "")
    assert said.endswith("### Can be cloned (1)\n\n- `acme/blueprints//net/core@v4`")


def test_what_is_held_is_behind_without_a_box() -> None:
    """The short-cut offers an upgrade that is refused; or takes one branch for another."""
    held = ListedPackage(package="a", revision=3, held=(1, "slow"))
    behind = tuple(
        ListedBehind(package="a", branch=branch, upstream="net/core", revision=3, newer=(4,))
        for branch in ("", "lab")
    )
    said = dashboard(Overview(packages=(held,), changes=(), behind=behind)).replace(UNSEALED, "")

    assert (
        "- `a` is made from `net/core@v3`; v4 is 1 revision ahead; held at v1, so it is not"
        " upgraded until it is resumed\n"
        "- [ ] `/upgrade a v4`: `a` on `lab` is made from `net/core@v3`; v4 is 1 revision ahead\n"
    ) in said


def test_a_great_deal_that_is_behind_leaves_room() -> None:
    """Short-cut refused: the list of what is behind pushes the packages out."""
    behind = tuple(
        ListedBehind(package=f"p{n}" * 20, upstream="u" * 200, revision=1, newer=(2,))
        for n in range(5_000)
    )
    cloneable = tuple(ListedUpstream(f"{'x' * 100}{n}") for n in range(500))
    packages = tuple(ListedPackage(package=f"q{n}") for n in range(5_000))
    overview = Overview(packages=packages, changes=(), behind=behind, cloneable=cloneable)

    said = dashboard(overview)

    assert len(said) <= limits.TEXT
    assert "### Packages (5000)" in said


def test_why_variants_wait() -> None:
    """Short-cuts refused: rules and packages in one form; text of others that acts as Markdown."""
    told = ListedVariant(
        package="apps/shop",
        variant="shop",
        file="acme/control:variants/shop.yaml",
        state="cannot be made",
        why="`x` for @ann is **broken**",
        since=AT,
    )
    rule = replace(told, package="", variant="spec", file="variants/a.yaml:3", state="broken rule")
    later = replace(told, package="", variant="", file="", state=LATER, why=later_text(1_000))
    text = dashboard(Overview(packages=(), changes=(), waiting=(later, rule, told)))
    text = text.replace(KEEP, "")

    assert text.partition("### Variants that wait (3)\n\n")[2].split("\n")[:3] == [
        "- 1000 packages of variants still have no pull request. The forge allows about 500 new"
        " pull requests and comments an hour, and a package needs up to two of them, so this takes"
        " up to 5 h 33 min.",
        "- `variants/a.yaml:3`, **broken rule** since 2026-11-20: `x` for @<!-- -->ann is"
        " \\*\\*broken\\*\\*",
        "- `apps/shop` by `shop` of `acme/control:variants/shop.yaml`, **cannot be made** since"
        " 2026-11-20: `x` for @<!-- -->ann is \\*\\*broken\\*\\*",
    ]


def test_why_packages_wait_is_read_back() -> None:
    """Short-cuts refused: rules, which are no packages; Markdown in a terminal; another section."""
    made = ListedVariant(
        package="apps/shop",
        variant="shop",
        file="acme/control:variants/shop.yaml",
        state="cannot be made",
        why="`x` for @ann is **broken**",
        since=AT,
    )
    rule = replace(made, package="", variant="spec", file="variants/a.yaml:3")
    here = replace(made, package="net/edge", file="", state="held", why="v2 leaks")
    text = dashboard(replace(OVERVIEW, waiting=(rule, made, here))).replace(KEEP, "")

    assert waits_told(text) == {
        "apps/shop": "cannot be made since 2026-11-20: x for @ann is **broken**",
        "net/edge": "held since 2026-11-20: v2 leaks",
    }
    assert waits_told(dashboard(OVERVIEW)) == {}
    titled = f"### Open proposals (1)\n\n- ### Variants that wait (1)\n\n### Drafts (1)\n\n{text}"
    assert waits_told(titled) == waits_told(text)  # a title of a pull request is no heading


@pytest.mark.parametrize(
    ("count", "time"),
    {1: "1 minute", 20: "7 minutes", 180: "1 hour", 200: "1 h 7 min", 1_000: "5 h 33 min"}.items(),
)
def test_how_long_many_take(count: int, time: str) -> None:
    """The short-cut says "soon", and two hours later people think it hangs."""
    assert later_text(count).endswith(f"so this takes up to {time}.")


def test_a_long_reason_of_a_variant_keeps_what_to_do() -> None:
    """Short-cuts refused: it is cut at its end, where that stands; a reason of one long sentence,
    or with long advice, is taken for one without a beginning."""
    waits = ListedVariant(package="a", variant="b", file="c", state="not made", why="", since=AT)

    def told(why: str) -> str:
        text = dashboard(Overview(packages=(), changes=(), waiting=(replace(waits, why=why),)))
        return waits_told(text)["a"].partition(": ")[2]

    problem, fix = unserved("net/core", "acme/" + "long-" * 18)
    assert told(f"{problem}. {fix}.").endswith(fix.replace("`", "") + ".")
    assert told(f"{'x' * 600}. Ask. Add `y` to it.") == f"{'x' * 486}… Add y to it."
    assert told("x" * 600) == f"{'x' * 500}…"
    assert told(f"It is so. {'y' * 600}").startswith("It is so. yyy")
