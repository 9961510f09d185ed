"""Corpora functions/*: packages through `porchbot fn`, and kinds that more than one of them has.

The modules beside this one hold the kinds of single functions.
"""

from collections.abc import Mapping

from tests.cases import render
from tests.cases.model import Handler

KINDS: Mapping[str, Handler] = {
    "fn-eval": render.steps,
    "fn-pipeline": render.steps,
    "fn-render": render.steps,
}
