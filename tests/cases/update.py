"""Corpus update: strategies on three trees, and whole stories with git repositories."""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from bot.cli.disk.git_source import RemoteRepositories
from bot.cli.pkg.get import get_into
from bot.cli.pkg.group import pkg
from cadlib.errors import PackageError, Place
from cadlib.kptfile.reader import GitRef
from cadlib.kptfile.reader import read as read_kptfile
from cadlib.package.files import KPTFILE, Files, is_resource_file
from cadlib.yaml import Value, read
from cadlib.yaml.tree import same
from tests.cases import kptfile
from tests.cases.compare import Tree, differences, entries, listed, on_disk, put
from tests.cases.git_repos import Made
from tests.cases.kio_merge3 import kio_merge3
from tests.cases.merge_deviations import explained_files
from tests.cases.merging import HEAD, merge, merge_inside
from tests.cases.model import Case, Handler, Outcome, Verdict, deviates, failed, passed

NO_NOISE = "D40"
_ROOT_UPSTREAM = "D41"
_KEPT_DELETED = "D42"
_NO_FOLDER = "D43"
_ADDED_INSIDE = "D44"
_ADDRESS = ("upstream", "upstreamLock")


def _updater(case: Case) -> Verdict:
    data = case.data
    states = [None if data[s] is None else entries(data[s]) for s in ("origin", "local", "updated")]
    origin, local, updated = (each or {} for each in states)
    wanted = data.get("error_contains") or ("" if data.get("error") else None)
    try:
        if data["is_root"]:
            files = merge(states, data["strategy"])
        else:
            files = merge_inside(states, data["strategy"])
    except PackageError as error:
        return _error(error, wanted)
    if wanted is not None:
        return _no_error(data, files, wanted)
    expected = entries(data["expected"])
    verdict = tree_verdict(expected, files, data["compare"], local)
    if verdict.outcome is not Outcome.FAILED:
        return verdict
    differing = differences(expected, files, data["compare"], noise=False)
    known = explained_files(differing, expected, files, (origin, local, updated))
    return deviates(min(known), verdict.text) if known else verdict


def _no_error(data: Mapping[str, Any], files: Files, wanted: str) -> Verdict:
    """Judge a merge that went well where kpt fails."""
    if data["updated"] is None and wanted == "no such file or directory":
        return deviates(_NO_FOLDER, "a tree that is not there counts as empty")
    local = entries(data["local"])
    empty = {
        path for path, each in data["local"].items() if isinstance(each, dict) and each.get("dir")
    }
    if wanted == "is a directory" and empty & entries(data["updated"]).keys():
        return deviates(_NO_FOLDER, "a folder without files is in nobody's way")
    clash = [
        path for path in entries(data["origin"]) if any(p.startswith(f"{path}/") for p in local)
    ]
    if wanted == "directory not empty" and clash and files == local:
        return deviates(_ADDED_INSIDE, f"what was added below {clash[0]} stays")
    return failed(f"no error, but one with {wanted!r} was expected")


def _error(error: object, wanted: str | None) -> Verdict:
    if wanted is None:
        return failed(f"an error: {error}")
    return passed() if wanted in str(error) else failed(f"{wanted!r} is not in: {error}")


def _non_krm(case: Case) -> Verdict:
    """Merge packages; what holds resources is not what the case is about."""
    states = [entries(case.data[side]) for side in ("origin", "local", "updated")]
    origin, local, updated = states
    merged = merge({**HEAD, **files} for files in states)
    expected, files = (
        _without_resources(each) for each in (entries(case.data["expected"]), merged)
    )
    found = differences(expected, files, case.data["compare"])
    back = {path for path in found if path in origin and path in updated and path not in local}
    if found and back == found.keys():
        return deviates(_KEPT_DELETED, f"deleted locally, and stays so: {', '.join(back)}")
    return failed(listed(found)) if found else passed()


def _without_resources(files: Files) -> Files:
    return {path: entry for path, entry in files.items() if not is_resource_file(path)}


def tree_verdict(
    expected: Files, actual: Files, compare: Mapping[str, Any], local: Files | None = None
) -> Verdict:
    """Compare a tree with the expected one, and know the differences that are on purpose.

    Args:
        expected: The tree of the case.
        actual: What came out.
        compare: The `compare` of the case.
        local: The local package before, where it was merged without git.
    """
    found = differences(expected, actual, compare)
    if not found:
        return passed()
    silent = differences(expected, actual, compare, noise=False)
    if not silent:
        return deviates(NO_NOISE, "no merge comments and upstream identifiers are added")
    if local and silent.keys() == {KPTFILE} and _is_own_upstream(expected, actual, local):
        return deviates(_ROOT_UPSTREAM, "the upstream of the root package stays the user's")
    return failed(listed(silent))


def _is_own_upstream(expected: Files, actual: Files, local: Files) -> bool:
    """Return whether two Kptfiles differ in nothing but that one has the local upstream."""
    theirs, ours, before = (_kptfile(each) for each in (expected, actual, local))
    own = {key: value for key, value in before.items() if key in _ADDRESS}
    rest = {key: value for key, value in theirs.items() if key not in _ADDRESS}
    return same(rest | own, ours)


