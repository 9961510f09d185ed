"""Corpus heal: comments and order given back, and kpt's merge comments."""

import json

from cadlib.heal import heal, heal_package, sync_order
from cadlib.merge_comment import with_merge_comments
from cadlib.yaml import Value, read, same
from tests.cases.compare import (
    differences,
    documents,
    documents_difference,
    entries,
    listed,
    text_difference,
)
from tests.cases.model import Case, Handler, Verdict, checked, deviates


def copy_comments(case: Case) -> Verdict:
    """Comments of `from` come to `to`; ours follow an element that moved (D10)."""
    source, target = case.data["from"], case.data["to"]
    found = heal(source.encode(), target.encode()).decode()
    difference = text_difference(case.data["expected"].strip(), found.strip())
    if difference and _with_the_element(source, case.data["expected"], found):
        return deviates("D10", "a comment follows its element to another place")
    return checked(difference)


def _with_the_element(source: str, expected: str, found: str) -> bool:
    """Say whether the values are as expected, and every scalar has the comment it had."""
    (before,), (wanted,), (after,) = (
        read(text.encode()).documents for text in (source, expected, found)
    )
    if not same(wanted.value, after.value) or _standing(expected) != _standing(found):
        return False
    had = {(field[:-1], _at(before.value, field)): text for field, text in before.comments.items()}
    has = {(field[:-1], _at(after.value, field)): text for field, text in after.comments.items()}
    return had == has and wanted.comments.items() <= after.comments.items()


def _standing(text: str) -> list[str]:
    return sorted(comment for each in documents(text) for comment in each.standing)


def _at(value: Value, field: tuple[str | int, ...]) -> str:
    for step in field:
        value = value[step]  # type: ignore[index]  # a field that exists
    return json.dumps(value)


def order(case: Case) -> Verdict:
    """Keys come in the order of `from`; how far lists are indented counts for nothing."""
    found = sync_order(case.data["from"].encode(), case.data["to"].encode())
    expected = case.data["expected"]
    (wanted,), (after,) = (read(text).documents for text in (expected.encode(), found))
    ordered = text_difference(json.dumps(wanted.value), json.dumps(after.value))
    return checked(ordered or documents_difference(expected, found))


def add_merge_comment(case: Case) -> Verdict:
    """The comment and the annotation, by meaning: kpt quotes what needs no quotes."""
    found = with_merge_comments(case.data["input"].encode())
    return checked(documents_difference(case.data["expected"], found))


def whole_package(case: Case) -> Verdict:
    """A package that lost comments and order, to the byte."""
    old, new, expected = (entries(case.data[key]) for key in ("old", "new", "expected"))
    return checked(listed(differences(expected, heal_package(old, new))))


KINDS: dict[str, Handler] = {
    "copy-comments": copy_comments,
    "sync-order": order,
    "add-merge-comment": add_merge_comment,
    "heal-package": whole_package,
}
