"""A project of the simulation's GitLab that the contract is held to, by the bot's own adapter.

People use python-gitlab. What GitLab lacks stands in `LACKED`; tests name what they need of it.
"""

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gitlab

from bot.forges.port import Forge, Forges, Repository
from bot.sandbox.faults.calls import Faults
from bot.sandbox.git import trees
from bot.sandbox.records import repository as records
from bot.sandbox.rules.context import FileChange
from cadlib.package.files import Entry
from lifecycle.actions import Reaction
from lifecycle.identity import RepositoryId
from lifecycle.names import Sha
from tests.contract.forges import FIRST, FROZEN, ROLES
from tests.contract.watch import watched
from tests.gitlab_calls import session
from tests.memory.clock import ManualClock
from tests.simulation.forge import LINKS
from tests.simulation.gitlab_forge import BOT, NAME, SimulatedGitLab

LACKED: Mapping[str, str] = {
    "suspension": "an account that is blocked is told nothing, not even that",
    "permissions": "a token has scopes for all of the API: there is none without issues or members",
    "named checks": "a project asks for the whole pipeline and for resolved threads, by no name",
    "signed commits": "the API makes no commit on condition of its parent",
    "tags by the API": "the API writes the tag object itself: git pushes ours",
    "queues": "merge trains need Premium and pipelines that run in GitLab",
    "bypasses": "nobody may pass a rule of a merge: roles are named in what may be pushed",
    "texts of checks": "a status holds one line: findings are threads, whose lines must be shown",
    "texts of reviews": "a review is a state of a reviewer; what is said beside it is a note",
    "teams below": "whoever is in a group below is no direct member, and GitLab counts only those",
}
"""What GitLab lacks, with the reason."""

_FAULTS: dict[str, tuple[int, Any, dict[str, str]]] = {
    "busy": (502, {"message": "502 Bad Gateway"}, {}),
    "limited": (429, "Retry later", {"Retry-After": "7"}),
    "refused": (403, {"message": "403 Forbidden"}, {}),
}
_SEAL = re.compile(r"\n\n<!-- porchbot-text [0-9a-f]+ -->\Z")
_EMOJI = {
    "eyes": Reaction.SEEN,
    "rocket": Reaction.DONE,
    "thumbsdown": Reaction.REFUSED,
    "confused": Reaction.CONFUSED,
}


class LacksError(AssertionError):
    """A test asks for what GitLab lacks without saying that it needs it."""


class Watched:
    """What `watched` asks of a forge."""

    def __init__(self, forge: SimulatedGitLab) -> None:
        self.state = forge.state
        self.observers = forge.api.observers
        self.webhook_observers: list[Callable[..., None]] = []


