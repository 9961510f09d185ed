"""The Kptfile as typed values, read as strictly as kpt reads it.

Rules
- `kpt.dev/v1` only; older versions and other kinds are refused before anything else.
- A field that kpt does not know is an error, as in kpt: a misspelt `pipline` would
  otherwise switch off a package's checks without a word.
- Of the values only the pipeline is validated, with kpt's rules in our own words.

Source: kptdev/kpt, api/kptfile/v1/types.go and validation.go;
pkg/fn/runtime/tag_resolution.go and pkg/lib/runneroptions for image names.
"""

import difflib
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cadlib.errors import PackageError, Place
from cadlib.limits import DEFAULT, Limits
from cadlib.yaml import Document, FieldPath, Stream, Value, field_text
from cadlib.yaml import read as read_yaml
from cadlib.yaml.tree import Alias, Map, Node, Scalar, Seq

API_VERSION = "kpt.dev/v1"
KIND = "Kptfile"
CATALOG = "ghcr.io/kptdev/krm-functions-catalog"
"""Where functions with a short name come from, as in kpt."""

_OLD = ("kpt.dev/v1alpha1", "kpt.dev/v1alpha2")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """Which resources a function sees; what is "" or empty selects all."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """One function of a pipeline.

    Attributes:
        image: Image name as written, short or full; "" when `exec` is set.
        name: Name for people; "" if not given.
        config_path: File of its own package that holds its configuration.
        config_map: Its configuration as keys and texts; not with `config_path`.
        tag: A tag or a range of versions that replaces the image's own tag.
        exec: Command to run instead of an image.
        selectors: Only these resources, if any is given.
        exclude: Not these resources.
        place: Where it is written; `Place()` when it comes from configuration.
    """

    image: str = ""
    name: str = ""
    config_path: str | None = None
    config_map: Mapping[str, str] | None = None
    tag: str = ""
    exec: str = ""
    selectors: tuple[Selector, ...] = ()
    exclude: tuple[Selector, ...] = ()
    place: Place = field(default_factory=Place)


@dataclass(frozen=True, slots=True, kw_only=True)
class GitRef:
    """A package in a git repository.

    Attributes:
        repo: Address of the repository.
        directory: Path of the package in it.
        ref: Branch, tag or commit.
        commit: What `ref` was when it was fetched (of an annotated tag, kpt writes the
            id of the tag object); "" in `upstream`.
    """

    repo: str = ""
    directory: str = ""
    ref: str = ""
    commit: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    """One entry of `status.conditions`; Porch asks for some before it publishes."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kptfile:
    """What a Kptfile says.

    Attributes:
        name: `metadata.name`; "" if not given.
        namespace: `metadata.namespace`; "" if not given.
        labels: `metadata.labels`.
        annotations: `metadata.annotations`.
        upstream: The package this one was cloned from, or None.
        upstream_lock: The version of it that was fetched last, or None.
        update_strategy: How an update merges, such as "resource-merge"; "" if not given.
        description: `info.description`.
        readiness_gates: Condition types that Porch waits for before it publishes.
        conditions: `status.conditions`.
        mutators: Functions that may change resources, in order.
        validators: Functions that only judge, in order.
    """

    name: str = ""
    namespace: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    upstream: GitRef | None = None
    upstream_lock: GitRef | None = None
    update_strategy: str = ""
    description: str = ""
    readiness_gates: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    mutators: tuple[Function, ...] = ()
    validators: tuple[Function, ...] = ()


def read(data: bytes, path: str = KIND, *, limits: Limits = DEFAULT) -> Kptfile:
    """Read a Kptfile.

    Args:
        data: The file, byte for byte.
        path: Its path, for messages.
        limits: On its size and nesting.

    Raises:
        PackageError: It is no YAML, no Kptfile of this version, has a field that kpt
            does not know, or breaks a rule of the pipeline; says which, and the line.
    """
    return of_stream(read_yaml(data, path=path, limits=limits), path)


def of_stream(stream: Stream, path: str = KIND) -> Kptfile:
    """Read a Kptfile that was parsed already; raises `PackageError` as `read` does."""
    documents = [document for document in stream.documents if not document.empty]
    if len(documents) != 1:
        raise PackageError(
            Place(path),
            f"the Kptfile holds {len(documents)} YAML documents",
            "Leave exactly one, of kind Kptfile",
        )
    if documents[0].template:
        raise PackageError(
            Place(path, documents[0].start_line),
            "the Kptfile is a template and not YAML",
            "Write what the template should make",
        )
    return _Reader(documents[0], path).kptfile()


