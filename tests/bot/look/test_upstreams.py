"""Which packages have a removed one as upstream, however the address is spelled."""

import pytest

from bot.look.upstreams import place

HERE = "https://github.example/acme/blueprints.git"


@pytest.mark.parametrize(
    "address",
    [
        "https://github.example/acme/blueprints",
        "https://GitHub.example/Acme/Blueprints.git/",
        "git@github.example:acme/blueprints.git",
        "ssh://git@github.example/acme/blueprints",
        "https://token@github.example/acme/blueprints.git",
    ],
)
def test_one_repository_however_it_is_spelled(address: str) -> None:
    """The short-cut compares texts: a downstream by ssh is not seen."""
    assert place(address) == place(HERE)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "https://github.example/acme/blueprints-two",
        "https://other.example/acme/blueprints",
        "https://github.example/another/blueprints",
    ],
)
def test_another_repository(address: str) -> None:
    """The short-cut looks for the name: packages cannot be removed for what is elsewhere."""
    assert place(address) != place(HERE)
