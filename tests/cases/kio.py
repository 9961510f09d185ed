"""Corpus kio: streams and their annotations, anchors, ignore files, formatting.

Longer than 400 lines: a handler for each of 15 kinds, read one by one.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from click.testing import CliRunner

from bot.cli.fn.group import fn
from cadlib.errors import PackageError, Place
from cadlib.package import files as packages
from cadlib.package.source import unfit
from cadlib.stream import kio
from cadlib.stream import places as kio_places
from cadlib.stream.anchors import de_anchored
from cadlib.stream.format import formatted
from cadlib.stream.format_types import Definitions, non_string, typed
from cadlib.yaml import Stream, Value, read
from tests.cases import commands
from tests.cases.compare import by_rule, documents_difference, put, text_difference
from tests.cases.model import Case, Handler, Verdict, checked, deviates, failed, passed

# Options of kyaml's readers and writers that ours has under another name, or does without.
_WITHOUT_MEANING = {"OmitReaderAnnotations", "KeepReaderAnnotations", "Sort"}
_READ = _WITHOUT_MEANING | {
    "SetAnnotations", "DisableUnwrapping", "WrapBareSeqNode", "PreserveSeqIndent", "AnchorsAweigh",
    "FunctionConfig", "Results", "NoWrap", "WrappingAPIVersion", "WrappingKind",
    "AddSeqIndentAnnotation",
}  # fmt: skip
_WRITE = _READ | {"ClearAnnotations"}


_FILE = "f.yaml"
# What `fn source` notes of each resource.
_LISTED = (*kio_places.READER, *kio_places.PLACE)


def _options(case: Case, known: set[str]) -> Mapping[str, Any]:
    options: Mapping[str, Any] = case.data.get("options") or {}
    unknown = options.keys() - known
    if unknown:
        raise ValueError(f"options without a meaning here: {sorted(unknown)}")
    return options


def _read(text: str, options: Mapping[str, Any]) -> kio.Wrapped:
    """Read a stream as the options say, with the annotations that kyaml's reader adds."""
    if options.get("PreserveSeqIndent") and options.get("OmitReaderAnnotations"):
        raise ValueError(
            '"PreserveSeqIndent" option adds a reader annotation, please set '
            '"OmitReaderAnnotations" to false'
        )
    wrapped = kio.read(
        text.encode(),
        unwrap=not options.get("DisableUnwrapping", False),
        lists=options.get("WrapBareSeqNode", False),
    )
    if options.get("AnchorsAweigh"):
        wrapped = replace(wrapped, items=tuple(map(de_anchored, wrapped.items)))
    if wrapped.wrapper is not None:
        return wrapped
    items = tuple(_marked(each, number, options) for number, each in enumerate(wrapped.items))
    return kio.Wrapped(items)


def _marked(item: Stream, number: int, options: Mapping[str, Any]) -> Stream:
    wanted: dict[str, str | None] = dict(options.get("SetAnnotations") or {})
    if not options.get("OmitReaderAnnotations"):
        item = _legacy(item)
        wanted |= {kio_places.INDEX: str(number), kio_places.LEGACY_INDEX: str(number)}
        if options.get("PreserveSeqIndent") or options.get("AddSeqIndentAnnotation"):
            found = kio_places.annotations(kio_places.value_of(item)).get(kio_places.SEQINDENT)
            wanted[kio_places.SEQINDENT] = found or kio_places.seqindent(item.source.text)
    return kio_places.annotated(item, wanted)


def _write(
    items: Sequence[Stream],
    options: Mapping[str, Any],
    wrapper: kio.Wrapper | None,
    config: Stream | None = None,
    results: Stream | None = None,
) -> bytes:
    if options.get("Sort"):
        items = kio_places.by_place([_legacy(each) for each in items])
    as_json = wrapper is None and kio_places.is_json_file(items)
    gone = [] if options.get("KeepReaderAnnotations") else [*kio_places.READER]
    gone += options.get("ClearAnnotations") or []
    items = [kio_places.annotated(each, dict.fromkeys(gone)) for each in items]
    if as_json:
        return kio.to_json(kio_places.value_of(items[0]))
    return kio.write(items, wrapper=wrapper, config=config, results=results)


