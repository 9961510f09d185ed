"""`porchbot rpkg` at a forge whose answers are none, or lead elsewhere."""

from typing import Any

import pytest
import requests

from bot.cli.dropin import CommandFailure
from bot.cli.rpkg.speaking import place_of
from bot.cli.rpkg.speaking_gitlab import client_of
from tests.bot.forges.test_odd_answers import LARGE, answer, served


def _asks(url: str, monkeypatch: pytest.MonkeyPatch, forge: str = "gitlab") -> Any:
    """What comes of looking for the dashboard."""
    if forge == "gitlab":
        monkeypatch.setenv("GITLAB_TOKEN", "glpat-mine")
        monkeypatch.setenv("PORCHBOT_GITLAB_URL", url)
    else:
        monkeypatch.setenv("GITHUB_TOKEN", "ghp_mine")
        monkeypatch.setenv("PORCHBOT_GITHUB_API_URL", url)
    try:
        with place_of(f"{url}/acme/pkg") as place:
            return place.dashboard()
    except (CommandFailure, requests.RequestException) as error:
        return error


@pytest.mark.parametrize("forge", ["github", "gitlab"])
@pytest.mark.parametrize("what", LARGE)
def test_no_more_of_an_answer_is_read_than_may_be(
    what: str, forge: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut leaves it to PyGithub or python-gitlab, which read all that comes, unpacked."""
    asked: list[bytes] = []
    with served(LARGE[what], asked) as url:
        found = _asks(url, monkeypatch, forge)

    assert type(found).__name__ in {"LargeAnswerError", "ConnectionError"}
    assert len([each for each in asked if each]) == 1


def test_the_token_goes_to_ones_own_gitlab_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The short-cut lets `requests` follow: it takes along a header that it does not know."""
    there: list[bytes] = []
    with served(answer(b"{}"), there) as elsewhere:
        location = f"Location: {elsewhere}/api/v4/projects/7"
        with served(answer(b"", location, status="301 Moved"), []) as url:
            found = _asks(url, monkeypatch)

    assert [each for each in there if each] == []
    assert str(found) == (
        f"your GitLab leads to {elsewhere.removeprefix('http://')}, where your token is not sent."
        " Set PORCHBOT_GITLAB_URL to the address that it has now"
    )


def test_circles_end(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []
    with served(answer(b"", "Location: %%/%n", status="301 Moved"), asked) as url:
        found = _asks(url, monkeypatch)

    assert isinstance(found, requests.TooManyRedirects)
    assert len([each for each in asked if each]) == 6


def test_the_next_page_is_where_this_one_was() -> None:
    """The short-cut follows an answer's address for the next page, with the token, to any host."""
    asked: list[bytes] = []
    there: list[bytes] = []
    with served(answer(b"[{}]"), there) as elsewhere:
        link = f'Link: <{elsewhere}/api/v4/users?page=2>; rel="next"'
        with served(answer(b"[{}]", link), asked) as url, client_of(url, "glpat-mine") as client:
            found = client.http_list("/users", iterator=True)
            assert [next(iter(found)) for _ in range(3)] == [{}, {}, {}]

    assert [each for each in there if each] == []
    assert len([each for each in asked if each]) == 3
