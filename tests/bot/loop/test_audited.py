"""What is kept of actions: enough to know what happened, and nobody's secret."""

import json
from datetime import UTC, datetime, timedelta

from bot.loop.audited import decided, digest, values
from bot.store.hints import Hint
from lifecycle.actions import PushRender, Reply
from lifecycle.messages.forges import gitlab
from lifecycle.names import Sha
from lifecycle.terms import AS_WRITTEN
from tests.lifecycle.samples import PROPOSAL, changed, facts


def test_names_are_kept_and_words_are_not() -> None:
    """Fails when actions are kept whole: rendered Secrets and bodies would stay for ever."""
    made = PushRender(
        head_ref="change",
        head=Sha("a" * 40),
        changes={"secret.yaml": b"hunter2"},
        message="hunter2",
        asked=7,
        asker="ann",
    )

    kept = values(made)

    assert {n: kept[n] for n in ("head_ref", "head", "asked", "asker")} == {
        "head_ref": "change",
        "head": "a" * 40,
        "asked": 7,
        "asker": "ann",
    }
    assert "hunter2" not in json.dumps(kept)
    assert kept["message"] != values(Reply(number=1, body="other", record={}))["body"]


def test_a_proposal_is_written_as_at_its_forge() -> None:
    """The short-cut leaves it to whoever reads the entry, who knows the forge's name alone."""
    for terms, written in ((AS_WRITTEN, "#7"), (gitlab("porchbot", "https://x.example"), "!7")):
        found = facts(changed(PROPOSAL, number=7), terms=terms)
        (told,) = decided([Reply(7, "", {})], found, Hint())
        (stood,) = told["proposals"]
        assert (stood["number"], stood["written"]) == (7, written)


def test_a_digest_is_the_same_in_any_order() -> None:
    """Fails when sets are taken as they come: each process has an order of its own."""
    assert digest({frozenset("ab"): 1}) == digest({frozenset("ba"): 1})
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest(b"a") != digest(b"b")


def test_the_time_of_looking_is_no_part_of_the_digest() -> None:
    """The short-cut digests the facts as they are: each look would seem to have found new ones."""

    def seen(**changes: object) -> str:
        found = facts(changed(PROPOSAL, **changes))
        (told,) = decided([Reply(7, "", {})], found, Hint())
        return str(told["facts"])

    now = datetime(2030, 1, 1, tzinfo=UTC)
    assert seen(looked_at=now) == seen(looked_at=now + timedelta(hours=1)) == seen(looked_at=None)
    assert seen(looked_at=now) != seen(looked_at=now, head_at=now)
