"""Good facts to start from; a test changes only what it is about."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from cadlib.errors import Place
from cadlib.findings import Finding, Severity
from lifecycle import memory
from lifecycle.access import Person, Role
from lifecycle.events import Approval, content
from lifecycle.facts.checks import CheckRun, Conclusion, Status
from lifecycle.facts.conversation import Comment
from lifecycle.facts.head import Facts
from lifecycle.facts.packages import Content, Touched
from lifecycle.facts.proposal import Participants, Proposal, ProposalPlace, Rules, Times
from lifecycle.facts.verdicts import Verdict
from lifecycle.names import Sha
from lifecycle.policy import Policy
from lifecycle.tags import Tagging
from tests.ids import on_github

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
HEAD, BASE, MERGE = Sha("a" * 40), Sha("b" * 40), Sha("c" * 40)
TREE, OLD, OTHER = "1" * 40, "2" * 40, "3" * 40
REPOSITORY = on_github(42)

AUTHOR = Person(1, "author", False)
APPROVER = Person(2, "approver", False)
OUTSIDER = Person(3, "outsider", False)
BOT = Person(9, "porchbot[bot]", True)

ROLES: Mapping[str, Role] = {
    "author": Role.WRITE,
    "approver": Role.MAINTAIN,
    "outsider": Role.READ,
}

CORE = Touched(
    package="net/core",
    tree=TREE,
    head_tree=TREE,
    origin=OLD,
    base=OLD,
    tagging=Tagging(5),
    workspace="w1",
)

PROPOSAL = Proposal(
    place=ProposalPlace(
        number=7,
        title="Three racks",
        draft=False,
        merged=False,
        closed=False,
        head=HEAD,
        base_ref="main",
        base=BASE,
    ),
    times=Times(
        installed_at=NOW - timedelta(days=30),
        opened_at=NOW - timedelta(hours=1),
        looked_at=NOW,
        head_at=NOW - timedelta(minutes=5),
        head_mark="0" * 12,
        adopted_at=NOW - timedelta(days=29),
    ),
    people=Participants(author=AUTHOR, authors=frozenset({"author"}), roles=ROLES),
    content=Content(touched=(CORE,)),
    rules=Rules(policy=Policy(), digest=Policy().digest),
    verdicts=(Verdict(package="net/core"),),
)

_PARTS = {
    name: part.name
    for part in fields(Proposal)
    if is_dataclass(value := getattr(PROPOSAL, part.name))
    for name in (each.name for each in fields(value))
}
"""Name of a field of a part to the name of the part; no two parts have a field of one name."""

FACTS = Facts(
    repository="acme/blueprints",
    repository_id=REPOSITORY,
    head_ref="drafts/net/core/w1",
    head=HEAD,
    same_repository=True,
    default_ref="main",
    proposals=(PROPOSAL,),
)

BLOCKING = Finding(
    message="the port is no number",
    severity=Severity.ERROR,
    place=Place("net/core/router.yaml", 12, "spec.ports[0]"),
    function="kubeconform:v0.1",
)


def said(person: Person, body: str, number: int = 100, *, minutes: int = 0) -> Comment:
    """A comment by a person, some minutes from now."""
    return Comment(id=number, author=person, body=body, at=NOW + timedelta(minutes=minutes))


def changed(proposal: Proposal, **changes: Any) -> Proposal:
    """A proposal with other values of some fields of its parts, or other parts."""
    parts: dict[str, dict[str, Any]] = {}
    for name, value in changes.items():
        if name in _PARTS:
            parts.setdefault(_PARTS[name], {})[name] = value
    whole = {name: value for name, value in changes.items() if name not in _PARTS}
    inner = {part: replace(getattr(proposal, part), **values) for part, values in parts.items()}
    return replace(proposal, **inner, **whole)


def facts(proposal: Proposal, **changes: object) -> Facts:
    """Facts about one proposal."""
    return replace(FACTS, proposals=(proposal,), **changes)  # type: ignore[arg-type] # any field


def approved_by(proposal: Proposal, *people: str, number: int = 50) -> Proposal:
    """The proposal with an answered `/approve` of each of these people."""
    answers = list(proposal.talk.answers)
    for offset, person in enumerate(people):
        approval = Approval(
            person=person,
            head=proposal.place.head,
            trees=content(proposal.content.trees),
            digest=proposal.rules.digest,
            at=NOW,
            comment=number + offset,
            base_ref=proposal.place.base_ref,
            origin=proposal.content.origin,
        )
        record = memory.answer_record(number + offset, proposal, REPOSITORY, about=[approval])
        answers.append(ours(f"@{person} approved", record, number=number + 20 + offset))
    return changed(proposal, answers=tuple(answers))


def ours(body: str, record: Mapping[str, object], number: int, *, summary: bool = False) -> Comment:
    """A comment of the bot with a record that carries its MAC."""
    return Comment(
        id=number,
        author=BOT,
        body=body,
        at=NOW,
        ours=True,
        records=(record,),  # type: ignore[arg-type] # plain JSON
        summary=summary,
    )


def check(name: str, **changes: object) -> CheckRun:
    """A completed check run of ours."""
    run = CheckRun(
        id=1, name=name, status=Status.COMPLETED, conclusion=Conclusion.SUCCESS, completed_at=NOW
    )
    return replace(run, **changes)  # type: ignore[arg-type] # any field
