"""Comments in the caller's name, at GitHub by PyGithub and at GitLab by python-gitlab."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import github
import gitlab
from github.Repository import Repository as GitHubRepository
from github.Requester import Requester
from gitlab.v4.objects import Project

from bot import places
from bot.cli import own_forges
from bot.cli.dropin import CommandFailure
from bot.cli.rpkg.speaking_github import GitHubSpeaker
from bot.cli.rpkg.speaking_gitlab import GitLabSpeaker, client_of
from bot.cli.rpkg.spoken import CommandChannel, refusal
from bot.forges.github.http import TIMEOUT, BoundedHTTP, BoundedHTTPS
from bot.git.process import execute, users_environment
from bot.variables import GITHUB_API

_ADDRESS = re.compile(
    r"(?:(?:https?|ssh|git)://(?:[^@/\s]+@)?(?P<host>[\w.-]+)(?::\d{1,5})?/"
    r"|(?:[^@/\s]+@)(?P<scp>[\w.-]+):)"
    r"(?P<name>[\w.-]+(?:/[\w.-]+?)+?)(?:\.git)?/?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class RepositoryAddress:
    """Where a repository is.

    Attributes:
        name: Such as "acme/blueprints".
        host: Its host, in lower case; "" where that is not told.
        at_gitlab: It is a project at a GitLab.
    """

    name: str
    host: str
    at_gitlab: bool


def address_of(given: str) -> RepositoryAddress:
    """Return where a repository is.

    Args:
        given: OWNER/NAME, an address, or "" for the repository of the current folder.

    Raises:
        CommandFailure: Nobody can tell which it is.
    """
    address = given or _origin()
    found = _ADDRESS.fullmatch(address)
    if found is None and not re.fullmatch(r"[\w.-]+(/[\w.-]+)+", address, re.ASCII):
        raise CommandFailure(f"{address} is no repository. Write OWNER/NAME, or its address")
    host = (found["host"] or found["scp"]).lower() if found else ""
    name = found["name"] if found else address
    environ = os.environ
    there = host == places.given(own_forges.gitlab(environ)).hostname
    by_token = not host and not _github_token(environ)
    return RepositoryAddress(name, host, bool(environ.get("GITLAB_TOKEN")) and (there or by_token))


@contextmanager
def place_of(given: str) -> Iterator[CommandChannel]:
    """Give where the caller speaks.

    Args:
        given: OWNER/NAME, an address, or "" for the repository of the current folder.

    Raises:
        CommandFailure: Nobody can tell which it is, or there is no token for it.
    """
    environ, address = os.environ, address_of(given)
    name = address.name
    if address.at_gitlab:
        instance, token = own_forges.gitlab(environ), environ["GITLAB_TOKEN"]
        with client_of(instance, token) as client:
            yield GitLabSpeaker(client, _of_gitlab(client, name), _bot(environ))
        return
    token = _github_token(environ)
    if not token:
        raise CommandFailure(
            "no token to comment with. Set GITHUB_TOKEN, or GITLAB_TOKEN (and PORCHBOT_GITLAB_URL),"
            " to a token of yours that may write comments there"
        )
    with _at_github(_own_api(address, environ), token) as client_:
        yield GitHubSpeaker(client_, _of_github(client_, name))


@contextmanager
def _at_github(api: str, token: str) -> Iterator[github.Github]:
    """What speaks to the caller's GitHub; its answers are bounded."""
    Requester.injectConnectionClasses(BoundedHTTP, BoundedHTTPS)
    client = github.Github(
        auth=github.Auth.Token(token),
        base_url=api,
        timeout=TIMEOUT,
        retry=None,
        seconds_between_writes=0,
    )
    try:
        yield client
    finally:
        client.close()
        Requester.resetConnectionClasses()


def at_own_forge(given: str) -> RepositoryAddress:
    """Return where a repository is that the caller's token is for.

    Args:
        given: As `address_of` takes it.

    Raises:
        CommandFailure: It is somewhere else, or nobody can tell which it is.
    """
    address = address_of(given)
    if not address.at_gitlab:
        _own_api(address, os.environ)
    return address


def _own_api(address: RepositoryAddress, environ: Mapping[str, str]) -> str:
    name, host = address.name, address.host
    api = own_forges.github_api(environ) or GITHUB_API
    ours = places.given(api).hostname or ""
    home = ours.removeprefix("api.")
    if host and places.spelled(f"https://{host}") not in (f"https://{ours}", f"https://{home}"):
        raise CommandFailure(
            f"your token is for {home}, and {name} is at {host}. If that is"
            " your GitHub, set PORCHBOT_GITHUB_API_URL to its API, or give --repository OWNER/NAME"
        )
    return api


def _github_token(environ: Mapping[str, str]) -> str:
    return environ.get("GITHUB_TOKEN", "") or environ.get("GH_TOKEN", "")


def _bot(environ: Mapping[str, str]) -> str:
    """Login of the bot's account at GitLab."""
    names = ("PORCHBOT_GITLAB_LOGIN", "PORCHBOT_APP_SLUG")
    return next((found for name in names if (found := environ.get(name, "").strip())), "porchbot")


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
        raise refusal(name, error.status) from error


def _of_gitlab(client: gitlab.Gitlab, name: str) -> Project:
    try:
        return client.projects.get(name)
    except gitlab.GitlabError as error:
        raise refusal(name, error.response_code or 0) from error
