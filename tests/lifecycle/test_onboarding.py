"""What is proposed to a repository without `.porchbot.yaml`: what holds anyway, spelled out."""

import pytest

from bot import config
from lifecycle.messages import onboarding as texts
from lifecycle.onboarding import FoundContent, found
from lifecycle.policy import BrokenPolicy, Policy

TAGS = ("refs/tags/net/core/v2", "refs/tags/net/core/v10", "refs/tags/v1.2.3", "refs/tags/old/v1")


def seen(*packages: str, codeowners: str = "") -> FoundContent:
    return found("main", packages, TAGS, codeowners)


@pytest.mark.parametrize(
    ("packages", "roots"),
    [
        (("net/core", "net/edge"), ("net",)),
        (("net/core", "apps/shop"), ("apps", "net")),
        (("shop",), ("",)),
        (("",), ("",)),
        (("net/core", "shop"), ("",)),
        (tuple(f"{name}/a" for name in "abcdef"), ("",)),
        (("it's: odd/core",), ("it's: odd",)),
    ],
)
def test_the_file_names_folders_that_hold_all_packages(
    packages: tuple[str, ...], roots: tuple[str, ...]
) -> None:
    """The short-cut names one folder, and the packages beside it are published no more."""
    policy = config.read(texts.file(seen(*packages)).encode())

    assert not isinstance(policy, BrokenPolicy)
    assert tuple(root.directory for root in policy.roots) == roots
    assert all(any(root.holds(each) for root in policy.roots) for each in packages)
    assert policy.approve == Policy().approve
    assert not policy.observe


def test_code_owners_approve_where_there_are_some() -> None:
    policy = config.read(texts.file(seen("net/core", codeowners=".github/CODEOWNERS")).encode())

    assert not isinstance(policy, BrokenPolicy)
    assert policy.approve != Policy().approve


def test_the_text_says_what_was_found_and_what_to_require() -> None:
    text = texts.body(seen("net/core", "net/edge", "net/core/inner"), "porchbot")

    assert "- `net/core`, published as v10\n- `net/edge`, not published yet\n" in text
    assert "inner" not in text
    assert "1 other tags stay as they are" in text
    assert "with the status check `porchbot/publish` from the App `porchbot`" in text
    assert "a tag ruleset for `**/v*`" in text
    assert "porchbot does not ask again" in text
    many = texts.body(seen(*(f"a/p{n}" for n in range(40))), "porchbot")
    assert "- and 10 more" in many
