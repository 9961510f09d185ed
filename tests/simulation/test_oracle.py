"""The oracle: independent, and each of its checks able to fail.

Longer than 400 lines: a table of the checks, and what each has to find.
"""

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.sandbox.git.objects import Ident, TagObject
from bot.sandbox.records.repository import Pull
from tests.simulation import setting
from tests.simulation.history import Simulation
from tests.simulation.manner import CALM
from tests.simulation.setting import BOT

HERE = Path(__file__).parent
OF_VARIANTS = (
    "oracle_variants",
    "oracle_dashboard",
    "ending_impact",
    "ending_variants",
    "evidence_variants",
    "variants",
)
OF_CATALOG = ("oracle_catalog", "catalog")
OF_BEYOND = ("beyond", "oracle_beyond")
OF_BOXES = ("boxes", "oracle_boxes", "ending_boxes")
OF_ALL = ("judges", "oracle", "shut", "words", "ending", "evidence", "diary", "setting")
JUDGES = (*OF_ALL, *OF_VARIANTS, *OF_CATALOG, *OF_BOXES, *OF_BEYOND)
"""Modules that judge: what they import is what they share with the bot."""


def imported(module: str) -> set[str]:
    tree = ast.parse((HERE / f"{module}.py").read_text())
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


@pytest.mark.parametrize("module", JUDGES)
def test_what_judges_shares_nothing_with_the_bot(module: str) -> None:
    """Fails when the oracle asks the bot's own code, and so is wrong wherever the bot is.

    Of the forge it names the records that it is told of, and nothing else.
    """
    ours = {name for name in imported(module) if name.startswith(("bot.", "lifecycle", "cadlib"))}
    assert {name for name in ours if not name.startswith("bot.sandbox.records.")} == set()
    near = {n.split(".")[2] for n in imported(module) if n.startswith("tests.simulation.")}
    assert near <= {*JUDGES}


class OracleFixture:
    """A forge with people, where somebody acts as if they were the bot."""

    variants = apart = False
    how = CALM

    def __init__(self) -> None:
        self.simulation = found = Simulation(
            "7", how=self.how, variants=self.variants, apart=self.apart
        )
        self.hands = found.hands
        found.loop.advance(100.0)

    def propose(self, value: bytes = b"# stamped\nvalue: v9\n", who: str = "bob") -> Pull:
        """Open a pull request that changes one package."""
        with self.simulation.forge.change():
            branch = self.hands.fresh("w")
            files: dict[str, bytes | None] = {"app/a.yaml": value}
            self.hands.commit(who, branch, files, "x", onto=self.hands.tip("main"))
            pull = self.hands.open(who, branch, "main", "Change")
        self.rest()
        return pull

    def approve(self, pull: Pull, who: str = "cat") -> None:
        """Approve it by a comment."""
        with self.simulation.forge.change():
            self.hands.say(who, pull, "/approve", "approve")
        self.rest()

    def rest(self) -> None:
        """The bot looks after this."""
        self.simulation.loop.advance(self.simulation.loop.now + 10)
        for _ in range(8):
            with self.simulation.forge.change():
                pass
        self.simulation.diary.rests()

    def merge(self, pull: Pull) -> None:
        """Merge as the bot."""
        user = self.simulation.forge.us
        with self.simulation.forge.change():
            self.hands.state.pulls.merge(pull, user)

    def tag(self, pull: Pull, name: str = "app/v1") -> None:
        """Tag its merge as the bot."""
        state, repo, user = self.hands.state, self.hands.repo, self.simulation.forge.us
        git = state.git(repo)
        who = Ident(user.name, user.email, state.now())
        target = pull.merge_commit_sha or ""
        made = git.write_tag(
            TagObject(name=name, target=target, kind="commit", tagger=who, message="m\n")
        )
        with self.simulation.forge.change():
            state.update_ref(repo, f"refs/tags/{name}", made, user)

    def judged(self) -> set[str]:
        """The checks that were violated."""
        return {violation.check for violation in self.simulation.oracle.judge()}


