"""Runs `cadlib.update`: fetches what it asks for from git, and prints its messages."""

from collections.abc import Generator
from typing import TypeVar

from bot.cli import progress, terminal
from bot.cli.disk.git_source import RemoteRepositories
from bot.cli.pkg import listed
from cadlib.errors import PackageError
from cadlib.update.upstream import Answer, Fetch, ProgressMessage, Step, resume

T = TypeVar("T")


def drive(steps: Generator[Step, Answer, T], repositories: RemoteRepositories) -> T:
    """Run `cadlib.update.get` or `cadlib.update.packages` to its end, and return what it returns.

    Raises:
        PackageError: What it raises, or a package cannot be fetched.
    """
    answer: Answer | PackageError = None
    while True:
        try:
            step = resume(steps, answer)
        except StopIteration as end:
            result: T = end.value
            return result
        answer = None
        match step:
            case Fetch(repo):
                progress.at(f"fetching from {repo}")
                try:
                    answer = listed.fetch(step, repositories)
                except PackageError as error:
                    answer = error
                progress.at("bringing the two sides together")
            case ProgressMessage(text):
                terminal.say(text, err=True)
