"""Which head branches a sweep has to have looked at."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import cast

import pytest

from bot import config
from bot.extends import DefaultsNeededError, FileReference
from bot.forges.port import ListedProposal
from bot.git.port import History, MissingObjectError, ObjectTooLargeError
from bot.keys import ProposalKey
from bot.look.rules import Blob
from bot.loop.changed import DAY, LATE, BranchState, JudgementContext, see, tags_of, to_look_at
from bot.store.values import Swept
from lifecycle.access import Person
from lifecycle.names import Sha
from lifecycle.policy import BrokenPolicy
from tests.ids import FIRST

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=30)
KEY = ProposalKey(FIRST, 1, "change")
DRAFT = ProposalKey(FIRST, 1, "drafts/net/core/v1")
PULL = ListedProposal(
    number=7,
    title="t",
    author=Person(1, "a", bot=False),
    draft=False,
    open=True,
    head=Sha("a" * 40),
    head_ref="change",
    head_repository=1,
    base_ref="release",
    merge_commit=None,
    merged_at=None,
    updated_at=LONG_AGO,
)


@dataclass(frozen=True)
class _Git:
    """As much of `History` as is asked: what stands in branches, by path."""

    branches: Mapping[str, Mapping[str, str]]

    def ref(self, name: str) -> str | None:
        branch = name.removeprefix("refs/heads/")
        return branch if branch in self.branches else None

    def tree(self, commit: str, path: str) -> str:
        return self.branches[commit].get(path, "")

    entry = tree

    def blob(self, commit: str, path: str, most: int) -> bytes | None:
        found = self.tree(commit, path)
        return found.encode() if found.startswith("version:") else None


BRANCHES = {
    "main": {".porchbot.yaml": "rules"},
    "release": {".porchbot.yaml": "rules", "net/core": "tree1", "net/edge": "tree2"},
}


def _around(
    branches: Mapping[str, Mapping[str, str]] = BRANCHES,
    packages: frozenset[str] = frozenset({"net/core"}),
    tags: Mapping[str, Sha] | None = None,
    files: Blob | None = None,
) -> JudgementContext:
    git = cast(History, _Git(branches))
    return JudgementContext(
        git=git,
        default="main",
        files=files or partial(config.fetch, git.blob),
        packages={7: packages} if packages else {},
        tags=tags_of({"net/core"}, tags or {}),
    )


def _state(pull: ListedProposal = PULL, around: JudgementContext | None = None) -> str:
    return see(FIRST, [pull], {}, around or _around())[KEY].state


def _with(branch: str, path: str) -> Mapping[str, Mapping[str, str]]:
    return {**BRANCHES, branch: {**BRANCHES[branch], path: "another"}}


NEWS: dict[str, Callable[[], str]] = {
    "its head": lambda: _state(replace(PULL, head=Sha("b" * 40))),
    "its base": lambda: _state(replace(PULL, base_ref="main")),
    "ready": lambda: _state(replace(PULL, draft=True)),
    "a comment": lambda: _state(replace(PULL, updated_at=NOW)),
    "rules of the default branch": lambda: _state(around=_around(_with("main", ".porchbot.yaml"))),
    "rules of its base": lambda: _state(around=_around(_with("release", ".porchbot.yaml"))),
    "the ledger of its base": lambda: _state(around=_around(_with("release", ".porchbot"))),
    "owners of code": lambda: _state(around=_around(_with("release", ".github/CODEOWNERS"))),
    "its package in its base": lambda: _state(around=_around(_with("release", "net/core"))),
    "a tag of its package": lambda: _state(
        around=_around(tags={"refs/tags/net/core/v1": Sha("c")})
    ),
    "a tag in the place of its next": lambda: _state(
        around=_around(tags={"refs/tags/net/core/v1/x": Sha("c")})
    ),
    "a tag in the place of its folder": lambda: _state(
        around=_around(tags={"refs/tags/net": Sha("c")})
    ),
    "what it changes": lambda: _state(around=_around(packages=frozenset({"net/edge"}))),
}


@pytest.mark.parametrize("news", NEWS.values(), ids=NEWS)
def test_what_decides_about_a_proposal_changes_its_state(news: Callable[[], str]) -> None:
    """The short-cut compares heads: comments, rules and numbers of tags would wait for a day."""
    assert news() != _state()


def test_what_concerns_others_is_no_news() -> None:
    """The short-cut compares the tips of bases: each change published wakes all that are open."""
    assert _state(around=_around(_with("release", "net/edge"))) == _state()
    assert _state(around=_around(tags={"refs/tags/net/edge/v1": Sha("c")})) == _state()


def test_of_a_proposal_that_nobody_looked_at_all_of_the_base_counts() -> None:
    """Fails when nothing known of it means that nothing touches it."""
    moved = {**BRANCHES, "later": BRANCHES["release"]}
    pull = replace(PULL, base_ref="later")

    class Tips(_Git):
        def ref(self, name: str) -> str | None:
            return "release"  # the same content at another commit

    before = _state(pull, _around(moved, frozenset()))
    elsewhere = replace(_around(moved, frozenset()), git=cast(History, Tips(moved)))
    assert _state(pull, elsewhere) != before


@pytest.mark.parametrize("error", [ObjectTooLargeError("wide"), MissingObjectError("gone")])
def test_a_base_that_cannot_be_read_keeps_no_other_proposal_from_being_seen(
    error: Exception,
) -> None:
    """Fails when one base breaks the sweep: anybody who may push opens a proposal for one."""

    class Wide(_Git):
        def tree(self, commit: str, path: str) -> str:
            if commit == "wide":
                raise error
            return super().tree(commit, path)

        entry = tree

    around = replace(_around(), git=cast(History, Wide({**BRANCHES, "wide": {}, "wider": {}})))
    wide = replace(PULL, number=8, head_ref="other", base_ref="wide")

    seen = see(FIRST, [PULL, wide], {}, around)

    assert seen[KEY] == see(FIRST, [PULL], {}, _around())[KEY]
    moved = see(FIRST, [replace(wide, base_ref="wider")], {}, around)
    assert seen.keys() - {KEY} == moved.keys()
    assert seen | moved != seen


NOBODY = "version: 1\naccess: {approve: {require: 0}}\n"


@pytest.mark.parametrize(
    ("main", "release", "draft", "unattended"),
    [
        (NOBODY, NOBODY, False, True),
        (NOBODY, NOBODY, True, False),
        (NOBODY, "version: 1\n", False, False),
        ("version: 1\n", NOBODY, False, False),
    ],
)
def test_what_waits_for_nobodys_approval_is_looked_at_by_each_sweep(
    main: str, release: str, draft: bool, unattended: bool
) -> None:
    """Fails when only who was approved counts as let through by outside things.

    Where no approval is asked for, the check of others that it waits for would be seen a day late.
    """
    both = {"main": {".porchbot.yaml": main}, "release": {".porchbot.yaml": release}}
    seen = see(FIRST, [replace(PULL, draft=draft)], {}, _around(both))

    assert seen[KEY].unattended is unattended
    known = {str(KEY): Swept(seen[KEY].state, 600)}
    assert bool(to_look_at(seen, known, set(), NOW)) is unattended


def test_rules_that_extend_others_are_read_with_them() -> None:
    """The short-cut reads what is extended as a file of the repository: it is never found."""
    reference = f"acme/.porchbot@{'a' * 40}:defaults.yaml"
    both = {each: {".porchbot.yaml": f"version: 1\nextends: {reference}\n"} for each in BRANCHES}
    there = dict[FileReference, bytes]()

    def files(at: str, path: str) -> bytes | BrokenPolicy | None:
        if "@" not in at:
            return both[at].get(path, "").encode() or None
        wanted = FileReference("acme", ".porchbot", at.rpartition("@")[2], path)
        if wanted not in there:
            raise DefaultsNeededError(wanted)
        return there[wanted]

    around = _around(both, files=files)
    assert not see(FIRST, [PULL], {}, around)[KEY].unattended
    assert [str(each) for each in around.needed] == [reference]
    there |= dict.fromkeys(around.needed, NOBODY.encode())
    assert see(FIRST, [PULL], {}, _around(both, files=files))[KEY].unattended


def test_rules_that_break_their_reader_leave_the_sweep_of_the_others_alone() -> None:
    """Short-cut refused: the errors that reading is known for; a branch of anybody stops it all."""

    def files(at: str, _path: str) -> bytes | BrokenPolicy | None:
        raise OverflowError(at)

    assert not see(FIRST, [PULL], {}, _around(files=files))[KEY].unattended


def test_drafts_and_proposals_of_one_branch_are_seen_together() -> None:
    pull = replace(PULL, head_ref=DRAFT.branch)
    seen = see(FIRST, [pull], {DRAFT.branch: "aaa", "drafts/b/v1": "bbb"}, _around())

    assert list(seen) == [DRAFT, ProposalKey(FIRST, 1, "drafts/b/v1")]
    assert [each.at for each in seen.values()] == [LONG_AGO, None]
    moved = see(FIRST, [pull], {DRAFT.branch: "ccc", "drafts/b/v1": "bbb"}, _around())
    assert [key for key in seen if seen[key] != moved[key]] == [DRAFT]


def test_a_fork_that_is_gone_has_no_branch_to_look_at() -> None:
    assert see(FIRST, [replace(PULL, head_repository=None)], {}, _around()) == {}


def test_last_changed_comes_first() -> None:
    newer = replace(PULL, number=8, head_ref="newer", updated_at=NOW)
    assert [key.branch for key in see(FIRST, [PULL, newer], {}, _around())] == ["newer", "change"]


_LATE = LATE.total_seconds()
ASKED: dict[str, tuple[BranchState, Swept | None, bool]] = {
    "never seen, or the database is another": (BranchState("1", LONG_AGO), None, True),
    "another state": (BranchState("2", LONG_AGO), Swept("1", 20), True),
    "the same": (BranchState("1", LONG_AGO), Swept("1", 20), False),
    "the same draft": (BranchState("1", None), Swept("1", 20), False),
    "changed just before it was looked at": (
        BranchState("1", NOW - timedelta(seconds=_LATE)),
        Swept("1", 20),
        True,
    ),
    "looked at once more since": (
        BranchState("1", NOW - timedelta(seconds=_LATE + 120)),
        Swept("1", 20),
        False,
    ),
    "half a day ago": (BranchState("1", LONG_AGO), Swept("1", DAY * 0.49), False),
    "a day ago": (BranchState("1", LONG_AGO), Swept("1", DAY + 1), True),
}


@pytest.mark.parametrize(("seen", "before", "asked"), ASKED.values(), ids=ASKED)
def test_who_is_looked_at(seen: BranchState, before: Swept | None, asked: bool) -> None:
    known = {str(KEY): before} if before else {}

    assert to_look_at({KEY: seen}, known, set(), NOW) == ((KEY,) if asked else ())
    assert to_look_at({KEY: seen}, known, {KEY}, NOW) == (KEY,)


def test_what_is_looked_at_once_a_day_is_not_looked_at_all_at_once() -> None:
    """The short-cut is one age for all: 500 that were seen together come back together."""
    keys = [ProposalKey(FIRST, 1, f"b{number}") for number in range(200)]
    known = {str(key): Swept("1", DAY * 0.75) for key in keys}

    woken = to_look_at({key: BranchState("1", LONG_AGO) for key in keys}, known, set(), NOW)

    assert 60 < len(woken) < 140
