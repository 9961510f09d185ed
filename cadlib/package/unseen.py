"""Documents of a package that no function sees, and the findings about them.

A document that is no Kubernetes resource, a template among them, is left as it is. That is worth
a remark where people may not expect it, and more than that where a cluster would be given
something all the same: then nobody has looked at what is applied (`Finding.unseen`).

What tools make of a file, and functions do not
- `kubectl apply` and Argo CD take whatever has a list in `items` for a list and apply what is in
  it, whichever kind it is and whether it has a name or not (Kubernetes' UnstructuredJSONScheme,
  apimachinery `pkg/apis/meta/v1/unstructured`: an object with `items` is decoded as a list). Where
  its kind ends with List, what is in it need not say its own kind. kpt hands it to functions as
  one resource (kyaml's LocalPackageReader does not unwrap), and so does Gatekeeper's `gator`;
  kubeconform looks into a `List`.
- `kubectl apply` refuses a resource whose name is empty, a number or a list (tried). So does kpt,
  but for numbers, true and false, which it reads as texts.
- `kubectl create` makes a resource that has a `generateName` and no name.
- `kubectl apply` reads a file document by document and applies those before one that is broken; in
  a file that begins with `{`, object by object.
"""

import json
import re
from collections.abc import Iterator, Mapping

from cadlib.errors import PackageError, Place
from cadlib.findings import Finding, Severity, from_error
from cadlib.package import files as packages
from cadlib.yaml import Document, Stream, TemplatedFileError, Value
from cadlib.yaml import read as read_yaml
from cadlib.yaml.tree import Scalar

NAMELESS_LIST = "no function sees the resources in this list, because the list has no name"
NAMED_LIST = (
    "functions see this as one resource, and not the resources in its `items`,"
    " which `kubectl apply` would apply"
)
GENERATED = (
    "no function sees this resource, because it has a generateName and no name;"
    " `kubectl create` would create it"
)
BESIDE = (
    "no function sees this resource, because the file is not valid YAML after it;"
    " `kubectl apply` would apply it"
)

NAME = "metadata.name"

_APART = "Write each of its resources as a document of its own"
_NO_SCALARS = "Write resources into the file, or name it in .krmignore"
_NAMED = "Give it a name"
_OWN_FILE = "Move it into a file of its own"


def missing(value: Value) -> str:
    """Return what `value` lacks to be a Kubernetes resource; "" if nothing."""
    if not isinstance(value, dict):
        return "apiVersion, kind and metadata.name"
    parts = {
        "apiVersion": value.get("apiVersion"),
        "kind": value.get("kind"),
        NAME: _metadata(value).get("name"),
    }
    return ", ".join(
        part for part, inner in parts.items() if not inner or not isinstance(inner, str)
    )


def is_scalar(document: Document) -> bool:
    """Tell whether a document is a scalar, which is refused; null is none."""
    return isinstance(document.root, Scalar) and document.value is not None


def is_kustomization(path: str, value: Value) -> bool:
    """Tell whether a document is a kustomization, which needs no name."""
    if packages.name(path) in ("kustomization.yaml", "kustomization.yml", "Kustomization"):
        return True
    whole = value if isinstance(value, dict) else {}
    version = str(whole.get("apiVersion") or "")
    return version.startswith("kustomize.config.k8s.io") or (
        not version and whole.get("kind") == "Kustomization"
    )


def remarks(path: str, stream: Stream) -> Iterator[Finding]:
    """Point out the documents that no function will see, where that may surprise."""
    for document in stream.documents:
        if document.empty:
            continue
        value = document.value
        if isinstance(value, dict) and not missing(value) and "items" not in value:
            continue  # as nearly all are; to find the line takes longer than all the rest
        at = Place(path, document.start_line)
        if document.template or _is_templated(document):
            yield _template(at)
        elif is_scalar(document):
            problem = "wrong node kind: expected MappingNode but got ScalarNode"
            yield Finding(message=problem, severity=Severity.ERROR, place=at, fix=_NO_SCALARS)
        elif isinstance(value, dict):
            yield from _remarks(value, at, document)


def _remarks(value: dict[str, Value], at: Place, document: Document) -> Iterator[Finding]:
    lacks = missing(value)
    if _holds_resources(value):
        yield _unseen(NAMELESS_LIST if lacks else NAMED_LIST, at, _APART)
    elif lacks and value.get("apiVersion") and value.get("kind"):
        if _metadata(value).get("generateName"):
            yield _unseen(GENERATED, at, _NAMED)
            return
        if lacks == NAME and "name" in _metadata(value) and not is_kustomization(at.path, value):
            line = document.line(("metadata", "name"))
            yield _misnamed(value, Place(at.path, line, NAME))
            return
        yield Finding(
            message=f"{value['kind']} without {lacks}: no function sees it",
            severity=Severity.INFO,
            place=at,
            fix="Give it a name if it is a resource",
        )


