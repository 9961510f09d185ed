"""Corpus render: packages through `porchbot fn` in this process, as a user would type it.

Longer than 400 lines: the ways of one corpus to a command line.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from click.testing import CliRunner

from bot.cli.fn.group import fn
from bot.cli.pkg.group import pkg
from cadlib.package import files as packages
from cadlib.package.files import KPTFILE, Entry, Files
from cadlib.package.source import unfit
from cadlib.yaml import Value, edit, emit, read, same
from fnrunner.builtin import lookup
from fnrunner.builtin.memory import ItemCache
from fnrunner.builtin.work import evaluate
from fnrunner.contract.errors import FunctionNotFoundError
from tests.cases import context
from tests.cases.compare import (
    by_rule,
    data_difference,
    differences,
    documents,
    entries,
    fill,
    listed,
    on_disk,
    put,
    text_difference,
)
from tests.cases.model import (
    Case,
    Handler,
    Outcome,
    Verdict,
    checked,
    deviates,
    failed,
    passed,
    waiting,
)

_TIME = re.compile(r'^(\[(?:PASS|FAIL)\] ".*" in ).*$', re.MULTILINE)
_GROUPS = {"fn": fn, "pkg": pkg}
_BLUEPRINT = re.compile(rb"^ *cnrm\.cloud\.google\.com/blueprint: 'krm-fn'\n", re.MULTILINE)
_JOINED = re.compile(r"^ Stderr: (.*)$", re.MULTILINE)
_SILENT, _LAYOUT = "D67", "D78"
_STATUS = "status"
_NUMBER = re.compile(rb"set [0-9]+ labels")


@dataclass(slots=True)
class Ran:
    """What the commands of a case did.

    Attributes:
        base: The folder it was run in.
        with_status: `fn render` is asked for the status that kpt always writes into the Kptfile.
        status: Exit status of the last pipe.
        output: What the last command wrote to standard output.
        errors: What all wrote to standard error.
        files: The package afterwards.
        results: The text of the results file; "" for none.
    """

    base: str
    with_status: bool = False
    status: int = 0
    output: bytes = b""
    errors: str = ""
    files: Files = field(default_factory=dict)
    results: str = ""


def steps(case: Case) -> Verdict:
    """Run the steps of a case, and compare all that it names."""
    lacking = missing(case.functions)
    if lacking:
        return waiting(", ".join(lacking))
    data = case.data
    silent = _without_status(data)
    verdict = _played(silent)
    if silent == data or verdict.outcome is Outcome.FAILED:
        return verdict
    # What kpt writes unasked is written as kpt has it where people ask for it.
    asked = _played(data, with_status=True)
    return deviates(_SILENT, "it writes no status unasked") if asked == passed() else asked


def _played(data: Mapping[str, Any], *, with_status: bool = False) -> Verdict:
    with TemporaryDirectory(prefix="case") as base:
        ran = _run(data, Path(base).resolve(), with_status=with_status)
    found = dict(_differences(data, ran))
    if found:
        return _deviation(data, ran, found) or failed(listed(found))
    if with_status:  # the text was compared without
        return passed()
    laid_out = differences(_expected(data), ran.files, {"kptfile": "ignore"})
    return deviates(_LAYOUT, listed(laid_out)) if laid_out else passed()


def _expected(data: Mapping[str, Any]) -> Files:
    return entries(data["input"] if data.get("expected_unchanged") else data["expected"])


def _without_status(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a case as it is where nobody asks for a status: the Kptfile has the one it had."""
    # The catalog's own cases name their function; they are older than what kpt writes there.
    if "function" in data or data.get("expected_unchanged") or KPTFILE not in data["expected"]:
        return data
    stream = read(data["expected"][KPTFILE].encode())
    value = stream.documents[0].value
    before = data["input"].get(KPTFILE)
    had = read(before.encode()).documents[0].value if before else None
    if not isinstance(value, dict):
        return data
    new = {key: each for key, each in value.items() if key != _STATUS}
    if isinstance(had, dict) and _STATUS in had:
        new[_STATUS] = had[_STATUS]
    if same(new, value):
        return data
    text = edit(stream, {0: new}).decode()
    return {**data, "expected": {**data["expected"], KPTFILE: text}}


def missing(functions: Sequence[str]) -> list[str]:
    """Return the names of the functions that are not there yet, sorted."""
    return sorted({_short(each) for each in functions if not _have(each)})


def _have(image: str) -> bool:
    try:
        lookup.find(image)
    except FunctionNotFoundError:
        return False
    return True


