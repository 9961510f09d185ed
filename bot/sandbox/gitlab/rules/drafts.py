"""Drafts, which on GitLab are merge requests whose title begins in a certain way.

Source: https://docs.gitlab.com/user/project/merge_requests/drafts/
"""

from __future__ import annotations

import re

_PREFIXES = re.compile(r"\A\s*(?:(?:\[draft\]|\(draft\)|draft:)\s*)+", re.IGNORECASE)


def is_draft(title: str) -> bool:
    """Whether a title makes its merge request a draft."""
    return _PREFIXES.match(title) is not None


def ready(title: str) -> str:
    """The title without what makes a draft."""
    return _PREFIXES.sub("", title)


def draft(title: str) -> str:
    """The title that makes a draft; one that does already stays."""
    return title if is_draft(title) else f"Draft: {title}"
