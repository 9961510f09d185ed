"""The forges that the contract is held to: GitHub's adapter, over HTTP, on the sandbox forge; and
the forge of the simulation, in process, on the same rules.

What happens at a forge without the bot is spelled in our words, so that the tests know no dialect.
Longer than 400 lines: one place with all that may happen there.
"""

import hashlib
import json
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from bot.forges.github.app import AppClients
from bot.forges.github.forges import GitHubForges
from bot.forges.port import AnnotatedTag, Forge, Forges, Repository
from bot.sandbox.git import trees
from bot.sandbox.records import accounts
from bot.sandbox.records import repository as records
from bot.sandbox.records.protection import QueueRule
from bot.sandbox.rules.checks import CheckRunFields
from bot.sandbox.rules.context import FileChange
from bot.sandbox.rules.state import ForgeState
from bot.sandbox.serve import SandboxForge
from cadlib.package.files import Entry
from lifecycle.actions import Reaction
from lifecycle.identity import RepositoryId
from lifecycle.names import Sha
from tests.app_key import keys
from tests.contract.watch import watched
from tests.memory.clock import ManualClock
from tests.simulation.forge import SimulatedForge
from tests.simulation.forge_calls import Fault, none

ROLES = {"author": "write", "approver": "maintain"}
FIRST = {"net/values.yaml": b"a: 1\n"}

FROZEN = datetime(2026, 11, 1, 12, tzinfo=UTC)


class Place(Protocol):
    """A repository at a forge, with its people: owner, author, approver.

    Attributes:
        asks_nothing: Methods of `Forge` that are answered without the forge.
        tolerates: Methods of `Forge` that take "refused" for an answer.
        settles: Seconds since the last change after which the next one shows in the list of
            repositories.
    """

    forges: Forges
    forge: Forge
    repository: Repository
    others: list[RepositoryId]
    asks_nothing: frozenset[str]
    tolerates: frozenset[str]
    settles: float

    def issue_number(self, number: int) -> int:
        """How the bot counts the issue that the forge gave a number."""

    def commit(self, branch: str, name: str = "a.yaml", by: str = "author") -> Sha:
        """Commit a file to a branch, which is made where it is not there."""

    def tip(self, branch: str) -> Sha:
        """Where a branch is."""

    def propose(self, branch: str, *, base: str = "main", draft: bool = False) -> int:
        """Open a proposal of a branch as the author."""

    def retarget(self, number: int, base: str) -> None:
        """Have a proposal go into another branch, as its author."""

    def close(self, number: int) -> None:
        """Close a proposal without merging it."""

    def merge(self, number: int) -> Sha:
        """Merge a proposal as its owner."""

    def say(self, number: int, text: str, by: str = "author") -> int:
        """Write a comment."""

    def open_issue(self, title: str, body: str) -> int:
        """Open an issue as the author."""

    def close_issue(self, number: int) -> None:
        """Close an issue as the owner."""

    def say_on_issue(self, number: int, text: str) -> None:
        """Write a comment on an issue as the author."""

    def rewrite_issue(self, number: int, text: str) -> int:
        """Edit the text of an issue as the author; their number."""

    def turn_issues_off(self) -> None:
        """The repository has no issues any more."""

    def review(self, number: int, text: str, *, approves: bool) -> int | None:
        """Review a proposal as the approver; its number, where the forge gives one."""

    def tag(self, name: str, at: Sha) -> None:
        """Tag a commit as the owner."""

    def report(self, head: Sha, context: str, *, passed: bool | None) -> None:
        """Report what somebody else's checks come to; None while they go on."""

    def check_of_others(self, head: Sha, name: str) -> None:
        """Report that another program's check has passed."""

    def require(self, name: str, of: str) -> None:
        """Require a check of `of`: "us", "another" or "anybody"."""

    def tree_with(self, at: Sha, files: Mapping[str, Entry | None]) -> str:
        """Id of the tree of a commit with some files put there, or taken out."""

    def made(self, sha: Sha) -> tuple[tuple[str, ...], str, bool]:
        """Parents and tree of a commit, and whether the forge shows it as signed."""

    def queues(self) -> None:
        """From now on proposals get into main through a merge queue alone."""

    def bypasses(self, name: str) -> None:
        """We may go around a rule of main of this name that asks for a review."""

    def bodies(self, number: int) -> list[str]:
        """What was said on a proposal, at its lines too."""

    def reactions(self, number: int) -> list[Reaction]:
        """How the comments of a proposal were acknowledged."""

    def findings(self, head: Sha, name: str) -> list[int]:
        """Of each check run of a name at a commit, how many findings it shows."""

    def releases(self) -> list[tuple[str, str | None, str | None]]:
        """Tag, title and notes of each release."""

    def latest_release(self) -> int | None:
        """Number of the release that was made the latest; None where none was chosen."""

    def fork(self, branch: str) -> int:
        """Open a proposal from a fork of the author's."""

    def delivery(self, branch: str) -> tuple[Mapping[str, str], bytes]:
        """What the forge sends when a branch was pushed: headers and body."""

    def not_delivered(self, branches: int) -> None:
        """So many branches are pushed, and nobody takes what is told of them: it is in the log."""

    def team(self, name: str, *members: str, above: str = "") -> str:
        """Make a team of the owner, which is an organization then; below another one.

        Returns:
            What it is called where it is asked for.
        """

    def forbid(self, permission: str) -> None:
        """Take a permission from the App."""

    def passes(self, seconds: float) -> None:
        """What happens next, happens so much later by the forge's clock."""

    def suspend(self) -> None:
        """Put the installation to rest."""

    def fails(self, how: str) -> None:
        """From now on all calls fail: "busy", "limited" or "refused"."""

    def works_again(self) -> None:
        """No call fails any more."""


