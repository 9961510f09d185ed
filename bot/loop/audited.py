"""What the audit trail keeps: who asked for which action, on which facts, and what came of it.

Bodies, titles and file contents are people's words, or a Secret's: only their digest is kept, and
of values those that are names. The shape of an entry: docs/operate/audit.md.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache
from operator import itemgetter
from typing import Any

from bot.outcomes import Report
from bot.store.hints import Hint, Press, Rerun
from lifecycle.access import Person
from lifecycle.actions import Action, Merge, PushRender, PushUpdate, React, Reply, Tag
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal
from lifecycle.numbers import review_of
from lifecycle.terms import Terms

NAMES = frozenset(
    {"number", "comment", "run", "asked", "asker", "assignee", "head", "head_ref", "base"}
    | {"base_ref", "ref", "target", "tree", "name", "status", "conclusion", "method", "draft"}
    | {"reaction", "approvers"}
)
"""Fields of actions whose value is kept as it is; any other, a new one too, as its digest."""


Detail = dict[str, Any]


def decided(actions: Sequence[Action], facts: Facts, hint: Hint) -> list[Detail]:
    """What is told of each action that was decided at once, whatever comes of it.

    Args:
        actions: What was decided.
        facts: What it was decided on.
        hint: What woke the key.
    """
    seen, stood = (
        digest(_untimed(facts)),
        [_stood(proposal, facts.terms) for proposal in facts.proposals],
    )
    published = [each for each in actions if isinstance(each, Merge | Tag)]
    approvers = tuple(dict.fromkeys(login for each in published for login in each.approvers))
    return [
        {
            "asked": asked(action, facts, hint, approvers),
            "facts": seen,
            "proposals": stood,
            "values": values(action),
        }
        for action in actions
    ]


def began(actions: Sequence[Action], told: Sequence[Detail]) -> Detail:
    """The detail of the entry that is written before actions are carried out.

    Args:
        actions: At least one.
        told: See `decided`.
    """
    askers = [one for detail in told for one in detail["asked"]]
    return {
        "asked": [one for i, one in enumerate(askers) if one not in askers[:i]],
        "facts": told[0]["facts"],
        "proposals": told[0]["proposals"],
        "actions": [
            {"action": action.KIND.name, "values": detail["values"]}
            for action, detail in zip(actions, told, strict=True)
        ],
        "outcome": "BEGAN",
    }


def ended(
    actions: Sequence[Action], told: Sequence[Detail], report: Report, began: int
) -> list[tuple[str, Detail]]:
    """The entries that are written afterwards: name and detail of each action.

    Args:
        actions: What was decided.
        told: See `decided`.
        report: What came of each.
        began: Id of the entry from before.
    """
    made = []
    for action, detail in zip(actions, told, strict=True):
        came = report.of(action)
        outcome = {"outcome": came.outcome.name} | ({"why": str(came.why)} if came.why else {})
        made.append((action.KIND.name, detail | outcome | {"began": began}))
    return made


def asked(
    action: Action, facts: Facts, hint: Hint, approvers: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Who asked for an action, as far as that is known.

    Those who approved what is published, also for what is done beside that; whoever wrote the
    comment that it answers; else those whose comments or reviews woke the key, and who pressed
    Re-run; else what woke it: one of our own looks, or an event of the forge.
    """
    said, forge = _said(facts), facts.repository_id.forge
    if approvers:
        ids = {person.login: person.id for person in said.values()}
        return [_person(forge, ids.get(login), login) for login in approvers]
    answered = {_place(_answered(action))} & said.keys()
    named = [
        _person(forge, said[kind, number].id, said[kind, number].login) | {kind: number}
        for kind, number in sorted(answered or _heard(hint) & said.keys())
    ]
    if not answered:
        named += [
            _person(forge, each.person, each.login) | {"rerun": each.delivery}
            for each in sorted(map(Rerun.of, hint.rerun))
            if each.login
        ]
        named += [
            _person(forge, each.person, each.login)
            | {"pressed": each.delivery, "button": each.button}
            for each in sorted(map(Press.of, hint.pressed))
        ]
    if named:
        return named
    return [{"by": by} for by in (sorted(hint.by) or ["rerun" if hint.rerun else "webhook"])]


_COMMENT, _REVIEW = "comment", "review"


def _person(forge: str, number: int | None, login: str) -> dict[str, Any]:
    return {"by": "person", "forge": forge, "id": number, "login": login}


def _heard(hint: Hint) -> set[tuple[str, int]]:
    return {(_COMMENT, n) for n in hint.comments} | {(_REVIEW, n) for n in hint.reviews}