def read_write(case: Case) -> Verdict:
    """Read a stream and write it back."""
    return _written_back(case, _options(case, _READ))


def read_write_seq_indent(case: Case) -> Verdict:
    """The same, keeping how lists are indented."""
    return _written_back(case, {"PreserveSeqIndent": True, "NoWrap": True})


def read_write_bare_seq(case: Case) -> Verdict:
    """The same, with documents that are lists."""
    options = {
        "WrapBareSeqNode": case.data["wrap_bare_seq_node"],
        "OmitReaderAnnotations": True,
        "NoWrap": True,
    }
    return _written_back(case, options)


def _written_back(case: Case, options: Mapping[str, Any]) -> Verdict:
    wanted = case.data.get("reader_error_contains")
    try:
        wrapped = _read(case.data["input"], options)
    except PackageError as error:
        return checked("" if wanted and wanted in str(error) else str(error))
    if wanted:
        return failed(f"it was read, without the error {wanted!r}")
    config = wrapped.config
    if options.get("FunctionConfig"):
        config = kio.stream_of(options["FunctionConfig"])
    wrapper = None if options.get("NoWrap") else wrapped.wrapper
    if options.get("WrappingKind"):
        wrapper = kio.Wrapper(options.get("WrappingAPIVersion", ""), options["WrappingKind"])
    data = _write(wrapped.items, options, wrapper, config, wrapped.results)
    return checked(documents_difference(case.data["expected"], data))


def read_stream(case: Case) -> Verdict:
    """Read a stream; compare its items, its configuration, and the list it came in."""
    options = _options(case, _READ)
    wanted = case.data.get("error")
    try:
        wrapped = _read(case.data["input"], options)
    except (PackageError, ValueError) as error:
        return checked("" if wanted and wanted in str(error) else str(error))
    if wanted:
        return failed(f"it was read, without the error {wanted!r}")
    found = wrapped.wrapper or kio.Wrapper("", "")
    expected = kio.Wrapper(
        case.data.get("expected_wrapping_api_version", ""),
        case.data.get("expected_wrapping_kind", ""),
    )
    problems = [
        _items_difference(case.data.get("expected_items", []), wrapped.items),
        _config_difference(case.data.get("expected_function_config", ""), wrapped.config),
        _config_difference(case.data.get("expected_results", ""), wrapped.results),
        "" if found == expected else f"{found} != {expected}",
    ]
    return checked("\n".join(filter(None, problems)))


def _items_difference(expected: Sequence[str], items: Sequence[Stream]) -> str:
    if len(expected) != len(items):
        return f"{len(items)} items, not {len(expected)}"
    found = (
        documents_difference(text, item.data) for text, item in zip(expected, items, strict=True)
    )
    return "\n".join(filter(None, found))


def _config_difference(expected: str, found: Stream | None) -> str:
    return documents_difference(expected, found.data if found else "")


def from_bytes(case: Case) -> Verdict:
    """Read a stream without annotations, its anchors written out."""
    expected = case.data["expected"]
    try:
        wrapped = kio.read(case.data["input"].encode())
        items = [de_anchored(each) for each in wrapped.items]
    except PackageError as error:
        return checked("" if expected.get("isErr") else str(error))
    if expected.get("isErr"):
        return failed("it was read, without an error")
    return checked(_items_difference(expected.get("sOut", []), items))


def seq_indent_annotation(case: Case) -> Verdict:
    """Read a stream; compare the annotation that says how its lists are indented."""
    omit = bool(case.data.get("omit_reader_annotations"))
    options = {"PreserveSeqIndent": True, "OmitReaderAnnotations": omit}
    wanted = case.data.get("error")
    try:
        wrapped = _read(case.data["input"], options)
    except (PackageError, ValueError) as error:
        # The words of a YAML library are its own; those of the reader are met.
        library = "yaml: " in str(wanted)
        met = wanted and (library or wanted in str(error))
        return checked("" if met else str(error))
    if wanted:
        return failed(f"it was read, without the error {wanted!r}")
    found = [kio_places.annotations(kio_places.value_of(each)) for each in wrapped.items]
    value = found[0].get(kio_places.SEQINDENT, "") if found else ""
    return checked(text_difference(case.data.get("expected_annotation_value", ""), value))