def _short(image: str) -> str:
    return image.rpartition("/")[2].removesuffix(":latest")


# --- running -------------------------------------------------------------------------------


def _run(data: Mapping[str, Any], base: Path, *, with_status: bool = False) -> Ran:
    package = base / data["package_name"]
    names = {"pkg": str(package), "outside": str(base / "outside"), "results": str(base / "res")}
    put(data["input"], package)
    put(data.get("outside_files"), base / "outside")
    package.mkdir(exist_ok=True)
    ran = Ran(str(base), with_status=with_status)
    with chdir(fill(data.get("cwd") or str(base), names)):
        for step in fill(data["steps"], names):
            _step(step, ran)
    ran.files = on_disk(package)
    results = base / "res"
    ran.results = "".join(each.read_text() for each in sorted(results.glob("*")))
    return ran


def _step(step: Mapping[str, Any], ran: Ran) -> None:
    match step:
        case {"pipe": pipe}:
            ran.status, ran.output = 0, b""
            for args in pipe:
                _command(args, ran)
        case {"remove": path}:
            _remove(Path(path))
        case {"mkdir": path}:
            Path(path).mkdir()
        case {"symlink": {"path": path, "target": target}}:
            os.symlink(target, path)
        case {"move_contents": {"from": source, "to": target}}:
            for each in list(Path(source).iterdir()):
                each.rename(Path(target) / each.name)
        case _:
            raise ValueError(f"a step without a meaning here: {step!r}")


