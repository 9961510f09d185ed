"""How release tags are made: a few through the API, many by one push, and the same objects."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from bot.dashboard import Dashboard
from bot.forges.port import AnnotatedTag, Forge, ForgeRefusedError, MergeWay, Tagged, TagOutcome
from bot.freezes import Freezes
from bot.git.mirror import DiskMirror
from bot.git.port import GitIdentity
from bot.look.assemble import Looked
from bot.outcomes import ActionOutcome, Report
from bot.perform import FEW_TAGS, Performer
from bot.signing import allowed
from bot.signing import tags as signed_tags
from bot.signing.ssh import SigningKey
from bot.store.hints import NOTHING
from bot.store.port import Store
from bot.store.values import MergeRefusal, Revision
from lifecycle.actions import DeleteTag, Merge, Tag
from lifecycle.events import REPOSITORY, Frozen, Log, Thawed
from lifecycle.facts.conversation import Written
from lifecycle.names import Ref, Sha
from lifecycle.policy import MergeMethod
from tests.bot.git.server import TOKEN, Remote, serve
from tests.bot.signing.signed import KEY
from tests.ids import on_github
from tests.memory.renderer import MemoryRenderer

MERGED = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MERGE = Merge(
    number=7,
    head=Sha("a" * 40),
    base=Sha("b" * 40),
    base_ref="main",
    method=MergeMethod.MERGE,
    title="T",
    message="",
)


@dataclass
class Ends:
    """The forge's API over the same repository, and the database."""

    remote: Remote
    outcome: TagOutcome = TagOutcome.MADE
    asked: list[AnnotatedTag] = field(default_factory=list)
    kept: dict[str, Revision] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    frozen: Log = frozenset()
    on_dashboard: Log = frozenset()
    unreadable: bool = False
    merging: list[int] = field(default_factory=list)

    async def git_credentials(self) -> str:
        return TOKEN

    async def merge_way(self, number: int, _: str) -> MergeWay:
        self.merging.append(number)
        return MergeWay(bypassed="a rule")

    async def rules(self, _: str) -> str:
        return ""

    async def make_tag(self, tag: AnnotatedTag) -> Tagged:
        self.asked.append(tag)
        if self.outcome is TagOutcome.MADE:
            text = (
                f"object {tag.target}\ntype commit\ntag {tag.name}\n"
                f"tagger {GitIdentity(*tag.tagger).at(tag.at)}\n\n{tag.message}"
            )
            made = self.remote.git("hash-object", "-t", "tag", "-w", "--stdin", data=text.encode())
            self.remote.git("update-ref", f"refs/tags/{tag.name}", made, "0" * 40)
        return Tagged(self.outcome, "" if self.outcome is TagOutcome.MADE else "because")

    @property
    def revisions(self) -> "Ends":
        return self

    @property
    def proposals(self) -> "Ends":
        return self

    @property
    def queue(self) -> "Ends":
        return self

    async def wake(self, *_: object, **__: object) -> None:
        """Looks are no part of this."""

    async def freezes(self) -> Log:
        if self.unreadable:
            raise ForgeRefusedError("read an issue", "403 Forbidden")
        return self.on_dashboard

    async def keep(self, _: int, number: int, log: Log) -> None:
        assert number == REPOSITORY
        self.frozen |= log

    async def keep_revision(self, _: int, package: str, number: int, revision: Revision) -> None:
        self.kept[f"{package}/v{number}"] = revision

    async def remembered(self, _: int, number: int) -> tuple[Log, dict[int, Written]]:
        assert number == REPOSITORY
        return self.frozen, {}

    async def refuse(
        self, _: int, number: int, head: str, base: str, refusal: MergeRefusal, *more: object
    ) -> None:
        self.refused.append(f"{number} {base} {refusal.reason}")


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[Remote]:
    with serve(tmp_path / "remote" / "blueprints.git") as served:
        yield served


