"""People who push, propose and approve while something else goes on, and what came of it all."""

import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from github import GithubException
from requests import ConnectionError  # noqa: A004 (what PyGithub raises)

from tests.stories.github_people import at_github
from tests.stories.people import Person
from tests.stories.real import RealWorld
from tests.stories.world import package

BOT = "porchbot[bot]"
CHECKS = ("porchbot/render", "porchbot/validate", "porchbot/publish")


@dataclass
class Crowd:
    """So many proposals, each of a package of its own.

    Attributes:
        play: The world.
        count: How many.
        pace: Seconds from one proposal to the next.
        asks: Each is asked `/why` before it is approved, too.
        branches: Branch to number of each proposal.
    """

    play: RealWorld
    count: int
    pace: float = 0.0
    asks: bool = False
    branches: dict[str, int] = field(default_factory=dict)

    def propose(self, stop: threading.Event) -> None:
        """Push every package and open its pull request."""
        author = self.play.author
        for i in range(self.count):
            branch = f"drafts/storm/p{i:02}/w"
            author.pushes(branch, package(f"storm/p{i:02}"))
            self.branches[branch] = number = self._opens(branch)
            if self.asks:
                self._says(author, number, "/why")
            if stop.wait(self.pace):
                return

    def approve(self, stop: threading.Event) -> None:
        """Approve each proposal once, when its check is green, as a person does."""
        approved: set[int] = set()
        while len(approved) < self.count and not stop.is_set():
            for number in list(self.branches.values()):
                if number not in approved and self.checked(number):
                    self._says(self.play.approver, number, "/approve")
                    approved.add(number)
            stop.wait(0.2)

    def _opens(self, branch: str) -> int:
        """Open the pull request of a branch, or find the one that the bot has opened."""
        repository = at_github(self.play.author)
        while True:
            with suppress(ConnectionError, GithubException):  # the forge is busy, or it is there
                made = repository.create_pull(base="main", head=branch, title=branch, body="")
                return int(made.number)
            with self.play.forge.state.lock:
                for pull in self.play.repository.pulls.values():
                    if pull.head_ref == branch:
                        return int(pull.number)

    def _says(self, person: Person, number: int, words: str) -> None:
        """Comment once, also where the forge is so busy that connections to it end."""
        while True:
            with suppress(ConnectionError):
                person.says(number, words)
                return
            with self.play.forge.state.lock:
                comments = self.play.repository.pulls[number].comments
                if any(c.user.login == person.login and c.body == words for c in comments):
                    return

    def begin(self, stop: threading.Event) -> list[threading.Thread]:
        """Start both, until `stop` is set."""
        people = [
            threading.Thread(target=each, args=[stop], daemon=True)
            for each in (self.propose, self.approve)
        ]
        for each in people:
            each.start()
        return people

    def checked(self, number: int) -> bool:
        """Whether a proposal's validation is green at its present head."""
        state, repository = self.play.forge.state, self.play.repository
        with state.lock:
            runs = state.checks.runs_on(repository, repository.pulls[number].head_sha)
            return any(r.name == CHECKS[1] and r.conclusion == "success" for r in runs)

    def published(self) -> int:
        """How many proposals have their tag."""
        with self.play.forge.state.lock:
            refs = set(self.play.repository.refs)
        return sum(f"refs/tags/storm/p{i:02}/v1" in refs for i in range(self.count))

    def rests(self, until: float) -> None:
        """Wait until everything is published, or until a time of `time.monotonic`."""
        while self.published() < self.count and time.monotonic() < until:
            time.sleep(0.1)

    def tidies(self) -> None:
        """Wait a little for what follows the last tag: summaries and branches."""
        end = time.monotonic() + 60
        while any(self.result().values()) and time.monotonic() < end:
            time.sleep(1)

    def result(self) -> Mapping[str, int]:
        """Lost, doubled and stuck."""
        repository, state = self.play.repository, self.play.forge.state
        found: Counter[str] = Counter({"stuck: never proposed": self.count - len(self.branches)})
        answers = 2 if self.asks else 1
        with state.lock:
            for i, (branch, number) in enumerate(self.branches.items()):
                pull = repository.pulls[number]
                prefix = f"refs/tags/storm/p{i:02}/"
                tags = [ref for ref in repository.refs if ref.startswith(prefix)]
                found["stuck: not published"] += not tags
                found["stuck: branch left"] += f"refs/heads/{branch}" in repository.refs
                found["lost: merged without its tag"] += pull.merged and not tags
                found["doubled: tags"] += len(tags) > 1
                said = Counter(c.body for c in pull.comments if c.user.login == BOT)
                summaries = [body for body in said if body.startswith("<!-- porchbot:summary")]
                found["lost: answers"] += said.total() - len(summaries) < answers
                found["doubled: answers"] += said.total() - len(summaries) > answers
                found["doubled: comments"] += any(n > 1 for n in said.values())
                found["doubled: summaries"] += len(summaries) > 1
                runs = Counter(
                    (run.name, run.external_id)
                    for run in state.checks.runs_on(repository, pull.head_sha, latest=False)
                )
                found["doubled: check runs"] += any(n > 1 for n in runs.values())
                found["checks not green"] += not self._green(pull.head_sha)
        return found

    def _green(self, head: str) -> bool:
        runs = self.play.forge.state.checks.runs_on(self.play.repository, head)
        newest = {run.name: run for run in reversed(runs)}
        return all(n in newest and newest[n].conclusion == "success" for n in CHECKS)
