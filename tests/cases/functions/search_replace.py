"""Corpus functions/search-replace."""

import re
from collections.abc import Mapping

from fnrunner.builtin.catalog.search_replace import path_fits
from tests.cases.compare import text_difference
from tests.cases.functions import on_text
from tests.cases.functions.on_text import Ran
from tests.cases.model import Case, Handler, Outcome, Verdict, checked, deviates

_MESSAGE = re.compile(r'(?:Mutated field value to|Matched field value) "(.*)"')
# The report of a list: upstream puts the comment behind the path, porchbot behind the value.
_LIST = re.compile(r"^(fieldPath: \S+)( # .*)\n(value: .*)$", re.MULTILINE)


def transform(case: Case) -> Verdict:
    """Kind transform, with the report that upstream's tests print."""
    data = case.data
    ran = on_text.run(data["function"], data["input"], data["function_config"])
    if ran.templates and ran.text == data["input"] and not ran.failed:
        return deviates("D71", "a template is given to no function")
    verdict = on_text.judged(case, ran)
    if verdict.outcome is Outcome.FAILED or "expected_output" not in data:
        return verdict
    wanted = data["expected_output"].replace("${filePath}", on_text.FILE).strip()
    actual = _report(ran, data["function_config"]).strip()
    if actual != wanted and actual == _LIST.sub(r"\1\n\3\2", wanted):
        return deviates("D112", "the comment stands behind the value, not behind the path")
    return verdict if actual == wanted else checked(text_difference(wanted, actual))


def _report(ran: Ran, config: str) -> str:
    found = []
    for each in ran.results:
        message = _MESSAGE.fullmatch(str(each["message"]))
        if message:
            file, field = each["file"], each["field"]
            assert isinstance(file, dict)
            assert isinstance(field, dict)
            value = re.sub(r"\\(.)", r"\1", message[1])
            found.append(f"{file['path']}\nfieldPath: {field['path']}\nvalue: {value}\n\n")
    verb = "Mutated" if "put-" in config else "Matched"
    return f"{''.join(found)}{verb} {len(found)} field(s)\n"


def path_match(case: Case) -> Verdict:
    """Kind path-match: whether a path fits a pattern."""
    by_path, path = case.data["by_path"], case.data["traversed_path"]
    found = path_fits(by_path, path)
    if found is not case.data["expected"] and "][" in f"{by_path} {path}":
        return deviates("D153", "every position counts in a list of lists")
    return checked("" if found is case.data["expected"] else f"found {found}")


KINDS: Mapping[str, Handler] = {
    "config-error": on_text.config_error,
    "path-match": path_match,
    "transform": transform,
}
