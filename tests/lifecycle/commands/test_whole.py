"""Commands about the repository: they mean the same under every pull request."""

import pytest

from cadlib.errors import Place
from lifecycle import memory, needs
from lifecycle.access import AccessAction, Role, RoleSource, TeamSource, UserSource
from lifecycle.actions import Action, KeepFreezes, React, Reaction, Reply
from lifecycle.assess import assess
from lifecycle.commands.answers import about_repository, pending
from lifecycle.events import Frozen
from lifecycle.facts.proposal import Proposal, Rules
from lifecycle.facts.whole import Whole
from lifecycle.policy import AccessRule, BrokenPolicy, ConfigurationProblem, PathAccess, Policy
from tests.lifecycle.samples import (
    APPROVER,
    AUTHOR,
    NOW,
    OUTSIDER,
    PROPOSAL,
    changed,
    facts,
    said,
)

BROKEN = BrokenPolicy((ConfigurationProblem(Place(".porchbot.yaml", 1, ""), "a typo", "mend it"),))
APPROVERS_ONLY = AccessRule(sources=(UserSource("approver"),))
AUTHORS_ONLY = AccessRule(sources=(UserSource("author"),))
OF_FOLDERS = Policy(
    access={AccessAction.FREEZE: APPROVERS_ONLY},
    paths=(PathAccess("apps", {AccessAction.FREEZE: AUTHORS_ONLY}),),
)
PACKAGES = frozenset({"net/core", "net/edge", "apps/shop"})
DOCS = changed(PROPOSAL, touched=())
FREEZE = Frozen(person="owner", at=NOW, comment=40, path="apps", reason="fire")


def asked(proposal: Proposal, body: str, policy: Policy | BrokenPolicy, **who: object) -> Proposal:
    whole = Whole(policy=policy, packages=PACKAGES)
    comment = said(who.get("by", APPROVER), body, minutes=2)  # type: ignore[arg-type] # a person
    return changed(proposal, comments=(comment,), whole=whole)


def came(proposal: Proposal, *frozen: Frozen) -> tuple[str, list[KeepFreezes], Reaction]:
    """What is answered, what is kept of it, and the reaction."""
    actions: tuple[Action, ...] = assess(
        facts(proposal, freezes=frozenset(frozen)), proposal
    ).actions
    (text,) = (each.body for each in actions if isinstance(each, Reply))
    (reaction,) = (each.reaction for each in actions if isinstance(each, React))
    return text, [each for each in actions if isinstance(each, KeepFreezes)], reaction


@pytest.mark.parametrize("command", ["/freeze fire", "/freeze net/ fire", "/thaw"])
def test_they_work_where_no_package_is_touched(command: str) -> None:
    """The short-cut ignores them there without a word, and whoever stops all believes it."""
    text, kept, reaction = came(asked(DOCS, command, Policy()), FREEZE)

    assert len(kept) == 1
    assert reaction is Reaction.DONE
    assert "frozen" in text or "thawed" in text


def test_there_nothing_else_of_the_same_comment_is_meant_for_us() -> None:
    """Short-cuts refused: `/approve` of a pull request about documents; the freeze ignored too."""
    found = asked(DOCS, "/approve\n/freeze fire\n/frezee fire\n/freeze", Policy())

    ((_, parsed),) = pending(found, memory.read(found))
    text, kept, _ = came(found)

    assert len(parsed.commands) == 1
    assert len(kept) == 1
    assert "`/freeze` takes a reason after it" in text
    assert "`/freeze`?" in text
    assert "approve" not in text.lower().replace("@approver", "")
    alone = asked(DOCS, "/approve", Policy())
    assert pending(alone, memory.read(alone)) == ()


FOLDERS: dict[str, tuple[str, bool, bool]] = {
    # command: may `approver`, who freezes the repository; may `author`, who freezes apps
    "everything": ("/freeze fire", True, False),
    "the folder of its own rule": ("/freeze apps/ fire", False, True),
    "below it": ("/freeze apps/shop fire", False, True),
    "another folder": ("/freeze net/ fire", True, False),
    "the end of that": ("/thaw apps", False, True),
    "the end of all": ("/thaw", False, True),
}


@pytest.mark.parametrize(("command", "approver", "author"), FOLDERS.values(), ids=FOLDERS)
def test_the_right_is_asked_for_the_folder_and_not_for_the_packages_here(
    command: str, approver: bool, author: bool
) -> None:
    """The short-cut asks for both: whoever may stop a folder has to find a pull request of it."""
    for proposal in (PROPOSAL, DOCS):
        for who, may in ((APPROVER, approver), (AUTHOR, author)):
            _, kept, _ = came(asked(proposal, command, OF_FOLDERS, by=who), FREEZE)
            assert bool(kept) is may


