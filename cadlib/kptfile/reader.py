"""The Kptfile as typed values, read as strictly as kpt reads it.

Rules
- `kpt.dev/v1` only; older versions and other kinds are refused before anything else.
- A field that kpt does not know is an error, as in kpt: a misspelt `pipline` would
  otherwise switch off a package's checks without a word.
- Of the values only the pipeline is validated. What is wrong is said in kpt's words, what
  to do about it in ours.
- A value that is no text counts as it stands in the file: `1.10` is not 1.1.

Source: kptdev/kpt, api/kptfile/v1/types.go and validation.go; pkg/kptfile.
"""

import json
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from cadlib.errors import PackageError, Place
from cadlib.images import is_image
from cadlib.kptfile import schema as kptfile_schema
from cadlib.kptfile.values import Condition, GenericRef, GitRef, Kptfile, PipelineFunction, Selector
from cadlib.limits import DEFAULT, PackageLimits
from cadlib.yaml import Document, FieldPath, Stream, Value, field_text
from cadlib.yaml import read as read_yaml
from cadlib.yaml.tree import Alias, Map, Node, Scalar, Seq, is_merge, key_text

__all__ = [
    "API_VERSION",
    "KIND",
    "Condition",
    "GenericRef",
    "GitRef",
    "Kptfile",
    "KptfileError",
    "PipelineFunction",
    "Selector",
    "config_path_problem",
    "of_stream",
    "read",
    "unreadable",
]

MOST_MISFITS = 100
"""Fields that do not fit and are told: the line of each is looked for among all of them."""

API_VERSION = "kpt.dev/v1"
KIND = "Kptfile"

_OLD = {
    "kpt.dev/v1alpha1": "Please update the package to the latest format by following"
    " https://kpt.dev/installation/migration.",
    "kpt.dev/v1alpha2": 'Please run "kpt fn eval <PKG_PATH> -i'
    ' ghcr.io/kptdev/krm-functions-catalog/fix:latest --include-meta-resources"'
    " to upgrade the package and retry.",
}
"""Older versions, and what kpt's command says to do about each."""
_UNREADABLE = "can't be read."


class KptfileError(PackageError):
    """A Kptfile that kpt refuses, too.

    Attributes:
        opening: What kpt's command says behind the path of the package; "" when it says
            `details` alone.
        details: What kpt's library says.
    """

    def __init__(
        self, place: Place, problem: str, fix: str, *, opening: str = "", details: str = ""
    ) -> None:
        super().__init__(place, problem, fix)
        self.opening = opening
        self.details = details

    def as_kpt(self, package: str) -> str:
        """Return what kpt's command prints for it, given the path of the package."""
        if not self.opening:
            return self.details
        details = f"\n\nDetails:\n{self.details}" if self.details else ""
        return f"Error: Kptfile at {_quoted(package)} {self.opening}{details}"


def read(data: bytes, path: str = KIND, *, limits: PackageLimits = DEFAULT) -> Kptfile:
    """Read a Kptfile.

    Args:
        data: The file, byte for byte.
        path: Its path, for messages.
        limits: On its size and nesting.

    Raises:
        PackageError: It is no YAML, no Kptfile of this version, has a field that kpt
            does not know, or breaks a rule of the pipeline; says which, and the line.
    """
    try:
        stream = read_yaml(data, path=path, limits=limits)
    except PackageError as error:
        raise unreadable(error) from error
    return of_stream(stream, path)


def unreadable(error: PackageError) -> KptfileError:
    """Return what is wrong with the YAML of a Kptfile, with kpt's words around it."""
    if isinstance(error, KptfileError):
        return error
    line = "" if error.place.line is None else f"line {error.place.line}: "
    said = f"{line}{error.problem}"
    if error.__cause__ is not None:
        from cadlib.yaml.nodes import in_words_of_kpt  # it takes 6 MB, and is there by now

        theirs = in_words_of_kpt(error)
        if theirs:
            stopped = "" if theirs.startswith(line) else f" (read up to line {error.place.line})"
            said = f"{theirs}{stopped}"
    details = f"yaml: {said}"
    return KptfileError(error.place, error.problem, error.fix, opening=_UNREADABLE, details=details)


