"""Corpus functions/starlark: configurations that are checked without being used."""

from collections.abc import Mapping

from cadlib.stream.resourcelist import ResourceList
from fnrunner.builtin.catalog import starlark
from tests.cases.compare import documents, text_difference
from tests.cases.model import Case, Handler, Verdict, checked, failed


def config_check(case: Case) -> Verdict:
    """Run the function on no resources; only what it says of its configuration counts."""
    config = documents(case.data["function_config"])[0].value
    answer = starlark.run(ResourceList((), config))
    said = "\n".join(str(each["message"]) for each in answer.results)
    wanted = case.data.get("error_contains")
    if wanted is None:
        return checked(said)
    if not answer.failed:
        return failed(f"it ran, without the error {wanted!r}")
    return checked("" if wanted in said else text_difference(wanted, said))


KINDS: Mapping[str, Handler] = {"config-check": config_check}
