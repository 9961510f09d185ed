"""Corpus update, kinds kptfile-update and kptfile-merge: three Kptfiles made into one."""

from cadlib.errors import PackageError
from cadlib.kptfile_merge import merge
from tests.cases.compare import documents_difference
from tests.cases.model import Case, Handler, Verdict, checked, failed


def run(case: Case) -> Verdict:
    """Merge `origin`, `local` and `updated`; the result is compared as data.

    kpt writes a Kptfile anew and drops its comments and layout, so they do not count.
    """
    origin, local, updated = (case.data[key].encode() for key in ("origin", "local", "updated"))
    try:
        data, _ = merge(
            origin, local, updated, update_upstream=case.data.get("update_upstream", False)
        )
    except PackageError as error:
        return failed(str(error))
    return checked(documents_difference(case.data["expected"], data, comments=False))


KINDS: dict[str, Handler] = {"kptfile-update": run, "kptfile-merge": run}
