"""Corpus merge3: documents and packages in three states."""

from collections import Counter
from typing import Any

from cadlib.merge.conflicts import ABSENT
from cadlib.merge.documents import ConflictPolicy, Merged, merge_documents
from cadlib.merge.resources import merge_resources
from cadlib.merge.schema import Schemas
from cadlib.package import files as packages
from cadlib.package.files import Files
from cadlib.yaml import DELETED, Document, Value, edit, read
from tests.cases.compare import data_difference, documents, documents_difference, entries
from tests.cases.merge_deviations import explained
from tests.cases.model import Case, Handler, Verdict, checked, deviates, failed, passed


def _document(text: str | None) -> Document | None:
    """Return the one document of a text; None where there is none."""
    found = [each for each in read((text or "").encode()).documents if not each.empty]
    if len(found) > 1:
        raise ValueError("a case of this kind has one document")
    return found[0] if found else None


def _yaml_merge3(case: Case) -> Verdict:
    text = case.data["local"] if _document(case.data["local"]) else "{}\n"
    stream = read(text.encode())
    position = next(n for n, each in enumerate(stream.documents) if not each.empty)
    origin, local = _document(case.data["origin"]), stream.documents[position]
    updated = _document(case.data["update"])
    merged = merge_documents(
        origin,
        local,
        updated,
        schemas=Schemas(),
        infer=case.data["options"]["infer_associative_lists"],
    )
    result = _written(text, position, merged, updated)
    difference = documents_difference(case.data["expected"], result)
    if not difference:
        return passed()
    if _comments(case.data["expected"]) - _comments(result):
        return failed(difference)
    ids = explained(*(_value(each) for each in (case.data["expected"], result)), *(
        ABSENT if each is None else each.value for each in (origin, local, updated)
    ))  # fmt: skip
    return deviates(min(ids), difference) if ids else failed(difference)


def _written(text: str, position: int, merged: Merged, updated: Document | None) -> str:
    comments = {} if merged.comments is None else {position: merged.comments}
    stream = read(text.encode())
    like = {position: (updated,)} if updated else {}
    return edit(stream, {position: merged.value}, comments=comments, like=like).decode()


def _value(text: str) -> Value:
    found = documents(text)
    return found[0].value if found else None


def _comments(text: str) -> Counter[str]:
    return Counter(
        comment for each in documents(text) for comment in (*each.comments.values(), *each.standing)
    )


def _package_merge3(case: Case) -> Verdict:
    crds = [each.value for text in case.data["crds"] for each in read(text.encode()).documents]
    origin, local, updated = (
        entries(case.data[tree]) for tree in ("origin_tree", "local_tree", "update_tree")
    )
    every = packages.find([*origin, *local, *updated])
    merged: dict[str, Any] = {}
    for package in every:
        states = (_of_package(files, package, every) for files in (origin, local, updated))
        merged |= merge_resources(*states, crds=crds).files
    return _asserted(merged, case.data["expect"])


def _of_package(files: Files, package: str, every: tuple[str, ...]) -> Files:
    return {
        path: entry for path, entry in files.items() if packages.owner_of(path, every) == package
    }


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
    local = _document(case.data["local"])
    if local is None:
        return failed("the case has no local resource")
    merged = merge_documents(
        _document(case.data["origin"]),
        local,
        _document(case.data["update"]),
        policy=ConflictPolicy.LOCAL,
    )
    strategy = "Skip" if merged.value is DELETED else "KeepDest"
    return checked(data_difference(case.data["expected"], strategy))


KINDS: dict[str, Handler] = {
    "yaml-merge3": _yaml_merge3,
    "package-merge3": _package_merge3,
    "handling-strategy": _handling_strategy,
}
