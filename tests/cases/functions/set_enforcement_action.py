"""Corpus functions/set-enforcement-action: what the function says, in order."""

from collections.abc import Mapping

from cadlib.stream.resourcelist import ResourceList
from fnrunner.builtin.catalog import set_enforcement_action
from tests.cases.compare import data_difference, documents
from tests.cases.model import Case, Handler, Verdict, checked
from tests.fnrunner.calls import items


def messages(case: Case) -> Verdict:
    """Compare the messages; of a wrong configuration the cases have the bare error."""
    config = documents(case.data["function_config"])[0].value
    answer = set_enforcement_action.run(ResourceList(items(case.data["input"]), config))
    said = [str(each["message"]) for each in answer.results]
    if answer.failed:
        said = [each.removeprefix("failed to process policies: ") for each in said]
    return checked(data_difference(case.data["expected_messages"], said))


KINDS: Mapping[str, Handler] = {"messages": messages}