def write(case: Case) -> Verdict:
    """Write resources; JSON to the character, YAML as documents."""
    options = _options(case, _WRITE)
    items = [kio.stream_of(text) for text in case.data["items"]]
    config = case.data.get("function_config")
    kind = options.get("WrappingKind")
    wrapper = kio.Wrapper(options.get("WrappingAPIVersion", ""), kind) if kind else None
    results = case.data.get("results")
    data = _write(
        items,
        options,
        wrapper,
        kio.stream_of(config) if config else None,
        kio.stream_of(results) if results else None,
    )
    expected = case.data["expected"]
    if kio_places.is_json_file(items) and not kind:
        return checked(by_rule("trimmed-text", expected, data))
    return checked(documents_difference(expected, data))


def _legacy(item: Stream) -> Stream:
    """Put in the annotations of either name where the other is there."""
    missing = kio_places.legacy(kio_places.annotations(kio_places.value_of(item)))
    return kio_places.annotated(item, missing)


def copy_legacy_annotations(case: Case) -> Verdict:
    """Annotations of both names, where there is one."""
    found = _legacy(kio.stream_of(case.data["input"]))
    return checked(documents_difference(case.data["expected"], found.data))


def default_path(case: Case) -> Verdict:
    """The path of a resource that has none; ours count from the folder it is put into."""
    (found,) = _sunk_and_listed(case.data["input"])
    indexes = (kio_places.SEQINDENT, kio_places.INDEX, kio_places.LEGACY_INDEX)
    found = kio_places.annotated(found, dict.fromkeys(indexes))
    return checked(documents_difference(_in_its_folder(case), found.data))


def default_path_and_index(case: Case) -> Verdict:
    """Path and index of a resource, which is put into a folder and listed from it.

    Where it has an index, as many others come before it in its file.
    """
    given = kio_places.annotations(kio_places.value_of(kio.stream_of(case.data["input"])))
    path, index = (given.get(each, "") for each in (kio_places.PATH, kio_places.INDEX))
    *_, found = _sunk_and_listed(
        case.data["input"] + "".join(_BEFORE.format(path, n) for n in range(int(index or 0)))
    )
    found = kio_places.annotated(found, {kio_places.SEQINDENT: None})
    return checked(documents_difference(_in_its_folder(case), found.data))


_BEFORE = """---
apiVersion: v1
kind: Before
metadata:
  name: before
  annotations:
    internal.config.kubernetes.io/path: '{0}'
    internal.config.kubernetes.io/index: '{1}'
"""


def _sunk_and_listed(stream: str) -> Sequence[Stream]:
    """Put a stream into a folder by `fn sink`; return what `fn source` lists of it."""
    with TemporaryDirectory(prefix="case") as base:
        folder = f"{base}/out"
        _command(["sink", folder], stream)
        return kio.read(_command(["source", folder])).items


def _listed(files: Mapping[str, str]) -> Sequence[Stream]:
    """Return what `fn source` lists of a folder with these files."""
    with TemporaryDirectory(prefix="case") as base:
        put(files, Path(base))
        return kio.read(_command(["source", base])).items


def _command(arguments: Sequence[str], stdin: str = "") -> bytes:
    """Run `fn` as a user would type it; return what it wrote.

    Raises:
        PackageError: It failed.
    """
    ran = CliRunner().invoke(fn, arguments, stdin)
    if ran.exception and not isinstance(ran.exception, SystemExit):
        raise ran.exception
    if ran.exit_code:
        raise PackageError(Place(), ran.stderr.strip(), "")
    return ran.stdout_bytes


def _in_its_folder(case: Case) -> str:
    """What is expected, its paths as they are within the folder of the case."""
    text: str = case.data["expected"]
    folder = case.data.get("dir", "")
    return text.replace(f"'{folder}/", "'") if folder else text


