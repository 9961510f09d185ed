"""Settings of a project, by the names of the API, as they stand now."""

from __future__ import annotations

from bot.sandbox.gitlab.json import SETTINGS
from bot.sandbox.records.repository import Repository


def flag(repo: Repository, name: str) -> bool:
    """A setting that is yes or no; null is no."""
    return bool(repo.gitlab.settings.get(name, SETTINGS.get(name)))


def text(repo: Repository, name: str) -> str:
    """A setting that is a word."""
    return str(repo.gitlab.settings.get(name, SETTINGS.get(name)) or "")
