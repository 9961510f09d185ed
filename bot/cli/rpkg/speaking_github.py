"""Where the caller of `porchbot rpkg` speaks at GitHub."""

from datetime import UTC, datetime
from functools import cache

import github
from github.Issue import Issue
from github.Repository import Repository

from bot.cli.dropin import CommandFailure
from bot.cli.rpkg.spoken import DASHBOARD, NO_DASHBOARD, RECENT, Heard, Said, refusal


class GitHubSpeaker:
    """Implements `CommandChannel` at GitHub.

    Args:
        client: Speaks with the caller's token.
        repository: The repository, as the caller sees it.
    """

    def __init__(self, client: github.Github, repository: Repository) -> None:
        self._repository = repository
        self.me = cache(lambda: _login(client))

    def dashboard(self) -> int:
        """As `CommandChannel` has it."""
        return self._board().number

    def board(self) -> str:
        """As `CommandChannel` has it."""
        return self._board().body or ""

    def _board(self) -> Issue:
        try:
            for issue in self._repository.get_issues(state="open", sort="created", direction="asc"):
                if issue.user.type == "Bot" and DASHBOARD in (issue.body or ""):
                    return issue
        except github.GithubException as error:
            raise refusal(self._repository.full_name, error.status) from error
        raise CommandFailure(NO_DASHBOARD)

    def says(self, number: int, text: str, *, on_dashboard: bool) -> Said:
        """As `CommandChannel` has it."""
        try:
            made = self._repository.get_issue(number).create_comment(text)
        except github.GithubException as error:
            raise refusal(f"#{number}", error.status) from error
        return Said(number, made.id, made.html_url, on_dashboard)

    def wrote(self, text: str) -> str:
        """As `CommandChannel` has it."""
        return text

    def heard(self, number: int, *, on_dashboard: bool) -> tuple[Heard, ...]:
        """As `CommandChannel` has it."""
        try:
            issue = self._repository.get_issue(number)
            since = datetime.now(UTC) - RECENT
            found = issue.get_comments(since=since) if on_dashboard else issue.get_comments()
            return tuple(
                Heard(
                    c.id, c.html_url, c.user.login, c.user.type == "Bot", c.body or "", c.created_at
                )
                for c in found
                if c.user is not None
            )
        except github.GithubException as error:
            raise refusal(f"#{number}", error.status) from error


def _login(client: github.Github) -> str:
    try:
        return client.get_user().login
    except github.GithubException:  # a token of an App or of a workflow is nobody's
        return ""
