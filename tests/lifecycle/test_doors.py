"""Every action, role and door: one rule decides, wherever somebody asks.

Doors that commands come in by are comments (of issues, and texts of reviews) and buttons of
checks; approvals come in by reviews as well. Labels, checkboxes, pages and the command line give no
commands, which is tried in `tests/stories/test_labels.py` and `test_doors.py`,
`tests/bot/http/test_doors.py` and, command by command, `tests/stories/test_doors_terminal.py`;
and what is not read can let nobody in, which `test_rights_are_asked_in_one_place` holds.
"""

import ast
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from lifecycle import memory
from lifecycle.access import APPROVING, AccessAction, Person, Role, UserSource
from lifecycle.actions import Reply
from lifecycle.approvals import approvals_of
from lifecycle.commands.answers import answer
from lifecycle.commands.table import TABLE
from lifecycle.facts.conversation import Review, ReviewState
from lifecycle.facts.proposal import Proposal
from lifecycle.policy import DEFAULTS, AccessRule, Policy
from tests.lifecycle.commands.test_table import NEEDED, RECORDED
from tests.lifecycle.samples import CORE, HEAD, PROPOSAL, changed, facts, said
from tests.lifecycle.settling import settled
from tests.lifecycle.test_rights import EXPECTED, LETTERS

TOP = Path(__file__).resolve().parents[2]
ANN = Person(11, "ann", False)
ONLY_ANN = AccessRule(sources=(UserSource("ann"),))
OTHERS = AccessRule(sources=(UserSource("bob"),))
ASKING = {row.word for row in TABLE.rows if row.folders}
APPROVERS = {row.word for row in TABLE.rows if row.action in APPROVING} - ASKING
"""Words of actions that an author may not do."""


def ruled(rule: AccessRule) -> Policy:
    """A configuration with one rule for everything."""
    return Policy(approve=rule, configure=rule, access=dict.fromkeys(AccessAction, rule))


def carried_out(door: str, word: str, made: Proposal) -> bool:
    """Whether a command is, that somebody gives by a door."""
    body = f"/{word}{NEEDED.get(word, '')}"
    asked = replace(said(ANN, body, minutes=2), button=door == "button")
    made = changed(made, **{"comments" if door == "comment" else "pressed": (asked,)})
    found = answer(facts(made), made, memory.read(made), RECORDED)
    return any("Carried out: " in each.body for each in found.actions if isinstance(each, Reply))


def standing(role: Role, policy: Policy, *, author: bool) -> Proposal:
    """A proposal that Ann has something to do with."""
    authors = frozenset({"author", "ann"} if author else {"author"})
    return changed(PROPOSAL, roles={"ann": role}, authors=authors, policy=policy)


def walk() -> Iterator[tuple[str, str, Role, bool]]:
    for door in ("comment", "button"):
        for word in TABLE.words:
            for role in Role:
                for author in (False, True):
                    yield door, word, role, author


def test_every_action_role_and_door() -> None:
    """Short-cut refused: a door with a right of its own, such as "whoever can press a button"."""
    wrong = []
    for door, word, role, author in walk():
        letters = EXPECTED[word][0 if author and word not in {"unhold", *ASKING} else 1]
        expected = {
            "as the defaults have it": (Policy(), role in {LETTERS[each] for each in letters}),
            "where the rules name this person": (
                ruled(ONLY_ANN),
                role >= Role.READ and not (author and word in APPROVERS),
            ),
            "where the rules name somebody else": (ruled(OTHERS), False),
        }
        for what, (policy, may) in expected.items():
            if carried_out(door, word, standing(role, policy, author=author)) is not may:
                wrong.append((door, word, str(role), author, what))
    assert wrong == []


