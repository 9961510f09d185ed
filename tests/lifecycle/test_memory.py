"""What the bot remembers: a log of events, united from two copies and replayed in order.

Longer than 400 lines: a story for each thing that people may do to what is remembered.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifecycle import actions as a
from lifecycle import memory, records, replay
from lifecycle.decide import decide
from lifecycle.events import (
    Approval,
    CommentAnswered,
    CommentLoss,
    Event,
    Fall,
    Fell,
    FirstSeen,
    Held,
    Noticed,
    PackagePublished,
    Rejected,
    Reported,
    TakenBack,
    Tampered,
    Unheld,
    decode,
    encode,
)
from lifecycle.facts.conversation import Comment, Written
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal
from lifecycle.gates import judge
from lifecycle.memory import Memory
from lifecycle.names import Sha
from lifecycle.replay import compact, pack, unpack
from tests.choices import built
from tests.ids import on_github
from tests.lifecycle.samples import (
    APPROVER,
    AUTHOR,
    FACTS,
    HEAD,
    NOW,
    OUTSIDER,
    PROPOSAL,
    REPOSITORY,
    changed,
    facts,
    ours,
    said,
)
from tests.lifecycle.settling import settled

# --- the log --------------------------------------------------------------------------------------

PEOPLE = ["ann", "ben", "cleo"]
ACCOUNTS = [0, 1, 2]
SECONDS = [NOW + timedelta(seconds=n) for n in range(4)]
NUMBERS = range(1, 7)
TRUTHS = [False, True]
EVENTS = st.one_of(
    built(CommentAnswered, comment=NUMBERS),
    built(
        Approval,
        person=PEOPLE,
        account=ACCOUNTS,
        at=SECONDS,
        comment=[0, 1, 2, 3],
        review=[0, 7],
        head=[Sha("a" * 40), Sha("b" * 40)],
        trees=["t1", "t2"],
        digest=["d"],
        base_ref=["main", "other"],
    ),
    built(TakenBack, person=PEOPLE, account=ACCOUNTS, at=SECONDS, comment=NUMBERS),
    built(Fell, person=PEOPLE, account=ACCOUNTS, at=SECONDS, comment=NUMBERS, why=list(Fall)),
    built(Held, person=PEOPLE, at=SECONDS, comment=NUMBERS, reason=["", "r"]),
    built(Unheld, person=PEOPLE, at=SECONDS, comment=NUMBERS, every=TRUTHS),
    built(Rejected, person=PEOPLE, at=SECONDS, comment=NUMBERS, reason=["no"]),
    built(Noticed, occasion=["a", "b"]),
    built(
        PackagePublished,
        package=["net/core", ""],
        revision=[1, 2],
        commit=["c" * 40],
        tag=["9" * 40],
    ),
    built(Reported, merge=["c" * 40, "d" * 40]),
    built(
        FirstSeen,
        at=SECONDS,
        adopted=TRUTHS,
        comments=NUMBERS,
        reviews=NUMBERS,
        head="xy",
        mark="mn",
    ),
    built(
        Tampered,
        comment=NUMBERS,
        what=list(CommentLoss),
        edited_at=[None, *SECONDS],
        comments=NUMBERS,
        reviews=NUMBERS,
    ),
)
LOGS = st.frozensets(EVENTS, max_size=12)


def replayed(log: Sequence[Event] | frozenset[Event]) -> tuple[object, ...]:
    """All that a decision can see of a log."""
    m = Memory(frozenset(log))
    told = {e for e in m.log if isinstance(e, Noticed)}
    return (m.answered, m.words, m.holds, m.rejected, m.seen, m.reported, m.tampered, told)


@given(log=st.lists(EVENTS, max_size=10), more=st.randoms(use_true_random=False))
def test_order_and_repetition_make_no_difference(log: list[Event], more: object) -> None:
    """Fails when events are applied as they come: a copy's order would be the truth."""
    shuffled = [*log, *log]
    more.shuffle(shuffled)  # type: ignore[attr-defined] # a random.Random

    assert replayed(shuffled) == replayed(log)