def _misnamed(value: Mapping[str, Value], at: Place) -> Finding:
    """Return the finding for a resource whose name is written, and none: it is meant to be one."""
    name = _metadata(value)["name"]
    is_what = {bool: "true or false", int: "a number", float: "a number", list: "a list"}
    what = "empty" if name in ("", None) else is_what.get(type(name), "a mapping")
    quoted = isinstance(name, bool | int | float)
    return Finding(
        message=f"the name of this {value['kind']} is {what}, and not a text: no function sees it,"
        " and `kubectl apply` refuses it",
        severity=Severity.WARNING,
        place=at,
        fix="Put it in quotes" if quoted else _NAMED,
    )


def unreadable(error: PackageError, path: str, data: bytes) -> Iterator[Finding]:
    """Return the finding for a file that is not YAML, or is a template.

    Args:
        error: Why it could not be read.
        path: The file.
        data: Its text.
    """
    if not isinstance(error, TemplatedFileError):
        yield from_error(error)
    elif packages.name(path) != packages.KPTFILE and _is_template(path, data, error.place.line):
        yield _template(error.place)
        yield from _beside(path, data)
    else:
        yield Finding(
            message=error.problem.replace("is a template, not YAML", "is not YAML"),
            severity=Severity.ERROR,
            place=error.place,
            fix="Correct the syntax there",
        )


def _unseen(message: str, at: Place, fix: str) -> Finding:
    return Finding(message=message, severity=Severity.WARNING, place=at, fix=fix, unseen=True)


def _metadata(value: Mapping[str, Value]) -> Mapping[str, Value]:
    metadata = value.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _holds_resources(value: Mapping[str, Value]) -> bool:
    """Tell whether resources stand in its `items`, as tools that apply it would find them."""
    items, kind = value.get("items"), value.get("kind")
    if not kind or not isinstance(items, list):
        return False
    if str(kind).endswith("List"):
        return any(isinstance(each, dict) and ("kind" in each or "metadata" in each)
                   for each in items)  # fmt: skip
    return any(isinstance(each, dict) and "kind" in each and "apiVersion" in each for each in items)


_SEPARATOR = re.compile(rb"^---(?=[ \t\r\n])[^\n]*\n", re.MULTILINE)


def _beside(path: str, data: bytes) -> Iterator[Finding]:
    """Yield the resources in a file that is not YAML as a whole: document by document."""
    starts = [0, *(match.end() for match in _SEPARATOR.finditer(data))]
    for start, end in zip(starts, [*starts[1:], len(data)], strict=True):
        text = data[start:end]
        if b"kind" not in text:
            continue
        line = data.count(b"\n", 0, start)
        try:
            documents = read_yaml(text, path=path).documents
        except PackageError:
            if _begins_with_json(text):
                yield _unseen(BESIDE, Place(path, line + 1), _OWN_FILE)
            continue
        for each in documents:
            value = each.value
            if isinstance(value, dict) and not each.template and not missing(value):
                yield _unseen(BESIDE, Place(path, line + (each.start_line or 1)), _OWN_FILE)


def _begins_with_json(text: bytes) -> bool:
    """Tell whether a file begins with a JSON object: kubectl applies it before it reads on."""
    stripped = text.decode("utf-8", "replace").lstrip()
    if not stripped.startswith("{"):
        return False
    try:
        json.JSONDecoder().raw_decode(stripped)
    except ValueError:
        return False
    except RecursionError:
        return True  # deeper than anybody reads here: nobody can tell
    return True


def _is_templated(document: Document) -> bool:
    """Tell whether a document is a plain scalar with a template in it, such as `a {{ .b }}`."""
    root = document.root
    return isinstance(root, Scalar) and not root.style and "{{" in root.raw


# A line that only makes sense to a template engine: "{{ ... }}" where YAML wants a key or a value.
_TEMPLATE_LINE = re.compile(rb"\s*(?:- +)?(?:[^\s#:]+: +)?\{\{.*")


def _is_template(path: str, data: bytes, line: int | None) -> bool:
    """Tell whether a file that is no YAML is the template of one.

    Judged by the lines around the one where reading ended, so that a file which only
    quotes templates somewhere does not pass as one when it is broken elsewhere. Files
    in the `templates` folder of a Helm chart are.
    """
    if line is None or "templates" in path.split("/")[:-1]:
        return True
    lines = data.split(b"\n")
    before = next((n for n in range(line - 2, -1, -1) if lines[n].strip()), 0)
    return any(_TEMPLATE_LINE.match(each) for each in lines[before : line + 1])


def _template(place: Place) -> Finding:
    return Finding(
        message="this is a template and not YAML, so it is left as it is and no function sees it",
        severity=Severity.WARNING,
        place=place,
        fix="Put the template's output into the package if it should be checked",
    )
