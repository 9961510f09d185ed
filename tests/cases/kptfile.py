"""Corpus update, kinds kptfile-update and kptfile-merge: three Kptfiles made into one."""

from cadlib.errors import PackageError
from cadlib.merge.kptfile import merge
from cadlib.yaml import Value, read
from tests.cases.compare import documents_difference
from tests.cases.merge_deviations import explained
from tests.cases.model import Case, Handler, Verdict, deviates, failed, passed


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
    expected = case.data["expected"].encode()
    difference = documents_difference(expected, data, comments=False)
    if not difference:
        return passed()
    entries = explained(*(_value(each) for each in (expected, data, origin, local, updated)))
    return deviates(min(entries), difference) if entries else failed(difference)


def _value(data: bytes) -> Value:
    return next(each.value for each in read(data).documents if not each.empty)


KINDS: dict[str, Handler] = {"kptfile-update": run, "kptfile-merge": run}