@settings(max_examples=max(400, settings().max_examples))
@given(one=LOGS, other=LOGS)
def test_what_compaction_leaves_out_makes_no_difference_in_any_union(
    one: frozenset[Event], other: frozenset[Event]
) -> None:
    """Fails when an event is dropped that another copy's older one would need to be overruled."""
    whole = replayed(one | other)

    assert replayed(compact(one) | other) == whole
    assert replayed(compact(one) | compact(other)) == whole
    assert replayed(compact(one | other)) == whole
    assert compact(compact(one)) == compact(one)


def test_a_sighting_made_stricter_is_still_the_same_sighting() -> None:
    """Fails when the text of a sighting orders it: joined with another it would sort elsewhere."""
    at = NOW + timedelta(seconds=1)
    one = frozenset({FirstSeen(at=at, adopted=True, comments=1, head="y")})
    other = frozenset(
        {
            FirstSeen(at=at, adopted=False, comments=2, head="x"),
            FirstSeen(at=at, adopted=True, comments=1, head="x"),
        }
    )

    assert replayed(compact(one) | compact(other)) == replayed(one | other)
    assert replay.first_sight(one | other) == FirstSeen(at=at, adopted=True, comments=2, head="x")


@pytest.mark.parametrize("order", [1, -1])
def test_what_was_done_to_comments_is_listed_in_one_order(order: int) -> None:
    """Fails when two edits of one comment are listed as the set happens to hold them."""
    done = [
        Tampered(comment=4, what=CommentLoss.EDITED, edited_at=at, comments=2, reviews=6)
        for at in (NOW, NOW + timedelta(seconds=1), NOW + timedelta(seconds=2))
    ][::order]
    found = [Memory(frozenset(done[n:] + done[:n])).tampered for n in range(3)]

    assert {tuple(e.edited_at for e in listed) for listed in found} == {
        tuple(NOW + timedelta(seconds=n) for n in range(3))
    }


@given(log=LOGS)
def test_a_log_is_read_back_as_it_was_written(log: frozenset[Event]) -> None:
    assert unpack(pack(log)) == log
    assert frozenset(decode(encode(event)) for event in log) == log


@given(log=LOGS, late=EVENTS)
def test_an_old_copy_neither_revives_nor_drops(log: frozenset[Event], late: Event) -> None:
    """Fails when the newer copy replaces the older, or the other way round."""
    assert replayed((log | {late}) | log) == replayed(log | {late})


def hold(person: str, number: int, reason: str = "") -> Held:
    return Held(person=person, at=NOW + timedelta(minutes=number), comment=number, reason=reason)


def unhold(person: str, number: int, *, every: bool) -> Unheld:
    at = NOW + timedelta(minutes=number)
    return Unheld(person=person, at=at, comment=number, every=every)


HOLDS: dict[str, tuple[set[Event], list[str]]] = {
    "yesterday's hold does not undo today's /unhold": (
        {unhold("ann", 2, every=True), hold("ann", 1)},
        [],
    ),
    "a hold after the last /unhold stands": (
        {unhold("ann", 1, every=True), hold("ann", 2)},
        ["ann"],
    ),
    "each holds for themselves": ({hold("ben", 2), hold("ann", 1)}, ["ann", "ben"]),
    "one's own /unhold lifts nobody else's": (
        {hold("ann", 1), hold("ben", 2), unhold("ben", 3, every=False)},
        ["ann"],
    ),
    "/unhold with write access lifts all": (
        {hold("ann", 1), hold("ben", 2), unhold("cleo", 3, every=True)},
        [],
    ),
}


@pytest.mark.parametrize(("log", "holding"), HOLDS.values(), ids=HOLDS)
def test_holds(log: set[Event], holding: list[str]) -> None:
    assert [h.person for h in Memory(frozenset(log)).holds] == holding


# --- two copies -----------------------------------------------------------------------------------


