"""Kind kio-merge3 of corpus update: trees of resources merged three ways."""

from collections import Counter

from cadlib.errors import PackageError
from cadlib.merge.pairs import PackageState, ResourceIdentity, duplicate
from cadlib.merge.resources import merge_resources
from cadlib.package.files import Entry, Files
from tests.cases.compare import differences, entries, listed
from tests.cases.merging import HEAD, merge
from tests.cases.model import Case, Verdict, checked, failed, passed


def kio_merge3(case: Case) -> Verdict:
    """Merge the trees of a case; `merge_on_path` makes the file part of the identity."""
    states = [entries(case.data[state]) for state in ("origin", "local", "updated")]
    try:
        merged = _merged(states) if case.data["merge_on_path"] else _across_files(states)
    except PackageError as error:
        return passed() if case.data.get("error") else failed(str(error))
    if case.data.get("error"):
        return failed("it was merged, without an error")
    return checked(
        listed(differences(entries(case.data["expected"]), merged, case.data["compare"]))
    )


def _merged(states: list[dict[str, Entry]]) -> Files:
    found = merge({**HEAD, **files} for files in states)
    return {path: entry for path, entry in found.items() if path not in HEAD}


def _across_files(states: list[dict[str, Entry]]) -> Files:
    """Merge without the file being part of the identity, which no command of kpt or ours does.

    Raises:
        PackageError: A resource stands in two files of one state, as kyaml refuses it.
    """
    for files in states:
        _refuse_twins(PackageState(files, "one"))
    return merge_resources(*states).files


def _refuse_twins(state: PackageState) -> None:
    """Refuse the same resource in two files."""
    seen: Counter[ResourceIdentity] = Counter()
    for path in sorted(state.files):
        for resource in state.resources(path):
            seen[resource.identity] += bool(resource.identity.name)
            if seen[resource.identity] > 1:
                raise duplicate(state.name, path, resource.document.start_line)
