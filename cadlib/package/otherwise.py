"""What `kubectl` reads in a package otherwise than functions do, and the findings about it.

What is applied was then judged by nobody, as with `cadlib.package.unseen`.

How they differ
- A symlink is read as the file it points to. kpt leaves links out, so that a file whose own name
  is not that of YAML or JSON, or which `.krmignore` excludes, is applied and never handed out.
- `!!binary` is decoded, and what is `!!merge` merged, whatever its key's text. Functions get both
  as they are written. A `%TAG` directive gives such tags other names.
- `yes`, `no`, `on`, `off`, `y` and `n` without quotes are booleans: kubectl and Argo CD read with
  go-yaml 2 (sigs.k8s.io/yaml), kpt and its functions with go-yaml 3, for which they are text.
"""

import re
from collections.abc import Collection, Iterator

from cadlib.errors import PackageError, Place
from cadlib.findings import Finding, Severity
from cadlib.package import files as packages
from cadlib.package.files import Files
from cadlib.yaml import Stream, Value
from cadlib.yaml import read as read_yaml
from cadlib.yaml.tree import Map, Node, Scalar, Seq

LINKED = "`kubectl apply` applies what this symlink points to, {target}, which no function sees"
TAGGED = "functions get this text as it is written, while `kubectl` decodes values tagged {tag}"
WORD = "functions get the text `{word}`, while `kubectl` reads true or false without quotes"

_WORDS = r"(?:y|Y|yes|Yes|YES|n|N|no|No|NO|on|On|ON|off|Off|OFF)"
# Where such a word may be a value: few files have one, and only these are looked at by node.
_MAYBE_WORD = re.compile(rf"[:\-\[,][ \t]+{_WORDS}[ \t\r]*(?:$|[#,\]}}])".encode(), re.MULTILINE)
_WORD = re.compile(_WORDS)
_MAYBE_TAG = re.compile(rb"!!(?:binary|merge)|!<|^%TAG", re.MULTILINE)
_TAG = re.compile(r"(?:&[^\s,\[\]{}]+\s+)?(![^\s,\[\]{}]*)")
_HARMLESS = re.compile(r"!!(?:str|int|float|bool|null|map|seq)|![\w-]*")


def values(path: str, stream: Stream) -> Iterator[Finding]:
    """Point out the values and keys that are read otherwise.

    Args:
        path: The file.
        stream: What was read from it.
    """
    if packages.name(path) == packages.KPTFILE:
        return  # nobody applies it
    if not _MAYBE_WORD.search(stream.data) and not _MAYBE_TAG.search(stream.data):
        return
    for document in stream.documents:
        if document.template or not _is_resource(document.value):
            continue
        text = document.source.text
        renamed = "%TAG" in text[document.start : document.root.start]
        for node in _scalars(document.root):
            found = _TAG.match(text, node.start, max(node.start, node.end))
            at = Place(path, document.source.line(node.start))
            if found and (renamed or not _HARMLESS.fullmatch(found[1])):
                yield _otherwise(TAGGED.format(tag=found[1]), at, "Write it as plain text")
            elif not found and not node.style and _WORD.fullmatch(node.raw):
                fix = f'Write true or false, or "{node.raw}" in quotes'
                yield _otherwise(WORD.format(word=node.raw), at, fix)


def _scalars(node: Node) -> Iterator[Scalar]:
    """Yield the scalars below a node: values, and those keys that have a tag to be looked at."""
    if isinstance(node, Scalar):
        yield node
    elif isinstance(node, Map):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, Scalar) and key.end - key.start > len(key.raw):
                yield key
            yield from _scalars(value)
    elif isinstance(node, Seq):
        for item in node.items:
            yield from _scalars(item)


def links(files: Files, read: Collection[str]) -> Iterator[Finding]:
    """Point out the symlinks by which a file is applied that no function sees.

    Args:
        files: The package.
        read: The files that functions see.
    """
    for link, target in packages.links(files).items():
        entry = files.get(target)
        if target in read or entry is None or not packages.is_resource_file(link):
            continue
        if _holds_resources(target, entry.data):
            fix = "Replace the symlink with the file"
            yield _otherwise(LINKED.format(target=target), Place(link), fix)


def _holds_resources(path: str, data: bytes) -> bool:
    """Tell whether a file holds a resource, or cannot be read."""
    try:
        documents = read_yaml(data, path=path).documents
    except PackageError:
        return True
    return any(each.template or _is_resource(each.value) for each in documents)


def _is_resource(value: Value) -> bool:
    return isinstance(value, dict) and bool(value.get("apiVersion") and value.get("kind"))


def _otherwise(message: str, at: Place, fix: str) -> Finding:
    return Finding(message=message, severity=Severity.WARNING, place=at, fix=fix, unseen=True)
