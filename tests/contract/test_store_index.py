"""What any store promises of its index and its audit trail (`bot/store/port.py`).

Longer than 400 lines: a test for each method of the other protocols.
"""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from bot.keys import Key, ProposalKey, PullKey, RepositoryKey
from bot.store.hints import NOTHING, Hint
from bot.store.values import (
    LONGEST_RENDERING,
    Adoption,
    BaselineTags,
    Delivered,
    InstalledReach,
    MergeRefusal,
    Parked,
    Revision,
    VariantWait,
    Wait,
    Watched,
)
from lifecycle.events import Approval, CommentAnswered, Held
from lifecycle.facts.commits import PushRefusal
from lifecycle.facts.conversation import Written
from lifecycle.facts.merging import MergeObstacle
from lifecycle.identity import RepositoryId
from lifecycle.names import Sha
from lifecycle.records import JSON
from tests.contract.stores import Repository, Stored
from tests.ids import FIRST, on_github

AT = datetime(2026, 11, 20, tzinfo=UTC)
REPOSITORY = Repository()
HOLD = Held(person="a", at=AT, comment=3, reason="wait")
ODD = b"net/c\xffre".decode("utf-8", "surrogateescape") + "\0"
"""A name in git that is no text, with a character that PostgreSQL has no room for."""


# --- repositories ---------------------------------------------------------------------------------


async def test_the_number_of_a_dashboard_is_kept_through_renames(stored: Stored) -> None:
    """The short-cut keeps it with the name, or for whoever was never adopted."""
    repositories = stored.store.repositories
    await repositories.keep_dashboard(FIRST, 7)
    assert await repositories.dashboard(FIRST) is None
    await repositories.adopt(REPOSITORY, AT, {})
    assert await repositories.dashboard(FIRST) is None

    await repositories.keep_dashboard(FIRST, 7)
    await repositories.rename(replace(REPOSITORY, full_name="acme/renamed"))
    await repositories.lost(FIRST)
    await repositories.adopt(REPOSITORY, AT, {})

    assert await repositories.dashboard(FIRST) == 7
    assert await repositories.dashboard(on_github(2)) is None


async def test_a_delivery_that_calls_a_repository_otherwise_wakes_it(stored: Stored) -> None:
    """Fails when only an event about the name tells it, which not everybody hears; or when each
    delivery has the whole repository looked at."""
    store, key = stored.store, RepositoryKey(FIRST)
    await store.repositories.adopt(Repository(), AT, {})

    async def woken(called: str, *wakes: Key, served: RepositoryId = FIRST) -> list[str]:
        about = Delivered(
            guid=f"{called} {wakes}",
            event="push",
            action="",
            headers={},
            body=b"",
            repository=served,
            called=called,
        )
        await store.deliveries.add(about, dict.fromkeys(wakes, NOTHING))
        found = []
        while taken := await store.queue.take("worker"):
            found.append(taken.key)
            await store.queue.done(taken)
        return sorted(found)

    pull = PullKey(FIRST, 7)
    assert await woken("", pull) == ["github:1:pull:7"]
    assert await woken("acme/blueprints", pull) == ["github:1:pull:7"]
    assert await woken("acme/blueprints", key) == ["github:1:repository"]
    assert await woken("acme/plans", pull) == ["github:1:pull:7", "github:1:repository"]
    assert await woken("acme/plans", key) == ["github:1:repository"]
    assert await woken("acme/plans\0") == ["github:1:repository"]
    assert await woken("acme/plans", served=on_github(9)) == []
    await store.repositories.rename(Repository(full_name="acme/plans"))
    assert await woken("acme/plans") == []


async def test_a_repository_is_what_it_was_when_first_seen(stored: Stored) -> None:
    repositories = stored.store.repositories
    tags = {"refs/tags/a/v1": "eee"}
    drafts, heads = {"drafts/a/v1": "aaa"}, {"main": "bbb"}
    baseline = Adoption(AT, REPOSITORY.installed_at, 3, drafts, tags, None, 8, [5, 7], heads)

    assert await repositories.adoption(FIRST) is None
    adopted = await repositories.adopt(
        REPOSITORY, AT, drafts, tags, highest=8, open_numbers=[5, 7], heads=heads
    )
    assert adopted == baseline
    # The first sight counts, whatever a later one says.
    assert await repositories.adopt(REPOSITORY, datetime.now(UTC), {}) == baseline
    await repositories.complete_tags(FIRST, {"refs/tags/a/v1": "fff"})
    assert await repositories.adoption(FIRST) == baseline
    assert await repositories.adoption(on_github(2)) is None


async def test_a_baseline_is_read_by_package(stored: Stored) -> None:
    """The short-cut reads all tags of a repository for each look at one package of it."""
    repositories = stored.store.repositories
    tags = {f"refs/tags/{each}": "eee" for each in ("v1", "net/v1", "net/core/v1", "net/core/v2")}
    assert await repositories.baseline(FIRST, ["net/core"]) is None
    await repositories.adopt(REPOSITORY, AT, {}, tags)
    for packages, wanted in (
        (["net/core"], {"net/core/v1", "net/core/v2"}),
        (["", "net"], {"v1", "net/v1"}),
        (["core"], set[str]()),
        ([], set[str]()),
    ):
        found = {f"refs/tags/{each}": "eee" for each in wanted}
        assert await repositories.baseline(FIRST, packages) == BaselineTags(found)
    await stored.names_only(FIRST)
    assert await repositories.baseline(FIRST, ["net"]) == BaselineTags({}, names_only=True)


