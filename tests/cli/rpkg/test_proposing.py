"""Which pull requests `porchbot rpkg propose` and `approve` choose, and how far each is."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.cli.rpkg.proposing import ApproveCommands, ProposeCommands
from bot.cli.rpkg.session import RepositorySnapshot
from bot.forges.port import ListedProposal
from bot.git.port import Difference
from bot.ledger_paths import package_ledger
from lifecycle import records
from lifecycle.access import Person
from lifecycle.bulk import BulkState
from lifecycle.names import Sha
from lifecycle.policy import Policy, VariantUse
from lifecycle.selectors.grammar import parse
from lifecycle.selectors.marks import PackageMarks
from lifecycle.terms import AS_WRITTEN
from tests.cli.rpkg.test_bulk import FakeForge, heard

HEAD = "a" * 40
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def pull(
    number: int, *, draft: bool = False, head: str = HEAD, base: str = "main"
) -> ListedProposal:
    return ListedProposal(
        number=number,
        title="t",
        author=Person(1, "author", bot=False),
        draft=draft,
        open=True,
        head=Sha(head),
        head_ref="x",
        head_repository=1,
        base_ref=base,
        merge_commit=None,
        merged_at=None,
        updated_at=NOW,
    )


@dataclass
class FakeGit:
    """Implements what is asked of `History`: number of a pull request's head to what it touches."""

    touched: Mapping[str, tuple[str, ...]]

    def has(self, sha: str) -> bool:
        return sha in self.touched

    def ref(self, name: str) -> str:
        del name
        return "base"

    def merge_base(self, one: str, other: str) -> str:
        del other
        return one

    def difference(self, before: str, after: str) -> Difference:
        del before
        packages = [each for each in self.touched[after] if not each.startswith("+")]
        files = [each.removeprefix("+") for each in self.touched[after] if each not in packages]
        packages = ["" if each == "." else each for each in packages]
        inside = [f"{each}/Kptfile".lstrip("/") for each in packages]
        return Difference(
            files=dict.fromkeys([*files, *inside], "100644 x"),
            packages=dict.fromkeys(packages, ("x", "y")),
        )


class FakeTrees:
    """Implements what is asked of `TreeReader`: nothing was made from anything."""

    def difference(self, before: str, after: str) -> Difference:
        del before, after
        return Difference()


@dataclass
class FakeSource:
    name: str = "acme/x"
    place: str = "github.com/acme/x"
    packages: tuple[PackageMarks, ...] = ()
    commit: str = "c"
    branch: str = "main"
    trees: FakeTrees = field(default_factory=FakeTrees)

    def marks(self) -> tuple[PackageMarks, ...]:
        if self.branch == "main":
            return self.packages
        return tuple(replace(each, labels={"team": self.branch}) for each in self.packages)

    def policy(self) -> Policy:
        return Policy(variants=VariantUse(files=("variants/*.yaml",)))


@dataclass
class FakeSession:
    """Implements what is asked of `Session`."""

    seen: RepositorySnapshot
    terms: Any = field(default=AS_WRITTEN)

    async def look(self, *, dashboard: bool) -> tuple[RepositorySnapshot, ...]:
        assert not dashboard
        return (self.seen,)

    async def head(self, seen: RepositorySnapshot, found: ListedProposal) -> bool:
        return seen.git.has(found.head)

    def forge(self, seen: RepositorySnapshot) -> "FakeSession":
        del seen
        return self


def found(job: Any, *pulls: ListedProposal, forge: FakeForge | None = None, **touched: str) -> Any:
    """What a command finds; `touched` is "_12" to what number 12 changes, files with a "+"."""
    marks = tuple(
        PackageMarks(repository="acme/x", path=path, labels={"team": team})
        for path, team in (("net/a", "net"), ("net/b", "net"), ("web/c", "web"))
    )
    by_head = {str(p.head): tuple(touched.get(f"_{p.number}", "net/a").split()) for p in pulls}
    source: Any = FakeSource(packages=marks)
    git: Any = FakeGit(by_head)
    seen = RepositorySnapshot(source, pulls, 1, git, forge or FakeForge(), 0, ())
    session: Any = FakeSession(seen)
    return asyncio.run(job.find(session))


def test_a_pull_request_is_chosen_where_all_that_it_touches_is() -> None:
    """Short-cuts refused: one package of it is enough; a package that labels itself."""
    pulls = [pull(1, head="1"), pull(2, head="2"), pull(3, head="3"), pull(4, head="4")]
    done = found(
        ApproveCommands(parse("team=net"), ()),
        *pulls,
        pull(5, head="5", draft=True),
        _2="net/a net/b",
        _3="net/a web/c net/new",
        _4="web/c",
    )

    assert [(done.names[i.key], i.change) for i in done.items] == [
        ("#1 at 1", "net/a"),
        ("#2 at 2", "net/a, net/b"),
    ]
    assert done.left == (("#3 at 3", "it also touches net/new, web/c, not chosen"),)
    assert [done.asks[i.key].text for i in done.items] == ["/approve 1", "/approve 2"]


