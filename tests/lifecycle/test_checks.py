"""Checks where others can put one of our names, and where a check is one line."""

from dataclasses import replace

import pytest

from lifecycle import contents, limits
from lifecycle.actions import Say, SetCheck
from lifecycle.decide import decide
from lifecycle.facts.checks import PUBLISH, CheckRun, Conclusion, Status
from lifecycle.facts.verdicts import Verdict
from lifecycle.messages.details import Detail, details
from lifecycle.policy import Policy
from tests.lifecycle.samples import BLOCKING, FACTS, PROPOSAL, changed, facts

FORGED = CheckRun(
    id=77, name=PUBLISH, status=Status.IN_PROGRESS, digest="theirs", ours=False, source=9
)
UNRENDERED = Verdict(
    package="net/core",
    findings=(BLOCKING,) * 60,
    changes={"net/core/a.yaml": None},
    patch={"net/core/a.yaml": "-size: 1\n+size: 2\n"},
)


@pytest.mark.parametrize("pending", [False, True])
@pytest.mark.parametrize("conclusion", [None, Conclusion.SUCCESS])
def test_what_another_put_in_our_place_is_not_written_to(
    conclusion: Conclusion | None, pending: bool
) -> None:
    """Short-cuts leave it there, write to it, or repeat what they did before: which looks like an
    answer that is old, and is waited for.
    """
    status = Status.COMPLETED if conclusion else Status.IN_PROGRESS
    forged = replace(FORGED, status=status, conclusion=conclusion)
    given = facts(PROPOSAL, checks={PUBLISH: forged}, pending=pending)

    (wanted,) = [a for a in decide(given) if isinstance(a, SetCheck) and a.name == PUBLISH]

    assert (wanted.run, wanted.after) == (None, 77)
    alone = facts(PROPOSAL, pending=pending)
    (first,) = [a for a in decide(alone) if isinstance(a, SetCheck) and a.name == PUBLISH]
    assert wanted.writes != first.writes


def summary_of(*, line_checks: bool) -> str:
    given = facts(replace(PROPOSAL, verdicts=(UNRENDERED,)), line_checks=line_checks)
    (say,) = [a for a in decide(given) if isinstance(a, Say)]
    return say.body


def test_the_summary_has_what_a_line_has_no_room_for() -> None:
    """The short-cut leaves it at the title of a status: nobody sees what to commit, or all that is
    wrong.
    """
    plain, told = summary_of(line_checks=False), summary_of(line_checks=True)

    assert "git apply" not in plain
    assert "<details><summary><code>porchbot/render</code></summary>" in told
    assert "git apply rendering.patch" in told
    assert told.count(BLOCKING.message) >= plain.count(BLOCKING.message) + 60
    assert "see the annotations" not in told
    assert told.startswith(plain.partition("- and ")[0])


def test_a_check_that_others_have_filled_is_told_in_the_summary_and_not_tried_again() -> None:
    """Short-cuts put it at each look, which ends alike, or leave people with what a writer put."""
    full = facts(PROPOSAL, line_checks=True, unshown=frozenset({PUBLISH}))

    actions = decide(full)

    assert PUBLISH not in {a.name for a in actions if isinstance(a, SetCheck)}
    (say,) = [a for a in actions if isinstance(a, Say)]
    assert (
        "⚠️ `porchbot/publish` cannot be shown at this commit: somebody with write access has set"
        " that status there as often as GitHub allows. What this comment says counts. Push a"
        " new commit to see the check again." in say.body
    )
    again = decide(replace(full, rerun=True))
    assert PUBLISH in {a.name for a in again if isinstance(a, SetCheck)}


def test_a_part_is_told_whole_or_not_at_all() -> None:
    """The short-cut cuts a patch in the middle, and leaves what is folded open."""
    found = [Detail("one", "a" * 50, "b" * 500), Detail("two", "c" * 500, ""), Detail("3", "d", "")]

    told = details(found, 260)

    assert len(told) <= 260
    assert "a" * 50 in told
    assert "b" not in told.replace("summary", "")
    assert "two" not in told
    assert told.endswith("\n\nd\n\n</details>")
    assert told.count("<details>") == told.count("</details>") == 2


def test_how_long_it_took_is_shown_and_is_no_news() -> None:
    """Short-cuts: it is in the digest, so that each run edits the check; every function is told."""
    ran = {f"f{n}:v1": float(n) for n in range(1, 13)}
    quick = Verdict(package="net/core", seconds={"": 0.25, "set-labels:v0.2": 0.1})
    slow = Verdict(package="net/core", seconds={"": 78.4, **ran})
    unmeasured = Verdict(package="net/core")

    def rendered(verdict: Verdict) -> contents.CheckContent:
        return contents.rendering([verdict], Policy(), settles=True)

    def validated(verdict: Verdict) -> contents.CheckContent:
        return contents.validation([verdict], [])

    for made in (rendered, validated):
        assert made(quick).digest == made(slow).digest == made(unmeasured).digest
        assert made(quick).shown.endswith(
            "\n\nRendering and validation took 0.25 s. Functions: `set-labels:v0.2` 0.10 s."
        )
        assert "took 78 s. Functions: `f12:v1` 12 s, `f11:v1` 11 s, " in made(slow).shown
        assert made(slow).shown.endswith(", `f3:v1` 3.00 s, 2 more.")
        assert "took" not in made(unmeasured).shown


def test_a_long_summary_leaves_room_for_how_long_it_took() -> None:
    """Short-cut refused: it is cut off with the end of the summary."""
    content = replace(contents.passed("title", "x" * 2 * limits.TEXT), durations="Took 1 s.")

    assert len(content.shown) == limits.TEXT
    assert content.shown.endswith("\n\nTook 1 s.")


def test_where_packages_only_go_nothing_is_said_to_be_rendered() -> None:
    """The short-cut counts what there is: "0 functions run on ."."""
    shown = contents.rendering((), Policy(), settles=False)

    assert shown.summary.startswith("Nothing is left to render: the packages are removed.")


def test_a_crowd_writes_the_checks_of_its_commit_once() -> None:
    """The short-cut marks them by the one proposal that it looks at: each look writes them anew."""
    other = changed(PROPOSAL, number=8, head_mark="1" * 12)
    marks = {replace(FACTS, proposals=(p,), crowded=True).head_mark for p in (PROPOSAL, other)}
    assert marks == {""}
    assert replace(FACTS, proposals=(PROPOSAL,)).head_mark != ""


def test_all_of_a_commit_mark_its_checks_alike() -> None:
    """The short-cut marks them by the branch of whoever looks: each writes them anew by turns, and
    an approval by what they prove stands or falls by who looked last."""
    other = changed(PROPOSAL, number=8, head_mark="1" * 12)
    two = [replace(FACTS, proposals=(p,)) for p in (PROPOSAL, other)]
    one, another = two[0].beside(two[1:]), two[1].beside(two[:1])

    assert one.head_mark == another.head_mark == one.others[0].head_mark
    assert one.head_mark not in {"", *(each.head_mark for each in two)}
    moved = replace(FACTS, proposals=(changed(other, head_mark="2" * 12),))
    assert two[0].beside([moved]).head_mark != one.head_mark
