"""The demo at GitLab: python-gitlab with people's tokens."""

from collections.abc import Sequence
from typing import Any

import gitlab

from bot.cli.demo.client import DemoClient, DemoProposal, LineRemark
from lifecycle.messages import forges
from lifecycle.terms import NAME

_ENDS = {"success": "success", "failed": "failure"}


class AtGitLab(DemoClient):
    """What people do at GitLab."""

    error_shown = "a validator reports an error, in a thread at its line"

    def __init__(self, info: dict[str, Any]) -> None:
        super().__init__(info)
        self.terms = forges.gitlab(NAME, f"{self.address}/-/merge_requests")

    def page(self, number: int) -> str:
        """As `Client` has it."""
        return f"{self.address}/-/merge_requests/{number}"

    def issue_page(self, number: int) -> str:
        """As `Client` has it."""
        return f"{self.address}/-/issues/{number}"

    def release_page(self, tag: str) -> str:
        """As `Client` has it."""
        return f"{self.address}/-/releases/{tag}"

    def evidence(self, number: int) -> Sequence[str]:
        """As `Client` has it."""
        notes = [note for note in self._threads(number) if not note["resolved"]]
        return [
            *(f"Thread: {self.page(number)}#note_{note['id']}" for note in notes),
            f"Statuses: {self.page(number)}/pipelines",
        ]

    def comment(self, number: int, login: str, words: str) -> int:
        """As `Client` has it."""
        return int(self._request(number, login).notes.create({"body": words}).id)

    def comments_after(self, number: int, comment: int) -> Sequence[str]:
        """As `Client` has it."""
        return [each.body for each in self._notes(number) if each.id > comment]

    def proposal(self, number: int) -> DemoProposal:
        """As `Client` has it."""
        return _shown(self._request(number))

    def proposal_of(self, branch: str) -> DemoProposal | None:
        """As `Client` has it."""
        wanted = {"state": "opened", "source_branch": branch}
        found = self._project().mergerequests.list(get_all=True, **wanted)
        return next((_shown(each) for each in found), None)

    def ended(self, sha: str, name: str) -> str | None:
        """As `Client` has it."""
        found = self._status(sha, name)
        return _ENDS.get(found.status) if found else None

    def told(self, number: int, name: str) -> str:
        """As `Client` has it: a status holds a line, and the rest stands in the summary."""
        found = self._status(self.proposal(number).head, name)
        notes = [each.body for each in self._notes(number) if not self._is_person(each.author)]
        return "\n".join([found.description or "", *notes]) if found else ""

    def _status(self, sha: str, name: str) -> Any:
        found = self._project().commits.get(sha).statuses.list(name=name, get_all=True)
        return max(found, key=lambda status: status.id, default=None)

    def remarks(self, number: int) -> Sequence[LineRemark]:
        """As `Client` has it."""
        return [_remark(note) for note in self._threads(number) if not note["resolved"]]

    def mended(self, number: int) -> Sequence[str]:
        """As `Client` has it: the bot resolves its threads."""

        def resolved() -> Sequence[str] | None:
            notes = self._threads(number)
            if not all(note["resolved"] for note in notes):
                return None
            places = [f"{note['position']['new_path']}:{_line(note)}" for note in notes]
            return [f"The bot resolved its thread at {place}." for place in places]

        return self.wait("the threads to be resolved", resolved)

    def _threads(self, number: int) -> list[dict[str, Any]]:
        """First notes of the bot's threads at lines."""
        found = self._request(number).discussions.list(get_all=True)
        firsts = [each.attributes["notes"][0] for each in found]
        mine = [n for n in firsts if n.get("position") and not self._is_person(n["author"])]
        return sorted(mine, key=lambda note: (note["position"]["new_path"], _line(note)))

    def added(self, sha: str) -> tuple[str, Sequence[str]]:
        """As `Client` has it."""
        commit = self._project().commits.get(sha)
        lines = [
            f"{file['new_path']}: {line}"
            for file in commit.diff(get_all=True)
            for line in file["diff"].split("\n")
            if line.startswith("+") and not line.startswith("+++")
        ]
        return str(commit.author_name), lines

    def line(self, sha: str, path: str, line: int) -> str:
        """As `Client` has it."""
        text = self._project().files.get(path, ref=sha).decode().decode()
        return str(text.split("\n")[line - 1].strip())

    def dashboard(self) -> tuple[int, str] | None:
        """As `Client` has it."""
        found = self._project().issues.list(state="opened", get_all=True)
        board = next((each for each in found if not self._is_person(each.author)), None)
        return (int(board.iid), str(board.description or "")) if board else None

    def notes(self, tag: str) -> str | None:
        """As `Client` has it."""
        try:
            return str(self._project().releases.get(tag).description)
        except gitlab.GitlabGetError as error:
            if error.response_code == 404:
                return None
            raise

    def tags(self) -> Sequence[str]:
        """As `Client` has it."""
        return [str(each.name) for each in self._project().tags.list(get_all=True)]

    def _is_person(self, author: dict[str, Any]) -> bool:
        return author["username"] in self._people

    def _notes(self, number: int) -> Sequence[Any]:
        notes = self._project().mergerequests.get(number, lazy=True).notes
        found = notes.list(get_all=True, sort="asc", order_by="created_at")
        return [each for each in found if not each.system]

    def _request(self, number: int, login: str = "author") -> Any:
        return self._project(login).mergerequests.get(number)

    def _project(self, login: str = "author") -> Any:
        """The project, as somebody sees it."""
        token = self._people[login].token
        client = gitlab.Gitlab(self._info["web_url"], private_token=token, timeout=60)
        return client.projects.get(self.full_name, lazy=True)


def _shown(request: Any) -> DemoProposal:
    merged = request.state == "merged"
    commits = (request.merge_commit_sha, request.squash_commit_sha, request.sha)
    return DemoProposal(
        number=int(request.iid),
        head=str(request.sha),
        draft=bool(request.draft),
        labels=frozenset(request.labels),
        merge_commit=next(str(sha) for sha in commits if sha) if merged else "",
    )


def _remark(note: dict[str, Any]) -> LineRemark:
    return LineRemark(str(note["position"]["new_path"]), _line(note), note["body"].split("<!--")[0])


def _line(note: dict[str, Any]) -> int:
    return int(note["position"]["new_line"])