_FAULTS: dict[str, tuple[int, str, dict[str, str]]] = {
    "busy": (502, "Server Error", {}),
    "limited": (403, "You have exceeded a secondary rate limit.", {"Retry-After": "7"}),
    "refused": (403, "Resource not accessible by integration", {}),
}

_REACTIONS = {
    "eyes": Reaction.SEEN,
    "rocket": Reaction.DONE,
    "-1": Reaction.REFUSED,
    "confused": Reaction.CONFUSED,
}


@dataclass
class SandboxGitHub:
    """A repository at the sandbox forge's rules, however they are reached; implements `Place`.

    Attributes:
        state: The rules.
        changing: Around each change of them.
        failing: Lets all calls fail from now on: status, message, headers; None for no more.
        losing: Lets nothing that is told of the block be delivered; the log has all of it after.
        sandbox: Where it is spoken to over HTTP.
    """

    state: ForgeState
    changing: Callable[[], AbstractContextManager[object]]
    failing: Callable[[tuple[int, str, dict[str, str]] | None], None]
    losing: Callable[[], AbstractContextManager[None]]
    repo: records.Repository
    forges: Forges
    forge: Forge
    repository: Repository
    others: list[RepositoryId]
    sandbox: SandboxForge | None = None
    asks_nothing: frozenset[str] = frozenset()
    tolerates: frozenset[str] = frozenset()
    settles: float = 0.0

    def issue_number(self, number: int) -> int:
        return number

    def commit(self, branch: str, name: str = "a.yaml", by: str = "author") -> Sha:
        state = self.state
        with self.changing():
            changes = [FileChange(path=name, content=f"{branch}\n".encode())]
            made = state.commit_files(self.repo, branch, changes, "Change", actor=state.user(by))
            return Sha(made.sha)

    def tip(self, branch: str) -> Sha:
        return Sha(self.repo.refs[f"refs/heads/{branch}"])

    def propose(self, branch: str, *, base: str = "main", draft: bool = False) -> int:
        state = self.state
        with self.changing():
            title = f"Propose {branch}"
            return state.pulls.open(
                self.repo, state.user("author"), title=title, head=branch, base=base, draft=draft
            ).number

    def retarget(self, number: int, base: str) -> None:
        state = self.state
        with self.changing():
            state.pulls.edit(self._pull(number), state.user("author"), base=base)

    def close(self, number: int) -> None:
        state = self.state
        with self.changing():
            state.pulls.close(self._pull(number), state.user("author"))

    def merge(self, number: int) -> Sha:
        state = self.state
        with self.changing():
            return Sha(state.pulls.merge(self._pull(number), state.user("owner")))

    def say(self, number: int, text: str, by: str = "author") -> int:
        state = self.state
        with self.changing():
            return state.talk.comment(self._pull(number), state.user(by), text).id

    def open_issue(self, title: str, body: str) -> int:
        with self.changing():
            author = self.state.user("author")
            return self.state.issues.open(self.repo, author, title, body).number

    def close_issue(self, number: int) -> None:
        with self.changing():
            issue, owner = self.repo.issues[number], self.state.user("owner")
            self.state.issues.edit(issue, owner, state="closed")

    def say_on_issue(self, number: int, text: str) -> None:
        with self.changing():
            issue, author = self.repo.issues[number], self.state.user("author")
            self.state.talk.comment(issue, author, text)

    def rewrite_issue(self, number: int, text: str) -> int:
        with self.changing():
            issue, author = self.repo.issues[number], self.state.user("author")
            self.state.issues.edit(issue, author, body=text)
        return author.id

    def turn_issues_off(self) -> None:
        self.state.admin.edit(self.repo, has_issues=False)

    def review(self, number: int, text: str, *, approves: bool) -> int:
        state, event = self.state, "APPROVE" if approves else "COMMENT"
        with self.changing():
            pull, approver = self._pull(number), state.user("approver")
            return state.reviews.submit(pull, approver, event, text).id

    def tag(self, name: str, at: Sha) -> None:
        with self.changing():
            owner = self.state.user("owner")
            self.state.update_ref(self.repo, f"refs/tags/{name}", at, owner)

    def report(self, head: Sha, context: str, *, passed: bool | None) -> None:
        state = self.state
        word = "pending" if passed is None else "success" if passed else "error"
        with self.changing():
            owner = state.user("owner")
            more = {"description": None, "target_url": None}
            state.checks.add_status(self.repo, head, owner, state=word, context=context, **more)

    def check_of_others(self, head: Sha, name: str) -> None:
        state = self.state
        with self.changing():
            state.checks.create(
                self.repo, self._another(), head, CheckRunFields(name=name, conclusion="neutral")
            )

    def require(self, name: str, of: str) -> None:
        state = self.state
        us = next(i.app.id for i in state.data.installations.values() if i.app.slug == "porchbot")
        app = {"us": us, "another": self._another().id, "anybody": None}[of]
        known = self.repo.protections.get("main")
        checks = (*(known.required_checks if known else ()), (name, app))
        state.protect(self.repo, "main", checks)

    def tree_with(self, at: Sha, files: Mapping[str, Entry | None]) -> str:
        git = self.state.git(self.repo)
        tree: str | None = git.commit(at).tree
        for path, entry in files.items():
            put = (entry.mode, git.write_blob(entry.data)) if entry else None
            tree = trees.put(git, tree, path, put)
        return str(tree)

    def made(self, sha: Sha) -> tuple[tuple[str, ...], str, bool]:
        found = self.state.git(self.repo).commit(sha)
        return found.parents, found.tree, self.state.rules.verified(self.repo, sha)

    def queues(self) -> None:
        # With a check that nobody reports, so that what is in the queue stays there.
        rule = QueueRule()
        self.state.rules.add(self.repo, merge_queue=rule, required_checks=[("queue", None)])

    def bypasses(self, name: str) -> None:
        us = next(i.app for i in self.state.data.installations.values() if i.app.slug == "porchbot")
        self.state.rules.add(self.repo, required_reviews=1, bypass=[us], name=name)

    def bodies(self, number: int) -> list[str]:
        pull = self._pull(number)
        return [each.body for each in pull.comments] + [each.body for each in pull.remarks]

    def reactions(self, number: int) -> list[Reaction]:
        comments = self._pull(number).comments
        return [_REACTIONS[r.content] for comment in comments for r in comment.reactions]

    def findings(self, head: Sha, name: str) -> list[int]:
        state = self.state
        runs = state.checks.runs_on(self.repo, head, latest=False)
        return [len(run.annotations) for run in runs if run.name == name]

    def releases(self) -> list[tuple[str, str | None, str | None]]:
        return [(made.tag, made.name, made.body) for made in self.repo.releases.values()]

    def latest_release(self) -> int | None:
        return self.repo.latest_release

    def fork(self, branch: str) -> int:
        state = self.state
        with self.changing():
            fork = state.fork(self.repo, "author")
            changes = [FileChange(path="fork.yaml", content=b"a: 1\n")]
            state.commit_files(fork, branch, changes, "Change", actor=state.user("author"))
            author, head = state.user("author"), f"author:{branch}"
            return state.pulls.open(
                self.repo, author, title="From a fork", head=head, base="main"
            ).number

    def delivery(self, branch: str) -> tuple[Mapping[str, str], bytes]:
        number = self.repository.id.number
        about = {"id": number, "full_name": self.repo.full_name, "default_branch": "main"}
        body = {"ref": f"refs/heads/{branch}", "after": "a" * 40, "repository": about}
        headers = {"x-github-delivery": "1", "x-github-event": "push"}
        return headers | {"content-type": "application/json"}, json.dumps(body).encode()

    def not_delivered(self, branches: int) -> None:
        with self.losing():
            for number in range(branches):
                self.commit(f"lost-{number}")

    def team(self, name: str, *members: str, above: str = "") -> str:
        orgs = self.state.organizations
        with self.changing():
            owner = self.repo.owner
            owner.kind = "Organization"
            known = self.state.data.organizations
            known.setdefault("owner", accounts.Organization(account=owner))
            parent = orgs.team("owner", above) if above else None
            orgs.add_team("owner", name, members, parent=parent)
        return name.lower()

    def forbid(self, permission: str) -> None:
        with self.changing():
            for installation in self.state.data.installations.values():
                installation.permissions.pop(permission)
            for token in self.state.data.installation_tokens.values():
                token.permissions.pop(permission, None)

    def passes(self, seconds: float) -> None:
        before = self.state.clock
        self.state.clock = lambda: before() + timedelta(seconds=seconds)

    def suspend(self) -> None:
        state = self.state
        state.suspend(state.data.installations[self.repository.installation])

    def fails(self, how: str) -> None:
        self.failing(_FAULTS[how])

    def works_again(self) -> None:
        self.failing(None)

    def _pull(self, number: int) -> records.Pull:
        return self.state.pulls.find(self.repo, number)

    def _another(self) -> accounts.App:
        state = self.state
        apps = state.data.apps.values()
        found = next((app for app in apps if app.slug == "another"), None)
        if found is None:
            found = state.register_app("another", "key", owner="owner")
            state.install(found, self.repo)
        return found