def _kptfile(files: Files) -> dict[str, Value]:
    value = read(files[KPTFILE].data).documents[0].value
    return value if isinstance(value, dict) else {}


def _git_update(case: Case) -> Verdict:
    with tempfile.TemporaryDirectory() as name:
        return _story(case.data, Path(name))


def _story(data: Mapping[str, Any], folder: Path) -> Verdict:
    """Play a story: get, change, add commits, update."""
    (folder / "repos").mkdir()
    made = Made(folder / "repos", data["repos"])
    made.add(data.get("commits_before_get"))
    local = folder / "local"
    package = local
    if data["get"]:
        package = local / data["get"]["destination"]
        get_case(data["get"], package, made, folder)
    extra = data.get("extra_gets") or []
    later = bool(data.get("extra_gets_after_all_commits"))
    for each in () if later else extra:
        get_case(each, package / each["destination"], made, folder)
    made.add()
    after = data.get("local_after_get")
    if after is not None:
        tree = typed(made.fill(after), data["get"])
        package = package if data["get"] else local / _name(tree)
        shutil.rmtree(package, ignore_errors=True)
        put(tree, package)
    for each in extra if later else ():
        get_case(each, package / each["destination"], made, folder)
    return _update(data, package, made, folder)


def _update(data: Mapping[str, Any], package: Path, made: Made, folder: Path) -> Verdict:
    update = made.fill(data.get("update") or {})
    path = package / update.get("path", "")
    before = on_disk(package) if package.exists() else {}
    wanted = made.fill(data.get("error_contains"))
    version = f"@{update['ref']}" if update.get("ref") else ""
    strategy = ["--strategy", update["strategy"]] if update.get("strategy") else []
    ran = commanded(["update", f"{path}{version}", *strategy], folder)
    if ran.exit_code:
        if package.exists() and on_disk(package) != before:
            return failed("an update that failed has changed the package")
        verdict = _error(ran.stderr, wanted)
        if wanted is None or data.get("expected") is None:
            return verdict
        return verdict if verdict != passed() else _left(data, package, made)
    if wanted is not None:
        return failed(f"no error, but one with {wanted!r} was expected")
    return _left(data, package, made)


def _left(data: Mapping[str, Any], package: Path, made: Made) -> Verdict:
    """Compare what an update left, whether it went well or not."""
    expected = entries(typed(made.fill(data["expected"]), data["get"]))
    return tree_verdict(expected, on_disk(package), data["compare"])


def typed(tree: Tree, get: Mapping[str, Any] | None) -> Tree:
    """Return a tree with the folder of upstream as commands write it, "/java" for "java".

    The cases are of kpt's library, to which its commands give a folder with a slash in front.
    """
    directory = (get or {}).get("directory") or "/"
    text = tree.get(KPTFILE)
    if directory.startswith("/") or not isinstance(text, str):
        return tree
    written = text.replace(f"directory: {directory}\n", f"directory: /{directory}\n")
    return {**tree, KPTFILE: written}


def get_case(get: Mapping[str, Any], target: Path, made: Made, folder: Path) -> str:
    """Run the `get` of a case; return what was said.

    Raises:
        PackageError: It was refused.
    """
    filled = made.fill(get)
    repo = filled.get("repo_literal") or made.names.get(f"repo:{filled.get('repo')}", "")
    target.parent.mkdir(parents=True, exist_ok=True)
    if not repo or target.exists():
        # No command line says these: without an address there is no command, and a folder that is
        # there gets the package inside.
        with RemoteRepositories(folder / "cache") as repositories:
            address = {key: filled.get(key) or "" for key in ("directory", "ref")}
            upstream = GitRef(repo=repo, **address)
            get_into(target, upstream, "resource-merge", repositories)
            return ""
    directory = "/" + filled["directory"].strip("/")
    version = f"@{filled['ref']}" if filled.get("ref") else ""
    strategy = ["--strategy", filled["update_strategy"]] if filled.get("update_strategy") else []
    ran = commanded(["get", f"{repo}.git{directory}{version}", str(target), *strategy], folder)
    if ran.exit_code:
        raise PackageError(Place(), ran.stderr.strip(), "")
    return ran.stderr


def commanded(arguments: Sequence[str], folder: Path) -> Result:
    """Run `porchbot pkg` in this process, as a user would type it.

    Args:
        arguments: Those behind `pkg`.
        folder: The case's own; what is fetched is kept in it.
    """
    runner = CliRunner(env={"KPT_CACHE_DIR": str(folder / "cache")})
    ran = runner.invoke(pkg, arguments)
    if ran.exception and not isinstance(ran.exception, SystemExit):
        raise ran.exception
    return ran


def _name(tree: Mapping[str, str]) -> str:
    return read_kptfile(tree[KPTFILE].encode()).name


KINDS: Mapping[str, Handler] = {
    "updater": _updater,
    "replace-non-krm-files": _non_krm,
    "git-update": _git_update,
    **kptfile.KINDS,
    "kio-merge3": kio_merge3,
}