async def test_a_baseline_of_names_alone_is_completed_once(stored: Stored) -> None:
    """Short-cuts refused: it is one without tags; each start of the bot takes what stands then."""
    repositories, tag = stored.store.repositories, "refs/tags/a/v1"
    await repositories.adopt(REPOSITORY, AT, {}, {tag: "eee"})
    await stored.names_only(FIRST)
    older = await repositories.adoption(FIRST)
    assert older is not None
    assert (older.tags, older.names_only) == ({tag: ""}, True)

    await repositories.complete_tags(on_github(2), {tag: "aaa"})
    for sha in ("fff", "ggg"):
        await repositories.complete_tags(FIRST, {tag: sha})

    assert await repositories.adoption(FIRST) == replace(older, tags={tag: "fff"}, names_only=False)


async def test_a_repository_that_is_found_again_is_served_by_its_new_installation(
    stored: Stored,
) -> None:
    """The short-cut keeps the first installation: its token is refused for ever."""
    repositories = stored.store.repositories
    await repositories.rename(REPOSITORY)  # never adopted
    assert await repositories.adoption(FIRST) is None
    assert await repositories.reach(FIRST) is None
    await repositories.adopt(REPOSITORY, AT, {})
    assert await repositories.reach(FIRST) == InstalledReach(3)
    await repositories.lost(FIRST)
    await repositories.lost(on_github(2))
    gone = await repositories.adoption(FIRST)
    assert gone is not None
    assert gone.gone is not None
    assert await repositories.reach(FIRST) == InstalledReach(3, gone.gone)
    await repositories.lost(FIRST)
    assert await repositories.adoption(FIRST) == gone  # since when, stays
    assert await repositories.installations("github") == set()

    await repositories.rename(replace(REPOSITORY, installation=4))

    assert await repositories.installations("github") == {4}
    assert await repositories.repositories("github", 4) == {FIRST}
    assert await repositories.adoption(FIRST) == replace(gone, gone=None, installation=4)
    assert await repositories.reach(FIRST) == InstalledReach(4)


async def test_only_what_is_installed_is_served(stored: Stored) -> None:
    repositories = stored.store.repositories
    for number, installation in ((1, 3), (2, 3), (3, 4), (4, 5)):
        await repositories.adopt(
            Repository(on_github(number), f"acme/{number}", installation), AT, {}
        )

    assert await repositories.only_installations("github", [3, 4]) == ("acme/4",)
    assert await repositories.only_installations("github", [3, 4]) == ()
    assert await repositories.installations("github") == {3, 4}
    assert await repositories.only_repositories("github", 3, [FIRST]) == ("acme/2",)
    assert await repositories.repositories("github", 3) == {FIRST}
    assert await repositories.repositories("github", 4) == {on_github(3)}


async def test_what_one_forge_serves_is_not_ended_by_another(stored: Stored) -> None:
    """Fails when installations are counted over all forges: each would end what others serve."""
    repositories = stored.store.repositories
    here, there = on_github(42), RepositoryId("gitlab", 42)
    for each in (here, there):
        await repositories.adopt(Repository(id=each), AT, {})

    assert await repositories.only_installations("github", []) == ("acme/blueprints",)
    assert await repositories.installations("github") == set()
    assert await repositories.repositories("gitlab", 3) == {there}
    assert await repositories.only_repositories("gitlab", 3, [here]) == ("acme/blueprints",)
    assert await repositories.repositories("gitlab", 3) == set()


# --- revisions ------------------------------------------------------------------------------------


async def test_revisions_keep_the_tag_that_was_made(stored: Stored) -> None:
    """The short-cut writes what was seen last: a tag that was replaced is then as we made it."""
    revisions = stored.store.revisions
    made = Revision("aaa", "tag1", 7)
    await revisions.keep_revision(FIRST, "net/core", 1, Revision("aaa"))
    await revisions.keep_revision(FIRST, "net/core", 1, made)
    await revisions.keep_revision(FIRST, "net/core", 1, Revision("aaa", "tag2", 8))
    await revisions.keep_revision(FIRST, "net/core", 1, Revision("bbb", "tag3", 9))

    assert await revisions.revisions(FIRST, ["net/core", "net"]) == {"net/core": {1: made}}
    await revisions.show_revision(FIRST, "net/core", 1, "none")
    await revisions.show_revision(FIRST, "net/core", 2, "none")
    assert await revisions.revisions(FIRST, ["net/core"]) == {
        "net/core": {1: replace(made, shown="none")}
    }
    assert await revisions.revisions(on_github(2), ["net/core"]) == {}


async def test_all_revisions_come_package_by_package(stored: Stored) -> None:
    revisions = stored.store.revisions
    for package, number in (("net", 10), ("net", 2), ("a", 1), ("net/core", 1)):
        await revisions.keep_revision(FIRST, package, number, Revision("aaa"))

    found = [(p, n) async for p, n, _ in revisions.all_revisions(FIRST)]

    assert found == [("a", 1), ("net", 2), ("net", 10), ("net/core", 1)]
    assert [each async for each in revisions.all_revisions(on_github(2))] == []


async def test_tips_are_told_newest_first(stored: Stored) -> None:
    """The short-cut keeps the first time: a branch that came back to a tip is not there then."""
    revisions = stored.store.revisions
    for sha in ("a", "b", "b", "a", "c", "a"):
        await revisions.saw_tip(FIRST, "main", sha)
    await revisions.saw_tip(FIRST, "other", "z")

    assert await revisions.tips(FIRST, "main") == ("a", "c", "b")
    for number in range(60):
        await revisions.saw_tip(FIRST, "main", f"t{number}")
    kept = await revisions.tips(FIRST, "main")
    assert (len(kept), kept[0]) == (50, "t59")