def test_the_rules_are_the_default_branchs_alone() -> None:
    """Short-cut refused: the base's, which whoever makes a branch writes."""
    lax = Rules(policy=Policy(access={AccessAction.FREEZE: AUTHORS_ONLY}))
    strict = Policy(access={AccessAction.FREEZE: APPROVERS_ONLY})

    for person, may in ((AUTHOR, False), (APPROVER, True)):
        proposal = asked(changed(PROPOSAL, rules=lax), "/freeze fire", strict, by=person)
        assert bool(came(proposal)[1]) is may
        proposal = asked(
            changed(PROPOSAL, rules=Rules(policy=BROKEN)), "/freeze fire", strict, by=person
        )
        assert bool(came(proposal)[1]) is may


@pytest.mark.parametrize("command", ["/freeze fire", "/thaw"])
@pytest.mark.parametrize("role", [Role.WRITE, Role.MAINTAIN, Role.ADMIN])
def test_while_they_cannot_be_read_it_takes_an_administrator(command: str, role: Role) -> None:
    """The short-cut goes by the defaults: a typo lets every maintainer end what a team stopped."""
    proposal = asked(changed(PROPOSAL, roles={"approver": role}), command, BROKEN)

    text, kept, _ = came(proposal, FREEZE)

    assert bool(kept) is (role is Role.ADMIN)
    if role is not Role.ADMIN:
        assert "only people with admin access" in text
        assert "The configuration cannot be read" in text


LASTING = {"propose": True, "reject": True, "unhold": True, "render": True, "rebase": True}
LASTING |= {"hold": False, "check": False, "unapprove": False, "why": False, "help": False}


@pytest.mark.parametrize(("word", "lasting"), LASTING.items(), ids=LASTING)
def test_what_lasts_takes_an_administrator_while_the_rules_are_broken(
    word: str, lasting: bool
) -> None:
    """The short-cut goes by the defaults in place of rules that nobody can read."""
    proposal = changed(
        PROPOSAL,
        rules=Rules(policy=BROKEN),
        draft=word == "propose",
        comments=(said(APPROVER, f"/{word}", minutes=2),),
    )
    (text, *_) = [
        each.body for each in assess(facts(proposal), proposal).actions if isinstance(each, Reply)
    ] or [""]

    assert ("only an administrator" in text) is lasting
    admin = changed(proposal, roles={"approver": Role.ADMIN})
    texts = [e.body for e in assess(facts(admin), admin).actions if isinstance(e, Reply)]
    assert not any("refused: it takes" in each for each in texts)


NOT_THERE: dict[str, tuple[str, str]] = {
    "a sentence with a slash": ("CI/CD is down", "`/freeze . CI/CD is down`"),
    "a folder that is written wrongly": ("nett/core fire", "`/freeze net/core/ …`"),
    "a folder of another place": ("packages/net fire", "Name a folder with packages"),
}


@pytest.mark.parametrize(("words", "answer"), NOT_THERE.values(), ids=NOT_THERE)
def test_a_folder_without_packages_is_no_freeze(words: str, answer: str) -> None:
    """The short-cut says that `CI/CD` is frozen, and everything goes on being published."""
    text, kept, reaction = came(asked(PROPOSAL, f"/freeze {words}", Policy()))

    assert kept == []
    assert reaction is Reaction.REFUSED
    assert "there is no package in or above" in text
    assert answer in text


@pytest.mark.parametrize("folder", ["net/", "net/core", "net/core/sub", "apps/", "."])
def test_a_folder_over_or_in_a_package_is_one(folder: str) -> None:
    assert came(asked(PROPOSAL, f"/freeze {folder} fire", Policy()))[1]


@pytest.mark.parametrize(
    ("words", "meant"), [("net is on fire", "net"), ("fire in net", ""), ("net/ fire", "")]
)
def test_a_folder_without_its_slash_is_told_apart(words: str, meant: str) -> None:
    """The short-cut says that everything is frozen, and how one folder is stays to be guessed."""
    text, kept, reaction = came(asked(PROPOSAL, f"/freeze {words}", Policy()))

    assert (len(kept), reaction) == (1, Reaction.DONE)
    hint = "to freeze only `net`, comment `/thaw`, and then `/freeze net/ <reason>`."
    assert (hint in text) is bool(meant)


def test_the_teams_that_freeze_are_read_for_whoever_asks() -> None:
    """Short-cut refused: the teams of this proposal's packages alone."""
    team = AccessRule(sources=(TeamSource("net"),))
    strict = Policy(paths=(PathAccess("net", {AccessAction.FREEZE: team}),))
    proposal = asked(DOCS, "/freeze net/ fire", strict)

    assert about_repository(proposal, memory.read(proposal))
    assert needs.teams(proposal) == ("net",)
    why = changed(DOCS, comments=(said(OUTSIDER, "/why"),))
    assert not about_repository(why, memory.read(why))
    assert needs.teams(changed(why, whole=None)) == ()
    assert RoleSource(Role.MAINTAIN) in Policy().rule(AccessAction.FREEZE).sources