def resolve_image(image: str, prefix: str = CATALOG) -> str:
    """Return the full name of an image, with a tag or digest.

    Args:
        image: As written; a name without "/" is one of the catalog's.
        prefix: Where short names come from; "" to leave them as they are.

    Returns:
        Such as "ghcr.io/kptdev/krm-functions-catalog/set-labels:latest".
    """
    if prefix and "/" not in image:
        image = f"{prefix.rstrip('/')}/{image}"
    return image if has_tag_or_digest(image) else f"{image}:latest"


def has_tag_or_digest(image: str) -> bool:
    """Return whether an image name ends in a tag or a digest (a port is neither)."""
    last = image.rpartition("/")[2]
    return ":" in last or "@" in last


def base_name_and_tag(image: str) -> tuple[str, str]:
    """Return the last part of an image name, and its tag or ""."""
    last = image.rpartition("/")[2].partition("@")[0]
    base, _, tag = last.partition(":")
    return base, tag


# The grammar of image references: a name in lower case, of parts joined by "/", the first
# of which may be a host with a port; a tag; a digest. The OCI distribution specification
# has the parts, and 255 characters as the bound on a name.
_LONGEST_IMAGE = 512
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_IMAGE = re.compile(
    rf"(?:{_HOST}(?:\.{_HOST})*(?::[0-9]+)?/)?{_PART}(?:/{_PART})*"
    r"(?P<tag>:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?"
    r"(?P<digest>@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?"
)


def is_image(image: str) -> bool:
    """Return whether `image` is a well-formed name of an OCI image."""
    return len(image) <= _LONGEST_IMAGE and _IMAGE.fullmatch(image) is not None


def with_tag(image: str, tag: str) -> str | None:
    """Return `image` with its tag and digest replaced by `tag`.

    Returns:
        None when `tag` is a range of versions, such as "~1.2": which version that is
        only the registry knows.
    """
    if not tag:
        return image
    if _RANGE.search(tag):
        return None
    host, slash, _ = image.rpartition("/")
    return f"{host}{slash}{base_name_and_tag(image)[0]}:{tag}"


# What kpt's library for versions reads as a range: comparison signs, alternatives, wildcards.
# A version with fewer than three numbers is a version to it, and so is taken as it stands.
_RANGE = re.compile(r"[<>=~^!*,|\s]|(?:\A|\.)[xX](?:\.|\Z)")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")

_TEXT = "a text"
_TEXTS = "keys with texts"
_NUMBER = "a number"
_ANY = "anything"

_GIT: Mapping[str, object] = {"repo": _TEXT, "directory": _TEXT, "ref": _TEXT}
_GENERIC: Mapping[str, object] = {"storeID": _TEXT, "resourceID": _TEXT, "resourceVersion": _TEXT}
_SELECTOR: Mapping[str, object] = {
    "apiVersion": _TEXT,
    "kind": _TEXT,
    "name": _TEXT,
    "namespace": _TEXT,
    "labels": _TEXTS,
    "annotations": _TEXTS,
}
_FUNCTION: Mapping[str, object] = {
    "image": _TEXT,
    "exec": _TEXT,
    "configPath": _TEXT,
    "configMap": _TEXTS,
    "name": _TEXT,
    "tag": _TEXT,
    "selectors": [_SELECTOR],
    "exclude": [_SELECTOR],
}
_STEP: Mapping[str, object] = {
    "name": _TEXT,
    "image": _TEXT,
    "exec": _TEXT,
    "executionError": _TEXT,
    "stderr": _TEXT,
    "exitCode": _NUMBER,
    "results": _ANY,
    "errorResults": _ANY,
}
_KPTFILE: Mapping[str, object] = {
    "apiVersion": _TEXT,
    "kind": _TEXT,
    "metadata": {"name": _TEXT, "namespace": _TEXT, "labels": _TEXTS, "annotations": _TEXTS},
    "upstream": {"type": _TEXT, "git": _GIT, "generic": _GENERIC, "updateStrategy": _TEXT},
    "upstreamLock": {"type": _TEXT, "git": {**_GIT, "commit": _TEXT}, "generic": _GENERIC},
    "info": {
        "site": _TEXT,
        "emails": [_TEXT],
        "license": _TEXT,
        "licenseFile": _TEXT,
        "description": _TEXT,
        "keywords": [_TEXT],
        "man": _TEXT,
        "readinessGates": [{"conditionType": _TEXT}],
    },
    "pipeline": {"mutators": [_FUNCTION], "validators": [_FUNCTION]},
    "inventory": {
        "namespace": _TEXT,
        "name": _TEXT,
        "inventoryID": _TEXT,
        "labels": _TEXTS,
        "annotations": _TEXTS,
    },
    "status": {
        "conditions": [{"type": _TEXT, "status": _TEXT, "reason": _TEXT, "message": _TEXT}],
        "renderStatus": {
            "mutationSteps": [_STEP],
            "validationSteps": [_STEP],
            "errorSummary": _TEXT,
        },
    },
}
"""Every field of a Kptfile and what it holds: the fields of types.go."""