@pytest.mark.parametrize("author", [False, True], ids=["other", "author"])
@pytest.mark.parametrize("role", Role, ids=str)
def test_a_review_counts_for_those_whose_command_counts(role: Role, author: bool) -> None:
    """Short-cut refused: the forge let them review, so it counts."""
    for policy in (Policy(), ruled(ONLY_ANN), ruled(OTHERS)):
        made = standing(role, policy, author=author)
        review = Review(
            id=3,
            author=ANN,
            state=ReviewState.APPROVED,
            head=HEAD,
            trees=made.content.head_trees,
            at=said(ANN, "", minutes=2).at,
            head_at=made.times.head_at,
        )
        rested = settled(facts(changed(made, reviews=(review,)))).proposals[0]
        counted = approvals_of(rested, policy, memory.read(rested)).counted

        assert bool(counted) is carried_out("comment", "approve", made)


def test_a_new_package_is_registered_by_whoever_may_by_each_door() -> None:
    """Short-cut refused: one of the doors asks who may approve, and not who may register."""
    new = (replace(CORE, origin="", base=""),)
    wrong = []
    for rule, role in product((ONLY_ANN, OTHERS), Role):
        policy = Policy(access={AccessAction.REGISTER: rule})
        made = changed(standing(role, policy, author=False), touched=new)
        review = Review(
            id=3,
            author=ANN,
            state=ReviewState.APPROVED,
            head=HEAD,
            trees=made.content.head_trees,
            at=said(ANN, "", minutes=2).at,
            head_at=made.times.head_at,
        )
        asked = said(ANN, "/approve", minutes=2)
        doors = {
            "review": changed(made, reviews=(review,)),
            "comment": changed(made, comments=(asked,)),
            "button": changed(made, pressed=(replace(asked, button=True),)),
        }
        for door, given in doors.items():
            rested = settled(facts(given)).proposals[0]
            needs = approvals_of(rested, policy, memory.read(rested)).needs
            counted = {need.action: need.counted for need in needs}
            may = {
                AccessAction.APPROVE: role >= Role.WRITE,
                AccessAction.REGISTER: rule is ONLY_ANN and role >= Role.READ,
            }
            found = {action: "ann" in counted[action] for action in may}
            if found != may:
                wrong.append((door, str(role), rule is ONLY_ANN, found))
    assert wrong == []


def test_every_action_has_its_rule() -> None:
    """Fails when an action is added that nobody can be let to, or everybody."""
    for action in AccessAction:
        rule = Policy().rule(action)
        assert rule.sources
        assert action in DEFAULTS or rule.require
    assert {row.action for row in TABLE.rows} <= set(AccessAction)


_ASKS = {
    "bot/config_access.py": "spells the roles",
    "bot/forges/github/forge.py": "nobody's role, where the forge knows no such collaborator",
    "bot/forges/github/named.py": "says in `doctor` who is named in rules and cannot write",
    "bot/forges/github/people.py": "reads the forge's answer",
    "bot/forges/gitlab/people.py": "reads the forge's answer",
    "bot/upstream/served.py": "who may read another repository, whose rules are its own",
    "lifecycle/access.py": "the sources",
    "lifecycle/approvals.py": "whose request for changes blocks: write access, as at the forge",
    "lifecycle/commands/handlers/hold.py": "whether all holds end, or one's own",
    "lifecycle/messages/rights.py": "words",
    "lifecycle/policy.py": "the rules",
    "lifecycle/rights.py": "`authorise`",
}
"""Modules that know roles, and what for."""


def test_rights_are_asked_in_one_place() -> None:
    """Short-cut refused: a handler, a page or a label that compares roles by itself."""
    found = set()
    for folder in ("bot", "lifecycle"):
        for path in (TOP / folder).rglob("*.py"):
            module = path.relative_to(TOP).as_posix()
            text = path.read_text(encoding="utf-8")
            if module.startswith("bot/sandbox/") or "Role" not in text:
                continue
            for node in ast.walk(ast.parse(text)):
                match node:
                    case (
                        ast.Attribute(value=ast.Name(id="Role"))
                        | ast.Subscript(value=ast.Name(id="Role"))
                    ):
                        found.add(module)
    assert found == set(_ASKS)
