"""Topics that repositories have at their forge: labels that other people set than who wrote a rule.

Rules
- A selector goes by topics where it names one, whatever it asks about it.
- An expression may see topics wherever it takes more of a repository than what is plainly none of
  its labels: the key of a label can be put together in any way.
"""

import re
from typing import Final

from lifecycle.variants.values import REPOSITORY, Target, Template

TOPIC: Final = "topic.porchbot.dev/"
"""Begins the labels that stand for topics of a repository at its forge; their value is "true"."""

_PLAIN: Final = r"\.(?:name|namespace|annotations|repo|package)\b"


def of_selected(target: Target, *, asked: bool) -> bool:
    """Tell whether topics of the repository that a target selects may have a part in what it makes.

    Args:
        target: The target.
        asked: Labels of repositories hold topics, since some rule names one.
    """
    chosen = target.selected
    if chosen is None or (chosen.api_version, chosen.kind) != REPOSITORY:
        return False
    selector = chosen.selector
    keys = (*selector.labels, *(each.key for each in selector.requirements))
    return any(each.startswith(TOPIC) for each in keys) or (
        asked and _sees_labels(target.template, "target")
    )


def of_downstream(target: Target, *, asked: bool) -> bool:
    """Tell whether topics of the repository of its packages may have a part in what it makes.

    Args:
        target: The target.
        asked: As for `of_selected`.
    """
    return asked and _sees_labels(target.template, "repository")


def _sees_labels(template: Template | None, variable: str) -> bool:
    if template is None:
        return False
    rest = (re.sub(rf"\b{variable}{_PLAIN}", " ", each) for each in template.expressions)
    return any(re.search(rf"\b{variable}\b", each) for each in rest)