def _remove(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        for each in path.iterdir():
            _remove(each)
        path.rmdir()


def _command(args: Sequence[str], ran: Ran) -> None:
    """Run one command on what the one before it wrote; any that fails fails the pipe."""
    group, name, *rest = args
    if group == "run-function":
        _function(name, ran)
        return
    if group not in _GROUPS:
        raise ValueError(f"a command without a meaning here: {args!r}")
    status = ["--write-status"] if name == "render" and ran.with_status else []
    result = CliRunner().invoke(_GROUPS[group], [name, *status, *rest], input=ran.output)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    ran.output = result.stdout_bytes
    ran.errors += result.stderr
    ran.status = ran.status or result.exit_code


def _function(image: str, ran: Ran) -> None:
    """Run one function on a ResourceList, as its image does: from standard input to output."""
    answer = evaluate(image, lookup.find(image), ran.output, ItemCache())
    ran.output = answer.resources
    ran.errors += answer.log
    ran.status = ran.status or int(answer.failed)


# --- comparing -----------------------------------------------------------------------------


def _differences(data: Mapping[str, Any], ran: Ran) -> Iterator[tuple[str, str]]:
    """Yield what differs, by what it is."""
    if ran.status != data["expected_exit_code"]:
        yield "exit status", f"{ran.status} instead of {data['expected_exit_code']}\n{ran.errors}"
    yield from _trees(_expected(data), ran.files).items()
    errors = _errors(data, ran)
    for text in _texts(data.get("expected_stderr_contains")):
        if _stripped(data, text).strip() not in errors:
            yield "standard error", text_difference(text, errors)
    pattern = data.get("expected_stderr_regex", "")
    if data.get("stderr_regex_not_enforced_upstream"):
        pattern = ""
    if not re.search(pattern, errors):
        yield "standard error", f"no match for {pattern!r}:\n{errors}"
    for text in _texts(data.get("expected_stdout_contains")):
        difference = _output(text, ran.output.decode())
        if difference:
            yield "standard output", difference
    if "expected_results" in data:
        lines = set(data.get("results_strip_lines") or ())
        wanted = "\n".join(
            each
            for each in data["expected_results"].split("\n")
            # Older versions of kpt write it where a result names no resource.
            if each not in lines and each.strip() != "resourceRef: {}"
        )
        difference = by_rule("semantic", wanted, ran.results)
        if difference:
            yield "results.yaml", difference


def _texts(given: str | Sequence[str] | None) -> Sequence[str]:
    return [given] if isinstance(given, str) else given or ()


def _trees(expected: Files, actual: Files) -> dict[str, str]:
    """Compare by what documents say, comments included.

    kpt writes the root Kptfile anew and loses its comments; ours may have more.
    """
    found = differences(expected, actual, {"kptfile": "semantic", "other_files": "documents"})
    for path, entry in expected.items():
        if packages.name(path) != KPTFILE or path in found:
            continue
        if path in actual and actual[path].data != entry.data:  # the same may be no YAML
            lost = _comments(entry.data) - _comments(actual[path].data)
            if lost:
                found[path] = f"comments are lost: {sorted(lost)}"
    return found


def _comments(data: bytes) -> set[str]:
    return {text for each in documents(data) for text in (*each.comments.values(), *each.standing)}


def _errors(data: Mapping[str, Any], ran: Ran) -> str:
    """Return standard error as upstream compares it."""
    text = _TIME.sub(r"\g<1>0s", ran.errors).replace(f"{ran.base}/", "")
    return _stripped(data, text)


def _stripped(data: Mapping[str, Any], text: str) -> str:
    dropped = set(data.get("stderr_strip_lines") or ())
    return "\n".join(line for line in text.split("\n") if line not in dropped)


def _output(expected: str, actual: str) -> str:
    """Compare streams of resources by what they say."""
    return data_difference(_resources(expected), _resources(actual))


def _resources(text: str) -> list[Value]:
    found: list[Value] = []
    for each in documents(text):
        items = each.value.get("items") if isinstance(each.value, dict) else None
        found += items if isinstance(items, list) else [each.value]
    return found


# --- what differs on purpose ---------------------------------------------------------------


def _deviation(data: Mapping[str, Any], ran: Ran, found: Mapping[str, str]) -> Verdict | None:
    """Return the one deviation that explains all that was found; None where there is none."""
    wanted = _texts(data.get("expected_stderr_contains"))
    if found.keys() == {"standard error"} and any(map(_JOINED.search, wanted)):
        apart = {**data, "expected_stderr_contains": [_JOINED.sub(_apart, each) for each in wanted]}
        return None if dict(_differences(apart, ran)) else deviates("D150", "its lines stay lines")
    if found.keys() == {"standard output"}:
        return _of_output(data["expected_stdout_contains"], ran.output.decode())
    expected = _expected(data)
    given = entries(data["input"])
    kustomizations = {path for path in found if path in given and _kustomization(path, given)}
    if (
        kustomizations
        and not _trees(
            _uncounted({**expected, **{path: given[path] for path in kustomizations}}),
            _uncounted(ran.files),
        )
        and not found.keys() - kustomizations - {path for path in found if path in ran.files}
    ):
        return deviates("D60", f"{', '.join(sorted(kustomizations))} left as it is")
    return _of_results(expected, ran.files, found)


def _apart(joined: re.Match[str]) -> str:
    """Return the lines of a function that kpt put into one, as they are shown here."""
    said = joined[1].removesuffix(",").split(", ")
    more = len(said) - 4 + joined[1].endswith(",")  # the last line end begins one more
    cut = f"...({more} line(s) truncated, use '--truncate-output=false' to disable)"
    shown = said if len(said) <= 4 else [*said[:4], cut]
    return "\n".join(["  Stderr:", *(f"    {line}" for line in shown)])


def _of_results(expected: Files, actual: Files, found: Mapping[str, str]) -> Verdict | None:
    """Return the deviation where only the results in the root's status differ."""
    if found.keys() != {KPTFILE}:
        return None
    folders = packages.find(actual)
    if not _trees(_short_paths(expected, folders), _short_paths(actual, folders)):
        return deviates("D61", "results name files below the package of the pipeline")
    if not _trees(
        _short_paths(expected, folders, order=True), _short_paths(actual, folders, order=True)
    ):
        return deviates("D62", "results come in the order of the files")
    return None


def _short_paths(files: Files, folders: Sequence[str], *, order: bool = False) -> Files:
    """Return files with each result's path below its own package, sorted if `order` is set."""
    value = documents(files[KPTFILE].data)[0].value
    for each in _lists(value, "results"):
        for result in each:
            file = result.get("file") if isinstance(result, dict) else None
            if isinstance(file, dict) and file.get("path"):
                file["path"] = _below(str(file["path"]), folders)
        if order:
            each.sort(key=str)
    return {**files, KPTFILE: Entry(emit(value).encode())}


def _below(path: str, folders: Sequence[str]) -> str:
    """Return a path below the innermost package that it may lie in."""
    above = [each for each in packages.upwards(packages.folder(path)) if each]
    inner = (each for each in above if any(f"/{f}".endswith(f"/{each}") for f in folders if f))
    return packages.relative(next(inner, ""), path)


def _lists(value: Value, key: str) -> Iterator[list[Value]]:
    """Yield the lists of a key, wherever it stands."""
    if isinstance(value, list):
        for each in value:
            yield from _lists(each, key)
    elif isinstance(value, dict):
        for name, each in value.items():
            if name == key and isinstance(each, list):
                yield each
            yield from _lists(each, key)


def _of_output(expected: str, actual: str) -> Verdict | None:
    wanted, got = _resources(expected), _resources(actual)
    key = str  # any order will do that is the same for both
    if sorted(wanted, key=key) == sorted(got, key=key):
        return deviates("D62", "the resources come in the order of their files")
    more = [each for each in got if each not in wanted]
    kptfiles = all(isinstance(each, dict) and each.get("kind") == KPTFILE for each in more)
    if kptfiles and [each for each in got if each in wanted] == wanted:
        return deviates("D63", "Kptfiles are among the resources")
    return None


def _kustomization(path: str, files: Files) -> bool:
    """Say whether a file is one of kustomize's own, whose document is no Kubernetes resource."""
    named = packages.name(path) in ("kustomization.yaml", "kustomization.yml")
    return named and any(unfit(each.value) for each in documents(files[path].data))


def _uncounted(files: Files) -> Files:
    """Return files whose Kptfiles do not say how many fields functions set."""
    return {
        path: Entry(_NUMBER.sub(b"set # labels", entry.data), entry.mode)
        if packages.name(path) == KPTFILE
        else entry
        for path, entry in files.items()
    }


# --- single commands -----------------------------------------------------------------------


def source(case: Case) -> Verdict:
    """Run `fn source` on a folder."""
    data = case.data
    with TemporaryDirectory(prefix="case") as base:
        root = Path(base).resolve()
        put(data["input"], root)
        names = {"dir": str(root)}
        ran = Ran(str(root))
        with chdir(fill(data["cwd"] or str(root), names)):
            _command(["fn", "source", *fill(data.get("args") or [], names)], ran)
    if "error_equals" in data:
        return _refusal(fill(data["error_equals"], names), ran)
    for text in _texts(data.get("expected_stderr_contains")):
        if text not in ran.errors:
            return failed(text_difference(text, ran.errors))
    return checked(text_difference(data["expected_stdout"].strip(), ran.output.decode().strip()))


def sink(case: Case) -> Verdict:
    """Run `fn sink` on a stream."""
    data = case.data
    with TemporaryDirectory(prefix="case") as base:
        target = Path(base).resolve() / "out"
        if data["dir_exists_before"]:
            target.mkdir()
        names = {"dir": str(target)}
        ran = Ran(base, output=data["stdin"].encode())
        _command(["fn", "sink", *fill(data["args"], names)], ran)
        files = on_disk(target)
    if "error_equals" in data:
        return _refusal(fill(data["error_equals"], names), ran)
    rule = "exact-text"
    return checked(
        listed(differences(entries(data["expected_files"]), files, {"other_files": rule}))
    )


def _refusal(expected: str, ran: Ran) -> Verdict:
    told = ran.errors.strip().removeprefix("error: ")
    return checked(text_difference(expected, told) or ("" if ran.status else "exit status 0"))


def files_of(case: Case) -> Verdict:
    """Render a tree; only the files named count."""
    lacking = missing(case.functions)
    if lacking:
        return waiting(", ".join(lacking))
    data = case.data
    steps_ = [{"pipe": [["fn", "render", "{{pkg}}"]]}]
    with TemporaryDirectory(prefix="case") as base:
        ran = _run({**data, "package_name": "package", "steps": steps_}, Path(base).resolve())
    if ran.status:
        return failed(ran.errors)
    expected = entries(data["expected_files"])
    files = {path: ran.files[path] for path in expected}
    if _trees(expected, files) and not _trees(_unattributed(expected), files):
        return deviates("D40", "resources of Google's say nothing about who rendered them")
    laid_out = differences(expected, files, {"kptfile": "ignore"})
    if laid_out and not _trees(expected, files):
        return deviates(_LAYOUT, listed(laid_out))
    return checked(listed(_trees(expected, files)))


def _unattributed(files: Files) -> Files:
    """Return files without the annotation by which kpt says that it rendered a resource."""
    return {
        path: replace(each, data=_BLUEPRINT.sub(b"", each.data)) for path, each in files.items()
    }


KINDS: Mapping[str, Handler] = {
    "fn-eval": steps,
    "fn-pipeline": steps,
    "fn-render": steps,
    "fn-sink-dir": sink,
    "fn-source": steps,
    "fn-source-dir": source,
    "package-context": context.package_context,
    "render-files": files_of,
}
