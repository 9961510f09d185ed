"""Corpus runtime: small rules of kpt's runtime, each against the code that has it here."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bot.cli.given import path_and_version
from bot.cli.pkg.git_address import github_address
from cadlib import images, versions
from cadlib.errors import PackageError
from cadlib.kptfile import reader as kptfiles
from cadlib.package import files as packages
from cadlib.package.files import KPTFILE, Entry
from cadlib.package.source import ref
from cadlib.render import status
from cadlib.stream import resourcelist
from cadlib.yaml import Value, emit, read
from fnrunner.builtin import resource
from tests.cases import commands
from tests.cases.compare import data_difference, documents_difference, text_difference
from tests.cases.fn_output import bare_items, write_fn_output
from tests.cases.functions import values
from tests.cases.merging import merge
from tests.cases.model import Case, Handler, Verdict, checked, deviates, failed, passed

_FILE = "f.yaml"
_EVERY_VERSION = ">=0-0"  # versions before a release too


# --- resources -----------------------------------------------------------------------------


def path_invariants(case: Case) -> Verdict:
    """Let a function return resources, and see whether their places are refused."""
    wanted = case.data.get("error_contains", "")
    answer = commands.answer_of(bare_items(case.data["input"]))
    ran = commands.run(["eval", "pkg", "--exec", commands.ANSWERS], answer=answer)
    if ran.status:
        return checked("" if wanted and wanted in ran.errors else f"it was refused: {ran.errors}")
    return checked(f"it was taken, without the error {wanted!r}" if wanted else "")


def selector_match(case: Case) -> Verdict:
    """Render a resource with a function that is for what a selector selects."""
    function: Value = {
        "image": "set-annotations:v0.1.4",
        "configMap": {"selected": "yes"},
        "selectors": [case.data["selector"]],
    }
    pipeline: Value = {"mutators": [function]}
    texts = {_FILE: case.data["input"]}
    ran = commands.run(["render", "pkg"], texts, {"pipeline": pipeline})
    if ran.status:
        return failed(ran.errors)
    (found,) = bare_items(ran.files[_FILE].data.decode())
    return _equal(case, resource.annotation(found.value, "selected") == "yes")


def merge_with_input(case: Case) -> Verdict:
    """Let a function that is for some resources return others for them."""

    def names(field: str) -> list[tuple[str, str]]:
        found = [ref(each.value) for each in bare_items(case.data[field])]
        return [(each.kind, each.name) for each in found]

    function: Value = {
        "exec": commands.ANSWERS,
        "selectors": [{"kind": kind, "name": name} for kind, name in names("selected_input")],
    }
    places = {name: index for index, name in enumerate(names("input"))}
    output = [
        # What is new comes behind all that was in the file.
        replace(each, path=_FILE, index=places.get(name, len(places)))
        for each, name in zip(bare_items(case.data["output"]), names("output"), strict=True)
    ]
    answer = resourcelist.encode(output, None).decode()
    ran = commands.run(
        ["render", "pkg", "--allow-exec"],
        {_FILE: case.data["input"]},
        {"pipeline": {"mutators": [function]}},
        answer=answer,
    )
    if ran.status:
        return failed(ran.errors)
    wanted = [each.value for each in bare_items(case.data["expected"])]
    found = [each.value for each in bare_items(ran.files[_FILE].data.decode())]
    return checked(data_difference(wanted, found))


def kustomization(case: Case) -> Verdict:
    """Render kustomize's own files, which need not be resources; what else is none is refused."""
    (found,) = bare_items(case.data["input"])
    ran = commands.run(["render", "pkg"], {found.path or _FILE: emit(_nameless(found.value))})
    return _equal(case, ran.status == 0)


def _nameless(value: Value) -> Value:
    """Return a document that is no resource, whatever it was."""
    whole = value if isinstance(value, dict) else {}
    return {**whole, "metadata": {}}


def namespace_scoped(case: Case) -> Verdict:
    """Set a namespace, which only a resource that lives in one gets."""
    arguments = ["eval", "pkg", "--image", "set-namespace:v0.4", "--", "namespace=set"]
    ran = commands.run(arguments, {_FILE: case.data["input"]})
    if ran.status:
        return failed(ran.errors)
    (found,) = bare_items(ran.files[_FILE].data.decode())
    return _equal(case, resource.namespace(found.value) == "set")


# --- functions and their configuration -----------------------------------------------------


def new_config_map(case: Case) -> Verdict:
    """Run a function with keys and texts, as a configuration of which it is sent them."""
    given = [f"{key}={text}" for key, text in case.data["data"].items()]
    ran = commands.run(["eval", "pkg", "--exec", commands.KEEPS, "--", *given])
    if ran.status:
        return failed(ran.errors)
    text = emit(ran.sent.config)
    missing = [each for each in case.data["expected_contains"] if each not in text]
    return checked(f"{missing} are not in\n{text}" if missing else "")


def function_config(case: Case) -> Verdict:
    """Render with a function, which is sent the configuration that the Kptfile names."""
    given = case.data["function"]
    texts: dict[str, str] = {}
    function: dict[str, Value] = {"exec": commands.KEEPS}
    if "configMap" in given:
        function["configMap"] = given["configMap"]
    if "config_file_content" in case.data:
        path = given.get("configPath", "fn-config.yaml")
        function["configPath"] = path
        texts[path] = case.data["config_file_content"]
    pipeline: Value = {"mutators": [function]}
    ran = commands.run(["render", "pkg", "--allow-exec"], texts, {"pipeline": pipeline})
    if ran.status:
        return failed(ran.errors)
    text = "" if ran.sent.config is None else emit(ran.sent.config)
    return checked(documents_difference(case.data["expected"], text))


