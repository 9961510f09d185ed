"""Comparing what came out with what a case expects: texts, documents, whole trees of files.

Rules:
- A function that compares returns the difference as text for people, "" where there is none.
- Documents are compared as values and comments: line comments by the field they follow, and
  those on lines of their own by their order. Layout does not count.
"""

import base64
import difflib
import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.cli.disk import folder
from cadlib.errors import PackageError
from cadlib.package.files import KPTFILE, SYMLINK, Entry, Files, name
from cadlib.yaml import Document, FieldPath, Value, field_text, read
from cadlib.yaml.tree import Alias, Map, Node, Scalar, Seq

MERGE_COMMENT = "# kpt-merge:"
UPSTREAM_IDENTIFIER = "internal.kpt.dev/upstream-identifier"

# A tree as cases write it: path to text, or {"symlink": …}, {"base64": …}, {"dir": true}.
Tree = Mapping[str, Any]


# --- trees ---------------------------------------------------------------------------------


def entries(tree: Tree | None) -> dict[str, Entry]:
    """Return a case's tree as files in memory; empty folders are left out."""
    found: dict[str, Entry] = {}
    for path, content in (tree or {}).items():
        match content:
            case str():
                found[path] = Entry(content.encode())
            case {"symlink": target}:
                found[path] = Entry(os.fsencode(target), SYMLINK)
            case {"base64": data}:
                found[path] = Entry(base64.b64decode(data))
            case {"dir": True}:
                pass
            case _:
                raise ValueError(f"{path}: this is no file of a case: {content!r}")
    return found


def put(tree: Tree | None, root: Path) -> None:
    """Write a case's tree below a folder, which is made; empty folders too."""
    folder.write(root, entries(tree))
    for path, content in (tree or {}).items():
        if isinstance(content, Mapping) and content.get("dir"):
            (root / path).mkdir(parents=True, exist_ok=True)


def on_disk(root: Path) -> dict[str, Entry]:
    """Return the files below a folder, without `.git`."""
    return folder.read(root)


def fill(value: Any, names: Mapping[str, str]) -> Any:
    """Put real names in the place of a case's placeholders, in every text of a JSON value.

    Args:
        value: Texts, and lists and objects of them; keys of objects are left as they are.
        names: By placeholder without its braces, such as "repo:app", "commit:app:0" or "pkg".
    """
    match value:
        case str():
            for placeholder, text in names.items():
                value = value.replace("{{" + placeholder + "}}", text)
            return value
        case Mapping():
            return {key: fill(each, names) for key, each in value.items()}
        case list():
            return [fill(each, names) for each in value]
        case _:
            return value


def differences(
    expected: Files,
    actual: Files,
    compare: Mapping[str, Any] | None = None,
    *,
    other: str = "",
    noise: bool = True,
) -> dict[str, str]:
    """Compare two trees by a case's `compare` object; return the difference of each path.

    Args:
        expected: What shall be there, and nothing besides.
        actual: What is there.
        compare: `kptfile` and `other_files` are rules (see `by_rule`), "exact-text" where
            missing; `only_files` and `ignore_files` name paths or the last part of them.
        other: A rule that takes the place of `other_files`.
        noise: Whether merge comments and upstream identifiers count; where not, files that
            hold them are compared by the rule "documents", without them.
    """
    spec = compare or {}
    only, ignored = spec.get("only_files"), spec.get("ignore_files", ())
    found: dict[str, str] = {}
    for path in sorted({*expected, *actual}):
        if path in ignored or name(path) in ignored:
            continue
        if only is not None and path not in only and name(path) not in only:
            continue
        rule = spec.get("kptfile") if name(path) == KPTFILE else other or spec.get("other_files")
        difference = _entries(expected.get(path), actual.get(path), rule or "exact-text", noise)
        if difference:
            found[path] = difference
    return found


def listed(found: Mapping[str, str]) -> str:
    """Return the differences of several paths as one text."""
    return "\n".join(f"{path}:\n{text}" for path, text in found.items())


def _entries(expected: Entry | None, actual: Entry | None, rule: str, noise: bool) -> str:
    if rule == "ignore":
        return ""
    if expected is None or actual is None:
        if expected == actual:
            return ""
        return "should not be there" if expected is None else "is missing"
    if SYMLINK in (expected.mode, actual.mode):
        same = (expected.mode, expected.data) == (actual.mode, actual.data)
        return "" if same else f"symlinks differ: {expected} and {actual}"
    if not noise and rule != "semantic" and _noisy(expected.data) | _noisy(actual.data):
        rule = "documents"
    return by_rule(rule, expected.data, actual.data, noise=noise)


def _noisy(data: bytes) -> bool:
    return MERGE_COMMENT.encode() in data or UPSTREAM_IDENTIFIER.encode() in data


# --- texts and documents -------------------------------------------------------------------


def by_rule(rule: str, expected: bytes | str, actual: bytes | str, *, noise: bool = True) -> str:
    """Compare two texts by a rule.

    Args:
        rule: "exact-text"; "trimmed-text" (white space at both ends cut); "documents" (values
            and comments); "semantic" or "equal" (values, the order of keys does not count).
        expected: What shall come out.
        actual: What came out.
        noise: As for `differences`; for the rules that read documents.

    Raises:
        ValueError: There is no such rule.
    """
    left, right = _text(expected), _text(actual)
    match rule:
        case "exact-text" | "text":
            return text_difference(left, right)
        case "trimmed-text":
            return text_difference(left.strip(), right.strip())
        case "documents":
            return documents_difference(left, right, noise=noise)
        case "semantic" | "equal":
            return documents_difference(left, right, noise=noise, comments=False)
        case _:
            raise ValueError(f"there is no rule {rule!r} to compare by")


