"""Corpus merge3: documents and packages in three states."""

import re
from collections import Counter
from textwrap import indent
from typing import Any

from cadlib.merge.conflicts import ABSENT
from cadlib.merge.documents import merge_documents
from cadlib.merge.schema import MergeSchemas
from cadlib.package.files import Entry, Files
from cadlib.package.source import ref
from cadlib.yaml import Value, edit, read
from tests.cases.compare import data_difference, documents, documents_difference, entries
from tests.cases.merge_deviations import explained
from tests.cases.merging import HEAD, merge
from tests.cases.model import Case, Handler, Verdict, checked, deviates, failed, passed

_FILE = "f.yaml"
_FIELD = "apiVersion: v1\nkind: Case\nmetadata:\n  name: a\nvalue:\n"


def _yaml_merge3(case: Case) -> Verdict:
    texts = _resources(*(case.data[key] for key in ("origin", "local", "update", "expected")))
    states, expected = texts[:3], texts[3] or ""
    infer = case.data["options"]["infer_associative_lists"]
    result = _inferred(*states) if infer else _merged(*states)
    difference = documents_difference(expected, result)
    if not difference:
        return passed()
    if _comments(expected) - _comments(result):
        return failed(difference)
    values = (ABSENT if text is None else _value(text) for text in states)
    ids = explained(_value(expected), _value(result), *values)
    return deviates(min(ids), difference) if ids else failed(difference)


def _merged(*states: str | None) -> str:
    """Merge packages that hold one resource each, or none; return its text."""
    states_ = (
        {**HEAD, **({} if text is None else {_FILE: Entry(text.encode())})} for text in states
    )
    found = merge(states_).get(_FILE)
    return found.data.decode() if found else ""


def _inferred(origin: str | None, local: str | None, updated: str | None) -> str:
    """Merge with keys taken for lists of which nothing is known.

    Commands of kpt and ours do so for Kptfiles alone, and the cases are about other kinds.
    """
    was, after = (next(iter(read((t or "").encode()).documents), None) for t in (origin, updated))
    stream = read((local or "{}\n").encode())
    merged = merge_documents(was, stream.documents[0], after, schemas=MergeSchemas(), infer=True)
    comments = {} if merged.comments is None else {0: merged.comments}
    like = {0: (after,)} if after else {}
    return edit(stream, {0: merged.value}, comments=comments, like=like).decode()


def _resources(*texts: str | None) -> list[str | None]:
    """Return the documents as resources, which they are to be for a command; None for no document.

    What one lacks of version, kind and name it has from the others. What these are may be what the
    case is about: where they differ, each document is a field of a resource.
    """
    found = [text if documents(text or "") else None for text in texts]
    refs = [ref(_value(text)) for text in found if text is not None]
    lines = {
        "apiVersion": next((each.api_version for each in refs if each.api_version), "v1"),
        "kind": next((each.kind for each in refs if each.kind), "Some"),
        "name": next((each.name for each in refs if each.name), "a"),
    }
    named = [None if text is None else _named(text, **lines) for text in found]
    if len({_identity(text) for text in named if text is not None}) <= 1:
        return named
    return [None if text is None else _FIELD + indent(text.strip("\n"), "  ") for text in found]


def _named(text: str, **lines: str) -> str:
    """Return a document's text with version, kind and name, where it has none."""
    name = f"  name: {lines.pop('name')}\n"
    for key, value in {**lines, "metadata": ""}.items():
        if not re.search(rf"^{key}:", text, re.MULTILINE):
            text = f"{key}: {value}".rstrip() + "\n" + text.lstrip("\n")
    if re.search(r"^metadata:(\n  .*)*\n  name:", text, re.MULTILINE):
        return text
    return re.sub(r"^(metadata:.*\n)", rf"\1{name}", text, flags=re.MULTILINE)


def _identity(text: str) -> str:
    return str(ref(_value(text)))


def _value(text: str) -> Value:
    found = documents(text)
    return found[0].value if found else None


def _comments(text: str) -> Counter[str]:
    return Counter(
        comment for each in documents(text) for comment in (*each.comments.values(), *each.standing)
    )


def _package_merge3(case: Case) -> Verdict:
    """Merge packages, whose definitions of kinds lie in them."""
    crds = {f"definition-{n}.yaml": Entry(t.encode()) for n, t in enumerate(case.data["crds"])}
    trees = ("origin_tree", "local_tree", "update_tree")
    states = ({**HEAD, **crds, **entries(case.data[tree])} for tree in trees)
    merged = merge(states)
    return _asserted(
        {path: each for path, each in merged.items() if path not in crds}, case.data["expect"]
    )


def _asserted(files: Files, expect: dict[str, Any]) -> Verdict:
    found = [
        document.value
        for path, entry in files.items()
        for document in read(entry.data, path=path).documents
        if _name(document.value) == expect["object_name"]
    ]
    if len(found) != 1:
        return failed(f"{len(found)} resources are named {expect['object_name']}")
    for each in expect["asserts"]:
        value = _at(found[0], each["path"])
        wanted = each["equals"] if "equals" in each else each["length"]
        difference = data_difference(wanted, value if "equals" in each else len(value))
        if difference:
            return failed(f"{each['path']}: {difference}")
    return passed()


def _name(value: Value) -> Any:
    return value["metadata"]["name"] if isinstance(value, dict) else None  # type: ignore[index,call-overload]


def _at(value: Any, path: list[Any]) -> Any:
    for step in path:
        match step:
            case {"name": name}:
                value = next(each for each in value if each["name"] == name)
            case _:
                value = value[step]
    return value


def _handling_strategy(case: Case) -> Verdict:
    """A resource that is gone upstream is skipped (dropped), or kept as it is locally."""
    result = _merged(*(case.data[key] for key in ("origin", "local", "update")))
    strategy = "KeepDest" if documents(result) else "Skip"
    return checked(data_difference(case.data["expected"], strategy))


KINDS: dict[str, Handler] = {
    "yaml-merge3": _yaml_merge3,
    "package-merge3": _package_merge3,
    "handling-strategy": _handling_strategy,
}