@pytest.mark.parametrize(
    ("beside", "left"),
    [
        ("+.porchbot.yaml +variants/x.yaml", ".porchbot.yaml, variants/x.yaml"),
        ("+CODEOWNERS", "CODEOWNERS"),
        ("+.porchbot/ledger/web/c.yaml", ".porchbot/ledger/web/c.yaml"),
        ("+net/ax/notes", "net/ax/notes"),
    ],
)
def test_what_also_changes_rules_is_for_whoever_names_it(beside: str, left: str) -> None:
    """The short-cut looks at packages alone: a change of the rules is approved unseen."""
    one, other = pull(1, head="1"), pull(2, head="2")
    ours = f"net/a +{package_ledger('net/a')}"

    chosen = found(
        ApproveCommands(parse("team=net"), ()), one, other, _1=f"net/a {beside}", _2=ours
    )
    named = found(ApproveCommands(None, (1,)), one, other, _1=f"net/a {beside}", _2=ours)

    assert chosen.left == (
        ("#1 at 1", f"it also changes {left}, beside packages; name its number"),
    )
    assert [item.change for item in chosen.items] == ["net/a"]
    assert [item.change for item in named.items] == [f"net/a; beside: {left}"]


def test_rules_are_beside_a_package_at_the_root_too() -> None:
    """The short-cut takes all files for the root package's: `/approve` counts for its rules."""
    pulls = [pull(1, head="1"), pull(2, head="2"), pull(3, head="3")]
    chosen = found(
        ApproveCommands(parse("path=."), ()),
        *pulls,
        _1=". +.porchbot.yaml",
        _2=". +variants/x.yaml",
        _3=". +notes",
    )

    assert chosen.left == (
        ("#1 at 1", "it also changes .porchbot.yaml, beside packages; name its number"),
        ("#2 at 2", "it also changes variants/x.yaml, beside packages; name its number"),
    )
    assert [item.change for item in chosen.items] == ["."]


def test_packages_are_chosen_as_the_base_branch_has_them() -> None:
    """The short-cut goes by the default branch: what is production there may be none here."""
    pulls = [pull(1, head="1", base="release"), pull(2, head="2")]

    net = found(ApproveCommands(parse("team=net"), ()), *pulls)
    release = found(ApproveCommands(parse("team=release"), ()), *pulls)

    assert [net.names[i.key] for i in net.items] == ["#2 at 2"]
    assert [release.names[i.key] for i in release.items] == ["#1 at 1 into release"]


def test_drafts_are_proposed_and_numbers_choose_too() -> None:
    draft = pull(5, draft=True)
    done = found(ProposeCommands(None, (5,)), draft, pull(6, head="6", draft=True), _5="web/c")
    assert [(done.names[i.key], done.asks[i.key].text) for i in done.items] == [
        ("#5 at aaaaaaaaaa", "/propose")
    ]


def test_what_was_approved_at_this_head_is_done_and_at_another_it_is_not() -> None:
    """The short-cut asks for a comment of the caller's, whatever it approved."""
    for words, answer, state in (
        (f"/approve {HEAD}", "approved", BulkState.DONE),
        (f"/approve {HEAD}", "`/approve` refused: no.", BulkState.READY),
        (f"/approve {HEAD}", "", BulkState.ASKED),
        ("/approve " + "b" * 40, "approved", BulkState.READY),
        ("/approve", "approved", BulkState.READY),
    ):
        forge = FakeForge()
        forge.comments.append(heard(3, "author", words))
        if answer:
            text = f"@author {answer}\n\n{records.sign({'answered': [3]}, b'key')}"
            forge.comments.append(heard(4, "bot", text, ours=True))
        (item,) = found(ApproveCommands(parse(""), ()), pull(1), forge=forge).items
        assert item.state is state, words


def test_a_head_that_moves_after_it_was_shown_is_not_approved() -> None:
    """The short-cut approves what stands there by then."""
    job = ApproveCommands(parse(""), ())
    (shown,) = found(job, pull(1)).items
    (moved,) = found(job, pull(1, head="b" * 40)).items
    assert (shown.state, moved.state) == (BulkState.READY, BulkState.FAILED)
    assert moved.reason == "its head moved after it was shown"


def test_a_proposal_that_was_turned_back_is_proposed_anew() -> None:
    """What is accepted gets no answer: the short-cut waits for it for ever."""
    for age, state in (
        (timedelta(minutes=1), BulkState.ASKED),
        (timedelta(hours=1), BulkState.READY),
    ):
        forge = FakeForge()
        forge.comments.append(replace(heard(3, "author", "/propose"), at=datetime.now(UTC) - age))
        (item,) = found(ProposeCommands(parse(""), ()), pull(1, draft=True), forge=forge).items
        assert item.state is state
