"""Decisions put into the terms of their forge, right before they leave the core (ADR 45).

`words` visits each text of each kind of action, so that no message has to be asked for its terms.
What is read back from the forge, to be written again, was said before: `lifecycle.terms.kept`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from lifecycle.actions import (
    Action,
    AskPublish,
    CloseProposal,
    DeleteBranch,
    DeleteTag,
    Dequeue,
    Forget,
    Keep,
    KeepFreezes,
    MakeRelease,
    MarkRelease,
    Merge,
    OpenProposal,
    PushDraft,
    PushRender,
    PushUpdate,
    React,
    RemoveDouble,
    Reply,
    Restore,
    Say,
    SetCheck,
    SetDraft,
    SetLabels,
    SetTitle,
    Suggest,
    Tag,
)
from lifecycle.judgement import Gate, Leaf
from lifecycle.records import JSON
from lifecycle.terms import AS_WRITTEN, Terms


def words(actions: Iterable[Action], terms: Terms) -> list[Action]:
    """Return actions with their texts in the terms of a forge."""
    return [_said(action, terms) for action in actions]


def _said(action: Action, terms: Terms) -> Action:
    match action:
        case SetCheck():
            return check(action, terms)
        case Say(body=body) | Restore(body=body) | Reply(body=body) | Suggest(body=body):
            return replace(action, body=terms.said(body))
        case OpenProposal(title=title, body=body) | MakeRelease(title=title, body=body):
            return replace(action, title=terms.said(title), body=terms.said(body))
        case SetTitle(title=title):
            return replace(action, title=terms.said(title))
        case DeleteTag(note=note) | MarkRelease(note=note):
            return replace(action, note=terms.said(note))
        case Merge(title=title, message=message):
            return replace(action, title=terms.said(title), message=terms.said(message))
        case Tag(message=message, provenance=provenance):
            told = {key: _value(value, terms) for key, value in provenance.items()}
            return replace(action, message=terms.said(message), provenance=told)
        case PushRender(message=message) | PushUpdate(message=message) | PushDraft(message=message):
            return replace(action, message=terms.said(message))
        case (
            SetDraft()
            | CloseProposal()
            | SetLabels()
            | RemoveDouble()
            | Keep()
            | KeepFreezes()
            | React()
            | Forget()
            | AskPublish()
            | Dequeue()
            | DeleteBranch()
        ):
            return action
        case _:
            assert_never(action)


def check(action: SetCheck, terms: Terms) -> SetCheck:
    """Return a check with its texts in the terms of a forge.

    Findings stay as they are, for whoever puts one at its line to write its advice in them.
    """
    title, summary, text = terms.every((action.title, action.summary, action.text))
    found = tuple(
        replace(each, message=AS_WRITTEN.said(each.message), fix=AS_WRITTEN.said(each.fix))
        for each in action.annotations
    )
    return replace(action, title=title, summary=summary, text=text, annotations=found)


def gates(found: Sequence[Gate], terms: Terms) -> tuple[Gate, ...]:
    """Return gates with what they say in the terms of a forge."""
    return tuple(
        replace(
            gate,
            actual=terms.said(gate.actual),
            wanted=terms.said(gate.wanted),
            who=terms.said(gate.who),
            leaves=_leaves(gate.leaves, terms),
        )
        for gate in found
    )


def _leaves(found: Sequence[Leaf], terms: Terms) -> tuple[Leaf, ...]:
    return tuple(
        replace(leaf, text=terms.said(leaf.text), leaves=_leaves(leaf.leaves, terms))
        for leaf in found
    )


def _value(value: JSON, terms: Terms) -> JSON:
    match value:
        case str():
            return terms.said(value)
        case list():
            return [_value(each, terms) for each in value]
        case Mapping():
            return {key: _value(each, terms) for key, each in value.items()}
        case _:
            return value
