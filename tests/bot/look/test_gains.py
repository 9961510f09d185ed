"""What a base branch gained since an approval, and whether the proposal keeps it."""

import asyncio
from dataclasses import replace

import pytest

from bot.clock import in_thread
from bot.git.mirror import DiskMirror
from bot.look.gains import Gains
from bot.render.port import TreeFiles
from lifecycle.facts.packages import Touched
from lifecycle.facts.proposal import Proposal
from lifecycle.facts.update import PackageMerge
from lifecycle.names import Sha
from tests.bot.git.server import Remote
from tests.lifecycle.samples import CORE, PROPOSAL, approved_by, changed
from tests.memory.renderer import MemoryRenderer

Files = dict[str, bytes | str]

LINES = "".join(f"  field{n}: 1\n" for n in range(8))
KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: core\n"


def core(*, field1: int = 1, field6: int = 1, words: str = "") -> Files:
    """A package with two fields that are far apart, and a file that is merged by lines."""
    data = LINES.replace("field1: 1", f"field1: {field1}").replace("field6: 1", f"field6: {field6}")
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: core\ndata:\n{data}"
    found: Files = {"net/core/Kptfile": KPTFILE.encode(), "net/core/a.yaml": text.encode()}
    return {**found, "net/core/words.md": words.encode()} if words else found


BEFORE, MINE, GAINED = core(), core(field1=5), core(field6=7)
BOTH = core(field1=5, field6=7)

CASES: dict[str, tuple[Files, Files, Files, bool]] = {
    # what the approval was compared with; what was approved; what the base has; kept
    "nothing was gained": (BEFORE, MINE, BEFORE, True),
    "a merge that throws it away": (BEFORE, MINE, GAINED, False),
    "it was in what was approved already": (BEFORE, BOTH, GAINED, True),
    "the base gained what was approved": (BEFORE, MINE, MINE, True),
    "the same field in two ways": (BEFORE, MINE, core(field1=9), False),
    "a file beside the resources": (BEFORE, MINE, core(words="more"), False),
    "the same file beside the resources": (BEFORE, core(words="more"), core(words="more"), True),
    "the package was removed there": (BEFORE, MINE, {}, False),
    "it is removed here, and changed there": (BEFORE, {}, GAINED, False),
    "new on both sides": ({}, MINE, GAINED, False),
}


def approved(remote: Remote, before: Files, mine: Files, base: Files) -> tuple[str, Proposal]:
    """A proposal whose approval saw one state of the base, and that has come on top of another."""
    since = remote.commit({"x": b"1", **before})
    after = remote.commit({"x": b"1", **base}, since)
    head = remote.commit({"x": b"1", **mine}, since, after, ref="refs/heads/topic")
    trees = [_tree(remote, commit) for commit in (head, after)]
    touched = replace(CORE, tree=trees[0], head_tree=trees[0], origin=trees[1], base=trees[1])
    was = changed(PROPOSAL, touched=(touched,), origin=since, head=Sha(head))
    return since, changed(approved_by(was, "approver"), origin=after)


def _tree(remote: Remote, commit: str) -> str:
    listed = remote.git("ls-tree", "-d", commit, "net/core")
    return listed.split()[2] if listed else ""


def taken_back(remote: Remote, proposal: Proposal) -> frozenset[str]:
    with DiskMirror(remote.folder, "").open() as git:
        return asyncio.run(Gains(MemoryRenderer(), in_thread).taken_back(git, proposal))


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Remote:
    return Remote(tmp_path_factory.mktemp("gains") / "1.git")


@pytest.mark.parametrize(("before", "mine", "base", "kept"), CASES.values(), ids=CASES)
def test_what_the_base_gained_is_kept_or_the_approval_does_not_count(
    remote: Remote, before: Files, mine: Files, base: Files, kept: bool
) -> None:
    """Short-cut refused: the same tree is the same change, whatever it is brought on top of."""
    since, proposal = approved(remote, before, mine, base)

    assert taken_back(remote, proposal) == (frozenset() if kept else {since})


def test_what_cannot_be_told_is_asked_for_once_more(remote: Remote) -> None:
    """Short-cut refused: a commit that is gone has nothing to compare with, so all is well."""
    since, proposal = approved(remote, BEFORE, BOTH, GAINED)
    later = approved_by(changed(proposal, origin="e" * 40), "approver", number=60)
    gone = changed(later, origin=since)

    assert taken_back(remote, gone) == {"e" * 40}


def test_after_a_merge_it_is_the_base_before_it_that_counts(remote: Remote) -> None:
    """Short-cut refused: the merge base of a head that was merged past the base's own line."""
    since, proposal = approved(remote, BEFORE, MINE, GAINED)
    touched: Touched = proposal.content.touched[0]
    merged = changed(
        proposal,
        touched=(replace(touched, origin=_tree(remote, since)),),
        origin=since,
        merged=True,
        closed=True,
        merge_commit=Sha("c" * 40),
    )

    assert taken_back(remote, merged) == {since}


def test_what_was_worked_out_once_is_not_worked_out_again(remote: Remote) -> None:
    """Short-cut refused: a merge of each package at each look, of a hundred packages."""
    since, proposal = approved(remote, BEFORE, MINE, GAINED)
    asked = 0

    class Counting(MemoryRenderer):
        async def merged(
            self, trees: TreeFiles, package: str, base: str, ours: str, theirs: str
        ) -> PackageMerge:
            nonlocal asked
            asked += 1
            return await super().merged(trees, package, base, ours, theirs)

    async def looks() -> list[frozenset[str]]:
        found = Gains(Counting(), in_thread)
        return [await found.taken_back(git, proposal) for _ in range(3)]

    with DiskMirror(remote.folder, "").open() as git:
        assert asyncio.run(looks()) == [{since}] * 3
    assert asked == 1