async def test_proposals_stand_in_line_in_the_order_they_asked(stored: Stored) -> None:
    revisions = stored.store.revisions
    for number in (9, 3, 9, 5):
        await revisions.ask_publish(FIRST, "main", number)
    await revisions.ask_publish(FIRST, "other", 4)
    await revisions.published(FIRST, "main", 3)
    await revisions.published(FIRST, "main", 77)

    assert await revisions.asked_publish(FIRST, "main") == (9, 5)
    assert [await revisions.queued(FIRST, "main", n) for n in (9, 3)] == [True, False]
    await revisions.published(FIRST, "main", 9)
    await revisions.ask_publish(FIRST, "main", 9)  # at the end now
    assert await revisions.asked_publish(FIRST, "main") == (5, 9)


# --- proposals ------------------------------------------------------------------------------------


async def test_settled_proposals(stored: Stored) -> None:
    proposals = stored.store.proposals
    for number in (1, 2, 2):
        await proposals.settle(FIRST, number, merged=True)

    assert await proposals.settled(FIRST, {2: True, 3: True}) == {2}
    assert await proposals.settled(FIRST, {}) == set()
    assert await proposals.settled(on_github(2), {1: True, 2: True}) == set()


async def test_a_closed_proposal_that_is_merged_after_all_is_not_settled(stored: Stored) -> None:
    """Fails when "settled" is kept as a state: reopened and merged, it would never be tagged."""
    proposals = stored.store.proposals
    await proposals.settle(FIRST, 5, merged=False)
    assert await proposals.settled(FIRST, {5: False}) == {5}

    assert await proposals.settled(FIRST, {5: True}) == set()
    await proposals.settle(FIRST, 5, merged=True)
    await proposals.settle(FIRST, 5, merged=False)  # an older look that ends late
    assert await proposals.settled(FIRST, {5: True}) == {5}


async def test_the_moment_up_to_which_all_is_settled_never_goes_back(stored: Stored) -> None:
    """The short-cut writes what came last: of two replicas the slower one would undo the other."""
    proposals = stored.store.proposals
    assert await proposals.settled_until(FIRST, "main") is None
    for at in (AT, AT + timedelta(hours=1), AT - timedelta(hours=1)):
        await proposals.settle_until(FIRST, "main", at)

    assert await proposals.settled_until(FIRST, "main") == AT + timedelta(hours=1)
    assert await proposals.settled_until(FIRST, "other") is None


async def test_events_and_comments_are_kept_once_and_never_changed(stored: Stored) -> None:
    """Fails when a second copy of an event replaces the first, or proposals share a memory."""
    proposals = stored.store.proposals
    await proposals.keep(
        FIRST, 7, log=frozenset({HOLD, CommentAnswered(comment=3)}), written={9: Written("x")}
    )
    await proposals.keep(
        FIRST, 7, log=frozenset({HOLD}), written={10: Written("y", {"kind": "answer"})}
    )
    await proposals.keep(FIRST, 7, gone=[9])

    kept = frozenset({HOLD, CommentAnswered(comment=3)})
    assert await proposals.remembered(FIRST, 7) == (kept, {10: Written("y", {"kind": "answer"})})
    assert await proposals.remembered(FIRST, 8) == (frozenset(), {})
    assert await proposals.remembered(on_github(2), 7) == (frozenset(), {})


async def test_failures_alike_are_counted_and_waited_for(stored: Stored) -> None:
    """The short-cut counts every failure: a new push would have no try left."""
    proposals = stored.store.proposals

    async def fails(inputs: str, obstacle: MergeObstacle, head: str = "head") -> MergeRefusal:
        said = MergeRefusal("no", inputs, obstacle)
        await proposals.refuse(FIRST, 7, head, "base", said, (1800.0, 7200.0, None))
        kept = await proposals.refusal(FIRST, 7, head, "base")
        assert kept is not None
        return replace(kept, left=kept.left and round(kept.left, -2))

    unknown, forge = MergeObstacle.UNKNOWN, MergeObstacle.FORGE
    said = MergeRefusal("no", "a", unknown)
    assert await fails("a", unknown) == replace(said, tries=1, left=1800)
    assert await fails("a", unknown) == replace(said, tries=2, left=7200)
    assert await fails("a", unknown) == replace(said, tries=3)
    assert await fails("a", unknown) == replace(said, tries=4)
    assert (await fails("b", unknown)).tries == 1
    assert (await fails("b", unknown, "head2")).tries == 1
    assert await fails("", forge, "head2") == MergeRefusal("no", "", forge, 1, 1800)
    assert (await fails("", MergeObstacle.BASE_MOVED, "head2")).tries == 2
    assert (await fails("", forge, "head2")).left is None

    await fails("a", unknown)
    await stored.an_hour_passes()
    over = await proposals.refusal(FIRST, 7, "head", "base")
    assert over is not None
    assert over.left == 0


async def test_a_refusal_counts_for_its_head_and_base_only(stored: Stored) -> None:
    proposals = stored.store.proposals
    await proposals.refuse(FIRST, 7, "head", "base", MergeRefusal("no"))
    await proposals.refuse(FIRST, 7, "head2", "base", MergeRefusal("never", "digest"))

    assert [
        await proposals.refusal(FIRST, 7, head, base)
        for head, base in (("head2", "base"), ("head", "base"), ("head2", "base2"))
    ] == [MergeRefusal("never", "digest"), None, None]
    await proposals.forget_refusal(FIRST, 7)
    assert await proposals.refusal(FIRST, 7, "head2", "base") is None


