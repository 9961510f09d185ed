"""Addresses taken apart, whatever stands there."""

import pytest

from fnrunner import urls


@pytest.mark.parametrize("address", ["http://[", "//host:x", "https://h:99999", "", "http://[a]b"])
def test_what_is_none_has_no_parts(address: str) -> None:
    """The short-cut catches what `urlsplit` raises, and not what reading the port does."""
    assert urls.parts(address) == urls.NONE
    assert urls.parts(address).port is None


@pytest.mark.parametrize(
    "address",
    [
        "https://169.254.169.254\\@public.example/x",
        "https://public.example\\.evil.example/",
        "https://public.example\t/x",
        "ht\ntps://public.example/x",
        " https://public.example/x",
        "https://public example/x",
    ],
)
def test_what_others_could_read_otherwise_has_no_parts(address: str) -> None:
    """The short-cut judges the host that `urlsplit` reads, and `urllib3` connects to another."""
    assert urls.parts(address) == urls.NONE


def test_blanks_behind_the_host_are_its_senders() -> None:
    assert urls.parts("https://a/x y?z=1 2").hostname == "a"


def test_what_is_one_is_taken_apart() -> None:
    found = urls.parts("https://git.corp:8443/x?y=1#z")

    assert (found.scheme, found.hostname, found.port) == ("https", "git.corp", 8443)
    assert (found.path, found.query, found.fragment) == ("/x", "y=1", "z")


def test_where_one_leads_to() -> None:
    assert urls.joined("https://a/b/", "c") == "https://a/b/c"
    assert urls.joined("https://a/b", "//c/d") == "https://c/d"
    assert urls.joined("https://a/b", "http://[") == ""
