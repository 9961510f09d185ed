"""Code owners of what a proposal changes, as git has them."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from bot.look import content, owners
from bot.look.reader import Basis
from lifecycle.access import OwnersSource, Unreadable
from lifecycle.names import Sha
from lifecycle.owners import MOST_BYTES, PLACES, RULES, Owned
from tests.bot.git.server import Remote
from tests.bot.look.test_content import CORE, opened, reader

BY_OWNERS = b"access: {approve: {from: [codeowners]}}\n"
FILES: Mapping[str, bytes | str] = {**CORE, ".porchbot.yaml": BY_OWNERS}


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return Remote(tmp_path / "1.git")


def found(remote: Remote, base: Mapping[str, bytes | str], head: Mapping[str, bytes]) -> object:
    """What the owners of a change of the main branch are."""
    tip = remote.commit({**base}, ref="refs/heads/main")
    made = remote.commit({**base, **head}, tip)
    with opened(remote) as git:
        read = content.read(reader(git), Sha(made), "main", Basis(rules=Sha(tip), base=Sha(tip)))
    assert read is not None
    return read.owners


def test_owners_are_those_of_the_base_branch(remote: Remote) -> None:
    """Short-cut refused: the file of the head, by which its author owns everything."""
    changed = {
        "net/core/Kptfile": b"kind: Kptfile # changed\n",
        "CODEOWNERS": b"* @author\n",
        "README": b"x",
    }

    assert found(remote, {**FILES, "CODEOWNERS": b"/net/ @ann\n"}, changed) == {
        "net/core": (Owned(("net/core/Kptfile",), 1, ("@ann",)),),
        RULES: (Owned(("CODEOWNERS", "README"), 2),),
    }


def test_the_first_place_counts(remote: Remote) -> None:
    base = {**FILES, **{place: f"* @{at}\n".encode() for at, place in enumerate(PLACES)}}

    assert found(remote, base, {"net/core/a": b"a"}) == {
        "net/core": (Owned(("net/core/a",), 1, ("@0",)),)
    }


def test_what_is_too_large_is_unknown(remote: Remote) -> None:
    """Short-cut refused: a file that is not read names nobody."""
    base = {**FILES, "CODEOWNERS": b"* @ann\n" + b"#" * MOST_BYTES}

    assert found(remote, base, {"net/core/a": b"a"}) == {
        "net/core": (Owned(("net/core/a",), 1, why=Unreadable.LARGE),)
    }


NAMING = [
    f"access: {{{place}: {{from: [codeowners]}}}}\n"
    for place in (
        "approve", "propose", "reject", "draft", "override", "deprecate", "delete", "configure",
        "clone", "upgrade", "rollback",
    )
] + [
    "access: {paths: [{directory: net, propose: {from: [codeowners]}}]}\n",
    "access: {upstreams: [{upstream: x, clone: {from: [codeowners]}}]}\n",
]  # fmt: skip


@pytest.mark.parametrize("rules", NAMING)
def test_owners_are_read_for_every_rule_that_names_them(remote: Remote, rules: str) -> None:
    """Short-cuts refused: a list of the actions that were thought of; a no where nothing was read.

    And a change of the owners is one of the rules then.
    """
    base = {**CORE, ".porchbot.yaml": rules.encode(), "CODEOWNERS": b"* @ann\n"}
    tip = remote.commit(base, ref="refs/heads/main")
    made = remote.commit({**base, "net/core/a": b"a", "CODEOWNERS": b"* @bob\n"}, tip)

    with opened(remote) as git:
        read = content.read(reader(git), Sha(made), "main", Basis(rules=Sha(tip), base=Sha(tip)))
    assert read is not None
    assert read.owners["net/core"] == (Owned(("net/core/a",), 1, ("@ann",)),)
    assert read.content.configures


def test_a_folder_with_a_rule_has_the_owners_of_its_files(remote: Remote) -> None:
    """Short-cut refused: owners by package alone, so that nobody owns what a folder's rule asks."""
    rules = b"access: {paths: [{directory: net/core/prod, approve: {from: [codeowners]}}]}\n"
    base = {**CORE, ".porchbot.yaml": rules, "CODEOWNERS": b"/net/core/prod/ @ann\n"}

    assert found(remote, base, {"net/core/prod/a": b"a", "net/core/b": b"b"}) == {
        "net/core": (
            Owned(("net/core/b",), 1), Owned(("net/core/prod/a",), 1, ("@ann",)),
        ),
        "net/core/prod": (Owned(("net/core/prod/a",), 1, ("@ann",)),),
    }  # fmt: skip


def test_where_no_rule_names_owners_nothing_is_read(remote: Remote) -> None:
    assert found(remote, {**CORE, "CODEOWNERS": b"* @ann\n"}, {"net/core/a": b"a"}) == {}


def test_a_change_of_the_owners_is_one_of_the_rules(remote: Remote) -> None:
    """Short-cut refused: only `.porchbot.yaml` is a file of rules (threat 7)."""
    tip = remote.commit({**FILES, "docs/CODEOWNERS": b"* @ann\n"}, ref="refs/heads/main")
    made = remote.commit({**FILES, "docs/CODEOWNERS": b"* @author\n"}, tip)
    with opened(remote) as git:
        read = content.read(reader(git), Sha(made), "main", Basis(rules=Sha(tip), base=Sha(tip)))
    assert read is not None
    assert read.content.configures


def test_on_another_branch_the_owners_of_both_have_a_say(remote: Remote) -> None:
    """Short-cut refused: whoever makes a branch writes its CODEOWNERS."""
    rules = BY_OWNERS + b"packages: [{directory: ., branch: edge}]\n"
    main = {**CORE, ".porchbot.yaml": rules, "CODEOWNERS": b"* @ann\n"}
    first = remote.commit(main, ref="refs/heads/main")
    edge = remote.commit({**main, "CODEOWNERS": b"* @bob\n"}, first, ref="refs/heads/edge")
    made = remote.commit({**main, "CODEOWNERS": b"* @bob\n", "net/core/a": b"a"}, edge)
    with opened(remote) as git:
        read = content.read(reader(git), Sha(made), "edge", Basis(rules=Sha(edge), base=Sha(edge)))
    assert read is not None
    assert {owned.owners for owned in read.owners["net/core"]} == {("@ann",), ("@bob",)}
    assert isinstance(read.policy.approve.sources[0], OwnersSource)  # type: ignore[union-attr]
    assert owners.named(read.policy)