def asks(proposal: Proposal, *lines: tuple[object, str]) -> Proposal:
    """The proposal after people wrote, a minute apart."""
    comments = tuple(
        said(person, words, 100 + n, minutes=n + 1)  # type: ignore[arg-type] # a Person
        for n, (person, words) in enumerate(lines)
    )
    return changed(proposal, comments=(*proposal.talk.comments, *comments))


TALK = [
    (APPROVER, "/approve"),
    (APPROVER, "/hold wait"),
    (APPROVER, "/unapprove"),
    (AUTHOR, "/unhold"),
    (APPROVER, "/hold again"),
    (OUTSIDER, "/approve"),
]


def judged(start: Facts) -> tuple[object, ...]:
    """What is decided about a proposal at rest."""
    rested = settled(start).proposals[0]
    remembered = memory.read(rested)
    judgement = judge(facts(rested), rested, remembered)
    assert judgement.approvals is not None
    return (
        remembered.words,
        remembered.holds,
        remembered.answered,
        [approval.person for approval in judgement.approvals.counted],
    )


@pytest.mark.parametrize("until", range(len(TALK) + 1))
def test_losing_the_database_changes_nothing(until: int) -> None:
    """Fails when anything is kept in the database alone."""
    rested = settled(facts(asks(PROPOSAL, *TALK[:until])))
    lost = changed(rested.proposals[0], kept=frozenset(), written={})
    start = replace(rested, proposals=(lost,))

    assert judged(start) == judged(rested)
    assert len(settled(start).proposals[0].talk.answers) == len(
        lost.talk.answers
    )  # nothing said again


@pytest.mark.parametrize("since", range(len(TALK) + 1))
def test_an_older_database_changes_nothing(since: int) -> None:
    """Fails when what the database says overrules what our comments say."""
    older = settled(facts(asks(PROPOSAL, *TALK[:since]))).proposals[0]
    rested = settled(facts(asks(PROPOSAL, *TALK)))
    restored = changed(rested.proposals[0], kept=older.talk.kept, written=older.talk.written)
    start = replace(rested, proposals=(restored,))

    assert judged(start) == judged(rested)
    assert len(settled(start).proposals[0].talk.answers) == len(
        restored.talk.answers
    )  # nothing said again


@pytest.mark.parametrize("which", range(3))
def test_deleting_a_comment_of_ours_changes_nothing_but_asks_for_one_fresh_approval(
    which: int,
) -> None:
    """Fails when a record lives in one comment only, or its loss goes unnoticed."""
    rested = settled(facts(asks(PROPOSAL, *TALK)))
    before = rested.proposals[0]
    gone = sorted(before.talk.written)[which]
    without = changed(
        before, answers=tuple(c for c in before.talk.answers if c.id != gone), missing=(gone,)
    )
    start = replace(rested, proposals=(without,))

    after = settled(start).proposals[0]

    assert judged(start)[:3] == judged(rested)[:3]
    shown = {c.id: c for c in after.talk.answers}
    assert after.talk.missing == ()
    assert gone not in shown
    bodies = [c.body for c in after.talk.answers if not c.summary]
    assert sorted(bodies) == sorted(c.body for c in before.talk.answers if not c.summary)
    assert any(c.summary for c in after.talk.answers)
    gates = {g.name: g for g in judge(facts(after), after, memory.read(after)).open}
    assert "1 comment of the bot was deleted" in gates["fresh approval"].actual


def approved() -> Facts:
    """A proposal at rest with one approval, that waits for others."""
    start = asks(PROPOSAL, (AUTHOR, "/hold"), (APPROVER, "/approve"))
    return settled(facts(start))


def edited(rested: Facts, body: str, minutes: int = 30, *, summary: bool) -> Facts:
    """Somebody edited our summary, or our answer."""
    p = rested.proposals[0]
    answers = tuple(
        replace(
            c,
            body=body,
            records=(),
            altered=True,
            edited=True,
            edited_at=NOW + timedelta(minutes=minutes),
        )
        if c.summary == summary
        else c
        for c in p.talk.answers
    )
    return replace(rested, proposals=(changed(p, answers=answers),))


