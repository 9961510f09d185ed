"""Corpus runtime: small rules of kpt's runtime, each against the code that has it here."""

from collections.abc import Mapping, Sequence
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from click.testing import CliRunner

from bot.cli.fn import config as fn_config
from bot.cli.fn.group import fn
from bot.cli.fn.report import RunReport
from bot.cli.git_address import github_address
from bot.cli.given import path_and_version
from cadlib import images, versions
from cadlib.errors import PackageError
from cadlib.kptfile import reader as kptfiles
from cadlib.kptfile.values import Function, Selector
from cadlib.limits import DEFAULT
from cadlib.package import files as packages
from cadlib.package.files import KPTFILE, Entry
from cadlib.package.source import Resource, Source, is_kustomization
from cadlib.render import functions, returned, status
from cadlib.render import selectors as select
from cadlib.render.calls import Step
from cadlib.stream import resourcelist
from cadlib.stream.resourcelist import Item
from cadlib.yaml import Value, emit, read
from fnrunner.builtin import resource
from tests.cases.compare import data_difference, documents_difference, on_disk, text_difference
from tests.cases.functions import values
from tests.cases.model import Case, Handler, Verdict, checked, deviates, failed, passed

_HEAD: Mapping[str, Value] = {
    "apiVersion": "kpt.dev/v1",
    "kind": "Kptfile",
    "metadata": {"name": "pkg"},
}
_EVERY_VERSION = ">=0-0"  # versions before a release too


# --- resources -----------------------------------------------------------------------------


def path_invariants(case: Case) -> Verdict:
    """Take resources as what a function returned, and see whether their places are refused."""
    wanted = case.data.get("error_contains", "")
    answer = returned.handed_back(_bare(case.data["input"]), [], "", given=[], mutates=True)
    if answer.problem:
        refusal = str(answer.problem)
        return checked("" if wanted and wanted in refusal else f"it was refused: {refusal}")
    return checked(f"it was taken, without the error {wanted!r}" if wanted else "")


def _bare(text: str) -> list[Item]:
    """Return resources with the place that their annotations name, and no other."""
    return [
        resourcelist.bare(each.value, each.comments)
        for each in read(text.encode()).documents
        if not each.empty
    ]


def selector_match(case: Case) -> Verdict:
    """Hold a selector against a resource."""
    given = case.data["selector"]
    wanted = Selector(
        api_version=given.get("apiVersion", ""),
        kind=given.get("kind", ""),
        name=given.get("name", ""),
        namespace=given.get("namespace", ""),
        labels=given.get("labels", {}),
        annotations=given.get("annotations", {}),
    )
    (found,) = _bare(case.data["input"])
    return _equal(case, select.fits(wanted, found.value))


def merge_with_input(case: Case) -> Verdict:
    """Put what a function returned of a selection back among all resources."""
    before = [_resource(each) for each in values.items(case.data["input"])]
    chosen = [each.ref for each in map(_resource, values.items(case.data["selected_input"]))]
    given = [each for each in before if each.ref in chosen]
    after = returned.handed_back(
        values.items(case.data["output"]),
        given,
        "",
        given=[Item(each.value, {}, each.path, each.index) for each in given],
        mutates=True,
    )
    if after.problem:
        return failed(str(after.problem))
    merged = select.merged(before, given, after.resources, after.was)
    wanted = [each.value for each in values.items(case.data["expected"])]
    return checked(data_difference(wanted, [each.value for each in merged]))


def _resource(item: Item) -> Resource:
    return Resource(item.value, None, item.path, item.index, None)


def kustomization(case: Case) -> Verdict:
    """Tell kustomize's own files from resources."""
    (found,) = _bare(case.data["input"])
    return _equal(case, is_kustomization(found.path, found.value))


def namespace_scoped(case: Case) -> Verdict:
    """Say whether a resource lives in a namespace."""
    (found,) = _bare(case.data["input"])
    return _equal(case, resource.is_namespaced(found.value))


# --- functions and their configuration -----------------------------------------------------


def new_config_map(case: Case) -> Verdict:
    """Make a configuration of keys and texts."""
    text = emit(functions.from_texts(case.data["data"]))
    missing = [each for each in case.data["expected_contains"] if each not in text]
    return checked(f"{missing} are not in\n{text}" if missing else "")


def function_config(case: Case) -> Verdict:
    """Find the configuration that a function of a Kptfile names."""
    given = case.data["function"]
    files = {KPTFILE: Entry(emit({**_HEAD}).encode())}
    path = given.get("configPath")
    if "config_file_content" in case.data:
        path = path or "fn-config.yaml"
        files[path] = Entry(case.data["config_file_content"].encode())
    source = Source(files, DEFAULT)
    function = Function(
        image=given.get("image", "some"), config_path=path, config_map=given.get("configMap")
    )
    found = functions.config(source, "", function, source.resources(""), "")
    text = "" if found is None else emit(found)
    return checked(documents_difference(case.data["expected"], text))