async def test_a_refused_push_counts_for_where_the_branch_was(stored: Stored) -> None:
    proposals = stored.store.proposals
    full = ("porchbot/publish", "e")
    await proposals.refuse_push(FIRST, *full, PushRefusal("full"))
    for ref, sha in (("one", "a"), ("one", "b"), ("two", "c"), ("three", "d")):
        await proposals.refuse_push(FIRST, ref, sha, PushRefusal(f"no {sha}", 3))

    async def refused() -> list[str]:
        asked = (("one", "a"), ("one", "b"), ("two", "c"), ("three", "d"))
        found = [await proposals.push_refusal(FIRST, ref, sha) for ref, sha in asked]
        return [each.reason for each in found if each is not None]

    assert await refused() == ["no b", "no c", "no d"]
    assert await proposals.forget_push_refusals(FIRST, "one") == ("one",)
    assert await refused() == ["no c", "no d"]
    assert await proposals.forget_push_refusals(on_github(2)) == ()
    assert await refused() == ["no c", "no d"]
    assert set(await proposals.forget_push_refusals(FIRST)) == {"two", "three"}
    assert await refused() == []
    # A check that cannot be set is no push: it stays full, and a sweep tries it in vain.
    assert await proposals.push_refusal(FIRST, *full) == PushRefusal("full")
    assert await proposals.forget_push_refusals(FIRST, full[0]) == (full[0],)


async def test_proposals_of_one_commit_are_told_of_each_other(stored: Stored) -> None:
    """The short-cut tells of those at the new commit: who was left behind still says "shared". Or
    one is dropped for whom nobody is told: its own look finds no change any more."""
    proposals = stored.store.proposals
    # A list of the forge may name one twice, where pages moved between two requests.
    one = await proposals.keep_open(FIRST, 1, "one", [1, 1], "aaa")
    two = await proposals.keep_open(FIRST, 9, "two", [2], "aaa")
    again = await proposals.keep_open(FIRST, 9, "two", [2], "aaa")
    moved = await proposals.keep_open(FIRST, 1, "one", [1], "bbb")
    await proposals.keep_open(FIRST, 1, "three", [3], "bbb")
    there = await proposals.keep_open(FIRST, 1, "one", [1], "bbb")
    left = [await proposals.drop_open(FIRST, 3) for _ in range(2)]
    closed = await proposals.keep_open(FIRST, 1, "one", [], "bbb")

    assert [(set(each.now), set(each.news)) for each in (one, two, again, moved)] == [
        (set(), set()),
        ({1}, {(1, 1, "one")}),
        ({1}, set()),
        (set(), {(2, 9, "two")}),
    ]
    assert (there.now, closed.now, closed.news) == ((3,), (), frozenset())
    assert left == [{(1, 1, "one")}, set()]


async def test_proposals_of_one_package_are_told_apart_by_base_and_told_of_each_other(
    stored: Stored,
) -> None:
    """The short-cut wakes everybody at every look, or nobody when one is closed."""
    proposals = stored.store.proposals
    for number, branch in ((1, "one"), (2, "two"), (3, "three")):
        await proposals.keep_open(on_github(7), 7, branch, [number], str(number) * 40)

    first = await proposals.keep_touching(on_github(7), 1, "main", ["net/core", "net/edge"])
    second = await proposals.keep_touching(on_github(7), 2, "main", ["net/core"])
    third = await proposals.keep_touching(on_github(7), 3, "other", ["net/core"])
    again = await proposals.keep_touching(on_github(7), 2, "main", ["net/core"])
    closed = await proposals.keep_touching(on_github(7), 1, "main", [])

    assert (dict(first.also), first.news) == ({}, frozenset())
    assert (dict(second.also), second.news) == ({"net/core": (1,)}, frozenset({(7, "one")}))
    assert (dict(third.also), third.news) == ({}, frozenset())
    assert (dict(again.also), again.news) == ({"net/core": (1,)}, frozenset())
    assert (dict(closed.also), closed.news) == ({}, frozenset({(7, "two")}))

    await proposals.keep_touching(on_github(7), 1, "main", ["net/core"])
    await proposals.forget_touching(on_github(7), [2, 3])
    left = await proposals.keep_touching(on_github(7), 2, "main", ["net/core"])
    assert dict(left.also) == {}


async def test_one_more_of_many_is_news_for_nobody(stored: Stored) -> None:
    """The short-cut wakes all others of a commit and of a package for each that is opened."""
    proposals, told, shared = stored.store.proposals, [], []
    for number in range(1, 11):
        found = await proposals.keep_open(on_github(7), 7, str(number), [number], "a" * 40)
        shared.append((len(found.now), len(found.news)))
        told.append(
            len((await proposals.keep_touching(on_github(7), number, "main", ["net/core"])).news)
        )
    assert shared == [(n, n if n <= 6 else 0) for n in range(10)]
    assert told == [0, 1, 2, 3, 4, 5, 6, 0, 0, 0]

    left = []
    for number in range(10, 4, -1):
        await proposals.keep_touching(on_github(7), number, "main", [])
        left.append(len((await proposals.keep_open(on_github(7), 7, str(number), [], "")).news))
    assert left == [0, 0, 0, 6, 5, 4]


# --- sweeps ---------------------------------------------------------------------------------------