def validated_fn_config(case: Case) -> Verdict:
    """Render with a function whose `configPath` names the file: the one of the wanted error."""
    wanted = case.data.get("error_equals", "")
    named = re.search(r'"([^"]+)"', wanted)
    name = named[1] if named else "fn-config.yaml"
    function: Value = {"exec": commands.KEEPS, "configPath": name}
    ran = commands.run(
        ["render", "pkg", "--allow-exec"],
        {name: case.data["input"]},
        {"pipeline": {"mutators": [function]}},
    )
    if ran.status:
        reason = f"Reason: {wanted}\n"
        return checked("" if wanted and reason in ran.errors else f"it was refused: {ran.errors}")
    if wanted:
        return failed(f"it was taken, without the error {wanted!r}")
    (config,) = bare_items(case.data["expected"])
    return checked(data_difference(config.value, ran.sent.config))


def config_path(case: Case) -> Verdict:
    """Merge a package whose Kptfile has such a `configPath`; "" would be none there."""
    if not case.data["path"]:
        return checked(_expected(case.data["valid"], not kptfiles.config_path_problem("")))
    function: Value = {"image": "set-labels:v0.2", "configPath": case.data["path"]}
    return _valid(case, {"pipeline": {"mutators": [function]}})


def function_name(case: Case) -> Verdict:
    """Merge a package whose Kptfile names such an image."""
    return _valid(case, {"pipeline": {"mutators": [{"image": case.data["image"]}]}})


def kptfile_validate(case: Case) -> Verdict:
    """Merge a package with such a Kptfile."""
    return _valid(case, case.data["kptfile"])


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
    """Say where short names come from."""
    ran = commands.run(["eval", "pkg", "--exec", "cat", "--image-prefix", case.data["prefix"]])
    return checked(_expected(case.data["expected_error"], ran.status != 0))


def filter_sort_tags(case: Case) -> Verdict:
    """Sort the tags that are versions."""
    every = versions.version_range(_EVERY_VERSION)
    assert every is not None
    return _equal(case, list(versions.matching(case.data["tags"], every)))


# --- results and errors --------------------------------------------------------------------


def migrate_legacy_results(case: Case) -> Verdict:
    """Let a function return results in an older form."""
    (given,) = (each.value for each in read(case.data["input"].encode()).documents)
    return _equal(case, _results(given))


def _results(given: Value) -> list[Any]:
    """Return what stands in the results file after a function returned these results."""
    answer = commands.answer_of([], given)
    return commands.run(["eval", "pkg", "--exec", commands.ANSWERS], answer=answer).results


def resource_ref_text(case: Case) -> Verdict:
    """Let a function return a result, and read it in the results file."""
    (given,) = (each.value for each in read(case.data["result"].encode()).documents)
    (found,) = _results([given])
    return checked(text_difference(case.data["expected"], emit(found)))


def exec_error_text(case: Case) -> Verdict:
    """Tell what a failed function wrote for people: kpt in one line, porchbot as it was written."""
    given = case.data["error"]
    stderr, code = given.get("stderr", ""), given.get("exitCode", 0)
    joined = stderr.replace("\n", ", ")
    if case.data["expected"] != f"[Stderr]:\n{joined}  Exit Code: {code}\n":
        return failed("kpt's text is not the one that docs/deviations.md describes")
    if not code:
        return deviates("D150", "no function fails with status 0")
    lines = stderr.split("\n") if stderr else []
    shown = lines[:4] if case.data.get("truncate") else lines
    wanted = [f"    {line}" for line in shown]
    if len(shown) < len(lines):
        more = len(lines) - len(shown)
        wanted.append(
            f"    ...({more} line(s) truncated, use '--truncate-output=false' to disable)"
        )
    script = {"stderr": stderr, "fail.sh": f"cat stderr >&2\nexit {code}\n"}
    truncate = f"--{'' if case.data.get('truncate') else 'no-'}truncate-output"
    *told, _where_results_are = commands.run(
        ["eval", "pkg", truncate, "--exec", "sh fail.sh"], beside=script
    ).errors.splitlines()
    wanted = ["  Stderr:", *wanted] if lines else []
    if told[-1] != f"  Exit code: {code}" or told[2:-1] != wanted:
        return failed("\n".join(told))
    return deviates("D150", "the lines of a function stay lines")


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


# -------------------------------------------------------------------------------------------


def _equal(case: Case, found: object) -> Verdict:
    return checked(_expected(case.data["expected"], found))


def _valid(case: Case, kptfile: Mapping[str, Value]) -> Verdict:
    """Merge a package with itself, which reads its Kptfile and runs nothing."""
    files = {KPTFILE: Entry(emit({**commands.HEAD, **kptfile}).encode())}
    try:
        merge([files] * 3)
    except PackageError as error:
        return checked(f"it was refused: {error}" if case.data["valid"] else "")
    return checked("" if case.data["valid"] else "it was not refused")


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
