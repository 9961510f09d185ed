"""What a request costs the forge, in calls of its own code: the same for few tags and for many."""

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bot.sandbox.git import history
from bot.sandbox.git.bare import BareGit, BareStore
from bot.sandbox.git.objects import EMPTY_TREE, Ident
from bot.sandbox.git.protocol import NewCommit
from bot.sandbox.records.accounts import User
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules.context import FileChange
from bot.sandbox.serve import SandboxForge
from tests.counting import calls

FEW, MANY = 20, 2000


@dataclass
class Forge:
    """A forge that listens nowhere, with a repository and somebody who may do everything."""

    forge: SandboxForge
    repo: Repository
    owner: User
    token: str

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """One request of the API; its answer's JSON."""
        return asyncio.run(self._ask(method, path, json.dumps(body).encode() if body else b""))

    async def _ask(self, method: str, path: str, body: bytes) -> Any:
        path, _, query = path.partition("?")
        whole = f"/api/v3/repos/owner/configs{path}"
        headers = {"user-agent": "test", "authorization": f"token {self.token}"}
        scope = {
            "type": "http",
            "method": method,
            "path": whole,
            "raw_path": whole.encode(),
            "query_string": query.encode(),
            "headers": [(k.encode(), v.encode()) for k, v in headers.items()],
        }
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.forge(scope, receive, send)
        assert sent[0]["status"] < 300, sent
        answer = b"".join(message.get("body", b"") for message in sent[1:])
        return json.loads(answer) if answer else None


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Callable[[int], Forge]]:
    """Makes a forge whose repository has so many tags."""
    made: list[SandboxForge] = []

    def make(tags: int) -> Forge:
        forge = SandboxForge(tmp_path / str(tags))
        made.append(forge)
        state = forge.state
        owner = state.add_user("owner")
        repo = state.add_repository("owner", "configs")
        file = FileChange(path="a.yaml", content=b"a: 1\n")
        sha = state.commit_files(repo, "main", [file], "one", actor=owner).sha
        packed = "".join(sorted(f"{sha} refs/tags/p/n{i}/v1\n" for i in range(tags)))
        (forge.store.path(repo.id) / "packed-refs").write_text(
            f"# pack-refs with: sorted\n{packed}"
        )
        state.sync_refs(repo, owner)
        state.install(state.register_app("bot", "", owner="owner", webhook_url=None), repo)
        return Forge(forge, repo, owner, state.token("owner"))

    yield make
    for forge in made:
        forge.stop()


def talk(forge: Forge) -> dict[str, int]:
    """What a look, a push, an approval and a list ask; the calls that each takes."""
    state, repo = forge.forge.state, forge.repo
    git = state.git(repo)
    assert isinstance(git, BareGit)
    sha = repo.refs["refs/heads/main"]
    file = FileChange(path="b.yaml", content=b"b: 1\n")

    def push() -> None:
        """A push of a branch, as git leaves it on disk and the hook tells of it."""
        new = git.write_commit(
            NewCommit(
                tree=git.commit(sha).tree,
                parents=(sha,),
                message="two",
                author=state.person(forge.owner),
                committer=state.person(forge.owner),
            )
        )
        (git.path / "refs/heads/pushed").write_text(f"{new}\n")
        assert [c.ref for c in state.sync_refs(repo, forge.owner, {"refs/heads/pushed"})] == [
            "refs/heads/pushed"
        ]

    ask = partial(partial, forge.ask)
    steps: dict[str, Callable[[], object]] = {
        "a push": push,
        "a branch through the API": lambda: state.commit_files(
            repo, "draft", [file], "three", actor=forge.owner
        ),
        "a pull request": ask(
            "POST", "/pulls", {"title": "Add b", "head": "draft", "base": "main"}
        ),
        "it is read": ask("GET", "/pulls/1"),
        "pull requests of a head": ask("GET", "/pulls?head=owner:draft&state=all"),
        "matching refs": ask("GET", "/git/matching-refs/tags/p/n1/"),
        "a page of all refs": ask("GET", "/git/matching-refs/tags?per_page=5"),
        "a page of branches": ask("GET", "/branches?per_page=5"),
        "a page of tags": ask("GET", "/tags?per_page=5&page=2"),
        "one ref": ask("GET", "/git/ref/heads/main"),
        "a status": ask("POST", f"/statuses/{sha}", {"state": "success", "context": "c"}),
        "checks of a commit": ask("GET", f"/commits/{sha}/check-runs"),
        "statuses of a commit": ask("GET", f"/commits/{sha}/status"),
        "a comment": ask("POST", "/issues/1/comments", {"body": "/approve"}),
        "activity": ask("GET", "/activity?ref=refs/heads/main&per_page=5"),
        "a tag object": ask(
            "POST",
            "/git/tags",
            {"tag": "q/v1", "message": "q v1", "object": sha, "type": "commit"},
        ),
        "a tag": ask("POST", "/git/refs", {"ref": "refs/tags/q/v1", "sha": sha}),
        "a merge": ask("PUT", "/pulls/1/merge", {}),
        "a branch is deleted": ask("DELETE", "/git/refs/heads/pushed"),
    }
    return {name: calls(step) for name, step in steps.items()}