def performer(
    ends: Ends, folder: Path, signs: SigningKey | None = None
) -> tuple[Performer, DiskMirror]:
    mirror = DiskMirror(folder / "mirrors" / "1.git", ends.remote.url)
    mirror.fetch(TOKEN)
    who = GitIdentity("porchbot[bot]", "bot@forge.example")
    forge, store = cast(Forge, ends), cast(Store, ends)
    freezes = Freezes(on_github(1), cast(Dashboard, ends), store)
    return Performer(
        *(on_github(1), forge, mirror, MemoryRenderer(), store, b"k" * 32, who, "x", freezes),
        signs=signs,
    ), mirror


async def tagged(performs: Performer, tags: list[Tag]) -> ActionOutcome:
    """Make tags; what came of each is what came of the last, as none is done in part here."""
    report = Report()
    outcome = await performs.perform(tags, cast(Looked, None), report, NOTHING)
    assert {report.of(tag).outcome for tag in tags} == {outcome}
    return outcome


async def merged(performs: Performer, action: Merge) -> ActionOutcome:
    """Merge; the forge refuses what it is asked for."""
    looked = cast(Looked, SimpleNamespace(said={}))
    return await performs.perform([action], looked, Report(), NOTHING)


def wanted(target: str, count: int) -> list[Tag]:
    return [
        Tag(
            ref=Ref(f"refs/tags/net/p{i}/v1"),
            target=Sha(target),
            tree="t" * 40,
            at=MERGED,
            number=7,
            message=f"net/p{i} v1\n",
        )
        for i in range(count)
    ]


@pytest.mark.parametrize("count", [1, FEW_TAGS, FEW_TAGS + 1])
async def test_few_tags_are_made_without_being_told_of_all(
    remote: Remote, tmp_path: Path, count: int
) -> None:
    """The short-cut pushes: the forge tells of every ref that it has before a push."""
    target = remote.commit({"a": b"1"}, ref="refs/heads/main", at=1_700_000_000)
    ends = Ends(remote)
    performs, mirror = performer(ends, tmp_path)
    remote.told.clear()

    assert await tagged(performs, wanted(target, count)) is ActionOutcome.DONE

    names = [f"refs/tags/net/p{i}/v1" for i in range(count)]
    tags = {ref: sha for ref, sha in remote.refs().items() if ref in names}
    assert sorted(tags) == names
    assert bool(remote.told) is (count > FEW_TAGS)
    assert len(ends.asked) == (count if count <= FEW_TAGS else 0)
    assert {f"refs/tags/{name}": r.tag for name, r in ends.kept.items()} == tags
    with mirror.open() as git:  # what we made needs no fetch, and can be read
        assert {ref: sha for ref, (sha, _) in git.refs("refs/tags").items()} == tags
        assert "Porchbot-Tag: " in (git.tag_message(tags[names[0]], target) or "")


async def test_a_tag_is_the_same_object_at_each_try(remote: Remote, tmp_path: Path) -> None:
    """Two short-cuts: the present time, by which each try leaves one more object behind, and that
    of the merge commit, which whoever pushes it chooses.
    """
    target = remote.commit({"a": b"1"}, ref="refs/heads/main", at=99_999_999_999)
    ends = Ends(remote, TagOutcome.TAKEN)
    performs, _ = performer(ends, tmp_path)

    for _ in range(2):
        assert await tagged(performs, wanted(target, 1)) is ActionOutcome.LOOK_AGAIN
    first, second = ends.asked
    assert first == second
    assert first.at == MERGED


async def test_what_the_forge_would_write_otherwise_is_pushed(
    remote: Remote, tmp_path: Path
) -> None:
    """The short-cut gives up, or takes the forge's own writing: its record is then not ours."""
    target = remote.commit({"a": b"1"}, ref="refs/heads/main")
    ends = Ends(remote, TagOutcome.OTHERWISE)
    performs, _ = performer(ends, tmp_path)

    assert await tagged(performs, wanted(target, 2)) is ActionOutcome.DONE
    assert sorted(ends.kept) == ["net/p0/v1", "net/p1/v1"]
    assert remote.refs()["refs/tags/net/p0/v1"] == ends.asked[0].object