class _Reader:
    """Reads one Kptfile; keeps the document at hand for the lines in messages."""

    def __init__(self, document: Document, path: str) -> None:
        self._document = document
        self._path = path

    def kptfile(self) -> Kptfile:
        root = self._document.value
        self._check_version(root)
        self._check(root, _KPTFILE, ())
        metadata = _mapping(_get(root, "metadata"))
        return Kptfile(
            name=_text(metadata.get("name")),
            namespace=_text(metadata.get("namespace")),
            labels=_texts(metadata.get("labels")),
            annotations=_texts(metadata.get("annotations")),
            upstream=_git_ref(_get(root, "upstream", "git")),
            upstream_lock=_git_ref(_get(root, "upstreamLock", "git")),
            update_strategy=_text(_get(root, "upstream", "updateStrategy")),
            description=_text(_get(root, "info", "description")),
            readiness_gates=tuple(
                _text(_get(gate, "conditionType"))
                for gate in _list(_get(root, "info", "readinessGates"))
            ),
            conditions=tuple(
                Condition(
                    *(_text(_get(each, key)) for key in ("type", "status", "reason", "message"))
                )
                for each in _list(_get(root, "status", "conditions"))
            ),
            mutators=tuple(self._functions("mutators")),
            validators=tuple(self._functions("validators")),
        )

    def _check_version(self, root: Value) -> None:
        version, kind = _text(_get(root, "apiVersion")), _text(_get(root, "kind"))
        if (version, kind) == (API_VERSION, KIND):
            return
        if version in _OLD:
            raise self._error(
                ("apiVersion",),
                f"the Kptfile has the old version {version!r}",
                f"Bring it to {API_VERSION!r} as kpt's migration guide says",
            )
        raise self._error(
            ("apiVersion",) if version != API_VERSION else ("kind",),
            f"this is {version or 'no apiVersion'!r}, {kind or 'no kind'!r}, not a Kptfile",
            f"Write `apiVersion: {API_VERSION}` and `kind: {KIND}`",
        )

    def _check(self, value: Value, shape: object, at: FieldPath) -> None:
        """Compare one node with its shape; null stands for nothing, as in kpt."""
        if value is None or shape == _ANY:
            return
        match shape:
            case dict():
                if not isinstance(value, dict):
                    raise self._misfit(value, "a mapping", at)
                for key, inner in value.items():
                    if key not in shape:
                        raise self._unknown(key, shape, at)
                    self._check(inner, shape[key], (*at, key))
            case [inner_shape]:
                if not isinstance(value, list):
                    raise self._misfit(value, "a list", at)
                for index, inner in enumerate(value):
                    self._check(inner, inner_shape, (*at, index))
            case str() if shape == _TEXTS:
                if not isinstance(value, dict):
                    raise self._misfit(value, _TEXTS, at)
                for key, inner in value.items():
                    self._check(inner, _TEXT, (*at, key))
            case _:
                number = isinstance(value, int) and not isinstance(value, bool)
                if isinstance(value, dict | list) or (shape == _NUMBER and not number):
                    raise self._misfit(value, str(shape), at)

    def _misfit(self, value: Value, wanted: str, at: FieldPath) -> PackageError:
        found = "a mapping" if isinstance(value, dict) else "a single value"
        found = "a list" if isinstance(value, list) else found
        return self._error(at, f"this is {found}, and kpt wants {wanted}", f"Write {wanted} here")

    def _unknown(self, key: str, shape: Mapping[str, object], at: FieldPath) -> PackageError:
        close = difflib.get_close_matches(key, shape, n=1)
        fix = f"Write {close[0]!r}" if close else "Remove it"
        if key == "configRef":  # documented by kpt, and unknown to its program
            fix = "Use configPath or configMap"
        return self._error((*at, key), f"kpt knows no field {key!r} here", fix)

    def _functions(self, step: str) -> Iterator[Function]:
        root = self._document.value
        for index, value in enumerate(_list(_get(root, "pipeline", step))):
            at: FieldPath = ("pipeline", step, index)
            config_map = _get(value, "configMap")
            function = Function(
                image=_text(_get(value, "image")),
                name=_text(_get(value, "name")),
                config_path=_text(_get(value, "configPath")) or None,
                config_map=None if config_map is None else self._texts((*at, "configMap")),
                tag=_text(_get(value, "tag")),
                exec=_text(_get(value, "exec")),
                selectors=tuple(_selector(each) for each in _list(_get(value, "selectors"))),
                exclude=tuple(_selector(each) for each in _list(_get(value, "exclude"))),
                place=self._place(at),
            )
            self._check_function(function, at)
            yield function

    def _texts(self, at: FieldPath) -> Mapping[str, str]:
        """Return a mapping's values as they stand in the file: `1.10` is no 1.1."""
        node = _node(self._document.root, at)
        value = node.value if node else None
        texts = dict(_texts(value))
        for key in texts:
            inner = _node(node, (key,)) if node else None
            if isinstance(inner, Scalar) and inner.value is not None:
                texts[key] = inner.raw
        return texts

    def _check_function(self, function: Function, at: FieldPath) -> None:
        if bool(function.image) == bool(function.exec):
            both = "both `image` and `exec`" if function.image else "neither `image` nor `exec`"
            raise self._error(at, f"the function has {both}", "Give exactly one of the two")
        if function.config_map is not None and function.config_path is not None:
            raise self._error(
                at,
                "the function has both `configMap` and `configPath`",
                "Give at most one of the two",
            )
        if function.image and not is_image(function.image):
            raise self._error(
                (*at, "image"),
                f"{function.image!r} is no name of an image",
                "Write it as registry/name:tag, the name in lower case",
            )
        if function.tag and not _RANGE.search(function.tag) and not _TAG.fullmatch(function.tag):
            raise self._error(
                (*at, "tag"),
                f"{function.tag!r} is no tag of an image",
                "Write letters, digits, '_', '.' and '-', at most 128, the first no '.' or '-'",
            )
        problem = "" if function.config_path is None else config_path_problem(function.config_path)
        if problem:
            raise self._error(
                (*at, "configPath"),
                problem,
                "Give the path of a file in this package, relative to the Kptfile",
            )

    def _error(self, at: FieldPath, problem: str, fix: str) -> PackageError:
        return PackageError(self._place(at), problem, fix)

    def _place(self, at: FieldPath) -> Place:
        return Place(self._path, self._document.line(at), field_text(at))