def test_no_request_reads_the_refs_that_it_is_not_about(at: Callable[[int], Forge]) -> None:
    """The short-cut looks through all refs for those it wants: every request grows with them."""
    few, many = talk(at(FEW)), talk(at(MANY))

    assert {name: n for name, n in many.items() if n > few[name] + 20} == {}
    assert min(few.values()) > 10  # the calls of the forge are seen at all


def crowd(forge: Forge, size: int) -> dict[str, int]:
    """The calls that a look takes where there are so many other pull requests."""
    state, repo, owner = forge.forge.state, forge.repo, forge.owner
    for number in range(size):
        file = FileChange(path="a.yaml", content=f"a: {number}\n".encode())
        state.commit_files(repo, "main", [file], "main", actor=owner)
    for number in range(size):
        branch = f"other{number}"
        file = FileChange(path="b.yaml", content=b"c: 1\n")
        sha = state.commit_files(repo, branch, [file], branch, actor=owner).sha
        pull = state.pulls.open(repo, owner, title=branch, head=branch, base="main")
        comment = state.talk.comment(pull, owner, "said").id
        state.checks.add_status(
            repo, sha, owner, state="success", context="c", description="", target_url=""
        )
        if number % 2:
            state.pulls.close(pull, owner)
    paths = {
        "repository": "",
        "pull request": f"/pulls/{pull.number}",
        "of a head": f"/pulls?head=owner:{branch}&state=all",
        "conversation": f"/issues/{pull.number}/comments",
        "comment": f"/issues/comments/{comment}",
        "suites": f"/commits/{sha}/check-suites",
        "statuses": f"/commits/{sha}/statuses",
        "activity of a branch": "/activity?ref=main&per_page=2",
        "activity": "/activity?per_page=2",
    }
    found = {name: calls(partial(forge.ask, "GET", path)) for name, path in paths.items()}
    file = FileChange(path="new.yaml", content=b"d: 1\n")
    push = partial(state.commit_files, repo, branch, [file], "new", actor=owner)
    return found | {"push": calls(push)}


def test_no_request_reads_the_pull_requests_that_it_is_not_about(
    at: Callable[[int], Forge],
) -> None:
    """The short-cut looks through all pull requests, comments and suites for those it wants."""
    few, many = crowd(at(3), 3), crowd(at(31), 31)

    assert {name: (few[name], n) for name, n in many.items() if n > few[name] + 10} == {}
    assert max(few.values()) < 1_500  # 525 were counted; a look asks some eight times


def line(git: BareGit, length: int) -> list[str]:
    """A line of commits, the oldest first, whose times say nothing."""
    made: list[str] = []
    for number in range(length):
        who = Ident("A", "a@example.org", datetime(2024, 1, 1 + number % 28, tzinfo=UTC))
        parents = tuple(made[-1:])
        new = NewCommit(
            tree=EMPTY_TREE, parents=parents, message=f"{number}", author=who, committer=who
        )
        made.append(git.write_commit(new))
    return made


def asked(folder: Path, length: int) -> list[int]:
    """The calls that questions about the end of so long a line take."""
    git = BareStore(folder).create(1, None, None)
    assert isinstance(git, BareGit)
    shas = line(git, length)
    tip, before = shas[-1], shas[-4]
    assert git.generation(tip) == length
    questions = (history.contains, history.merge_base, history.commits_between)
    found = [
        calls(partial(question, git, *pair))
        for question in questions
        for pair in ((tip, before), (before, tip))
    ]
    git.close()
    return found


def test_questions_about_two_commits_cost_what_lies_between(tmp_path: Path) -> None:
    """The short-cut walks to the first commit: each merge reads the history of the repository."""
    assert asked(tmp_path / "short", 20) == asked(tmp_path / "long", 200)


def test_history_says_what_walking_all_of_it_says(tmp_path: Path) -> None:
    """The short-cut trusts commit times: a clock that went backwards hides an ancestor."""
    git = BareStore(tmp_path).create(1, None, None)
    assert isinstance(git, BareGit)
    chance, shas = Random(7), list[str]()
    for number in range(40):
        when = datetime(2024, 1, chance.randint(1, 28), tzinfo=UTC)
        parents = tuple(chance.sample(shas[-6:], min(len(shas), chance.choice((0, 1, 1, 2)))))
        who = Ident("A", "a@example.org", when)
        new = NewCommit(
            tree=EMPTY_TREE, parents=parents, message=f"{number}", author=who, committer=who
        )
        shas.append(git.write_commit(new))
    held = {sha: history.reachable(git, sha) for sha in shas}
    for one, other in product(shas, repeat=2):
        shared = held[one] & held[other]
        best = {sha for sha in shared if not any(sha in held[s] - {s} for s in shared)}
        between = history.commits_between(git, one, other)

        assert history.contains(git, one, other) is (other in held[one])
        assert history.merge_base(git, one, other) in (best or [None])
        assert sorted(between) == sorted(held[other] - held[one])
        assert all(
            parent not in between[place:]
            for place, sha in enumerate(between)
            for parent in git.commit(sha).parents
        )
    git.close()