@pytest.mark.parametrize("summary", [True, False])
def test_an_edited_comment_is_written_anew_and_asks_for_a_fresh_approval(summary: bool) -> None:
    """Fails when a valid MAC is believed whoever put the text there."""
    rested = approved()
    before = {c.summary: c.body for c in rested.proposals[0].talk.answers}

    after = settled(edited(rested, "All is well.", summary=summary)).proposals[0]

    assert not any(c.altered for c in after.talk.answers)
    assert {c.summary: c.body for c in after.talk.answers}[False] == before[False]
    remembered = memory.read(after)
    judgement = judge(facts(after), after, remembered)
    assert [g.name for g in judgement.open] == ["fresh approval", "no hold"]
    assert judgement.open[0].actual == "1 comment of the bot was edited by somebody else"
    assert judgement.approvals is not None
    assert [x.person for x in judgement.approvals.counted] == ["approver"]

    newer = changed(
        after, comments=(*after.talk.comments, said(APPROVER, "/approve", 5000, minutes=60))
    )
    rested = settled(replace(FACTS, proposals=(newer,)))
    judgement = judge(rested, rested.proposals[0], memory.read(rested.proposals[0]))
    assert [g.name for g in judgement.open] == ["no hold"]


def test_an_edited_answer_whose_text_was_lost_says_that_it_is_not_known() -> None:
    """Fails when the edited text is left standing, or taken for ours, without the database."""
    rested = approved()
    lost = replace(rested, proposals=(changed(rested.proposals[0], kept=frozenset(), written={}),))

    after = settled(edited(lost, "Approved by everybody.", summary=False)).proposals[0]

    edited_one, again = (c for c in after.talk.answers if not c.summary)
    assert "no longer known" in edited_one.body
    assert not edited_one.altered
    assert "approved head" in again.body  # nobody can tell any more that it had an answer
    remembered = memory.read(after)
    assert [g.name for g in judge(facts(after), after, remembered).open] == [
        "fresh approval",
        "no hold",
    ]


@pytest.mark.parametrize("known", [True, False])
def test_an_answer_that_is_edited_into_a_summary_is_written_anew(known: bool) -> None:
    """Fails when whatever carries the summary's marker is taken for a summary, and stays."""
    rested = approved()
    faked = edited(rested, "### net/core v9 is proposed", summary=False)
    p = faked.proposals[0]
    answers = tuple(replace(c, summary=True) for c in p.talk.answers)
    if not known:
        p = changed(p, written={}, kept=frozenset())
    after = settled(replace(faked, proposals=(changed(p, answers=answers),))).proposals[0]

    bodies = [c.body for c in after.talk.answers]
    assert len([c for c in after.talk.answers if c.summary and not c.altered]) == 1
    assert not any(c.altered for c in after.talk.answers)
    assert "### net/core v9 is proposed" not in bodies
    if known:
        before = next(c for c in rested.proposals[0].talk.answers if not c.summary)
        assert before.body in bodies


def test_an_answer_that_is_gone_before_the_database_knows_what_it_caused_was_given() -> None:
    """Fails when the command is answered a second time, beside the answer that is written anew."""
    rested = approved()
    p = rested.proposals[0]
    answer = next(c for c in p.talk.answers if not c.summary)
    answers = tuple(c for c in p.talk.answers if c.id != answer.id)
    crashed = changed(p, answers=answers, missing=(answer.id,), kept=frozenset())

    assert memory.read(crashed).answered == memory.read(p).answered
    after = settled(replace(rested, proposals=(crashed,))).proposals[0]
    assert len(after.talk.answers) == len(p.talk.answers)


def test_what_was_done_to_a_comment_is_kept_before_it_is_written_anew() -> None:
    """Fails when a crash after the writing leaves nobody who knows why it was."""
    kinds = [type(x) for x in decide(edited(approved(), "x", summary=False))]

    assert kinds.index(a.Keep) < kinds.index(a.Restore)