@contextmanager
def opened(kind: str, folder: Path) -> Iterator[Place]:
    """One of `KINDS`, with a repository of its own and one more beside it."""
    with _OPENED[kind](folder) as place:
        yield place


@contextmanager
def _over_http(folder: Path) -> Iterator[SandboxGitHub]:
    """GitHub's adapter on the sandbox forge."""
    private, public = keys()
    with SandboxForge(folder / "forge") as sandbox, watched(sandbox):
        state, faults = sandbox.state, sandbox.faults
        _people(state)
        repos = [state.add_repository("owner", name) for name in ("catalog", "other")]
        for login, role in ROLES.items():
            state.add_member(repos[0], login, role)
        with state.lock:
            first = [FileChange(path=path, content=content) for path, content in FIRST.items()]
            state.commit_files(repos[0], "main", first, "Begin", actor=state.user("owner"))
        app = state.register_app("porchbot", public, owner="owner")
        installation = state.install(app, *repos)

        def fail(how: tuple[int, str, dict[str, str]] | None) -> None:
            faults.clear()
            if how is not None:
                status, message, headers = how
                faults.fail("*", status, {"message": message}, headers=headers, times=None)

        @contextmanager
        def lose() -> Iterator[None]:
            app.webhook_url = "http://127.0.0.1:9/webhooks"
            yield
            assert sandbox.hooks.idle()

        ours = AppClients(sandbox.api_url, str(app.id), private)
        url = f"{sandbox.web_url}/owner/catalog.git"
        lock = state.lock
        ports = GitHubForges(ours)
        place = _place(state, lambda: lock, fail, lose, ports, repos, url, installation.id)
        place.sandbox = sandbox
        yield place
        ours.close()