async def test_what_a_sweep_had_looked_at_is_known_to_the_next(stored: Stored) -> None:
    """The short-cut forgets what it is not given: what waits for a day would be woken at once."""
    sweeps = stored.store.sweeps
    assert await sweeps.known(FIRST) == {}
    await sweeps.keep(FIRST, {"a": "1", "b": "1", "c": "1"}, [])
    await sweeps.keep(FIRST, {"b": "2"}, ["a", "b"])
    await sweeps.keep(on_github(2), {"d": "1"}, [])

    known = await sweeps.known(FIRST)
    assert {key: each.state for key, each in known.items()} == {"a": "1", "b": "2"}
    assert all(0 <= each.age < 60 for each in known.values())
    await sweeps.keep(FIRST, {}, ["b"])
    assert set(await sweeps.known(FIRST)) == {"b"}
    keys = [ProposalKey(FIRST, 1, "e"), ProposalKey(FIRST, 1, "f")]
    await sweeps.keep(FIRST, {str(key): "1" for key in keys}, ["b"])
    await sweeps.forget(keys[0])
    assert set(await sweeps.known(FIRST)) == {"b", str(keys[1])}
    await sweeps.forget()
    assert (await sweeps.known(FIRST), await sweeps.known(on_github(2))) == ({}, {})


async def test_sweeps_know_what_proposals_change_and_who_was_approved(stored: Stored) -> None:
    proposals, sweeps = stored.store.proposals, stored.store.sweeps
    for number, branch, packages in ((1, "one", ["a", "b"]), (2, "two", ["b"]), (3, "three", [])):
        await proposals.keep_open(FIRST, 9, branch, [number], str(number))
        await proposals.keep_touching(FIRST, number, "main", packages)
    approval = Approval(
        person="p", at=AT, comment=5, head=Sha("h"), trees="t", digest="d", base_ref="main"
    )
    await proposals.keep(FIRST, 2, log=frozenset({approval}))
    await proposals.keep(FIRST, 3, log=frozenset({HOLD}))

    assert await sweeps.packages(FIRST) == {1: frozenset("ab"), 2: frozenset("b")}
    assert await sweeps.heads_touching(FIRST, ["a"]) == {(9, "one")}
    assert await sweeps.heads_touching(FIRST, ["b", "c"]) == {(9, "one"), (9, "two")}
    assert await sweeps.heads_touching(on_github(2), ["b"]) == frozenset()
    assert await sweeps.approved(FIRST, [1, 2, 3]) == {2}
    assert await sweeps.approved(FIRST, [1]) == frozenset()


# --- claims ---------------------------------------------------------------------------------------


async def test_what_was_seen_of_a_repository_and_when_it_was_swept(stored: Stored) -> None:
    """The short-cut is one row that each of the two overwrites."""
    sweeps = stored.store.sweeps
    one, other = FIRST, RepositoryId("gitlab", FIRST.number)
    for each in (one, other):
        await stored.store.repositories.adopt(Repository(each), datetime.now(UTC), {})
    assert await sweeps.watched("github") == {}
    seen = Watched(listed="now", shown="7 now", validator="etag", quiet=3)
    await sweeps.watch(one, seen, asked=False)
    (found,) = (await sweeps.watched("github")).values()
    assert found == seen
    await sweeps.swept(one, "2", waits=True)
    await sweeps.watch(one, replace(seen, quiet=4), asked=True)
    await sweeps.swept(other, "1", waits=False)
    await sweeps.watch(RepositoryId("github", 99), seen, asked=True)  # never served

    found = (await sweeps.watched("github"))[one]
    assert found == replace(
        seen, quiet=4, version="2", waits=True, asked=found.asked, swept=found.swept
    )
    assert 0 <= found.asked <= found.swept < 60
    await sweeps.watch(one, seen, asked=False)
    assert (await sweeps.watched("github"))[one].asked < 60
    assert set(await sweeps.watched("github")) == {one}
    assert (await sweeps.watched("gitlab"))[other].version == "1"


async def test_a_sweep_goes_on_from_where_the_last_one_was(stored: Stored) -> None:
    """The short-cut keeps one mark for all: two sweeps, or two forges, overwrite each other's."""
    sweeps = stored.store.sweeps
    assert await sweeps.mark("github", "deliveries") == {}
    await sweeps.keep_mark("github", "deliveries", {"seen": 2**60, "page": "x"})
    await sweeps.keep_mark("github", "deliveries", {"seen": 2**61})

    assert await sweeps.mark("github", "deliveries") == {"seen": 2**61}
    assert await sweeps.mark("github", "health") == {}
    assert await sweeps.mark("gitlab", "deliveries") == {}
    assert await sweeps.marks("deliveries") == {"github": {"seen": 2**61}}


async def test_what_one_look_claims_no_other_makes_meanwhile(stored: Stored) -> None:
    """The short-cut remembers in the process: the other replica says it as well."""
    claims, other = stored.store.claims, on_github(2)
    assert await claims.take(FIRST, "reply to 5")
    assert not await claims.take(FIRST, "reply to 5")
    assert await claims.take(FIRST, "reply to 6")
    assert await claims.take(other, "reply to 5")

    await claims.give_back(FIRST, "reply to 5")
    await claims.give_back(FIRST, "never taken")
    assert await claims.take(FIRST, "reply to 5")
    assert not await claims.take(FIRST, "reply to 6")
    assert await claims.take(FIRST, "reply to 6", seconds=0)

    await claims.hold(FIRST, "reply to 6")
    await claims.hold(FIRST, "never taken")
    assert await claims.take(FIRST, "never taken")

    await claims.forget()
    assert not await claims.take(FIRST, "reply to 6")
    await claims.forget(seconds=0)
    assert await claims.take(FIRST, "reply to 6")


