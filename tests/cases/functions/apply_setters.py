"""Corpus functions/apply-setters."""

from collections.abc import Mapping

from tests.cases.functions import on_text
from tests.cases.model import Handler

KINDS: Mapping[str, Handler] = {
    "pattern-values": on_text.pattern_values,
    "transform": on_text.transform,
}
