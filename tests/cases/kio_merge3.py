"""Kind kio-merge3 of corpus update: trees of resources merged three ways."""

from cadlib.errors import PackageError
from cadlib.merge.resources import merge_resources
from tests.cases.compare import differences, entries, listed
from tests.cases.model import Case, Verdict, checked, failed, passed


def kio_merge3(case: Case) -> Verdict:
    """Merge the trees of a case; `merge_on_path` makes the file part of the identity."""
    try:
        merged = merge_resources(
            *(entries(case.data[state]) for state in ("origin", "local", "updated")),
            across_files=not case.data["merge_on_path"],
        )
    except PackageError as error:
        return passed() if case.data.get("error") else failed(str(error))
    if case.data.get("error"):
        return failed("it was merged, without an error")
    found = differences(entries(case.data["expected"]), merged.files, case.data["compare"])
    return checked(listed(found))
