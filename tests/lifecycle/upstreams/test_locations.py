"""Addresses that name one repository, and those that name two."""

from itertools import combinations

import pytest

from lifecycle.upstreams.locations import Location, locate

ONE = [
    "https://github.com/acme/blueprints",
    "https://github.com/acme/blueprints.git",
    "https://github.com/acme/blueprints/",
    "https://github.com/acme/blueprints.git/",
    "http://github.com/acme/blueprints",
    "https://GitHub.com/Acme/Blueprints",
    "https://github.com:443/acme/blueprints",
    "https://github.com./acme/blueprints",
    "https://bot@github.com/acme/blueprints",
    "ssh://git@github.com/acme/blueprints.git",
    "ssh://git@github.com:22/acme/blueprints.git",
    "ssh://git@github.com:7999/acme/blueprints.git",
    "git@github.com:acme/blueprints.git",
    "github.com:acme/blueprints",
    "git://github.com/acme/blueprints",
    "github.com/acme/blueprints",
]


@pytest.mark.parametrize("address", ONE)
def test_one_repository(address: str) -> None:
    """Short-cut refused: comparing addresses as texts, so that a user of it is missed."""
    assert locate(address) == Location("github.com", "acme/blueprints")


def test_others() -> None:
    """Short-cut refused: comparing the last words of addresses."""
    others = [
        "https://github.com/acme/blueprints",
        "https://github.com:8443/acme/blueprints",
        "https://evil.example/github.com/acme/blueprints",
        "https://github.com.evil.example/acme/blueprints",
        "https://github.com/acme/blueprints-2",
        "https://github.com/other/acme/blueprints",
        "https://[::1]/acme/blueprints",
    ]

    found = [locate(each) for each in others]
    assert None not in found
    assert not [pair for pair in combinations(found, 2) if pair[0] == pair[1]]


@pytest.mark.parametrize(
    "address",
    [
        "",
        "x",
        "/srv/git/x",
        "file:///srv/git/x",
        "https://github.com",
        "https://github.com/acme/../x",
        "https://github.com/acme//x",
        "https://github.com/acme%2fx",
        "https://github.com/acme/x?y",
        "https://github.com/acme/x\ny",
        "ext::sh -c x",
        "https://github.com/acme/\u00fcn\u00ef",
        "https://github.com/\u212aube/x",
        "https://github.com/acme/x\ud800",
    ],
)
def test_what_names_none(address: str) -> None:
    """Short-cuts refused: two unreadable addresses that are the same nothing; lower case first."""
    assert locate(address) is None