async def test_a_refused_tag_is_remembered_with_the_reason(remote: Remote, tmp_path: Path) -> None:
    """The short-cut looks again and again: people wait, and nobody says why."""
    target = remote.commit({"a": b"1"}, ref="refs/heads/main")
    ends = Ends(remote, TagOutcome.REFUSED)
    performs, _ = performer(ends, tmp_path)

    assert await tagged(performs, wanted(target, 1)) is ActionOutcome.LOOK_AGAIN
    assert ends.refused == ["7 tags because"]
    assert ends.kept == {}


@pytest.mark.parametrize("count", [1, FEW_TAGS + 1])
async def test_tags_made_through_the_api_and_by_push_are_signed_alike(
    remote: Remote, tmp_path: Path, count: int
) -> None:
    """Short-cut refused: only what is pushed is signed, as the API has no field for a signature."""
    target = remote.commit({"a": b"1"}, ref="refs/heads/main", at=1_700_000_000)
    ends = Ends(remote)
    performs, mirror = performer(ends, tmp_path, KEY)
    made = [
        replace(
            tag,
            provenance={
                "repository": {"name": "acme/blueprints", "id": "github:1"},
                "package": f"net/p{i}",
                "revision": 1,
                "commit": target,
                "tree": tag.tree,
            },
        )
        for i, tag in enumerate(wanted(target, count))
    ]

    assert await tagged(performs, made) is ActionOutcome.DONE
    signers = allowed.read(allowed.write("porchbot", [KEY.public]))
    for i, tag in enumerate(made):
        data = remote.git("cat-file", "tag", f"net/p{i}/v1").encode() + b"\n"
        held = signed_tags.check(
            f"net/p{i}/v1",
            data,
            signers,
            lambda _: "t" * 40,
            signed_tags.ExpectedRepository(id="github:1"),
        )
        assert held.predicate == tag.provenance
        with mirror.open() as git:  # our own record stands in it as before
            text = git.tag_message(remote.refs()[tag.ref], target) or ""
        assert "Porchbot-Tag: " in text


@pytest.mark.parametrize("count", [1, FEW_TAGS + 1])
async def test_no_tag_is_made_once_the_time_for_it_is_over(
    remote: Remote, tmp_path: Path, count: int
) -> None:
    """The short-cut goes by what was decided: a window that closed meanwhile is not asked again."""
    target = remote.commit({"a": b"1"}, ref="refs/heads/main", at=1_700_000_000)
    ends = Ends(remote)
    performs, _ = performer(ends, tmp_path)
    late = [replace(tag, until=datetime(2020, 1, 1, tzinfo=UTC)) for tag in wanted(target, count)]

    assert await tagged(performs, late) is ActionOutcome.LOOK_AGAIN
    assert not [ref for ref in remote.refs() if ref.startswith("refs/tags/")]

    early = [replace(tag, until=datetime.max.replace(tzinfo=UTC)) for tag in late]
    assert await tagged(performs, early) is ActionOutcome.DONE


