"""The demo at GitHub: PyGithub with people's tokens."""

from collections.abc import Sequence

import github
from github.Auth import Token
from github.CheckRun import CheckRun
from github.PullRequest import PullRequest
from github.Repository import Repository

from bot.cli.demo.client import DemoClient, DemoProposal, LineRemark
from lifecycle.facts.checks import VALIDATE
from lifecycle.terms import AS_WRITTEN


class AtGitHub(DemoClient):
    """What people do at GitHub."""

    error_shown = "a validator reports an error at its line"
    terms = AS_WRITTEN

    def page(self, number: int) -> str:
        """As `Client` has it."""
        return f"{self.address}/pull/{number}"

    def issue_page(self, number: int) -> str:
        """As `Client` has it."""
        return f"{self.address}/issues/{number}"

    def release_page(self, tag: str) -> str:
        """As `Client` has it."""
        return f"{self.address}/releases/tag/{tag}"

    def evidence(self, number: int) -> Sequence[str]:
        """As `Client` has it."""
        return [f"Checks: {self.page(number)}/checks"]

    def comment(self, number: int, login: str, words: str) -> int:
        """As `Client` has it."""
        return self._repository(login).get_issue(number).create_comment(words).id

    def comments_after(self, number: int, comment: int) -> Sequence[str]:
        """As `Client` has it."""
        found = self._repository().get_issue(number).get_comments()
        return [each.body for each in found if each.id > comment]

    def proposal(self, number: int) -> DemoProposal:
        """As `Client` has it."""
        return _shown(self._repository().get_pull(number))

    def proposal_of(self, branch: str) -> DemoProposal | None:
        """As `Client` has it."""
        owner = self.full_name.split("/")[0]
        pulls = self._repository().get_pulls(state="open", head=f"{owner}:{branch}")
        return next((_shown(each) for each in pulls if each.head.ref == branch), None)

    def ended(self, sha: str, name: str) -> str | None:
        """As `Client` has it."""
        newest = self._newest(sha, name)
        return newest.conclusion if newest else None

    def told(self, number: int, name: str) -> str:
        """As `Client` has it."""
        newest = self._newest(self.proposal(number).head, name)
        return newest.output.summary or "" if newest else ""

    def _newest(self, sha: str, name: str) -> CheckRun | None:
        runs = [r for r in self._repository().get_commit(sha).get_check_runs() if r.name == name]
        return max(runs, key=lambda run: run.id, default=None)

    def remarks(self, number: int) -> Sequence[LineRemark]:
        """As `Client` has it."""
        newest = self._newest(self.proposal(number).head, VALIDATE)
        found = newest.get_annotations() if newest else ()
        return [LineRemark(each.path, each.start_line, each.message) for each in found]

    def mended(self, number: int) -> Sequence[str]:
        """As `Client` has it: an annotation stays with the commit that it is about."""
        del number
        return []

    def added(self, sha: str) -> tuple[str, Sequence[str]]:
        """As `Client` has it."""
        commit = self._repository().get_commit(sha)
        lines = [
            f"{file.filename}: {line}"
            for file in commit.files
            for line in (file.patch or "").split("\n")
            if line.startswith("+") and not line.startswith("+++")
        ]
        return str(commit.commit.author.name), lines

    def line(self, sha: str, path: str, line: int) -> str:
        """As `Client` has it."""
        found = self._repository().get_contents(path, ref=sha)
        file = found[0] if isinstance(found, list) else found
        return file.decoded_content.decode().split("\n")[line - 1].strip()

    def dashboard(self) -> tuple[int, str] | None:
        """As `Client` has it."""
        found = [each for each in self._repository().get_issues() if each.pull_request is None]
        board = next((each for each in found if each.user.login.endswith("[bot]")), None)
        return (board.number, board.body) if board else None

    def notes(self, tag: str) -> str | None:
        """As `Client` has it."""
        try:
            return str(self._repository().get_release(tag).body)
        except github.UnknownObjectException:
            return None

    def tags(self) -> Sequence[str]:
        """As `Client` has it."""
        return [each.name for each in self._repository().get_tags()]

    def _repository(self, login: str = "author") -> Repository:
        """The repository, as somebody sees it."""
        client = github.Github(
            auth=Token(self._people[login].token),
            base_url=self._info["api_url"],
            seconds_between_requests=0,
            seconds_between_writes=0,
            lazy=True,  # what is only on the way to something else is not asked for
        )
        return client.get_repo(self.full_name)


def _shown(pull: PullRequest) -> DemoProposal:
    return DemoProposal(
        number=pull.number,
        head=pull.head.sha,
        draft=pull.draft,
        labels=frozenset(label.name for label in pull.labels),
        merge_commit=str(pull.merge_commit_sha) if pull.merged else "",
    )
