"""Comments in the caller's name, at GitHub by PyGithub and at GitLab by python-gitlab."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import github
import gitlab
from github.Repository import Repository as GitHubRepository
from gitlab.v4.objects import (
    Project,
    ProjectIssueNoteManager,
    ProjectMergeRequestNoteManager,
)

from bot.cli.dropin import CommandFailure
from bot.git.process import execute, users_environment
from lifecycle.records import visible

_GITHUB_API = "https://api.github.com"
_GITLAB = "https://gitlab.com"
_DASHBOARD = '"kind":"dashboard"'
_REFUSED = re.compile(r"`[/@][^`]*` refused:|not understood", re.IGNORECASE)
_ADDRESS = re.compile(
    r"(?:(?:https?|ssh|git)://(?:[^@/\s]+@)?(?P<host>[\w.-]+)(?::\d{1,5})?/"
    r"|(?:[^@/\s]+@)(?P<scp>[\w.-]+):)"
    r"(?P<name>[\w.-]+(?:/[\w.-]+?)+?)(?:\.git)?/?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Said:
    """A comment of the caller's.

    Attributes:
        where: Number of the pull request or issue.
        id: The forge's number of the comment.
        url: Where people read it.
        on_dashboard: It is on the dashboard issue.
    """

    where: int
    id: int
    url: str
    on_dashboard: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """What the bot said to a comment.

    Attributes:
        text: Markdown, as people see it.
        refused: Something was refused, or not understood.
    """

    text: str
    refused: bool


class Speaker(Protocol):
    """Where the caller speaks: one repository."""

    def dashboard(self) -> int:
        """Number of the dashboard issue.

        Raises:
            CommandFailure: There is none.
        """

    def says(self, number: int, text: str, *, on_dashboard: bool) -> Said:
        """Write a comment.

        Raises:
            CommandFailure: The forge refuses it.
        """

    def answer(self, said: Said) -> Answer | None:
        """Return what the bot answered to a comment; None where it has not yet."""


@contextmanager
def place_of(given: str) -> Iterator[Speaker]:
    """Give where the caller speaks.

    Args:
        given: OWNER/NAME, an address, or "" for the repository of the current folder.

    Raises:
        CommandFailure: Nobody can tell which it is, or there is no token for it.
    """
    address = given or _origin()
    found = _ADDRESS.fullmatch(address)
    if found is None and not re.fullmatch(r"[\w.-]+(/[\w.-]+)+", address, re.ASCII):
        raise CommandFailure(f"{address} is no repository. Write OWNER/NAME, or its address")
    host = (found["host"] or found["scp"]).lower() if found else ""
    name = found["name"] if found else address
    environ = os.environ
    instance = environ.get("PORCHBOT_GITLAB_URL", "").strip().rstrip("/") or _GITLAB
    token = environ.get("GITLAB_TOKEN", "")
    at_gitlab = urlsplit(instance).hostname
    if token and (host == at_gitlab or (not host and not _github_token(environ))):
        with gitlab.Gitlab(instance, private_token=token, retry_transient_errors=False) as client:
            yield GitLabSpeaker(_of_gitlab(client, name), _bot(environ))
        return
    token = _github_token(environ)
    if not token:
        raise CommandFailure(
            "no token to comment with. Set GITHUB_TOKEN, or GITLAB_TOKEN (and PORCHBOT_GITLAB_URL),"
            " to a token of yours that may write comments there"
        )
    api = environ.get("PORCHBOT_GITHUB_API_URL", "").strip().rstrip("/") or _GITHUB_API
    ours = urlsplit(api).hostname or ""
    if host and host not in (ours, ours.removeprefix("api.")):
        raise CommandFailure(
            f"your token is for {ours.removeprefix('api.')}, and {name} is at {host}. If that is"
            " your GitHub, set PORCHBOT_GITHUB_API_URL to its API, or give --repository OWNER/NAME"
        )
    client_ = github.Github(
        auth=github.Auth.Token(token), base_url=api, retry=None, seconds_between_writes=0
    )
    try:
        yield GitHubSpeaker(_of_github(client_, name))
    finally:
        client_.close()


def _github_token(environ: Mapping[str, str]) -> str:
    return environ.get("GITHUB_TOKEN", "") or environ.get("GH_TOKEN", "")


def _bot(environ: Mapping[str, str]) -> str:
    return environ.get("PORCHBOT_APP_SLUG", "").strip() or "porchbot"


def _origin() -> str:
    said = None
    with suppress(FileNotFoundError):
        said = execute(["remote", "get-url", "origin"], Path(), users_environment())
    if said is None or said.returncode:
        raise CommandFailure("the current folder is no clone of a repository. Give --repository")
    return said.stdout.strip()


def _of_github(client: github.Github, name: str) -> GitHubRepository:
    try:
        return client.get_repo(name)
    except github.GithubException as error:
        raise CommandFailure(_refusal(name, error.status)) from error


def _of_gitlab(client: gitlab.Gitlab, name: str) -> Project:
    try:
        return client.projects.get(name)
    except gitlab.GitlabError as error:
        raise CommandFailure(_refusal(name, error.response_code or 0)) from error


def _refusal(name: str, status: int) -> str:
    if status == 401:
        return "the forge does not know your token. Check it, and that it has not expired"
    if status == 404:
        return f"there is no repository {name}, or your token may not read it. Check both"
    return f"the forge answers {status} for {name}. Try again later"


_NO_DASHBOARD = (
    "the bot has no dashboard issue there. Enable issues in the repository, or give --on with the"
    " number of a pull request"
)


class GitHubSpeaker:
    """Implements `Speaker` at GitHub.

    Args:
        repository: The repository, as the caller sees it.
    """

    def __init__(self, repository: GitHubRepository) -> None:
        self._repository = repository

    def dashboard(self) -> int:
        """As `Speaker` has it."""
        try:
            for issue in self._repository.get_issues(state="open", sort="created", direction="asc"):
                if issue.user.type == "Bot" and _DASHBOARD in (issue.body or ""):
                    return issue.number
        except github.GithubException as error:
            raise CommandFailure(_refusal(self._repository.full_name, error.status)) from error
        raise CommandFailure(_NO_DASHBOARD)

    def says(self, number: int, text: str, *, on_dashboard: bool) -> Said:
        """As `Speaker` has it."""
        try:
            made = self._repository.get_issue(number).create_comment(text)
        except github.GithubException as error:
            raise CommandFailure(_refusal(f"#{number}", error.status)) from error
        return Said(number, made.id, made.html_url, on_dashboard)

    def answer(self, said: Said) -> Answer | None:
        """As `Speaker` has it."""
        try:
            for each in self._repository.get_issue(said.where).get_comments():
                if each.user.type == "Bot" and _answers(each.body, said.id):
                    return _answer(each.body)
        except github.GithubException as error:
            raise CommandFailure(_refusal(said.url, error.status)) from error
        return None


class GitLabSpeaker:
    """Implements `Speaker` at GitLab.

    Args:
        project: The project, as the caller sees it.
        bot: By which the bot is addressed.
    """

    def __init__(self, project: Project, bot: str) -> None:
        self._project = project
        self._bot = bot

    def dashboard(self) -> int:
        """As `Speaker` has it."""
        try:
            # The oldest: whoever writes the like into an issue of theirs comes later.
            every = self._project.issues.list(
                state="opened", order_by="created_at", sort="asc", iterator=True
            )
            for issue in every:
                if _DASHBOARD in (issue.description or ""):
                    return int(issue.iid)
        except gitlab.GitlabError as error:
            name = str(self._project.path_with_namespace)
            raise CommandFailure(_refusal(name, error.response_code or 0)) from error
        raise CommandFailure(_NO_DASHBOARD)

    def says(self, number: int, text: str, *, on_dashboard: bool) -> Said:
        """As `Speaker` has it; GitLab takes a slash for a command of its own."""
        try:
            note = self._notes(number, on_dashboard).create(
                {"body": f"@{self._bot} {text.removeprefix('/')}"}
            )
        except gitlab.GitlabError as error:
            raise CommandFailure(_refusal(f"!{number}", error.response_code or 0)) from error
        kind = "issues" if on_dashboard else "merge_requests"
        url = f"{self._project.web_url}/-/{kind}/{number}#note_{note.id}"
        return Said(number, int(note.id), url, on_dashboard)

    def answer(self, said: Said) -> Answer | None:
        """As `Speaker` has it."""
        try:
            notes = self._notes(said.where, said.on_dashboard)
            for each in notes.list(iterator=True, sort="desc"):
                if _answers(each.body, said.id):
                    return _answer(each.body)
        except gitlab.GitlabError as error:
            raise CommandFailure(_refusal(said.url, error.response_code or 0)) from error
        return None

    def _notes(
        self, number: int, on_dashboard: bool
    ) -> ProjectIssueNoteManager | ProjectMergeRequestNoteManager:
        if on_dashboard:
            return self._project.issues.get(number, lazy=True).notes
        return self._project.mergerequests.get(number, lazy=True).notes


def _answers(body: str | None, comment: int) -> bool:
    """Whether a comment is the bot's answer to just this one, as its record says."""
    found = re.search(r'"answered":\[([0-9, ]*)\]', body or "")
    return found is not None and str(comment) in found[1].replace(" ", "").split(",")


def _answer(body: str) -> Answer:
    text = visible(body).strip()
    return Answer(text=text, refused=_REFUSED.search(text) is not None)