def proper(scene: OracleFixture) -> None:
    pull = scene.propose()
    scene.approve(pull)
    scene.merge(pull)
    scene.tag(pull)


def unapproved(scene: OracleFixture) -> None:
    pull = scene.propose()
    scene.merge(pull)
    scene.tag(pull)


def by_the_author(scene: OracleFixture) -> None:
    pull = scene.propose()
    scene.approve(pull, "bob")
    scene.merge(pull)
    scene.tag(pull)


def by_a_reader(scene: OracleFixture) -> None:
    pull = scene.propose()
    scene.approve(pull, "rob")
    scene.merge(pull)
    scene.tag(pull)


def another_tree(scene: OracleFixture) -> None:
    pull = scene.propose()
    scene.approve(pull)
    with scene.simulation.forge.change():
        scene.hands.commit("dan", pull.head_ref, {"app/b.yaml": b"# stamped\nx: 1\n"}, "more")
    scene.rest()
    scene.merge(pull)
    scene.tag(pull)


def edited(scene: OracleFixture) -> None:
    pull = scene.propose()
    scene.approve(pull)
    with scene.simulation.forge.change():
        scene.hands.edit("eve", pull.comments[-1], "/approve!")
    scene.rest()
    scene.merge(pull)
    scene.tag(pull)


def other_base(scene: OracleFixture) -> None:
    pull = scene.propose()
    scene.approve(pull)
    state = scene.hands.state
    for base in (setting.RELEASE, setting.MAIN):
        with scene.simulation.forge.change():
            state.pulls.edit(pull, scene.hands.user("eve"), base=base)
    scene.rest()
    scene.merge(pull)
    scene.tag(pull)


def objected(scene: OracleFixture) -> None:
    pull = scene.propose()
    scene.approve(pull)
    with scene.simulation.forge.change():
        scene.hands.review("dan", pull, "REQUEST_CHANGES", "no")
    scene.rest()
    scene.merge(pull)


def held(scene: OracleFixture) -> None:
    pull = scene.propose()
    scene.approve(pull)
    with scene.simulation.forge.change():
        scene.hands.say("dan", pull, "/hold", "hold")
    scene.rest()
    scene.merge(pull)


def released(scene: OracleFixture) -> None:
    """What lifts a hold may have been read, however short a time ago."""
    pull = scene.propose()
    scene.approve(pull)
    with scene.simulation.forge.change():
        scene.hands.say("dan", pull, "/hold", "hold")
    scene.rest()
    with scene.simulation.forge.change():
        scene.hands.say("dan", pull, "/unhold", "unhold")
    scene.merge(pull)


def other_rules(scene: OracleFixture) -> None:
    pull = scene.propose()
    scene.approve(pull)
    with scene.simulation.forge.change():
        rules = setting.RulesText(judges=True).text
        scene.hands.commit("ann", "main", {setting.CONFIG: rules}, "rules")
    scene.rest()
    scene.merge(pull)
    scene.tag(pull)


def invalid(scene: OracleFixture) -> None:
    with scene.simulation.forge.change():
        rules = setting.RulesText(judges=True).text
        scene.hands.commit("ann", "main", {setting.CONFIG: rules}, "rules")
    pull = scene.propose(b"# stamped\nstate: bad\n")
    scene.approve(pull)
    scene.merge(pull)
    scene.tag(pull)


def twice(scene: OracleFixture) -> None:
    proper(scene)
    pull = scene.hands.repo.pulls[1]
    scene.tag(pull, "app/v2")


def too_high(scene: OracleFixture) -> None:
    pull = scene.propose()
    scene.approve(pull)
    scene.merge(pull)
    scene.tag(pull, "app/v3")


def listed_before(scene: OracleFixture) -> None:
    """A number that the ledger lists stays used, also where nobody approved the entry."""
    entry = b"version: 1\nrevisions:\n  2: {state: withdrawn, reason: x}\n"
    with scene.simulation.forge.change():
        scene.hands.commit("eve", "main", {".porchbot/ledger/app.yaml": entry}, "smuggled in")
    scene.rest()
    too_high(scene)


