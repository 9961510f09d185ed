"""Addresses of forges, however somebody spells them."""

import pytest

from bot import places

GITHUBS = {
    "https://api.github.com": "github.com",
    "HTTPS://API.GitHub.com:443/": "github.com",
    "https://github.com": "github.com",
    "https://www.github.com/api/v3": "github.com",
    "https://api.github.com.": "github.com",
    "http://api.github.com": "github.com",
    "https://acme.ghe.com": "acme.ghe.com",
    "https://api.acme.ghe.com/": "acme.ghe.com",
    "https://www.ACME.ghe.com/api/v3": "acme.ghe.com",
    "https://GitHub.Corp/api/v3/": "github.corp",
    "https://github.corp.:443/api/v3": "github.corp",
    "http://github.corp:80/api/v3": "github.corp",
    "https://github.corp:8443/api/v3": "github.corp:8443",
    "http://[::1]:8080/api/v3": "[::1]:8080",
}


@pytest.mark.parametrize(("address", "home"), GITHUBS.items())
def test_a_github_has_one_place(address: str, home: str) -> None:
    """Short-cuts refused: the text is compared; a prefix `api.` is cut off any host."""
    assert places.github_home(address) == home
    assert places.github_api(places.github_api(address)) == places.github_api(address)


def test_what_tells_two_apart_stays() -> None:
    """The short-cut makes letters of paths small, or takes any `api.` for one that GitHub has."""
    assert places.github_api("https://api.corp/api/v3") == "https://api.corp/api/v3"
    assert places.github_home("https://api.corp/api/v3") == "api.corp"
    assert places.github_home("https://github.com.evil.example") == "github.com.evil.example"
    assert places.github_home("https://notghe.com") == "notghe.com"
    assert places.spelled("https://Git.Corp/GitLab/") == "https://git.corp/GitLab"
    assert places.gitlab_home("https://Git.Corp.:443/GitLab/") == "git.corp/gitlab"
    for text in ("not an address", "https://x:port/", "ftp://x", ""):
        assert places.spelled(f" {text} ") == text


@pytest.mark.parametrize(
    "address",
    [
        "https://oauth2:glpat-SECRET@git.corp",
        "http://glpat-SECRET@git.corp:8080/gitlab",
        "https://oauth2:a@glpat-SECRET@git.corp",
        "oauth2:glpat-SECRET@git.corp",
        "https://oauth2:glpat/SECRET@[::1",
    ],
)
def test_a_user_in_an_address_is_neither_used_nor_shown(address: str) -> None:
    """Short-cut: what was typed is repeated as it is, password and all."""
    assert not places.given(address).hostname
    assert "SECRET" not in places.shown(address)
    assert "***@" in places.shown(address)


def test_what_is_no_address_is_refused_and_no_bug_of_ours() -> None:
    """Short-cut: `urlsplit` alone, which raises for some."""
    for address in ("https://[::1", "https://git.corp:x", "https://a]b", "https://g.corp:99999"):
        assert not places.given(address).hostname
        assert places.shown(address) == repr(address)
    assert places.given(" https://git.corp:8080/x ").netloc == "git.corp:8080"