@dataclass
class InProcessGitLab:
    """A project, its people, and the adapter; implements `Place`."""

    world: SimulatedGitLab
    clock: ManualClock
    repo: records.Repository
    forges: Forges
    forge: Forge
    repository: Repository
    others: list[RepositoryId]
    tolerates: frozenset[str] = frozenset({"enqueue", "merge", "required_reviews"})
    asks_nothing: frozenset[str] = frozenset({"make_tag", "commit", "unproposed"})
    settles: float = 7200.0
    _clients: dict[str, gitlab.Gitlab] = field(default_factory=dict)

    def issue_number(self, number: int) -> int:
        return -number

    def _as(self, login: str) -> Any:
        """A client of python-gitlab's in a person's name."""
        if login not in self._clients:
            token = self.world.tokens.make(login).value
            over = session(self.world.api.answer, self.world.change)
            self._clients[login] = gitlab.Gitlab(LINKS.web, private_token=token, session=over)
        return self._clients[login]

    def _project(self, login: str = "author") -> Any:
        return self._as(login).projects.get(self.repo.id, lazy=True)

    def _request(self, number: int, login: str = "author") -> Any:
        return self._project(login).mergerequests.get(number)

    def commit(self, branch: str, name: str = "a.yaml", by: str = "author") -> Sha:
        with self.world.change():
            state = self.world.state
            changes = [FileChange(path=name, content=f"{branch}\n".encode())]
            made = state.commit_files(self.repo, branch, changes, "Change", actor=state.user(by))
            return Sha(made.sha)

    def tip(self, branch: str) -> Sha:
        return Sha(self.repo.refs[f"refs/heads/{branch}"])

    def propose(self, branch: str, *, base: str = "main", draft: bool = False) -> int:
        title = f"{'Draft: ' if draft else ''}Propose {branch}"
        wanted = {"source_branch": branch, "target_branch": base, "title": title}
        return int(self._project().mergerequests.create(wanted).iid)

    def retarget(self, number: int, base: str) -> None:
        self._project().mergerequests.update(number, {"target_branch": base})

    def close(self, number: int) -> None:
        self._project().mergerequests.update(number, {"state_event": "close"})

    def merge(self, number: int) -> Sha:
        for _ in range(3):  # it is being worked out
            request = self._request(number, "owner")
        request.merge()
        return Sha(self._request(number).merge_commit_sha)

    def say(self, number: int, text: str, by: str = "author") -> int:
        return int(self._request(number, by).notes.create({"body": text}).id)

    def open_issue(self, title: str, body: str) -> int:
        return -int(self._project().issues.create({"title": title, "description": body}).iid)

    def close_issue(self, number: int) -> None:
        self._project("owner").issues.update(-number, {"state_event": "close"})

    def say_on_issue(self, number: int, text: str) -> None:
        self._project().issues.get(-number, lazy=True).notes.create({"body": text})

    def rewrite_issue(self, number: int, text: str) -> int:
        self._project().issues.update(-number, {"description": text})
        return int(self._as("author").users.list(username="author")[0].id)

    def turn_issues_off(self) -> None:
        self._as("owner").projects.update(self.repo.id, {"issues_access_level": "disabled"})

    def tag(self, name: str, at: Sha) -> None:
        self._project("owner").tags.create({"tag_name": name, "ref": at})

    def review(self, number: int, text: str, *, approves: bool) -> int | None:
        if not approves:
            raise LacksError("texts of reviews")
        self._request(number, "approver").approve()
        if text:
            self.say(number, text, "approver")
        return None

    def report(self, head: Sha, context: str, *, passed: bool | None) -> None:
        word = "pending" if passed is None else "success" if passed else "failed"
        commit = self._project("owner").commits.get(head, lazy=True)
        commit.statuses.create({"state": word, "name": context})

    def check_of_others(self, head: Sha, name: str) -> None:
        raise LacksError("texts of checks")

    def require(self, name: str, of: str) -> None:
        if of != "anybody":
            raise LacksError("named checks")
        del name
        wanted = {"only_allow_merge_if_pipeline_succeeds": True}
        self._as("owner").projects.update(self.repo.id, wanted)

    def tree_with(self, at: Sha, files: Mapping[str, Entry | None]) -> str:
        git = self.world.state.git(self.repo)
        tree: str | None = git.commit(at).tree
        for path, entry in files.items():
            put = (entry.mode, git.write_blob(entry.data)) if entry else None
            tree = trees.put(git, tree, path, put)
        return str(tree)

    def made(self, sha: Sha) -> tuple[tuple[str, ...], str, bool]:
        found = self.world.state.git(self.repo).commit(sha)
        return found.parents, found.tree, False

    def queues(self) -> None:
        raise LacksError("queues")

    def bypasses(self, name: str) -> None:
        raise LacksError("bypasses")

    def bodies(self, number: int) -> list[str]:
        found = self._request(number).notes.list(get_all=True, sort="asc", order_by="created_at")
        return [_SEAL.sub("", each.body) for each in found if not each.system]

    def reactions(self, number: int) -> list[Reaction]:
        notes = self._request(number).notes.list(get_all=True)
        given = (each for note in notes for each in note.awardemojis.list(get_all=True))
        return [_EMOJI[each.name] for each in given]

    def findings(self, head: Sha, name: str) -> list[int]:
        raise LacksError("texts of checks")

    def latest_release(self) -> int | None:
        return None  # GitLab goes by dates alone

    def releases(self) -> list[tuple[str, str | None, str | None]]:
        found = self._project().releases.list(get_all=True)
        return [(each.tag_name, each.name, each.description) for each in found]

    def fork(self, branch: str) -> int:
        self._project().forks.create({})
        made = self._as("author").projects.get("author/catalog")
        with self.world.change():
            state = self.world.state
            fork = state.data.repositories[int(made.id)]
            changes = [FileChange(path="fork.yaml", content=b"a: 1\n")]
            state.commit_files(fork, branch, changes, "Change", actor=state.user("author"))
        wanted: dict[str, Any] = {"source_branch": branch, "target_project_id": self.repo.id}
        wanted |= {"target_branch": "main", "title": "From a fork"}
        return int(made.mergerequests.create(wanted).iid)

    def delivery(self, branch: str) -> tuple[Mapping[str, str], bytes]:
        body = {
            "object_kind": "push",
            "event_name": "push",
            "before": "0" * 40,
            "after": "a" * 40,
            "ref": f"refs/heads/{branch}",
            "user_id": 1,
            "user_username": "author",
            "project_id": self.repo.id,
            "project": {
                "id": self.repo.id,
                "path_with_namespace": self.repo.full_name,
                "default_branch": "main",
            },
            "commits": [],
            "total_commits_count": 0,
        }
        headers = {"x-gitlab-event": "Push Hook", "x-gitlab-event-uuid": "1"}
        return headers | {"content-type": "application/json"}, json.dumps(body).encode()

    def not_delivered(self, branches: int) -> None:
        hook = {"url": f"{LINKS.web}/hook", "push_events": True}
        self._project("owner").hooks.create(hook)
        self.world.deliveries.clear()
        for number in range(100 + branches):  # more than a page holds
            self.commit(f"lost-{number - 100}")
        while self.world.deliveries:
            self.world.lose(self.world.deliveries.popleft())

    def team(self, name: str, *members: str, above: str = "") -> str:
        owner = self._as("owner")
        wanted: dict[str, Any] = {"name": name, "path": name.lower()}
        if above:
            wanted["parent_id"] = owner.groups.get(above).id
        made = owner.groups.create(wanted)
        for login in members:
            (user,) = owner.users.list(username=login)
            made.members.create({"user_id": user.id, "access_level": 30})
        return str(made.full_path)

    def forbid(self, permission: str) -> None:
        raise LacksError("permissions")

    def passes(self, seconds: float) -> None:
        self.clock.seconds += seconds

    def suspend(self) -> None:
        raise LacksError("suspension")

    def fails(self, how: str) -> None:
        status, body, headers = _FAULTS[how]
        faults = self.world.api_faults
        faults.fail("*", status, body, headers=headers, times=None, caller=BOT)

    def works_again(self) -> None:
        self.world.api_faults.clear()


@contextmanager
def gitlab_in_process(_: Path) -> Iterator[InProcessGitLab]:
    """GitLab's adapter on the simulation's GitLab."""
    clock = ManualClock()
    world = SimulatedGitLab(clock, random.Random(0), Faults)
    for login in ("owner", *ROLES, BOT):
        world.state.add_user(login)
    roles = {**ROLES, BOT: "maintain"}
    repo = world.add_repository("owner", "catalog", FIRST, roles, issues=True)
    other = world.add_repository("owner", "other", FIRST, {BOT: "maintain"})
    repository = Repository(
        id=RepositoryId(NAME, repo.id),
        full_name="owner/catalog",
        default_branch="main",
        clone_url=world.url(repo),
        installation=world.us.id,
        installed_at=FROZEN,
    )
    forges = world.forges()
    with watched(Watched(world), "gitlab"):
        forge = forges.of(repository)
        yield InProcessGitLab(
            world, clock, repo, forges, forge, repository, [RepositoryId(NAME, other.id)]
        )