async def test_what_one_alone_may_have_stays_theirs(stored: Stored) -> None:
    """Short-cuts refused: whoever asked first is refused as well when they ask again; it is free
    again after the seconds of another claim; another repository's place is the same."""
    claims = stored.store.claims
    assert await claims.have(FIRST, "edit 5", "one")
    assert not await claims.have(FIRST, "edit 5", "two")
    assert await claims.have(FIRST, "edit 5", "one")
    assert await claims.have(on_github(2), "edit 5", "two")
    assert await claims.holder(FIRST, "edit 5") == "one"
    assert await claims.holder(FIRST, "edit 7") == ""

    assert await claims.take(FIRST, "reply to 5")
    assert not await claims.have(FIRST, "reply to 5", "two")

    await claims.forget()
    assert not await claims.have(FIRST, "edit 5", "two")
    await claims.forget(seconds=0)
    assert await claims.have(FIRST, "edit 5", "two")

    took = await asyncio.gather(*(claims.have(FIRST, "edit 6", str(n)) for n in range(8)))
    assert sum(took) == 1


async def test_a_claim_that_is_held_stands_anew(stored: Stored) -> None:
    """Fails where a request that takes long is made a second time beside it."""
    claims = stored.store.claims
    assert await claims.take(FIRST, "reply to 5")
    await stored.an_hour_passes()
    await claims.hold(FIRST, "reply to 5")
    assert not await claims.take(FIRST, "reply to 5")


async def test_of_many_that_claim_at_once_one_has_it(stored: Stored) -> None:
    took = await asyncio.gather(*(stored.store.claims.take(FIRST, "summary") for _ in range(8)))
    assert sorted(took) == [False] * 7 + [True]


# --- renderings -----------------------------------------------------------------------------------


async def test_renderings_are_kept_by_key_up_to_a_size(stored: Stored) -> None:
    """The short-cut lets the table grow with each push."""
    renderings = stored.store.renderings
    assert await renderings.find("a") is None
    await renderings.keep("a", b"\0one")
    await renderings.keep("a", b"\0two")
    await renderings.keep("long", b"x" * (LONGEST_RENDERING + 1))
    assert await renderings.find("a") == b"\0two"
    assert await renderings.find("long") is None

    for n in range(4):
        await renderings.keep(f"b{n}", b"y" * 1000)
    await renderings.trim()
    assert await renderings.find("a") == b"\0two"
    await renderings.trim(3500)

    kept = [await renderings.find(key) is not None for key in ("a", "b0", "b1", "b2", "b3")]
    assert kept == [False, False, False, True, True]


# --- what all have in common ----------------------------------------------------------------------


async def test_the_audit_trail_keeps_its_order(stored: Stored) -> None:
    audit = stored.store.audit
    done = [("Merge", {"head": "aaa"}), ("Tag", {"head": "bbb"})]
    await audit.add("key", done)
    began = await audit.begin("key", {"head": "ccc"})
    assert await audit.begin("other", {}) > began
    await audit.add("key", [])
    await audit.add("other", done)
    await audit.add("key", [("Say", {})])

    assert await audit.forget() == 0  # nothing here is old
    found = await audit.entries("key")

    assert [entry[1:] for entry in found] == [
        ("bot", "Merge", {"head": "aaa"}),
        ("bot", "Tag", {"head": "bbb"}),
        ("bot", "Began", {"head": "ccc"}),
        ("bot", "Say", {}),
    ]
    assert [at for at, *_ in found] == sorted(at for at, *_ in found)


async def test_what_was_given_or_taken_may_be_changed_without_harm(stored: Stored) -> None:
    """The short-cut keeps what it is given: who changes it later changes what is remembered."""
    record: dict[str, JSON] = {"kind": "answer"}
    drafts, detail = {"drafts/a": "aaa"}, {"head": "aaa"}
    await stored.store.proposals.keep(FIRST, 7, written={1: Written("x", record)})
    await stored.store.repositories.adopt(REPOSITORY, AT, drafts)
    await stored.store.audit.add("key", [("Merge", detail)])
    (_, read) = await stored.store.proposals.remembered(FIRST, 7)
    for changed in (record, drafts, detail, read):
        changed.clear()

    assert await stored.store.proposals.remembered(FIRST, 7) == (
        frozenset(),
        {1: Written("x", {"kind": "answer"})},
    )
    adoption = await stored.store.repositories.adoption(FIRST)
    assert adoption is not None
    assert adoption.drafts == {"drafts/a": "aaa"}
    assert [entry[3] for entry in await stored.store.audit.entries("key")] == [{"head": "aaa"}]


async def test_what_is_no_text_is_kept_as_text(stored: Stored) -> None:
    """Fails when the database is given half characters: every look at the proposal then breaks."""
    store = stored.store
    for number in (1, 2):
        await store.proposals.keep_open(on_github(7), 7, str(number), [number], str(number) * 40)
    await store.proposals.keep_touching(on_github(7), 1, "main", [ODD])
    touching = await store.proposals.keep_touching(on_github(7), 2, "main", [ODD])
    assert dict(touching.also) == {"net/c?re?": (1,)}

    hold = replace(HOLD, reason=ODD)
    await store.proposals.keep(
        FIRST, 7, log=frozenset({hold}), written={1: Written(ODD, {"a": [ODD], ODD: 1})}
    )
    assert await store.proposals.remembered(FIRST, 7) == (
        frozenset({replace(HOLD, reason="net/c?re?")}),
        {1: Written("net/c?re?", {"a": ["net/c?re?"], "net/c?re?": 1})},
    )
    adopted = await store.repositories.adopt(
        REPOSITORY, AT, {ODD: "a"}, {ODD: "c"}, heads={ODD: "b"}
    )
    assert (adopted.drafts, adopted.tags, adopted.heads) == (
        {"net/c?re?": "a"},
        {"net/c?re?": "c"},
        {"net/c?re?": "b"},
    )
    await store.audit.add("key", [("Say", {"head_ref": ODD})])
    assert (await store.audit.entries("key"))[0][3] == {"head_ref": "net/c?re?"}
    await store.queue.wake(PullKey(FIRST, 7), Hint(heads=frozenset({ODD})))
    (taken,) = await stored.take_all()
    assert taken.hint == Hint(heads=frozenset({"net/c?re?"}))
    await store.queue.failed(taken, ODD, 60)
    assert [each.error for each in await store.queue.failing()] == ["net/c?re?"]