def test_the_same_deletion_found_by_an_older_database_asks_for_nothing_again() -> None:
    """Fails when a restored database sees every old deletion as a new one."""
    rested = approved()
    p = rested.proposals[0]
    answer = next(c for c in p.talk.answers if not c.summary)
    without = changed(
        p, answers=tuple(c for c in p.talk.answers if c.id != answer.id), missing=(answer.id,)
    )
    after = settled(replace(rested, proposals=(without,)))
    q = after.proposals[0]
    restored = changed(q, kept=p.talk.kept, written=p.talk.written, missing=(answer.id,))

    again = settled(replace(after, proposals=(restored,))).proposals[0]

    assert memory.read(again).tampered == memory.read(q).tampered
    assert len(again.talk.answers) == len(q.talk.answers)


@pytest.mark.parametrize("database_first", [True, False])
@pytest.mark.parametrize("at", range(9))
def test_a_crash_between_the_two_writes_loses_nothing(at: int, database_first: bool) -> None:
    """Fails when one copy is thought complete because the other one is."""
    from tests.lifecycle.settling import carry_out

    start = settled(facts(PROPOSAL))
    start = replace(start, proposals=(asks(start.proposals[0], *TALK),))
    wanted = judged(start)
    actions = decide(start)
    if database_first:
        actions.sort(key=lambda x: not isinstance(x, a.Keep))

    crashed = carry_out(start, actions[:at])

    assert judged(crashed) == wanted


# --- room -----------------------------------------------------------------------------------------


def long_lived(count: int) -> Proposal:
    """A proposal on which very many comments were answered without an answer of their own."""
    log = frozenset(CommentAnswered(comment=2_000_000_000 + 7919 * n) for n in range(count))
    return changed(PROPOSAL, kept=log)


def summary_of(found: list[a.Action]) -> a.Say:
    return next(x for x in found if isinstance(x, a.Say))


def test_four_thousand_answered_comments_fit_beside_the_text() -> None:
    """Fails when the record grows until the forge refuses the comment: nothing is said any more."""
    say = summary_of(decide(facts(long_lived(4_000))))

    assert len(unpack(say.record)) == 4_001  # and the first sight
    assert records.length(say.record) + len(say.body) < 65_400


def test_a_memory_without_room_blocks_and_says_so() -> None:
    """Fails when what has no room is left out: an approval taken back would come back."""
    rested = settled(facts(long_lived(30_000)))
    p = rested.proposals[0]

    body = next(c.body for c in p.talk.answers if c.summary)

    assert "more commands than the bot" in body
    assert judged(rested)[2] == Memory(p.talk.kept).answered
    assert decide(rested) == []


def test_the_text_gives_way_to_the_record() -> None:
    long = changed(PROPOSAL, title="t", kept=long_lived(4_000).talk.kept)
    many = tuple(
        replace(PROPOSAL.content.touched[0], package=f"{'p' * 200}/{n}") for n in range(400)
    )

    say = summary_of(decide(facts(changed(long, touched=many))))

    assert records.length(say.record) + len(say.body) <= 65_001


# --- records of before there were events ----------------------------------------------------------


def test_a_hold_and_answers_of_an_older_version_are_remembered() -> None:
    """Fails when an upgrade of the bot releases what somebody holds."""
    record = {
        "kind": "memory",
        "repository": REPOSITORY.number,
        "number": PROPOSAL.place.number,
        "handled": [3, 5],
        "hold": ["ann", "wait"],
        "withdrawn": {},
        "reviews": {},
        "rejected": "",
    }
    place = {"repository": REPOSITORY.number, "number": PROPOSAL.place.number}
    approve = {**place, "kind": "approve", "comment": 8, "person": "ben"}
    answers = (
        ours("summary", record, 900, summary=True),
        ours("approved", approve, 901),
        ours("report", {**place, "kind": "report", "merge": "c" * 40}, 902),
    )

    remembered = memory.read(changed(PROPOSAL, answers=answers))

    assert remembered.answered == {3, 5, 8}
    assert [(h.person, h.reason) for h in remembered.holds] == [("ann", "wait")]
    assert remembered.reported == {"c" * 40}
    assert remembered.words == {}


