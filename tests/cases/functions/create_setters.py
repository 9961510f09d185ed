"""Corpus functions/create-setters."""

from collections.abc import Mapping
from dataclasses import replace

from fnrunner.builtin.catalog.create_setters import Replacer
from tests.cases.functions import on_text
from tests.cases.model import Case, Handler, Verdict, checked

_NO_MATCHES = "failed to create setters: no matches for the input list of setters"


def transform(case: Case) -> Verdict:
    """Kind transform, of the part that looks for values: to find none fails the whole only."""
    ran = on_text.run(case.data["function"], case.data["input"], case.data["function_config"])
    if ran.messages == _NO_MATCHES:
        ran = replace(ran, failed=False)
    return on_text.judged(case, ran)


def line_comment(case: Case) -> Verdict:
    """Kind line-comment: the pattern that a text gets."""
    found = Replacer.of(case.data["setters"]).comment(case.data["value"])
    return checked("" if found == case.data["expected"] else f"found {found!r}")


KINDS: Mapping[str, Handler] = {"line-comment": line_comment, "transform": transform}
