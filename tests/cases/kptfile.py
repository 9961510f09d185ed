"""Corpus update, kinds kptfile-update and kptfile-merge: three Kptfiles made into one."""

from cadlib.errors import PackageError
from cadlib.kptfile.reader import read as read_kptfile
from cadlib.merge.kptfile import merge as merge_kptfiles
from cadlib.package.files import KPTFILE, Entry
from cadlib.update.upstream import is_unfetched
from cadlib.yaml import Value, read
from tests.cases.compare import documents_difference
from tests.cases.merge_deviations import explained
from tests.cases.merging import merge, merge_inside
from tests.cases.model import Case, Handler, Verdict, deviates, failed, passed


def run(case: Case) -> Verdict:
    """Merge packages that hold a Kptfile each; the result is compared as data.

    Where upstream's address is to be taken over, as for a package inside another, it is one; no
    command merges one whose origin was never fetched. kpt writes a Kptfile anew and drops its
    comments and layout, so they do not count.
    """
    texts = [case.data[key].encode() for key in ("origin", "local", "updated")]
    states = [{KPTFILE: Entry(text)} for text in texts]
    try:
        if not case.data.get("update_upstream"):
            data = merge(states)[KPTFILE].data
        elif is_unfetched(read_kptfile(texts[0])):
            data, _ = merge_kptfiles(*texts, update_upstream=True)
        else:
            data = merge_inside(states)[KPTFILE].data
    except PackageError as error:
        return failed(str(error))
    expected = case.data["expected"].encode()
    difference = documents_difference(expected, data, comments=False)
    if not difference:
        return passed()
    entries = explained(*map(_value, (expected, data, *texts)))
    return deviates(min(entries), difference) if entries else failed(difference)


def _value(data: bytes) -> Value:
    return next(each.value for each in read(data).documents if not each.empty)


KINDS: dict[str, Handler] = {"kptfile-update": run, "kptfile-merge": run}