def test_records_of_another_proposal_or_repository_are_not_read() -> None:
    """Fails when a record says nothing of where it was made for."""
    log = Memory(frozenset({hold("ann", 1)}))
    made = [
        memory.log_record(log, PROPOSAL, REPOSITORY),
        memory.log_record(log, changed(PROPOSAL, number=8), REPOSITORY),
        memory.log_record(log, PROPOSAL, on_github(43)),
    ]
    key, number = b"k" * 32, PROPOSAL.place.number
    body = "\n".join(records.sign(record, key) for record in made)

    assert records.read_about(body, [key], REPOSITORY, number) == tuple(made[:1])


def test_the_length_of_a_record_is_told_without_it() -> None:
    """The short-cut counts what is said of the log alone: a record is longer than was told."""
    for log in (Memory(), Memory(frozenset({hold("ann", 1), CommentAnswered(comment=12)}))):
        record = memory.log_record(log, PROPOSAL, REPOSITORY)

        assert memory.log_length(log, PROPOSAL, REPOSITORY) == records.length(record)


def test_our_comments_that_the_database_does_not_know_are_told_to_it() -> None:
    """Fails when a crash between writing and noting the number hides a comment for ever."""
    rested = approved()
    p = rested.proposals[0]
    start = replace(rested, proposals=(changed(p, written={}),))

    (kept,) = (x for x in decide(start) if isinstance(x, a.Keep))

    assert kept.written == {
        c.id: Written() if c.summary else Written(c.body, c.records[0]) for c in p.talk.answers
    }
    assert settled(start).proposals[0].talk.written == kept.written


def test_a_comment_of_ours_without_a_record_is_left_alone() -> None:
    plain = Comment(id=77, author=APPROVER, body="hello", at=NOW, ours=True)
    rested = settled(facts(changed(PROPOSAL, answers=(plain,))))

    assert 77 not in rested.proposals[0].talk.written


def test_the_first_sight_is_recorded_once_with_the_head() -> None:
    rested = settled(facts(PROPOSAL))
    later = changed(rested.proposals[0], looked_at=NOW + timedelta(days=1))

    seen = memory.read(settled(replace(rested, proposals=(later,))).proposals[0]).seen

    assert seen == FirstSeen(at=NOW, head=str(HEAD), mark=PROPOSAL.times.head_mark)


def test_events_sort_by_the_forge_and_not_by_the_copy() -> None:
    """A review and a comment of one second: the comment that takes back counts as the later."""
    review = Approval(
        person="ann", at=NOW, review=9, head=HEAD, trees="t", digest="d", base_ref="m"
    )
    back = TakenBack(person="ann", at=NOW, comment=5)

    assert replay.words({review, back}) == {"ann": back}


def test_holds_that_are_added_come_to_what_the_whole_log_does() -> None:
    """Short-cut: what is heard of later counts as said later, and an old `/hold` stands again."""
    words: tuple[Held | Unheld, ...] = (
        Held(person="ann", at=NOW, reason="a", comment=1),
        Held(person="bob", at=NOW, reason="b", comment=2),
        Unheld(person="ann", at=NOW, comment=3, every=False),
        Held(person="ann", at=NOW, reason="again", comment=4),
    )
    for heard in permutations(words):
        found = Memory()
        for word in heard:
            assert found.holds == Memory(log=found.log).holds
            known, found = found, found.adding(word)
            assert found.without(word).holds == known.holds
        assert [each.reason for each in found.holds] == ["b", "again"]


@given(log=LOGS, later=st.lists(EVENTS, max_size=4))
def test_what_is_handed_on_is_what_the_whole_log_comes_to(
    log: frozenset[Event], later: list[Event]
) -> None:
    """Short-cut: what is known of a memory is handed on, whatever is added or taken away."""
    found = Memory(log=log)
    for event in later:
        for made in (found.adding(event), found.telling(event).without(event)):
            alone = Memory(log=made.log)
            for name in (*memory.WORKED_OUT, "holds"):
                assert getattr(made, name) == getattr(alone, name), name
        found = found.adding(event)
