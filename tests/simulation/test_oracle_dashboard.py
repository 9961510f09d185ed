"""The oracle of the dashboard issue: its checks fail on what is wrong, none on what is proper."""

from collections.abc import Callable

import pytest

from bot.sandbox.records.repository import Issue
from tests.simulation.setting import MAIN, resource
from tests.simulation.test_oracle_variants import Variants

BRANCH = "drafts/base/w"


class Asked(Variants):
    """Two revisions of a package, an open draft of a third, and the dashboard issue."""

    def begin_drafting(self) -> None:
        """What there is before anybody asks."""
        repo, state = self.hands.repo, self.hands.state
        repo.has_issues = True
        self.begin()
        self.changes(MAIN, "v2")
        self.upstream("base/v2")
        with self.simulation.forge.change():
            files: dict[str, bytes | None] = {"base/a.yaml": resource("a", "v3")}
            self.hands.commit("bob", BRANCH, files, "x", onto=self.hands.tip(MAIN))
            self.draft = self.hands.open("bob", BRANCH, MAIN, "Draft")
        with self.simulation.forge.change():
            self.issue: Issue = state.issues.open(repo, self.simulation.forge.us, "Dashboard", "")
        self.rest()

    def changes(self, branch: str, value: str) -> None:
        """The package gets another value."""
        with self.simulation.forge.change():
            self.hands.commit("ann", branch, {"base/a.yaml": resource("a", value)}, "x")
        self.rest()

    def answers(self, text: str) -> set[str]:
        """The checks that an answer of the bot's violates."""
        with self.simulation.forge.change():
            self.hands.state.talk.comment(self.issue, self.simulation.forge.us, f"@bob {text}")
        found = self.judged()
        self.rest()
        return found


@pytest.mark.parametrize(
    ("text", "is_so"),
    [
        ("`base` in #{draft}: 1 change since v1:\n\n- a", True),
        ("`base` in #{draft}: no resources or fields changed since v1.", False),
        ("`base` in #{draft}: 1 change against the merge base with `main`:\n\n- a", True),
        ("`base` in #{draft} (also open: #99): no resources or fields changed against the", False),
        ("`base` on `main`: no resources or fields changed since v2.", True),
        ("`base` on `main`: 2 changes since v2:\n\n- a", False),
        ("`base` on `main`: no resources or fields changed since v9.", True),
        ("#{draft} is up to date: it contains all of `main`.", True),
        ("#{draft}: merged `main` into `drafts/base/w`. The new", True),
    ],
)
def test_what_is_told_of_a_package_is_held_against_git(text: str, is_so: bool) -> None:
    """Short-cuts refused: the answer is believed; a draft is compared by what its base has."""
    there = Asked()
    there.begin_drafting()
    assert there.answers(text.format(draft=there.draft.number)) == (set() if is_so else {"told"})


@pytest.mark.parametrize("said", ["is up to date: it contains all of `main`", "merged"])
def test_a_draft_that_has_not_all_of_its_base_is_not_told_of_as_if_it_had(said: str) -> None:
    """Short-cut refused: what `/rebase` says is believed."""
    there = Asked()
    there.begin_drafting()
    there.changes(MAIN, "v4")
    for _ in range(9):  # older than any answer that a forge may give
        with there.simulation.forge.change():
            there.hands.say("ann", there.draft, "words")
        there.rest()
    text = f" {said}" if said != "merged" else f": merged `{MAIN}` into `{BRANCH}`"
    assert there.answers(f"#{there.draft.number}{text}") == {"told"}


def test_a_command_is_answered_once_on_the_issue_as_well() -> None:
    """Short-cut refused: what is said there is written down nowhere."""
    there = Asked()
    there.begin_drafting()
    with there.simulation.forge.change():
        asked = there.hands.say("bob", there.issue, "/diff base", "diff")
    there.rest()
    ended: Callable[[], list[str]] = lambda: [  # noqa: E731 (short)
        str(v) for v in there.simulation._ended(10**6).judge() if "dashboard" in str(v)
    ]
    assert ["answered once" in each for each in ended()] == [True]
    record = f'{{"answered": [{asked.id}], "events": [], "kind": "answer"}}'
    answer = f"done\n<!-- porchbot:record {record} {'0' * 64} -->"
    assert there.answers(answer) == set()
    assert ended() == []
    assert there.answers(answer) == {"said once"}
    assert len(ended()) == 1
