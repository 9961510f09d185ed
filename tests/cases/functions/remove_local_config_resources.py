"""Corpus functions/remove-local-config-resources: what the function says."""

from collections.abc import Mapping

from tests.cases.compare import data_difference
from tests.cases.functions import values
from tests.cases.model import Case, Handler, Verdict, checked


def messages(case: Case) -> Verdict:
    """Compare the messages of the results, in order."""
    given = values.files(case.data["input_files"])
    found = values.run("remove-local-config-resources", given, None)
    return checked(data_difference(case.data["expected_messages"], values.messages(found)))


KINDS: Mapping[str, Handler] = {"messages": messages}