def validated_fn_config(case: Case) -> Verdict:
    """Read the file that `--fn-config` names."""
    with TemporaryDirectory(prefix="case") as base:
        file = Path(base) / "fn-config.yaml"
        file.write_text(case.data["input"])
        try:
            found = fn_config.of_file(str(file))
        except (click.ClickException, PackageError) as error:
            told = error.format_message() if isinstance(error, click.ClickException) else str(error)
            return checked(text_difference(case.data.get("error_equals", ""), told))
    if "error_equals" in case.data:
        return failed(f"it was taken, without the error {case.data['error_equals']!r}")
    (wanted,) = _bare(case.data["expected"])
    return checked(data_difference(wanted.value, found))


def config_path(case: Case) -> Verdict:
    """Judge a `configPath`."""
    problem = kptfiles.config_path_problem(case.data["path"])
    return _valid(case, problem)


def function_name(case: Case) -> Verdict:
    """Judge the name of a function's image."""
    return _valid(case, "" if images.is_image(case.data["image"]) else "it is no image's name")


def kptfile_validate(case: Case) -> Verdict:
    """Judge a Kptfile."""
    try:
        kptfiles.read(emit({**_HEAD, **case.data["kptfile"]}).encode())
    except PackageError as error:
        return _valid(case, str(error))
    return _valid(case, "")


def sdk_process(case: Case) -> Verdict:
    """Run a function that has its configuration as the SDK gives it: set-labels."""
    config = resourcelist.decode(case.data["resource_list"].encode()).config
    found = values.run("set-labels", (), None if config is None else emit(config))
    lines = [status.line(each) for each in found.results]
    # Which the SDK does not say, but the catalog's function of a list without resources.
    said = [line for line in lines if line != "[info]: no input resources"]
    difference = text_difference(case.data["expected_result_text"].strip(), "\n".join(said))
    return checked(difference or _expected(case.data["expected_ok"], not found.failed))


# --- images --------------------------------------------------------------------------------


def has_tag_or_digest(case: Case) -> Verdict:
    """Say whether an image has a tag or a digest."""
    return _equal(case, images.has_tag_or_digest(case.data["image"]))


def base_name_and_tag(case: Case) -> Verdict:
    """Take an image's name apart."""
    wanted = (case.data["expected_name"], case.data.get("expected_tag", ""))
    return checked(_expected(wanted, images.base_name_and_tag(case.data["image"])))


def resolve_image(case: Case) -> Verdict:
    """Make a short name full."""
    return _equal(case, images.resolve_image(case.data["image"], case.data["prefix"]))


def validate_image_prefix(case: Case) -> Verdict:
    """Judge where short names come from."""
    refused = not images.is_prefix(case.data["prefix"])
    return checked(_expected(case.data["expected_error"], refused))


def filter_sort_tags(case: Case) -> Verdict:
    """Sort the tags that are versions."""
    every = versions.version_range(_EVERY_VERSION)
    assert every is not None
    return _equal(case, list(versions.matching(case.data["tags"], every)))


# --- results and errors --------------------------------------------------------------------


def migrate_legacy_results(case: Case) -> Verdict:
    """Read results in an older form."""
    (found,) = (each.value for each in read(case.data["input"].encode()).documents)
    whole = {"apiVersion": resourcelist.API_VERSION, "kind": resourcelist.KIND, "results": found}
    listed = resourcelist.decode(emit(whole).encode())
    return _equal(case, [status.result(each) for each in listed.results])


def resource_ref_text(case: Case) -> Verdict:
    """Read a result and write it again."""
    (found,) = (each.value for each in read(case.data["result"].encode()).documents)
    assert isinstance(found, dict)
    return checked(text_difference(case.data["expected"], emit(status.result(found))))


def exec_error_text(case: Case) -> Verdict:
    """Tell what a failed function wrote for people: kpt in one line, porchbot as it was written."""
    given = case.data["error"]
    stderr, code = given.get("stderr", ""), given.get("exitCode", 0)
    joined = stderr.replace("\n", ", ")
    if case.data["expected"] != f"[Stderr]:\n{joined}  Exit Code: {code}\n":
        return failed("kpt's text is not the one that docs/deviations.md describes")
    step = Step(image="f", package="", step="validators[0]", source="pipeline", log=stderr,
                ok=False, exit_code=code)  # fmt: skip
    lines = stderr.split("\n") if stderr else []
    shown = lines[:4] if case.data.get("truncate") else lines
    wanted = [f"    {line}" for line in shown]
    if len(shown) < len(lines):
        more = len(lines) - len(shown)
        wanted.append(
            f"    ...({more} line(s) truncated, use '--truncate-output=false' to disable)"
        )
    told = _told(step, truncate=bool(case.data.get("truncate")))
    wanted = ["  Stderr:", *wanted] if lines else []
    if told[-1] != f"  Exit code: {code}" or told[2:-1] != wanted:
        return failed("\n".join(told))
    return deviates("D150", "the lines of a function stay lines")


def _told(step: Step, *, truncate: bool) -> list[str]:
    """Return the lines that people are told about a function."""

    @click.command()
    def told() -> None:
        RunReport(truncate=truncate).step(step)

    return CliRunner().invoke(told).stderr.splitlines()