def elsewhere(scene: OracleFixture) -> None:
    pull = scene.propose()
    scene.approve(pull)
    scene.merge(pull)
    scene.tag(pull, "net/core/v1")


def moved_over(scene: OracleFixture) -> None:
    pull = scene.propose()
    state, user = scene.hands.state, scene.simulation.forge.us
    base = scene.hands.tip("main")
    with scene.simulation.forge.change():
        state.update_ref(scene.hands.repo, f"refs/heads/{pull.head_ref}", base, user)


def deleted(scene: OracleFixture) -> None:
    pull = scene.propose()
    state, user = scene.hands.state, scene.simulation.forge.us
    with scene.simulation.forge.change():
        state.update_ref(scene.hands.repo, f"refs/heads/{pull.head_ref}", "0" * 40, user)


def said_twice(scene: OracleFixture) -> None:
    pull = scene.propose()
    scene.approve(pull)
    number = pull.comments[-1].id
    record = f'{{"answered":[{number}],"events":[],"kind":"answer"}}'
    for _ in range(2):
        with scene.simulation.forge.change():
            text = f"Approved.\n\n<!-- porchbot:record {record} {'0' * 64} -->"
            scene.hands.say(BOT, pull, text)


def told_twice(scene: OracleFixture) -> None:
    pull = scene.propose()
    events = '{"kind":"noticed","occasion":"tests failed"}'
    for _ in range(2):
        with scene.simulation.forge.change():
            record = f'{{"answered":[],"events":[{events}],"kind":"notice"}}'
            scene.hands.say(BOT, pull, f"News.\n\n<!-- porchbot:record {record} {'0' * 64} -->")


def without_a_kptfile(scene: OracleFixture) -> None:
    """What is left of a folder when its package is removed was approved with the rest."""
    with scene.simulation.forge.change():
        files: dict[str, bytes | None] = {"net/core/a.yaml": b"# stamped\nx: 1\n"}
        files |= {"app/Kptfile": None, "app/a.yaml": b"# stamped\ny: 1\n"}
        scene.hands.commit("bob", "w", files, "x", onto=scene.hands.tip("main"))
        pull = scene.hands.open("bob", "w", "main", "Change")
    scene.rest()
    scene.approve(pull)
    scene.merge(pull)
    scene.tag(pull, "net/core/v1")


def held_and_deleted(scene: OracleFixture, *, obeyed: bool = False) -> None:
    """Whoever deletes what was not read yet takes it back."""
    pull = scene.propose()
    scene.approve(pull)
    talk, us = scene.hands.state.talk, scene.simulation.forge.us
    with scene.simulation.forge.change():
        said = scene.hands.say("dan", pull, "/hold", "hold")
    scene.rest()
    with scene.simulation.forge.change():
        if obeyed:
            talk.react(said, us, "rocket")
        scene.hands.delete("eve", said)
    scene.rest()
    scene.merge(pull)


def held_and_obeyed(scene: OracleFixture) -> None:
    held_and_deleted(scene, obeyed=True)


def made_another(scene: OracleFixture) -> None:
    pull = scene.propose()
    scene.approve(pull)
    record = f'{{"answered":[{pull.comments[-1].id}],"events":[],"kind":"answer"}}'
    with scene.simulation.forge.change():
        scene.hands.say(BOT, pull, f"Approved.\n\n<!-- porchbot:record {record} {'0' * 64} -->")
    with scene.simulation.forge.change():
        scene.hands.edit(BOT, pull.comments[-1], "<!-- porchbot:summary porchbot -->\nall is well")


def called_gone(scene: OracleFixture) -> None:
    proper(scene)
    gone = "<!-- porchbot:summary porchbot -->\n### Published, but the tag is gone: app v1"
    with scene.simulation.forge.change():
        scene.hands.say(BOT, scene.hands.repo.pulls[1], gone)


