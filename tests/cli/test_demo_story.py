"""The demo says the same in every run, however slow the bot is."""

import io
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from bot.cli.demo.at_github import AtGitHub
from bot.cli.demo.client import DemoProposal
from bot.cli.demo.story import Story

FORGE: dict[str, Any] = {
    "web_url": "http://forge",
    "users": [],
    "repositories": [{"full_name": "acme/blueprints", "default_branch": "main", "clone_url": ""}],
}


class Slow(AtGitHub):
    """A pull request whose summary comes some questions after its checks."""

    def __init__(self) -> None:
        super().__init__(FORGE | {"log": ""})
        self.seen = ["Hello."]
        self.happened: list[str] = []

    def comments_after(self, number: int, comment: int) -> Sequence[str]:
        if len(self.seen) == 3:
            self.happened.append("summary")
        self.seen.append("<!-- porchbot:summary porchbot -->\n" if len(self.seen) > 2 else "Hm.")
        return self.seen

    def comment(self, number: int, login: str, words: str) -> int:
        self.happened.append(words)
        return 1

    def proposal(self, number: int) -> DemoProposal:
        return DemoProposal(
            number=number,
            head="",
            draft=False,
            labels=frozenset({"porchbot: proposed"}),
            merge_commit="",
        )


def test_a_draft_is_proposed_once_its_summary_stands() -> None:
    """The short-cut waits for the checks alone: then either may come first in the conversation."""
    story = Story({"forges": {"github": FORGE}, "log": ""}, Console(file=io.StringIO()))
    story._client = slow = Slow()
    story._configuration = b"version: 1\n"

    story._propose(1)

    assert slow.happened == ["summary", "/propose"]
