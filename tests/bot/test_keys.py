"""Keys: every key made is read back, and no text reads as two keys."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.keys import (
    BaseKey,
    CommitKey,
    DashboardKey,
    GroupKey,
    ImpactKey,
    InstallationKey,
    InstallationsKey,
    Key,
    ProposalKey,
    PullKey,
    RepositoryKey,
    Sweep,
    SweepKey,
    VariantsKey,
    parse,
)
from lifecycle.identity import GITHUB, RepositoryId
from tests.ids import on_github

NUMBERS = st.integers(min_value=0, max_value=2**63 - 1)
BRANCHES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1)
FORGES = st.sampled_from(["github", "gitlab", "gitlab-eu2"])
REPOSITORIES = st.builds(RepositoryId, FORGES, NUMBERS)
KEYS: st.SearchStrategy[Key] = st.one_of(
    st.builds(ProposalKey, REPOSITORIES, NUMBERS, BRANCHES),
    st.builds(PullKey, REPOSITORIES, NUMBERS),
    st.builds(CommitKey, REPOSITORIES, st.text("0123456789abcdef", min_size=40, max_size=40)),
    st.builds(BaseKey, REPOSITORIES, BRANCHES),
    st.builds(GroupKey, REPOSITORIES, BRANCHES),
    st.builds(RepositoryKey, REPOSITORIES),
    st.builds(DashboardKey, REPOSITORIES),
    st.builds(VariantsKey, REPOSITORIES),
    st.builds(InstallationsKey, FORGES),
    st.builds(InstallationKey, NUMBERS, FORGES),
    st.builds(SweepKey, st.sampled_from(Sweep), FORGES),
)

SPELLINGS: dict[str, Key] = {
    "github:42:proposal:43:drafts/net/core/v1": ProposalKey(
        on_github(42), 43, "drafts/net/core/v1"
    ),
    "github:42:pull:7": PullKey(on_github(42), 7),
    "github:42:commit:" + "a" * 40: CommitKey(on_github(42), "a" * 40),
    "github:42:base:release/1:2": BaseKey(on_github(42), "release/1:2"),
    "github:42:group:gh-readonly-queue/main/pr-1-a": GroupKey(
        on_github(42), "gh-readonly-queue/main/pr-1-a"
    ),
    "github:42:repository": RepositoryKey(on_github(42)),
    "github:42:dashboard": DashboardKey(on_github(42)),
    "github:42:variants": VariantsKey(on_github(42)),
    "github:42:impact:drafts/a:b/w": ImpactKey(on_github(42), "drafts/a:b/w"),
    "gitlab:42:pull:7": PullKey(RepositoryId("gitlab", 42), 7),
    "github:app:installations": InstallationsKey(GITHUB),
    "github:app:installation:5": InstallationKey(5, GITHUB),
    "github:app:sweep:deliveries": SweepKey(Sweep.DELIVERIES, GITHUB),
}


def test_every_kind_of_key_is_read_back() -> None:
    """The short-cut is a kind that is written and never parsed: its wakes would all fail."""
    assert {type(parse(text)) for text in SPELLINGS} == set(get_args(Key))


@given(KEYS)
def test_every_key_made_is_read_back(key: Key) -> None:
    """The short-cut is `text.split(":")`: a branch may hold a colon."""
    assert parse(str(key)) == key


@given(KEYS, KEYS)
def test_two_keys_never_share_a_text(one: Key, other: Key) -> None:
    assert (str(one) == str(other)) == (one == other)


@pytest.mark.parametrize(("text", "key"), SPELLINGS.items(), ids=SPELLINGS)
def test_spelling(text: str, key: Key) -> None:
    assert (str(key), parse(text)) == (text, key)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "github",
        "Elsewhere:1:pull:2",
        "01:pull:2",
        "٢:pull:2",
        "github:x:pull:2",
        "github:1:pull:02",
        "github:1:pull:+2",
        "github:1:pull:٢",
        "github:1:pull:2:3",
        "github:1:proposal:2:",
        "github:1:base:",
        "github:1:repository:2",
        "github:1:unknown",
    ],
)
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"work key .*: not one of ours\. Expected <forge>:"):
        parse(text)


def test_a_key_without_a_forge_is_of_github() -> None:
    """Fails when a bare number is refused, or means whatever forge is served."""
    assert parse("42:base:release/1:2") == BaseKey(on_github(42), "release/1:2")
