"""People of the stories at the sandbox's GitLab, whose answers are held against GitLab's."""

from collections.abc import Iterator
from pathlib import Path

import gitlab
import pytest

from bot.sandbox.rules.context import FileChange
from bot.sandbox.serve import SandboxForge
from tests.contract.watch import watched
from tests.stories.gitlab_people import GitLabPerson

ROLES = {"author": "write", "approver": "maintain"}


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[SandboxForge]:
    """A forge with a repository, and a bot's account that is a member."""
    with SandboxForge(tmp_path / "forge", dialect="gitlab") as made, watched(made, "gitlab"):
        for login in ("acme", "porchbot", *ROLES):
            made.state.add_user(login)
        repository = made.state.add_repository("acme", "blueprints")
        for login, role in {**ROLES, "porchbot": "maintain"}.items():
            made.state.add_member(repository, login, role)
        yield made


@pytest.fixture
def people(forge: SandboxForge, tmp_path: Path) -> dict[str, GitLabPerson]:
    """Who is there, by login; main has a first commit."""
    made = {
        login: GitLabPerson(
            login,
            forge.token(login),
            forge.web_url,
            forge.clone_url("acme", "blueprints"),
            "acme/blueprints",
            tmp_path / login,
        )
        for login in ("acme", "porchbot", *ROLES)
    }
    with forge.state.lock:
        repository = next(iter(forge.state.data.repositories.values()))
        first = [FileChange(path="README.md", content=b"Blueprints\n")]
        forge.state.commit_files(repository, "main", first, "Begin", actor=forge.state.user("acme"))
    return made


def test_from_a_push_to_a_tag(people: dict[str, GitLabPerson]) -> None:
    """Short-cuts: what was asked for is answered and not kept, or kept and not shown."""
    author, approver, bot = people["author"], people["approver"], people["porchbot"]
    head = author.pushes("topic", {"net/a.yaml": "a: 1\n"})

    made = author.opens("topic", "Core", body="Words", draft=True)
    assert (made.number, made.draft, made.open, made.merged) == (1, True, True, False)
    assert (made.head, made.head_ref, made.base_ref, made.author) == (
        head,
        "topic",
        "main",
        "author",
    )
    assert author.pull_of("topic").number == 1
    author.makes_ready(1)
    assert (author.pull(1).draft, author.pull(1).title) == (False, "Core")
    author.rewrites(1, title="Core, again", body="More words")
    assert (author.pull(1).title, author.pull(1).body) == ("Core, again", "More words")
    assert author.commits_of(1) == [head]

    said = author.says(1, "/propose")
    assert [each.body for each in bot.comments(1)] == ["/propose"]
    bot.edits(
        1, bot.says(1, "<!-- porchbot:summary -->\nYours."), "<!-- porchbot:summary -->\nOurs"
    )
    assert author.summary(1) == "<!-- porchbot:summary -->\nOurs"
    wrong = author.says(1, "wrong")
    author.erases(1, wrong)
    assert [each.author for each in author.comments(1)] == ["author", "porchbot[bot]"]
    assert author.reactions(1, said) == set()

    bot.reports(head, "porchbot/validate", "pending")
    assert author.checks(head)["porchbot/validate"].conclusion is None
    bot.reports(head, "porchbot/validate", "failure")
    assert author.checks(head, 1)["porchbot/validate"].conclusion == "failure"
    assert "Ours" in author.checks(head, 1)["porchbot/validate"].text
    bot.reports(head, "porchbot/validate")
    assert author.checks(head)["porchbot/validate"].conclusion == "success"

    approver.approves(1)
    merge = approver.merges(1)
    merged = author.pull(1)
    assert (merged.merged, merged.open, merged.merge_commit) == (True, False, merge)
    assert merged.merged_by == "approver"
    assert author.branches()["main"] == merge
    assert author.commit(merge).parents[-1] == head
    assert author.reads("net/a.yaml") == "a: 1\n"
    approver.makes_ref("tags/net/v1", merge)
    assert author.tags() == {"net/v1": merge}
    approver.deletes("tags/net/v1")
    approver.deletes("heads/topic")
    assert (author.tags(), [*author.branches()]) == ({}, ["main"])


def test_a_proposal_is_closed_reopened_and_sent_elsewhere(people: dict[str, GitLabPerson]) -> None:
    """Short-cut: the state that was sent is the state that is shown."""
    author, owner = people["author"], people["acme"]
    author.pushes("topic", {"a.yaml": "a: 1\n"})
    owner.makes_ref("heads/lab", author.branches()["main"])
    number = author.opens("topic").number

    author.closes(number)
    assert (author.pulls(), author.pull(number).open) == ([], False)
    assert [each.number for each in author.pulls(every=True)] == [number]
    author.reopens(number)
    author.retargets(number, "lab")
    assert (author.pull(number).open, author.pull(number).base_ref) == (True, "lab")


def test_who_may_not_is_refused_and_nothing_changes(people: dict[str, GitLabPerson]) -> None:
    """Short-cut: whoever has a token may do everything."""
    author, bot = people["author"], people["porchbot"]
    author.pushes("topic", {"a.yaml": "a: 1\n"})
    number = author.opens("topic", draft=True).number
    said = bot.says(number, "Ours")

    with pytest.raises(gitlab.exceptions.GitlabError, match="403"):
        author.edits(number, said, "Yours")
    with pytest.raises(gitlab.exceptions.GitlabError, match=r"405|422"):
        people["approver"].merges(number)
    with pytest.raises(gitlab.exceptions.GitlabCreateError, match="409"):
        author.opens("topic")

    assert [each.body for each in author.comments(number)] == ["Ours"]
    assert not author.pull(number).merged
    assert len(author.pulls()) == 1
