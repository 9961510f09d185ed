"""Repositories for tests: most are on GitHub."""

from lifecycle.identity import GITHUB, RepositoryId


def on_github(number: int) -> RepositoryId:
    return RepositoryId(GITHUB, number)


FIRST = on_github(1)