def sent_back_again(scene: OracleFixture) -> None:
    pull = scene.propose()
    with scene.simulation.forge.change():
        scene.hands.say("dan", pull, "/reject", "reject")
    number, pulls = pull.comments[-1].id, scene.hands.state.pulls
    record = f'{{"answered":[{number}],"events":[],"kind":"answer"}}'
    us, dan = scene.simulation.forge.us, scene.hands.user("dan")
    with scene.simulation.forge.change():
        pulls.set_draft(pull, us, True)
        scene.hands.say(BOT, pull, f"So it is.\n\n<!-- porchbot:record {record} {'0' * 64} -->")
    assert scene.judged() == set()
    with scene.simulation.forge.change():
        pulls.set_draft(pull, dan, False)
        pulls.set_draft(pull, us, True)


def straight_in_before(scene: OracleFixture) -> None:
    """What a proposal shows may stand in the base when it is merged, and be in no revision."""
    change: dict[str, bytes | None] = {"app/a.yaml": b"# stamped\nx: 1\n"}
    with scene.simulation.forge.change():
        more: dict[str, bytes | None] = {"net/core/a.yaml": b"# stamped\nx: 1\n"}
        scene.hands.commit("bob", "w", change | more, "x", onto=scene.hands.tip("main"))
        pull = scene.hands.open("bob", "w", "main", "Change")
        scene.hands.commit("ann", "main", change, "straight in")
    scene.rest()
    scene.approve(pull)
    scene.merge(pull)
    scene.tag(pull)
    scene.tag(pull, "net/core/v1")


def objected_in_another(scene: OracleFixture) -> None:
    """The forge calls merged whatever came with another's branch, which people approved."""
    pull = scene.propose()
    with scene.simulation.forge.change():
        scene.hands.review("dan", pull, "REQUEST_CHANGES", "no")
        more: dict[str, bytes | None] = {"app/b.yaml": b"# stamped\nx: 2\n"}
        scene.hands.commit("bob", "more", more, "more", onto=pull.head_sha)
        other = scene.hands.open("bob", "more", "main", "Change more")
    scene.rest()
    scene.approve(other)
    scene.merge(other)
    assert pull.merged
    scene.tag(other)


DEEDS: list[tuple[Callable[[OracleFixture], None], set[str]]] = [
    (proper, set()),
    (unapproved, {"approved"}),
    (by_the_author, {"approved"}),
    (by_a_reader, {"approved"}),
    (another_tree, {"approved"}),
    (edited, {"approved"}),
    (other_base, {"approved"}),
    (other_rules, {"approved"}),
    (objected, {"no objection"}),
    (objected_in_another, set()),
    (held, {"no objection"}),
    (released, set()),
    (invalid, {"rendered and valid"}),
    (twice, {"once"}),
    (too_high, {"next number"}),
    (listed_before, set()),
    (elsewhere, {"a merge"}),
    (moved_over, {"nothing lost"}),
    (deleted, {"nothing lost"}),
    (said_twice, {"said once"}),
    (told_twice, {"said once"}),
    (without_a_kptfile, set()),
    (straight_in_before, set()),
    (held_and_deleted, set()),
    (held_and_obeyed, {"no objection"}),
    (made_another, {"answers stay"}),
    (called_gone, {"reasons"}),
    (sent_back_again, {"obeyed once"}),
]


@pytest.mark.parametrize(("deed", "violated"), DEEDS, ids=lambda d: getattr(d, "__name__", ""))
def test_each_check_sees_what_it_is_there_for(
    deed: Callable[[OracleFixture], None], violated: set[str]
) -> None:
    """Fails on an oracle that finds nothing, or that finds fault with what is proper."""
    scene = OracleFixture()
    with scene.simulation.happening():
        deed(scene)
    assert scene.judged() == violated


def test_a_reaction_without_an_answer_is_seen() -> None:
    """Fails on an oracle that never asks which of them came first."""
    scene = OracleFixture()
    with scene.simulation.happening():
        pull = scene.propose()
        scene.approve(pull)
        words = scene.simulation.words
        found = [check for check, _ in words.unspoken([pull.comments[-1].id])]
        said_twice(scene)
        scene.judged()
        answered = scene.hands.repo.pulls[2].comments[0].id
    assert found == ["answer first"]
    assert not [*words.unspoken([answered])]