def of_stream(stream: Stream, path: str = KIND) -> Kptfile:
    """Read a Kptfile that was parsed already; raises `PackageError` as `read` does."""
    documents = [document for document in stream.documents if not document.empty]
    if len(documents) != 1:
        problem = f"the Kptfile holds {len(documents)} YAML documents"
        raise unreadable(PackageError(Place(path), problem, "Leave exactly one, of kind Kptfile"))
    if documents[0].template:
        place = Place(path, documents[0].start_line)
        problem = "the Kptfile is a template and not YAML"
        raise unreadable(
            PackageError(place, problem, "Write the YAML that the template should produce")
        )
    return _Reader(documents[0], path).kptfile()


class _Reader:
    """Reads one Kptfile; keeps the document at hand for the lines in messages."""

    def __init__(self, document: Document, path: str) -> None:
        self._document = document
        self._path = path

    def kptfile(self) -> Kptfile:
        self._check_version(self._document.value)
        self._check_fields(self._document.value)
        root = _as_written(self._document.root, self._document.value)
        return Kptfile(
            name=_text(_get(root, "metadata", "name")),
            namespace=_text(_get(root, "metadata", "namespace")),
            labels=_texts(_get(root, "metadata", "labels")),
            annotations=_texts(_get(root, "metadata", "annotations")),
            upstream=_git_ref(_get(root, "upstream", "git")),
            upstream_lock=_git_ref(_get(root, "upstreamLock", "git")),
            generic_lock=_generic_ref(_get(root, "upstreamLock", "generic")),
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
            mutators=tuple(self._functions(root, "mutators")),
            validators=tuple(self._functions(root, "validators")),
        )

    def _check_version(self, root: Value) -> None:
        version, kind = _text(_get(root, "apiVersion")), _text(_get(root, "kind"))
        if (version, kind) == (API_VERSION, KIND):
            return
        if version in _OLD and kind == KIND:
            short = _quoted(version.rpartition("/")[2])
            raise KptfileError(
                self._place(("apiVersion",)),
                f"old resource version {short} found in Kptfile",
                f"Bring it to {API_VERSION!r} as kpt's migration guide says",
                opening=f"has an old version ({short}) of the Kptfile schema.\n{_OLD[version]}",
            )
        group, _, short = version.rpartition("/")
        found = _quoted(f"{group}/{short}, Kind={kind}")
        raise KptfileError(
            self._place(("apiVersion",) if version != API_VERSION else ("kind",)),
            f"unknown resource type {found} found in Kptfile",
            f"Write `apiVersion: {API_VERSION}` and `kind: {KIND}`",
            opening=f"has an unknown resource type ({found}).",
        )

    def _check_fields(self, root: Value) -> None:
        """Refuse what does not fit, in one error, as kpt's decoder does, and a hundred at most."""
        found = tuple(islice(kptfile_schema.misfits(root), MOST_MISFITS))
        if not found:
            return
        lines = [f"line {self._line(each)}: {each.problem}" for each in found]
        raise KptfileError(
            self._place(found[0].at),
            "; ".join([found[0].problem, *lines[1:]]),
            found[0].fix,
            opening=_UNREADABLE,
            details="\n  ".join(["yaml: unmarshal errors:", *lines]),
        )

    def _line(self, misfit: kptfile_schema.TypeMismatch) -> int | None:
        node = None if misfit.key else _node(self._document.root, misfit.at)
        if node is None:
            return self._document.line(misfit.at)
        return self._document.source.line(node.start)

    def _functions(self, root: Value, step: str) -> Iterator[PipelineFunction]:
        for index, value in enumerate(_list(_get(root, "pipeline", step))):
            at: FieldPath = ("pipeline", step, index)
            config_map = _get(value, "configMap")
            function = PipelineFunction(
                image=_text(_get(value, "image")),
                name=_text(_get(value, "name")),
                config_path=_text(_get(value, "configPath")) or None,
                config_map=None if config_map is None else _texts(config_map),
                tag=_text(_get(value, "tag")),
                exec=_text(_get(value, "exec")),
                selectors=tuple(_selector(each) for each in _list(_get(value, "selectors"))),
                exclude=tuple(_selector(each) for each in _list(_get(value, "exclude"))),
                place=self._place(at),
            )
            self._check_function(function, at)
            yield function

    def _check_function(self, function: PipelineFunction, at: FieldPath) -> None:
        if not function.image and not function.exec:
            reason = "must specify a functon (`image` or `exec`) to execute"
            raise self._invalid(at, reason, "Give exactly one of the two")
        if function.image and function.exec:
            reason = "must not specify both `image` and `exec` at the same time"
            raise self._invalid(at, reason, "Give exactly one of the two")
        if function.image and not is_image(function.image):
            raise self._invalid(
                (*at, "image"),
                f"function image reference {_quoted(function.image)} is invalid:"
                " invalid reference format",
                "Write it as registry/name:tag, the name in lower case",
                function.image,
            )
        if function.config_map and function.config_path is not None:
            raise self._invalid(
                at,
                "functionConfig must not specify both `configMap` and `configPath`"
                " at the same time",
                "Give at most one of the two",
            )
        problem = "" if function.config_path is None else config_path_problem(function.config_path)
        if problem:
            raise self._invalid(
                (*at, "configPath"),
                problem,
                "Give the path of a file in this package, relative to the Kptfile",
                function.config_path,
            )
        if not function.tag:
            return
        from cadlib import versions  # few functions have a tag of their own

        if problem := versions.tag_problem(function.tag):
            fix = "Write a tag, a version or a range of versions"
            raise self._invalid((*at, "tag"), problem, fix, function.tag)

    def _invalid(
        self, at: FieldPath, reason: str, fix: str, value: str | None = None
    ) -> KptfileError:
        place = self._place(at)
        lines = ["Kptfile is invalid:", f"Field: `{place.field}`"]
        if value is not None:
            lines.append(f"Value: {_quoted(value)}")
        details = "\n".join([*lines, f"Reason: {reason}", ""])
        return KptfileError(place, reason, fix, details=details)

    def _place(self, at: FieldPath) -> Place:
        return Place(self._path, self._document.line(at), field_text(at))