@contextmanager
def _in_process(_: Path) -> Iterator[SandboxGitHub]:
    """The forge of the simulation."""
    forge = SimulatedForge(ManualClock(), random.Random(0))
    _people(forge.state)
    repos = [forge.add_repository("owner", "catalog", FIRST, ROLES, issues=True)]
    repos.append(forge.add_repository("owner", "other", FIRST, {}))
    forge.add_app("owner")
    installation = forge.install(*repos)

    def fail(how: tuple[int, str, dict[str, str]] | None) -> None:
        forge.faults = none
        if how is not None:
            status, message, headers = how
            lower = {name.lower(): value for name, value in headers.items()}
            fault = Fault(status=status, message=message, headers=lower)
            forge.faults = lambda _: fault

    @contextmanager
    def lose() -> Iterator[None]:
        forge.deliveries.clear()
        yield
        while forge.deliveries:
            forge.lose(forge.deliveries.popleft())

    url, ports = forge.url(repos[0]), forge.forges()
    yield _place(forge.state, forge.change, fail, lose, ports, repos, url, installation.id)


def _people(state: ForgeState) -> None:
    for login in ("owner", *ROLES):
        state.add_user(login)


def _place(
    state: ForgeState,
    changing: Callable[[], AbstractContextManager[object]],
    failing: Callable[[tuple[int, str, dict[str, str]] | None], None],
    losing: Callable[[], AbstractContextManager[None]],
    forges: Forges,
    repos: list[records.Repository],
    url: str,
    installation: int,
) -> SandboxGitHub:
    repository = Repository(
        id=RepositoryId(forges.name, repos[0].id),
        full_name="owner/catalog",
        default_branch="main",
        clone_url=url,
        installation=installation,
        installed_at=FROZEN,
    )
    others = [RepositoryId(forges.name, repos[1].id)]
    forge = forges.of(repository)
    return SandboxGitHub(
        state, changing, failing, losing, repos[0], forges, forge, repository, others
    )


_OPENED: Mapping[str, Callable[[Path], AbstractContextManager[SandboxGitHub]]] = {
    "github": _over_http,
    "simulated": _in_process,
}
KINDS = tuple(_OPENED)


def tag(name: str, target: Sha) -> AnnotatedTag:
    """A tag as git writes it."""
    head = f"object {target}\ntype commit\ntag {name}\n"
    who = f"porchbot[bot] <bot@porch.example> {int(FROZEN.timestamp())} +0000"
    body = f"{head}tagger {who}\n\nText\n"
    made = hashlib.sha1(f"tag {len(body)}\0{body}".encode()).hexdigest()
    return AnnotatedTag(
        name=name,
        target=target,
        message="Text\n",
        tagger=("porchbot[bot]", "bot@porch.example"),
        at=FROZEN,
        object=Sha(made),
    )