def _text(data: bytes | str) -> str:
    return data if isinstance(data, str) else data.decode(errors="surrogateescape")


def text_difference(expected: str, actual: str) -> str:
    """Compare two texts to the character."""
    if expected == actual:
        return ""
    lines = difflib.unified_diff(
        expected.split("\n"), actual.split("\n"), "expected", "actual", lineterm=""
    )
    return "\n".join(lines)


def data_difference(expected: object, actual: object) -> str:
    """Compare two JSON values; 1 and 1.0 are the same number, and true is none."""
    if _same(expected, actual):
        return ""
    return text_difference(_pretty(expected), _pretty(actual)) or f"{expected!r} != {actual!r}"


def _same(left: object, right: object) -> bool:
    match left, right:
        case dict(), dict():
            return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
        case list(), list():
            return len(left) == len(right) and all(map(_same, left, right))
        case (bool(), _) | (_, bool()):
            return left is right
        case float(), float() if math.isnan(left):
            return math.isnan(right)
        case _:
            return left == right


def _pretty(value: object) -> str:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a document says.

    Attributes:
        value: Its value.
        comments: Line comments, without "#" and the blanks around their text, by field.
        standing: The comments on lines of their own, from top to bottom, likewise.
    """

    value: Value
    comments: Mapping[FieldPath, str]
    standing: tuple[str, ...]


def documents(data: bytes | str, *, noise: bool = True) -> list[Parsed]:
    """Read a text's documents; those without a node are left out, and so are their comments.

    Args:
        data: YAML.
        noise: Whether merge comments and upstream identifiers are kept.

    Raises:
        PackageError: It is no YAML.
    """
    raw = data.encode(errors="surrogateescape") if isinstance(data, str) else data
    found = []
    above = 0  # a comment above the first node belongs to the document below it
    for document in read(raw).documents:
        if not document.empty:
            found.append(_parsed(document, above, noise))
        above = document.end
    return found


def documents_difference(
    expected: bytes | str, actual: bytes | str, *, noise: bool = True, comments: bool = True
) -> str:
    """Compare two texts by their documents; a text that is no YAML, to the character."""
    left, right = _text(expected), _text(actual)
    if left == right:
        return ""
    try:
        wanted = documents(left, noise=noise)
    except PackageError:
        return text_difference(left.strip(), right.strip())
    try:
        found = documents(right, noise=noise)
    except PackageError as error:
        return f"it is no YAML: {error}"
    return data_difference(
        [_shown(each, comments) for each in wanted], [_shown(each, comments) for each in found]
    )


def _parsed(document: Document, above: int, noise: bool) -> Parsed:
    comments = {path: _bare(text) for path, text in document.comments.items()}
    value = document.value
    if document.template:  # it has no value, so its text stands for it
        value = document.source.text[document.start : document.end].strip()
    if not noise:
        mark = _bare(MERGE_COMMENT)
        comments = {path: text for path, text in comments.items() if not text.startswith(mark)}
        value = _without_identifier(value)
    return Parsed(value, comments, tuple(map(_bare, _standing(document, above))))


def _bare(comment: str) -> str:
    return comment.removeprefix("#").strip()


def _without_identifier(value: Value) -> Value:
    """Drop the annotation, and `annotations` and `metadata` where nothing else is in them."""
    if not isinstance(value, dict):
        return value
    metadata = value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(annotations, dict):
        return value
    if UPSTREAM_IDENTIFIER not in annotations:
        return value
    kept: Value = {key: text for key, text in annotations.items() if key != UPSTREAM_IDENTIFIER}
    inner = {**metadata, "annotations": kept}
    return {**value, "metadata": inner if kept else _dropped(inner, "annotations")}


def _dropped(value: dict[str, Value], gone: str) -> dict[str, Value]:
    return {key: each for key, each in value.items() if key != gone}


def _standing(document: Document, position: int) -> Iterator[str]:
    """Yield the comments on lines of their own, but for what is text of a scalar."""
    text = document.source.text
    scalars = [(node.start, node.end) for node in _scalars(document.root)]
    for line in text[position : document.end].split("\n"):
        stripped = line.strip()
        at = position + len(line) - len(line.lstrip())
        if stripped.startswith("#"):
            while scalars and scalars[0][1] <= at:
                scalars.pop(0)
            if not scalars or at < scalars[0][0]:
                yield stripped
        position += len(line) + 1


def _scalars(node: Node) -> Iterator[Scalar]:
    """Yield the scalars of more than one line, in the order of the text."""
    match node:
        case Scalar() if node.style:
            yield node
        case Map():
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, Scalar):
                    yield from _scalars(key)
                yield from _scalars(value)
        case Seq():
            for item in node.items:
                yield from _scalars(item)
        case Scalar() | Alias():
            return


def _shown(document: Parsed, comments: bool) -> dict[str, object]:
    shown: dict[str, object] = {"value": document.value}
    if comments:
        shown["comments"] = {field_text(path): text for path, text in document.comments.items()}
        shown["standing"] = list(document.standing)
    return shown