def config_path_problem(path: str) -> str:
    """Return why kpt refuses a `configPath`, in its words, or "" if it does not."""
    if not path.strip():
        return "path must not be empty"
    clean = posixpath.normpath(path)
    if clean.startswith("/"):
        return "path must be relative"
    # kpt looks for two dots anywhere in the cleaned path, so "a/.../b" is refused too
    return "path must not be outside the package" if ".." in clean else ""


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


def _generic_ref(value: Value) -> GenericRef | None:
    if not isinstance(value, dict):
        return None
    return GenericRef(
        store=_text(value.get("storeID")),
        resource=_text(value.get("resourceID")),
        version=_text(value.get("resourceVersion")),
    )


def _as_written(node: Node, value: Value) -> Value:
    """Return a value with every scalar as it is written; of merged keys, the value."""
    while isinstance(node, Alias):
        node = node.target
    match node, value:
        case Map(), dict():
            written = dict(value)
            for name, inner in zip(node.keys, node.values, strict=True):
                if not is_merge(name):
                    key = key_text(name)
                    written[key] = _as_written(inner, value[key])
            return written
        case Seq(), list():
            return [_as_written(each, inner) for each, inner in zip(node.items, value, strict=True)]
        case Scalar(), str() | int() | float():
            return node.raw
        case _:
            return value


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


def _list(value: Value) -> Sequence[Value]:
    return value if isinstance(value, list) else []


def _texts(value: Value) -> Mapping[str, str]:
    found = value if isinstance(value, dict) else {}
    return {key: _text(inner) for key, inner in found.items()}


def _text(value: Value) -> str:
    """Return a scalar as text; YAML writes what is not a string in its own words."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case _:
            return str(value)


def _quoted(text: str) -> str:
    """Return a text in double quotes, as kpt's messages have it."""
    return json.dumps(text, ensure_ascii=False)
