"""Corpus heal: comments and order that a function loses, and kpt's merge comments.

The cases of comments and order are played by `fn eval`: the file is the case's `from`, and a
function returns `to`. kpt refuses a resource without a name, and so do we: such a one is given
one. `get` is given the files that kpt puts merge comments into.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from cadlib.package.files import KPTFILE, Files
from cadlib.stream.resourcelist import Item, bare, encode
from cadlib.yaml import Value, read, same
from tests.cases import commands
from tests.cases.compare import (
    differences,
    documents,
    documents_difference,
    entries,
    listed,
    text_difference,
)
from tests.cases.git_repos import Made
from tests.cases.model import Case, Handler, Verdict, checked, deviates, failed
from tests.cases.update import get_case

_KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n"


def copy_comments(case: Case) -> Verdict:
    """Comments of `from` come back (D10); where `to` has some, it has the last word (D76)."""
    source, target, expected = (_named(case.data[key]) for key in ("from", "to", "expected"))
    found = _rendered(source, target)
    difference = text_difference(expected.strip(), found.strip())
    if difference and _with_the_element(source, expected, found):
        return deviates("D10", "a comment follows its element to another place")
    if difference and _as_the_function_said(target, expected, found):
        return deviates("D76", "the function returned comments, and this one was not among them")
    return checked(difference)


def order(case: Case) -> Verdict:
    """Keys stay in the order of `from`; only its comments on lines of their own do (D74)."""
    source, target, expected = (_named(case.data[key]) for key in ("from", "to", "expected"))
    found = _rendered(source, target)
    (before,), (wanted,), (after,) = (documents(text) for text in (source, expected, found))
    if json.dumps(wanted.value) != json.dumps(after.value):
        if _but_for_new_elements(before.value, wanted.value, after.value):
            return deviates("D77", "the keys of a new element come as the function wrote them")
        return failed(text_difference(expected, found))
    if wanted.standing != after.standing and wanted.comments == after.comments:
        return deviates("D74", "the function moved comments that stand on lines of their own")
    return checked(documents_difference(expected, found))


def add_merge_comment(case: Case) -> Verdict:
    """A package that was fetched has upstream's resources as they are (D40)."""
    text = case.data["input"]
    commit = {"branch": "main", "tree": {f"app/{KPTFILE}": _KPTFILE, "app/a.yaml": text}}
    with TemporaryDirectory(prefix="case") as name:
        folder = Path(name)
        (folder / "repos").mkdir()
        made = Made(folder / "repos", {"up": {"initial_branch": "main", "commits": [commit]}})
        made.add()
        get_case({"repo": "up", "directory": "app", "ref": "main"}, folder / "app", made, folder)
        data = (folder / "app" / "a.yaml").read_bytes()
    difference = documents_difference(case.data["expected"], data)
    if difference and data == text.encode():
        difference = documents_difference(case.data["expected"], data, noise=False)
        return failed(difference) if difference else deviates("D40", "no merge comment is written")
    return checked(difference)


def whole_package(case: Case) -> Verdict:
    """A package that lost comments and order, to the byte."""
    old, new, expected = (entries(case.data[key]) for key in ("old", "new", "expected"))
    items = [
        each
        for path, entry in new.items()
        if path.endswith((".yaml", KPTFILE))
        for each in _items(entry.data.decode(), path)
    ]
    after = _answered({path: each.data.decode() for path, each in old.items()}, items)
    found = {path: each for path, each in after.items() if path != KPTFILE or path in expected}
    return checked(listed(differences(expected, found)))


def _rendered(source: str, target: str) -> str:
    """Return a file after a function returned other text for its resources."""
    return _answered({"a.yaml": source}, _items(target, "a.yaml"))["a.yaml"].data.decode()


def _answered(texts: Mapping[str, str], items: Sequence[Item]) -> Files:
    """Return a package after a function that returned these resources."""
    answer = encode(items, None).decode() if KPTFILE in texts else commands.answer_of(items)
    ran = commands.run(["eval", "pkg", "--exec", commands.ANSWERS], texts, answer=answer)
    if ran.status:
        raise ValueError(ran.errors)
    return ran.files


def _items(text: str, path: str) -> Sequence[Item]:
    full = (each for each in read(text.encode()).documents if not each.empty)
    return [
        replace(bare(each.value, each.comments), path=path, index=index)
        for index, each in enumerate(full)
    ]


def _named(text: str) -> str:
    """Return a resource's text with a version and a name, where it has none."""
    if "apiVersion:" not in text:
        text = re.sub(r"^(kind: .*\n)", r"\1apiVersion: v1\n", text, flags=re.MULTILINE)
    return text if "\nmetadata:" in text else text.rstrip("\n") + "\nmetadata:\n  name: a\n"


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


def _as_the_function_said(target: str, expected: str, found: str) -> bool:
    """Say whether all is as expected but for line comments, which are those of the function."""
    (said,), (wanted,), (after,) = (documents(text) for text in (target, expected, found))
    return (
        bool(said.comments)
        and after.comments == said.comments
        and after.comments.items() <= wanted.comments.items()
        and same(wanted.value, after.value)
        and wanted.standing == after.standing
    )


def _but_for_new_elements(before: Value, wanted: Value, after: Value) -> bool:
    """Say whether two equal values have one order, but in elements that are new in their list."""
    match wanted, after:
        case dict(), dict():
            inner = before if isinstance(before, dict) else {}
            return list(wanted) == list(after) and all(
                _but_for_new_elements(inner.get(key), wanted[key], after[key]) for key in wanted
            )
        case list(), list():
            known = before if isinstance(before, list) else []
            return len(wanted) == len(after) and all(
                _but_for_new_elements(each, each, other) if each in known else same(each, other)
                for each, other in zip(wanted, after, strict=True)
            )
        case _:
            return same(wanted, after)


def _standing(text: str) -> list[str]:
    return sorted(comment for each in documents(text) for comment in each.standing)


def _at(value: Value, field: tuple[str | int, ...]) -> str:
    for step in field:
        value = value[step]  # type: ignore[index]  # a field that exists
    return json.dumps(value)


KINDS: dict[str, Handler] = {
    "copy-comments": copy_comments,
    "sync-order": order,
    "add-merge-comment": add_merge_comment,
    "heal-package": whole_package,
}
