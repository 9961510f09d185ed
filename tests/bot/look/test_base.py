"""What a proposal stands on: the forge's log first, then what we saw ourselves, else nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest

from bot.forges.port import Forge, ForgeMissingError, ListedProposal
from bot.git.mirror import DiskMirror
from bot.look.base import Bases, NotLogged, RulesSince
from bot.look.reader import Basis, MirrorReader
from bot.look.tags import Tags
from bot.store.port import Revisions
from lifecycle.access import Person
from lifecycle.merges import Move, UnknownRules
from lifecycle.names import Sha
from tests.bot.git.server import Remote
from tests.ids import on_github

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
RULES = ".porchbot.yaml"


@dataclass
class Told:
    """A forge and a database that tell what they were given."""

    moves: list[Move] | None = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    merged: list[ListedProposal] = field(default_factory=list)
    asked: int = 0

    async def base_moves(self, base_ref: str, since: datetime) -> tuple[Move, ...]:
        self.asked += 1
        assert since <= NOW
        if base_ref != "main":
            return ()
        if self.moves is None:
            raise ForgeMissingError("read what moved the base branch", "404")
        return tuple(self.moves)

    async def merged_proposals(self, base_ref: str, since: datetime) -> tuple[ListedProposal, ...]:
        return tuple(self.merged)

    async def tips(self, repository_id: int, base: str) -> tuple[Sha, ...]:
        return tuple(map(Sha, self.seen))


def pull(head: str, merge: str | None, number: int = 7) -> ListedProposal:
    return ListedProposal(
        number=number,
        title="t",
        author=Person(1, "ann", False),
        draft=False,
        open=not merge,
        head=Sha(head),
        head_ref="topic",
        head_repository=1,
        base_ref="main",
        merge_commit=Sha(merge) if merge else None,
        merged_at=NOW if merge else None,
        updated_at=NOW,
    )


def move(before: str, after: str) -> Move:
    return Move(before=Sha(before), after=Sha(after), actor="x", at=NOW)


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return Remote(tmp_path / "1.git")


async def basis(
    remote: Remote, told: Told, asked: ListedProposal, late: float = 0
) -> Basis | NotLogged | None:
    bases = Bases(on_github(1), cast(Forge, told), cast(Revisions, told), late)
    with DiskMirror(remote.folder, "").open() as git:
        tags = Tags(git, on_github(1), [], {}, None)
        reader = MirrorReader(
            git=git, repository_id=on_github(1), default_branch="main", keys=[], tags=tags
        )
        found = await bases.find(reader, asked)
        if isinstance(found, Basis) and found.doubt is None and asked.merged:
            before = told.asked
            assert await bases.find(reader, asked) == found
            assert told.asked == before  # what was found never changes
        return found


def history(remote: Remote, rules: Sequence[bytes]) -> list[str]:
    """Commits on main, one on top of the other, each with its rules."""
    line: list[str] = []
    for number, text in enumerate(rules):
        line.append(
            remote.commit(
                {RULES: text, "n": str(number).encode()}, *line[-1:], ref="refs/heads/main"
            )
        )
    return line


async def test_the_log_tells_and_nothing_else_is_asked(remote: Remote) -> None:
    """The short-cut is the merge result's parent: here it is part of what was merged."""
    old, base, middle, merge = history(remote, [b"a: 1", b"a: 2", b"a: 3", b"a: 4"])
    told = Told([move(base, merge), move(old, base)], seen=[old])

    assert await basis(remote, told, pull(middle, merge)) == Basis(
        rules=Sha(base), base=Sha(base), merge=Sha(merge)
    )
    assert await basis(remote, told, pull(middle, None)) == Basis(rules=Sha(merge), base=Sha(merge))
    assert told.asked == 1  # not for what is open


@pytest.mark.parametrize("log", [[], None], ids=["late", "a forge without a log"])
async def test_without_the_log_only_the_newest_tip_that_we_saw_counts(
    remote: Remote, log: list[Move] | None
) -> None:
    """The short-cut takes any tip that we saw, or the first parent whatever we saw."""
    old, base, merge, later = history(remote, [b"a: 1", b"a: 2", b"a: 2", b"a: 3"])
    gone = "f" * 40
    asked = pull(base, merge)
    found = {
        name: await basis(remote, Told(log, seen=seen), asked)
        for name, seen in {
            "seen": [later, merge, base, old],
            "seen, and gone since": [gone, base],
            "only an older one": [old],
            "nothing": [],
        }.items()
    }

    known = Basis(rules=Sha(base), base=Sha(base), merge=Sha(merge))
    unknown = Basis(rules=Sha(later), base=Sha(base), merge=Sha(merge), doubt=UnknownRules.BASE)
    assert found == {
        "seen": known,
        "seen, and gone since": unknown,
        "only an older one": unknown,
        "nothing": unknown,
    }


async def test_a_log_that_is_late_is_waited_for(remote: Remote) -> None:
    """The short-cut falls back at once: a tip that we saw a moment too early is then believed."""
    base, merge = history(remote, [b"a: 1", b"a: 2"])
    told = Told(seen=[base])

    assert await basis(remote, told, pull(base, merge), late=60) == NotLogged()
    told.moves = [move(base, merge)]
    assert isinstance(await basis(remote, told, pull(base, merge), late=60), Basis)


