"""Corpus functions/delete-annotations: what the function says."""

from collections.abc import Mapping

from tests.cases.compare import data_difference
from tests.cases.functions import values
from tests.cases.model import Case, Handler, Verdict, checked


def messages(case: Case) -> Verdict:
    """Compare the messages of the results, in order."""
    data = case.data
    found = values.run("delete-annotations", values.items(data["input"]), data["function_config"])
    return checked(data_difference(data["expected_messages"], values.messages(found)))


KINDS: Mapping[str, Handler] = {"messages": messages}