async def test_the_same_number_at_two_forges_is_two_repositories(stored: Stored) -> None:
    """Fails when anything is kept by the number alone."""
    store = stored.store
    here, there = on_github(42), RepositoryId("gitlab", 42)
    for each, name in ((here, "acme/blueprints"), (there, "acme/others")):
        await store.repositories.adopt(Repository(id=each, full_name=name), AT, {name: "draft"})
    await store.revisions.keep_revision(there, "net/core", 1, Revision("aaa"))
    await store.revisions.saw_tip(there, "main", "aaa")
    await store.revisions.ask_publish(there, "main", 7)
    await store.proposals.keep(there, 7, log=frozenset({HOLD}), written={9: Written("x")})
    await store.proposals.settle(there, 7, merged=True)
    await store.proposals.settle_until(there, "main", AT)
    await store.proposals.refuse(there, 7, "head", "base", MergeRefusal("no"))
    await store.proposals.refuse_push(there, "ref", "sha", PushRefusal("no", 3))
    await store.proposals.keep_open(there, 42, "change", [7], "aaa")
    await store.proposals.keep_touching(there, 7, "main", ["net/core"])
    about = Delivered(
        guid="1", event="push", action="", headers={}, body=b"", forge="gitlab", repository=there
    )
    await store.deliveries.add(about, {PullKey(there, 7): NOTHING})

    async def known(id_: RepositoryId) -> tuple[object, ...]:
        adoption = await store.repositories.adoption(id_)
        return (
            adoption and dict(adoption.drafts),
            await store.revisions.revisions(id_, ["net/core"]),
            [each async for each in store.revisions.all_revisions(id_)],
            await store.revisions.tips(id_, "main"),
            await store.revisions.asked_publish(id_, "main"),
            await store.proposals.remembered(id_, 7),
            await store.proposals.settled(id_, {7: True}),
            await store.proposals.settled_until(id_, "main"),
            await store.proposals.refusal(id_, 7, "head", "base"),
            await store.proposals.push_refusal(id_, "ref", "sha"),
            (await store.proposals.keep_open(id_, 42, "other", [8], "aaa")).now,
            dict((await store.proposals.keep_touching(id_, 8, "main", ["net/core"])).also),
            len(await store.deliveries.since(id_, datetime(2020, 1, 1, tzinfo=UTC))),
        )

    nothing: tuple[object, ...] = (
        {},
        [],
        (),
        (),
        (frozenset(), {}),
        set(),
        None,
        None,
        None,
        (),
        {},
        0,
    )
    assert await known(here) == ({"acme/blueprints": "draft"}, *nothing)
    for one, other in zip(await known(there), ({"acme/others": "draft"}, *nothing), strict=True):
        assert one != other or one == {"acme/others": "draft"}
    (taken,) = await stored.take_all()
    assert taken.key == "gitlab:42:pull:7"
    await store.queue.failed(taken, "no adapter", 60)
    assert [f.repository for f in await store.queue.failing()] == ["acme/others"]


# --- what people are shown ------------------------------------------------------------------------


def _wait(gate: str, actual: str = "so") -> Wait:
    return Wait(gate=gate, reason=gate.split()[0], actual=actual, wanted="else", who="ann")


async def _waiting(stored: Stored) -> dict[tuple[str, int], list[tuple[str, str]]]:
    return {
        (each.repository, each.number): [(wait.gate, wait.actual) for _, wait in each.waits]
        for each in await stored.store.waits.page()
    }


async def test_what_proposals_wait_for_keeps_since_when(stored: Stored) -> None:
    """Short-cuts refused: since the last look; and one row a proposal, for its first gate alone."""
    waits = stored.store.waits
    await stored.store.repositories.adopt(Repository(), AT, {})
    await waits.keep(FIRST, "one", {7: [_wait("approved", "0 of 1"), _wait("check lint")]})
    await waits.keep(FIRST, "two", {9: [_wait("approved")]})
    ((at, _), _) = (await waits.page())[0].waits
    await waits.keep(FIRST, "one", {7: [_wait("valid"), _wait("approved", "0 of 2")]})

    seven, _ = await waits.page()

    assert seven.key == "one"
    assert await _waiting(stored) == {
        ("acme/blueprints", 7): [("approved", "0 of 2"), ("valid", "so")],
        ("acme/blueprints", 9): [("approved", "so")],
    }
    assert seven.waits[0][0] == at < seven.waits[1][0]
    assert await waits.of(FIRST) == await waits.page()
    assert await waits.of(on_github(2)) == ()
    assert await waits.counts() == {"approved": 2, "valid": 1}