@pytest.mark.parametrize("count", [1, FEW_TAGS + 1])
async def test_no_tag_is_made_of_what_was_frozen_since_it_was_decided(
    remote: Remote, tmp_path: Path, count: int
) -> None:
    """The short-cut looks at freezes once, in the look: who stops everything is a second late.

    Nor is anything merged then, which asks the same before it asks the forge.
    """
    target = remote.commit({"a": b"1"}, ref="refs/heads/main", at=1_700_000_000)
    freeze = Frozen(person="owner", at=datetime(2026, 1, 1, tzinfo=UTC), comment=9, reason="fire")
    ends = Ends(remote, frozen=frozenset({freeze}))
    performs, _ = performer(ends, tmp_path)
    tags = wanted(target, count)

    assert await tagged(performs, tags) is ActionOutcome.LOOK_AGAIN
    assert not [ref for ref in remote.refs() if ref.startswith("refs/tags/")]
    assert await merged(performs, MERGE) is ActionOutcome.LOOK_AGAIN
    assert ends.merging == []

    # The database was restored since: the dashboard alone tells, or nobody can tell.
    ends.frozen, ends.unreadable = frozenset(), True
    assert await tagged(performs, tags) is ActionOutcome.LOOK_AGAIN
    assert await merged(performs, MERGE) is ActionOutcome.LOOK_AGAIN
    ends.on_dashboard, ends.unreadable = frozenset({freeze}), False
    assert await tagged(performs, tags) is ActionOutcome.LOOK_AGAIN
    assert ends.frozen == {freeze}
    assert not [ref for ref in remote.refs() if ref.startswith("refs/tags/")]

    both = ends.frozen
    ends.frozen |= {Thawed(person="owner", at=MERGED, comment=10, lifts=("9",))}
    lifted = [replace(tag, ref=Ref(f"{tag.ref}1")) for tag in tags]
    assert await tagged(performs, lifted) is ActionOutcome.DONE
    ends.frozen = both
    knowing = [replace(tag, freezes=frozenset({9})) for tag in tags]
    assert await tagged(performs, knowing) is ActionOutcome.DONE
    assert ends.merging == []
    await merged(performs, replace(MERGE, freezes=frozenset({9})))
    assert ends.merging == [7]


async def test_a_tag_is_deleted_as_it_was_approved_or_stays(remote: Remote, tmp_path: Path) -> None:
    """The short-cut deletes by name: what somebody put there meanwhile is lost unseen."""
    target = remote.commit({"a": b"1"}, ref="refs/heads/main", at=1_700_000_000)
    ends = Ends(remote)
    performs, mirror = performer(ends, tmp_path)
    (tag,) = wanted(target, 1)
    assert await tagged(performs, [tag]) is ActionOutcome.DONE
    made = Sha(remote.refs()[tag.ref])
    going = DeleteTag(ref=tag.ref, object=made, number=8, target=Sha(target))
    remote.git("update-ref", tag.ref, target)

    report = Report()
    outcome = await performs.perform([going], cast(Looked, None), report, NOTHING)
    assert outcome is ActionOutcome.LOOK_AGAIN
    assert remote.refs()[tag.ref] == target

    remote.git("update-ref", tag.ref, made)
    assert await performs.perform([going], cast(Looked, None), report, NOTHING) is (
        ActionOutcome.DONE
    )
    assert tag.ref not in remote.refs()
    with mirror.open() as git:
        assert git.ref(tag.ref) is None
    # As after a kill: what is gone is not deleted again, and whoever looks sees that.
    assert await performs.perform([going], cast(Looked, None), report, NOTHING) is (
        ActionOutcome.LOOK_AGAIN
    )


async def test_a_frozen_repository_keeps_its_tags(remote: Remote, tmp_path: Path) -> None:
    """The short-cut stops what is published, and goes on deleting."""
    target = remote.commit({"a": b"1"}, ref="refs/heads/main", at=1_700_000_000)
    ends = Ends(remote, frozen=frozenset({Frozen(person="ann", at=MERGED, comment=3)}))
    performs, _ = performer(ends, tmp_path)
    remote.git("update-ref", "refs/tags/net/p0/v1", target)
    going = DeleteTag(
        ref=Ref("refs/tags/net/p0/v1"), object=Sha(target), number=8, target=Sha(target)
    )

    outcome = await performs.perform([going], cast(Looked, None), Report(), NOTHING)
    assert outcome is ActionOutcome.LOOK_AGAIN
    assert "refs/tags/net/p0/v1" in remote.refs()