def config_path_problem(path: str) -> str:
    """Return why a `configPath` is refused, or "" if it is not."""
    if not path.strip():
        return "the path is empty"
    clean = posixpath.normpath(path)
    if clean.startswith("/"):
        return f"the path {path!r} is absolute"
    # kpt looks for two dots anywhere in the cleaned path, so "a/.../b" is refused too
    return f"the path {path!r} leads out of the package" if ".." in clean else ""


def _selector(value: Value) -> Selector:
    return Selector(
        api_version=_text(_get(value, "apiVersion")),
        kind=_text(_get(value, "kind")),
        name=_text(_get(value, "name")),
        namespace=_text(_get(value, "namespace")),
        labels=_texts(_get(value, "labels")),
        annotations=_texts(_get(value, "annotations")),
    )


def _git_ref(value: Value) -> GitRef | None:
    if not isinstance(value, dict):
        return None
    return GitRef(**{key: _text(value.get(key)) for key in ("repo", "directory", "ref", "commit")})


def _node(node: Node | None, at: FieldPath) -> Node | None:
    """Return the node of a field, aliases followed; None where it is merged in."""
    for step in (*at, None):
        while isinstance(node, Alias):
            node = node.target
        if isinstance(node, Map) and isinstance(step, str):
            found = node.at(step)
            node = found[1] if found else None
        elif isinstance(node, Seq) and isinstance(step, int):
            node = node.items[step]
    return node


def _get(value: Value, *keys: str) -> Value:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _mapping(value: Value) -> dict[str, Value]:
    return value if isinstance(value, dict) else {}


def _list(value: Value) -> Sequence[Value]:
    return value if isinstance(value, list) else []


def _texts(value: Value) -> Mapping[str, str]:
    return {key: _text(inner) for key, inner in _mapping(value).items()}


def _text(value: Value) -> str:
    """Return a scalar as text; YAML writes what is not a string in its own words."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case _:
            return str(value)