def _place(comment: int) -> tuple[str, int]:
    review = review_of(comment)
    return (_REVIEW, review) if review else (_COMMENT, comment)


def _answered(action: Action) -> int:
    """Number of what an action answers, as in `lifecycle.numbers`; 0 for none."""
    match action:
        case React():
            return action.comment
        case PushRender() | PushUpdate():
            return action.asked
        case Reply():
            one = action.record.get("comment") or action.record.get("answered")
            return int(str(one[0] if isinstance(one, list) else one)) if one else 0
        case _:
            return 0


def _said(facts: Facts) -> Mapping[tuple[str, int], Person]:
    """Where something was said to who said it."""
    said: dict[tuple[str, int], Person] = {}
    for proposal in facts.proposals:
        said |= {(_COMMENT, each.id): each.author for each in proposal.talk.comments}
        said |= {(_REVIEW, each.id): each.author for each in proposal.talk.reviews}
        said |= {(_REVIEW, each.id): each.author for each in proposal.talk.review_texts}
    return said


def _stood(proposal: Proposal, terms: Terms) -> dict[str, Any]:
    """Which state of a proposal was decided on: what can be found again in git and at the forge."""
    touched = proposal.content.touched
    told = {
        "number": proposal.place.number,
        "written": terms.numbered(proposal.place.number),
        "stage": proposal.stage.value,
        "head": str(proposal.place.head),
        "base_ref": proposal.place.base_ref,
        "base": str(proposal.place.base),
        "rules": proposal.rules.digest,
        "packages": {each.package: each.tree for each in touched[:MOST_PACKAGES]},
    }
    merge = proposal.place.merge_commit
    return told | ({"merge_commit": str(merge)} if merge else {})


MOST_PACKAGES = 20
"""Packages of a proposal whose trees an entry names; the commits name all of them."""


def _untimed(facts: Facts) -> Facts:
    """Facts without when they were read, which differs at each look."""
    untimed = (replace(p, times=replace(p.times, looked_at=None)) for p in facts.proposals)
    return replace(facts, proposals=tuple(untimed))


def values(action: object) -> dict[str, Any]:
    """Fields of an action to what is kept of each."""
    told = {f.name: getattr(action, f.name) for f in fields(action)}  # type: ignore[arg-type]  # all are dataclasses
    return {n: _plain(v) if n in NAMES else f"sha256:{digest(v)}" for n, v in told.items()}


def digest(value: object) -> str:
    """SHA-256 of a value, 64 hex digits: the same in every process, whatever the order of sets."""
    return hashlib.sha256(json.dumps(_plain(value)).encode()).hexdigest()


def _plain(value: object) -> Any:
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    return _way(kind)(value)  # type: ignore[arg-type]  # types can be hashed


_AS_THEY_ARE = frozenset({str, int, bool, float, type(None)})


@cache
def _way(kind: type) -> Callable[[Any], Any]:
    """How values of a type are made plain: that is asked for thousands of them at each decision."""
    if is_dataclass(kind):
        name, names = kind.__name__, tuple(f.name for f in fields(kind))
        return lambda value: [name, *_each([getattr(value, each) for each in names])]
    if issubclass(kind, int | float):
        return lambda value: value
    if issubclass(kind, Enum):
        return lambda value: value.name
    if issubclass(kind, bytes):
        return lambda value: hashlib.sha256(value).hexdigest()
    if issubclass(kind, Mapping):
        return _pairs
    if issubclass(kind, Set):
        return _members
    if issubclass(kind, list | tuple):
        return _each
    return str


def _each(found: Iterable[Any]) -> list[Any]:
    """`_plain` of each, which is not called for most: they are texts and numbers."""
    return [v if type(v) in _AS_THEY_ARE else _plain(v) for v in found]


def _members(value: Set[Any]) -> list[Any]:
    """Those of a set: texts as they are ordered, others in the order of what they are made."""
    return sorted(value) if _texts(value) else sorted(_each(value), key=repr)


def _texts(found: Iterable[Any]) -> bool:
    return all(type(each) is str for each in found)


def _pairs(value: Mapping[Any, Any]) -> list[Any]:
    """Key and value of each, by keys that are texts, else by their JSON; equal ones by all."""
    if _texts(value):
        return [[key, _plain(value[key])] for key in sorted(value)]
    found = [(json.dumps(key := _plain(k)), [key, _plain(v)]) for k, v in value.items()]
    if len({key for key, _ in found}) < len(found):
        return sorted((pair for _, pair in found), key=json.dumps)
    return [pair for _, pair in sorted(found, key=itemgetter(0))]