def derive_seq_indent(case: Case) -> Verdict:
    """Say how the lists of a text are indented."""
    return checked(text_difference(case.data["expected"], kio_places.seqindent(case.data["input"])))


def de_anchor(case: Case) -> Verdict:
    """Write out anchors, aliases and merge keys."""
    wanted = case.data.get("error")
    try:
        found = de_anchored(read(case.data["input"].encode()))
    except PackageError as error:
        if wanted:
            if wanted in str(error):
                return passed()
            if error.place.line and "<<" in error.problem:
                return deviates("D81", f"{error.problem!r} instead of {wanted!r}")
        if "occurs twice in this mapping" in error.problem and wanted is None:
            return deviates("D80", error.problem)
        return failed(str(error))
    if wanted:
        return failed(f"it was written out, without the error {wanted!r}")
    return checked(documents_difference(case.data["expected"], found.data))


def yaml11_non_string(case: Case) -> Verdict:
    """Say whether a plain text is no string for YAML 1.1."""
    found = non_string(case.data["value"])
    return checked("" if found == case.data["expected"] else f"{found} for {case.data['value']!r}")


def read_ignore_file(case: Case) -> Verdict:
    """List a package and its subpackages by `fn source`, without what `.krmignore` excludes."""
    texts: Mapping[str, str] = case.data["files"]
    files = {path.replace("pkgFile", packages.KPTFILE): text for path, text in texts.items()}
    items = [kio_places.annotated(each, dict.fromkeys(_LISTED)) for each in _listed(files)]
    return checked(_items_difference(case.data["expected"], items))


def format_stream(case: Case) -> Verdict:
    """Order keys and lists; compare documents, comments, and the order of everything."""
    wanted = case.data.get("error")
    try:
        found = _formatted(case.data["input"], use_schema=case.data["use_schema"])
    except PackageError as error:
        return checked("" if wanted else str(error))
    if wanted:
        return failed("it was formatted, without an error")
    expected = case.data["expected"]
    return checked(documents_difference(expected, found) or _order_difference(expected, found))


def _formatted(text: str, *, use_schema: bool) -> bytes:
    """Format by the function `format`, which knows schemas and takes resources only.

    Raises:
        PackageError: It was refused.
    """
    stream = read(text.encode())
    if not use_schema:
        return formatted(stream)
    if any(unfit(each.value) for each in stream.documents):
        return formatted(read(typed(stream, _definitions())))
    ran = commands.run(["eval", "pkg", "--image", "format"], {_FILE: text})
    if ran.status:
        raise PackageError(Place(), ran.errors, "")
    return ran.files[_FILE].data


@cache
def _definitions() -> Definitions:
    """Return the oldest schemas at hand: kyaml's are of Kubernetes 1.21."""
    spec = find_spec("kubernetes_validate")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent / "kubernetes-json-schema"
    oldest = min(folder.glob("*-local"), key=lambda path: int(path.name.split(".")[1]))
    text = (oldest / "_definitions.json").read_text(encoding="utf-8")
    return Definitions(json.loads(text)["$defs"])


def _order_difference(expected: str, found: bytes) -> str:
    """Compare the order of keys, which documents as values do not show."""
    wanted = _values(expected.encode())
    values = _values(found)
    return text_difference(json.dumps(wanted, indent=1), json.dumps(values, indent=1))


def _values(data: bytes) -> list[Value]:
    return [each.value for each in read(data).documents if not each.empty]


KINDS: dict[str, Handler] = {
    "read-write": read_write,
    "read-write-seq-indent": read_write_seq_indent,
    "read-write-bare-seq": read_write_bare_seq,
    "read": read_stream,
    "from-bytes": from_bytes,
    "seq-indent-annotation": seq_indent_annotation,
    "write": write,
    "default-path-annotation": default_path,
    "default-path-and-index-annotation": default_path_and_index,
    "copy-legacy-annotations": copy_legacy_annotations,
    "derive-seq-indent": derive_seq_indent,
    "de-anchor": de_anchor,
    "yaml11-non-string": yaml11_non_string,
    "read-ignore-file": read_ignore_file,
    "format": format_stream,
}