async def test_rules_that_changed_among_merges_publish_none(remote: Remote) -> None:
    """The short-cut judges each by its own parent: the first merge then chooses for the second."""
    base, rules, merge = history(remote, [b"a: 1", b"a: 2", b"a: 2"])
    back = remote.commit({RULES: b"a: 1"}, merge, ref="refs/heads/main")
    told = Told([move(base, back)], merged=[pull(base, rules, 6)])

    found = await basis(remote, told, pull(base, merge))

    # The tip has the same rules as before again: what came in between decides all the same.
    assert found == Basis(
        rules=Sha(back), base=Sha(rules), merge=Sha(merge), doubt=UnknownRules.RULES
    )


async def test_what_changes_rules_alone_is_judged_by_those_before(remote: Remote) -> None:
    """The short-cut looks for changed rules in every merge: nothing with rules is published."""
    base, merge = history(remote, [b"a: 1", b"a: 2"])
    told = Told([move(base, merge)])

    found = await basis(remote, told, pull(base, merge))

    assert found == Basis(rules=Sha(base), base=Sha(base), merge=Sha(merge))


async def test_what_git_does_not_show_yet_has_no_ground(remote: Remote) -> None:
    (base,) = history(remote, [b"a: 1"])

    assert await basis(remote, Told(), pull(base, "e" * 40)) is None
    remote.git("update-ref", "-d", "refs/heads/main")
    assert await basis(remote, Told(), pull(base, None)) is None


# --- since when the rules are what they are -------------------------------------------------------


def at(minutes: int, before: str, after: str) -> Move:
    return replace(move(before, after), at=NOW + timedelta(minutes=minutes))


async def rules(remote: Remote, told: Told, asked: ListedProposal) -> RulesSince:
    """What is told about what was said at NOW; asked again, nobody is asked where it is told."""
    bases = Bases(on_github(1), cast(Forge, told), cast(Revisions, told), 0)
    with DiskMirror(remote.folder, "").open() as git:
        tags = Tags(git, on_github(1), [], {}, None)
        reader = MirrorReader(
            git=git, repository_id=on_github(1), default_branch="main", keys=[], tags=tags
        )
        stands = await bases.find(reader, asked)
        assert isinstance(stands, Basis)
        found = await bases.rules_since(reader, asked, stands, NOW)
        before = told.asked
        assert await bases.rules_since(reader, asked, stands, NOW) == found
        assert (told.asked == before) is found.told
        return found


async def test_the_log_tells_when_the_rules_changed(remote: Remote) -> None:
    """The short-cut compares with the rules of the look alone, or trusts a log that is late."""
    old, first, same, other = history(remote, [b"a: 0", b"a: 1", b"a: 1", b"a: 2"])
    later = NOW + timedelta(minutes=5)
    log = [at(5, same, other), at(1, first, same), at(-1, old, first)]
    lone, none = pull(other, None), RulesSince(told=False)
    assert await rules(remote, Told(log), lone) == RulesSince(later)
    assert await rules(remote, Told(log[1:]), lone) == none  # late: what it lacks changed rules
    assert await rules(remote, Told(None), lone) == none
    gone = [at(5, "e" * 40, other), *log[1:]]
    assert await rules(remote, Told(gone), lone) == RulesSince(later)

    remote.git("update-ref", "refs/heads/main", same)
    lone = pull(same, None)
    assert await rules(remote, Told(log[1:]), lone) == RulesSince()  # before it was said
    assert await rules(remote, Told(log[2:]), lone) == RulesSince()  # late, and of no matter
    newer = at(6, same, "f" * 40)  # others are merged while we look: git was fetched before
    assert await rules(remote, Told([newer, *log[1:]]), lone) == RulesSince()
    assert await rules(remote, Told([newer]), lone) == RulesSince()


async def test_rules_of_the_default_branch_that_change_count_for_other_branches(
    remote: Remote,
) -> None:
    """The short-cut asks about the base alone: the default branch's rules judge there as well."""
    _, same, other = history(remote, [b"a: 0", b"a: 1", b"a: 2"])
    remote.git("update-ref", "refs/heads/release", same)
    lone = replace(pull(same, None), base_ref="release")

    assert await rules(remote, Told([at(5, same, other)]), lone) == RulesSince(
        NOW + timedelta(minutes=5)
    )
    assert await rules(remote, Told([at(-1, same, other)]), lone) == RulesSince()
    assert await rules(remote, Told(None), lone) == RulesSince(told=False)


async def test_what_changed_after_a_merge_does_not_matter_to_it(remote: Remote) -> None:
    """The short-cut asks about the tip: a merge is judged by the rules that it came under."""
    base, merge, other = history(remote, [b"a: 1", b"a: 1", b"a: 2"])
    log = [at(5, merge, other), at(0, base, merge)]

    assert await rules(remote, Told(log), pull(base, merge)) == RulesSince()