async def test_what_variants_wait_for_keeps_since_when(stored: Stored) -> None:
    """Short-cuts refused: since the last look; what is over stays; another repository's."""
    variant_waits = stored.store.variant_waits
    await stored.store.repositories.adopt(Repository(), AT, {})
    shop = VariantWait(package="b", variant="shop", file="v.yaml", state="held", why="slow")
    edge = VariantWait(package="a", variant="edge", file="v.yaml", state="waiting", why="none")
    await variant_waits.keep(FIRST, [shop, edge, replace(edge, why="twice")])
    first = await variant_waits.of(FIRST)

    await variant_waits.keep(FIRST, [replace(shop, why="slower")])
    (still,) = await variant_waits.of(FIRST)
    await variant_waits.keep(FIRST, [replace(shop, state="waiting")])

    assert [(each.package, each.why) for each in first] == [("a", "twice"), ("b", "slow")]
    assert (still.why, still.since) == ("slower", first[1].since)
    (now,) = await variant_waits.of(FIRST)
    assert still.since is not None
    assert now.since is not None
    assert (now.state, now.since > still.since) == ("waiting", True)
    assert await variant_waits.of(on_github(2)) == ()


async def test_two_gates_of_one_name_are_one_wait(stored: Stored) -> None:
    """Short-cut refused: a row for each; a database refuses them all, and no look comes to rest.

    Two Apps may have to report a check of one name.
    """
    await stored.store.repositories.adopt(Repository(), AT, {})
    twice = [_wait("check build", "missing"), _wait("check build", "failed"), _wait("valid")]

    await stored.store.waits.keep(FIRST, "one", {7: twice, 9: twice[:1]})

    assert await _waiting(stored) == {
        ("acme/blueprints", 7): [("check build", "failed"), ("valid", "so")],
        ("acme/blueprints", 9): [("check build", "missing")],
    }


async def test_what_is_merged_and_waits_for_nothing_but_time_is_known(stored: Stored) -> None:
    """Short-cut refused: every merged proposal that lacks a tag; after some years, thousands."""
    waits = stored.store.waits
    await stored.store.repositories.adopt(Repository(), AT, {})
    given = {
        1: [_wait("freeze"), _wait("check scan me")],
        2: [_wait("freeze"), _wait("approved")],
        3: [_wait("window")],
    }
    await waits.keep(FIRST, "one", given, [1, 2])
    await waits.keep(FIRST, "two", {4: [_wait("window")]}, [4])
    kinds = {"freeze", "window", "check"}

    assert await waits.parked(FIRST, kinds) == (
        Parked(1, "one", frozenset({"freeze", "check scan me"})),
        Parked(4, "two", frozenset({"window"})),
    )
    assert [each.number for each in await waits.parked(FIRST, kinds, "two")] == [4]
    assert await waits.parked(FIRST, {"freeze"}) == ()
    assert await waits.parked(on_github(2), kinds) == ()


async def test_waits_end(stored: Stored) -> None:
    """Short-cut refused: rows of proposals that were closed while nobody looked stay for ever."""
    waits = stored.store.waits
    await stored.store.repositories.adopt(Repository(), AT, {})
    for number, key in enumerate("abc", 7):
        merged = [number] if key == "c" else []
        await waits.keep(FIRST, key, {number: [_wait("approved")]}, merged)

    await waits.keep(FIRST, "a", {})  # looked at: nothing is missing
    await waits.keep(FIRST, "c", {})  # not judged: its log is late, its fork is gone
    assert list(await _waiting(stored)) == [("acme/blueprints", 8), ("acme/blueprints", 9)]
    await waits.forget(FIRST, [])  # closed, and not looked at; the merged one waits to be tagged
    assert list(await _waiting(stored)) == [("acme/blueprints", 9)]
    await waits.keep(FIRST, "of a fork that is gone", {9: [_wait("freeze")]}, [9])
    assert [each.key for each in await waits.page()] == ["of a fork that is gone"]
    await waits.keep(FIRST, "elsewhere by now", {}, [9])  # judged: nothing is missing
    assert await _waiting(stored) == {}
    await waits.keep(FIRST, "c", {9: [_wait("approved")]}, [9])
    await stored.store.repositories.lost(FIRST)
    assert (await _waiting(stored), await waits.counts()) == ({}, {})


async def test_waits_come_in_pages(stored: Stored) -> None:
    waits = stored.store.waits
    await stored.store.repositories.adopt(Repository(), AT, {})
    await stored.store.repositories.adopt(Repository(on_github(2), "acme/other"), AT, {})
    for number in range(1, 4):
        await waits.keep(FIRST, str(number), {number: [_wait("approved"), _wait("valid")]})
    await waits.keep(on_github(2), "x", {1: [_wait("approved")]})

    first = await waits.page(most=2)
    second = await waits.page(first[-1].place, most=2)

    assert [(w.repository, w.number) for w in (*first, *second)] == [
        *(("acme/blueprints", number) for number in (1, 2, 3)),
        ("acme/other", 1),
    ]
    assert await waits.page(second[-1].place, most=2) == ()


async def test_processes_tell_of_themselves(stored: Stored) -> None:
    """Short-cut refused: a row is made anew at each beat, and has then always just started."""
    replicas = stored.store.replicas
    await replicas.beat("1-a", "host", "web, work", "1.0")
    (before,) = await replicas.seen()
    await replicas.beat("2-b", "host", "work", "1.0")
    await replicas.beat("1-a", "host", "web, work", "1.0")

    one, two = await replicas.seen()
    assert (one.name, one.host, one.parts, one.version) == ("1-a", "host", "web, work", "1.0")
    assert (one.started, two.name) == (before.started, "2-b")
    assert 0 <= one.silent < 60
    await replicas.gone("1-a")
    await replicas.forget(days=1)
    assert [each.name for each in await replicas.seen()] == ["2-b"]
    await replicas.forget(days=-1)
    assert await replicas.seen() == ()
