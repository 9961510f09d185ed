"""What newcomers read first: who resolves a thread, what renders, how a command is written."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from cadlib.errors import Place
from lifecycle.actions import Reply, Say, SetCheck
from lifecycle.decide import decide
from lifecycle.facts.checks import PUBLISH, THREADS, CheckState, Required
from lifecycle.facts.proposal import Proposal
from lifecycle.facts.verdicts import Verdict
from lifecycle.messages import gates
from tests.lifecycle.samples import APPROVER, PROPOSAL, changed, facts, said


def _said(proposal: Proposal) -> str:
    (one,) = [a for a in decide(facts(proposal)) if isinstance(a, Say)]
    return one.body


def _answer(words: str) -> str:
    asked = changed(PROPOSAL, comments=(said(APPROVER, words),))
    (one,) = [a for a in decide(facts(asked)) if isinstance(a, Reply)]
    return one.body


def test_open_threads_are_told_as_what_people_resolve() -> None:
    """The short-cut calls GitLab's rule a check, and has its reader look for what reports it:
    `still running … Who: whatever reports threads resolved`."""
    waits = changed(PROPOSAL, required=(Required(THREADS, CheckState.PENDING),))

    assert (
        "- ⏳ **check `threads resolved`**: a thread is open. **Needed:** every thread resolved,"
        " then `/check`; the bot resolves its own. **Who:** the author, or somebody with write"
        " access.\n"
    ) in _said(waits)


def test_several_packages_are_proposed_and_one_is() -> None:
    """The short-cut says `net/core v5, net/edge v2 is proposed`."""
    edge = replace(PROPOSAL.content.touched[0], package="net/edge")
    two = changed(PROPOSAL, touched=(*PROPOSAL.content.touched, edge))

    assert "### net/core v5 is proposed\n" in _said(PROPOSAL)
    assert "### net/core v5, net/edge v5 are proposed\n" in _said(two)
    (title,) = [a.title for a in decide(facts(two)) if isinstance(a, SetCheck) if a.name == PUBLISH]
    assert title.startswith("net/core v5, net/edge v5 are waiting: ")


def test_what_was_not_rendered_names_commands_that_render_it() -> None:
    """The short-cut says `kpt fn render`, which runs no guardrail of the repository."""
    stale = Verdict(package="net/core", changes={"net/core/a.yaml": b""})

    needed = "the rendered files committed: run the commands that `porchbot/render` shows, or"
    theirs = facts(replace(PROPOSAL, verdicts=(stale,)), same_repository=False)

    assert any(needed in each.body for each in decide(theirs) if isinstance(each, Say))


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (
            "/override",
            "`/override` takes a gate after it. It is written `/override <gate> <reason>`.",
        ),
        (
            "/override window",
            "`/override` takes a reason after it. It is written `/override <gate>",
        ),
        (
            "/approve abc",
            "by at least 7 of its digits, such as `1a2b3c4`. It is written `/approve [",
        ),
        ("/why a b", "`[field]` after it, each without spaces. It is written `/why [field]`."),
        ("/frezee x", "did you mean `/freeze`?"),
    ],
)
def test_a_command_with_other_arguments_is_answered_with_how_it_is_written(
    words: str, wrong: str
) -> None:
    """The short-cut names the one argument that is missing, and the next try lacks another."""
    answer = _answer(words)

    assert f"{wrong}" in answer
    assert answer.endswith("`/help` lists the commands.")


GUIDE = Path(__file__).parents[2] / "docs/guide/README.md"


def test_the_guide_quotes_what_the_bot_says_now() -> None:
    """The short-cut leaves words in the guide that the bot said once: nobody finds theirs there."""
    text = GUIDE.read_text(encoding="utf-8")
    table = text.partition("| It says | What to do |\n")[2].partition("\n\n")[0]
    rows = [line.split(" | ")[0].removeprefix("| ") for line in table.splitlines()[1:]]
    stale = Verdict(package="net/core", changes={"net/core/a.yaml": b"", "net/core/b.yaml": b""})

    assert [row.replace("…", "ann") for row in rows] == [
        f"rendered: {gates.not_rendered([stale])}",
        f"valid: {gates.blocking_findings(1)}",
        "approved: 0 of 1",
        f"up to date: {gates.outdated(PROPOSAL.content.touched, 'main')}",
        f"no hold: {gates.held('ann', '')}",
        f"no objection: {gates.objections(['ann'])}",
    ]
    assert "**approved**: 0 of 1" in _said(PROPOSAL)
    shown = re.findall(r"\*\*error\*\* `([^`]+)`", text)
    assert shown == [str(Place("net/core/settings.yaml", 8, "data.size"))]