# --- addresses and paths -------------------------------------------------------------------


def path_rel_to_root(case: Case) -> Verdict:
    """Return the path of a resource of a subpackage, relative to the root package."""
    data = case.data
    root, inner = data["root_path"], data["subpackage_path"]
    if "error_equals" in data:
        relative = not (root.startswith("/") and inner.startswith("/"))
        if relative or not packages.within(inner, root):
            return deviates("D151", "a package's path is relative to the root, always")
        return failed(f"nothing refuses {inner!r} below {root!r}")
    subpackage = packages.relative(root, inner) if inner != root else ""
    return _equal(case, packages.join(subpackage, data["resource_path"]))


def github(case: Case) -> Verdict:
    """Read an address at GitHub, as it is copied from a browser."""
    wanted = case.data["error"]
    try:
        found = github_address(case.data["url"], lambda _: case.data["known_branches"] or [])
    except PackageError as error:
        return checked("" if wanted and wanted in str(error) else f"it was refused: {error}")
    if wanted:
        return failed(f"it was taken as {found!r}, without the error {wanted!r}")
    return _equal(case, found)


def parse_dir_version(case: Case) -> Verdict:
    """Read a folder and a version."""
    return _folder_and_version(case, case.data["expected_version"])


def parse_dir_version_defaults(case: Case) -> Verdict:
    """The same where kpt has defaults; a version that is not written is none here."""
    if case.data["input"] and "@" not in case.data["input"]:
        verdict = _folder_and_version(case, "")
        same = verdict == passed() and case.data["expected_version"] == "master"
        return deviates("D152", "no version means upstream's own") if same else verdict
    return _folder_and_version(case, case.data["expected_version"])


def _folder_and_version(case: Case, version: str) -> Verdict:
    try:
        found = path_and_version(case.data["input"])
    except PackageError as error:
        return checked("" if case.data["error"] else f"it was refused: {error}")
    if case.data["error"]:
        return failed(f"it was taken as {found}, without the error {case.data['error']!r}")
    return checked(_expected((case.data["expected_dir"], version), found))


# --- what is written -----------------------------------------------------------------------


def write_fn_output(case: Case) -> Verdict:
    """Hand a stream on as `fn eval` does, by a function that changes nothing."""
    data = case.data
    output = ["--output", data["dest"]] if "dest" in data else []
    with TemporaryDirectory(prefix="case") as base, chdir(base):
        ran = CliRunner().invoke(
            fn, ["eval", "-", "--image", "no-op", *output], input=data["content"].encode()
        )
        files = on_disk(Path(base))
    if ran.exit_code:
        return failed(ran.stderr)
    if "expected_stdout" in data:
        return checked(data_difference(_listed(data["expected_stdout"]), _listed(ran.stdout)))
    wanted = [[each.path, each.value] for each in _bare(data["expected_package_stream"])]
    found: list[Any] = [
        [path, each.value]
        for path, entry in sorted(files.items())
        for each in read(entry.data).documents
        if not each.empty
    ]
    return checked(data_difference(wanted, found))


def _listed(text: str) -> list[Any]:
    """Return what a stream says: of each resource its place and value, and what wraps them."""
    (first, *_) = (each.value for each in read(text.encode()).documents)
    if resource.kind(first) == resourcelist.KIND:
        listed = resourcelist.decode(text.encode()).items
        return [resourcelist.KIND, *([each.path, each.index, each.value] for each in listed)]
    return [[each.path, each.index, each.value] for each in _bare(text)]


# -------------------------------------------------------------------------------------------


def _equal(case: Case, found: object) -> Verdict:
    return checked(_expected(case.data["expected"], found))


def _valid(case: Case, problem: str) -> Verdict:
    if case.data["valid"]:
        return checked(f"it was refused: {problem}" if problem else "")
    return checked("" if problem else "it was not refused")


def _expected(wanted: object, found: object) -> str:
    def plain(value: object) -> object:
        return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value

    return data_difference(plain(wanted), plain(found))


KINDS: Mapping[str, Handler] = {
    "base-name-and-tag": base_name_and_tag,
    "config-path": config_path,
    "exec-error-text": exec_error_text,
    "filter-sort-tags": filter_sort_tags,
    "function-config": function_config,
    "function-name": function_name,
    "github-url": github,
    "has-tag-or-digest": has_tag_or_digest,
    "is-kustomization": kustomization,
    "is-namespace-scoped": namespace_scoped,
    "kptfile-validate": kptfile_validate,
    "merge-with-input": merge_with_input,
    "migrate-legacy-results": migrate_legacy_results,
    "new-config-map": new_config_map,
    "parse-dir-version": parse_dir_version,
    "parse-dir-version-defaults": parse_dir_version_defaults,
    "path-invariants": path_invariants,
    "path-rel-to-root": path_rel_to_root,
    "resolve-image": resolve_image,
    "resource-ref-text": resource_ref_text,
    "sdk-process": sdk_process,
    "selector-match": selector_match,
    "validate-image-prefix": validate_image_prefix,
    "validated-fn-config": validated_fn_config,
    "write-fn-output": write_fn_output,
}
