"""Where the caller of `porchbot rpkg` speaks at GitLab."""

from datetime import UTC, datetime
from functools import cache
from typing import Any

import gitlab
import requests
from gitlab.v4.objects import (
    Project,
    ProjectIssueNoteManager,
    ProjectMergeRequestNoteManager,
)

from bot.cli.dropin import CommandFailure
from bot.cli.rpkg.spoken import DASHBOARD, NO_DASHBOARD, RECENT, Heard, Said, refusal
from bot.forges import timed
from bot.forges.gitlab.http import MOST_ANSWER, TIMEOUT
from fnrunner import urls

_MOST_MOVES = 5
"""Redirections that are followed in a row: a project that was renamed has one."""


class _OwnSession(requests.Session):
    """A session with one instance alone, whose answers are bounded.

    The token is a header of GitLab's own: `requests` would send it along to wherever it is led.
    """

    def __init__(self, url: str) -> None:
        super().__init__()
        timed.mount(self, MOST_ANSWER)
        self.max_redirects = _MOST_MOVES
        self._own = _origin(url)

    def send(self, request: requests.PreparedRequest, **named: Any) -> requests.Response:
        """As `Session` has it.

        Raises:
            CommandFailure: It goes elsewhere.
        """
        address = request.url or ""
        if _origin(address) != self._own:
            raise CommandFailure(
                f"your GitLab leads to {urls.parts(address).netloc}, where your token is not sent."
                " Set PORCHBOT_GITLAB_URL to the address that it has now"
            )
        return super().send(request, **named)


def _origin(url: str) -> tuple[str, str | None, int | None]:
    found = urls.parts(url)
    usual = 443 if found.scheme == "https" else 80
    return found.scheme, found.hostname, found.port or usual


def client_of(url: str, token: str) -> gitlab.Gitlab:
    """Return what speaks to the caller's GitLab, and to no other.

    Args:
        url: Its address.
        token: The caller's.
    """
    return gitlab.Gitlab(
        url,
        private_token=token,
        timeout=TIMEOUT,
        retry_transient_errors=False,
        keep_base_url=True,  # the next page is where this one was, whatever an answer says
        session=_OwnSession(url),
    )


class GitLabSpeaker:
    """Implements `CommandChannel` at GitLab.

    Args:
        client: Speaks with the caller's token.
        project: The project, as the caller sees it.
        bot: Login of the bot's account: by it the bot is addressed, and nobody else answers.
    """

    def __init__(self, client: gitlab.Gitlab, project: Project, bot: str) -> None:
        self._project = project
        self._bot = bot
        self.me = cache(lambda: _login(client))

    def dashboard(self) -> int:
        """As `CommandChannel` has it."""
        return int(self._board().iid)

    def board(self) -> str:
        """As `CommandChannel` has it."""
        return str(self._board().description or "")

    def _board(self) -> Any:
        try:
            every = self._project.issues.list(
                state="opened",
                order_by="created_at",
                sort="asc",
                author_username=self._bot,
                iterator=True,
            )
            for issue in every:
                if self._is_ours(issue.author) and DASHBOARD in (issue.description or ""):
                    return issue
        except gitlab.GitlabError as error:
            name = str(self._project.path_with_namespace)
            raise refusal(name, error.response_code or 0) from error
        raise CommandFailure(
            f"{NO_DASHBOARD}; if the bot's account is not {self._bot}, set PORCHBOT_GITLAB_LOGIN"
        )

    def says(self, number: int, text: str, *, on_dashboard: bool) -> Said:
        """As `CommandChannel` has it; GitLab takes a slash for a command of its own."""
        try:
            note = self._notes(number, on_dashboard).create({"body": self.wrote(text)})
        except gitlab.GitlabError as error:
            raise refusal(f"!{number}", error.response_code or 0) from error
        return Said(number, int(note.id), self._url(number, note.id, on_dashboard), on_dashboard)

    def wrote(self, text: str) -> str:
        """As `CommandChannel` has it."""
        return f"@{self._bot} {text.removeprefix('/')}"

    def heard(self, number: int, *, on_dashboard: bool) -> tuple[Heard, ...]:
        """As `CommandChannel` has it."""
        since, found = datetime.now(UTC) - RECENT, list[Heard]()
        try:
            notes = self._notes(number, on_dashboard).list(
                iterator=True, sort="desc", order_by="created_at"
            )
            for each in notes:
                at = datetime.fromisoformat(each.created_at)
                if on_dashboard and at < since:
                    break
                url = self._url(number, each.id, on_dashboard)
                login = str((each.author or {}).get("username", ""))
                ours = self._is_ours(each.author)
                found.append(Heard(int(each.id), url, login, ours, each.body or "", at))
        except gitlab.GitlabError as error:
            raise refusal(f"!{number}", error.response_code or 0) from error
        return tuple(reversed(found))

    def _is_ours(self, author: dict[str, object] | None) -> bool:
        return (author or {}).get("username") == self._bot

    def _url(self, number: int, note: int, on_dashboard: bool) -> str:
        kind = "issues" if on_dashboard else "merge_requests"
        return f"{self._project.web_url}/-/{kind}/{number}#note_{note}"

    def _notes(
        self, number: int, on_dashboard: bool
    ) -> ProjectIssueNoteManager | ProjectMergeRequestNoteManager:
        if on_dashboard:
            return self._project.issues.get(number, lazy=True).notes
        return self._project.mergerequests.get(number, lazy=True).notes


def _login(client: gitlab.Gitlab) -> str:
    try:
        client.auth()
    except gitlab.GitlabError:  # a token that may not read its own user
        return ""
    return client.user.username if client.user is not None else ""
