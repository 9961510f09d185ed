"""The simulated forge: what people do there, what the bot is told, and what goes wrong on order."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from bot.forges.github.deliveries import read_verified
from bot.forges.port import (
    BotIdentity,
    Forge,
    ForgeBusyError,
    ForgeMissingError,
    ForgeRefusedError,
    Repository,
)
from bot.git.port import GitBusyError, GitRefusedError, Mirror, Pushed, RefUpdate
from bot.sandbox.errors import RefusedError
from bot.sandbox.faults.hooks import OutgoingHook
from bot.sandbox.github.deliveries import DeliveryPublisher
from bot.sandbox.records.protection import QueueRule
from lifecycle.access import Role
from lifecycle.actions import SetCheck
from lifecycle.facts.checks import RENDER, Conclusion, Status
from lifecycle.facts.merging import MergeObstacle
from lifecycle.names import Ref, Sha
from lifecycle.policy import MergeMethod
from tests.memory.clock import ManualClock
from tests.simulation import forge_calls as faults
from tests.simulation import forge_hooks
from tests.simulation.forge import SimulatedForge
from tests.simulation.forge_calls import Fault, ForgeCall

FILES = {"net/core/Kptfile": b"kind: Kptfile\n", "net/core/a.yaml": b"a: 1\n"}
ROLES = {"author": "write", "approver": "maintain", "reader": "read"}
MAIN = Ref("refs/heads/main")


@dataclass
class Stage:
    """A forge with one repository, and what one bot has of it."""

    forge: SimulatedForge
    repository: Repository
    bot: Forge
    mirror: Mirror
    asked: list[ForgeCall] = field(default_factory=list)

    def order(self, name: str, fault: Fault, step: int = 0) -> None:
        """Let one request of a method go wrong."""

        def befalls(call: ForgeCall) -> Fault | None:
            self.asked.append(call)
            return fault if (call.name, call.step) == (name, step) else None

        self.forge.faults = befalls

    def fetch(self, token: str) -> None:
        """Fetch everything, whatever was fetched before."""
        clock = self.forge.clock
        assert isinstance(clock, ManualClock)
        clock.seconds += 1
        self.mirror.fetch(token)

    def goes_well(self) -> None:
        self.forge.faults = faults.none


@pytest.fixture
async def stage() -> Stage:
    forge = SimulatedForge(ManualClock(), random.Random(1), secret="secret")
    forge.state.organizations.add("acme")
    for login in ("owner", *ROLES):
        forge.state.add_user(login)
    forge.add_app("acme", events=(*forge_hooks.BUILDERS, "repository"))
    repo = forge.add_repository("acme", "blueprints", FILES, {"owner": "admin", **ROLES})
    forge.install(repo)
    forges = forge.forges()
    (installation,) = await forges.installations()
    (repository,) = await forges.repositories_of(installation.number)
    mirror = forge.mirrors().of(repository.id, repository.clone_url)
    return Stage(forge, repository, forges.of(repository), mirror)


async def test_a_change_goes_from_a_push_to_a_tag(stage: Stage) -> None:
    """The short-cut gives the bot the forge's own objects: what was not fetched would be there."""
    author = stage.forge.act("author")
    head = author.push("drafts/net/core/v1", {"net/core/a.yaml": b"a: 2\n"})
    number = author.propose("drafts/net/core/v1")
    stage.forge.act("approver").review(number, "APPROVE")
    token = await stage.bot.git_credentials()

    with stage.mirror.open() as git:
        assert not git.has(head)
    stage.fetch(token)
    with stage.mirror.open() as git:
        assert git.ref(Ref("refs/heads/drafts/net/core/v1")) == head
        base = git.ref(MAIN)
        assert base is not None
        assert git.merged(base, Sha(head)).tree == stage.forge.read.tree(author.repo, head)
    talk = await stage.bot.conversation(number)
    assert [(r.author.login, r.head) for r in talk.reviews] == [("approver", head)]
    args = (MergeMethod.SQUASH, "Title", "")
    assert (await stage.bot.merge(number, Sha(head), *args)).obstacle is None
    merged = (await stage.bot.proposal(number)).merge_commit
    assert merged == stage.forge.read.refs(author.repo)[MAIN]
    update = RefUpdate(Ref("refs/tags/net/core/v1"), "", str(merged))
    stage.fetch(token)
    assert stage.mirror.push(token, [update]) is Pushed.DONE
    other = RefUpdate(update.ref, "", head)
    assert stage.mirror.push(token, [other]) is Pushed.MOVED
    assert await stage.bot.has_tag("net/core/v1")


async def test_webhooks_come_out_as_the_sandbox_would_send_them(stage: Stage) -> None:
    stage.forge.deliveries.clear()
    author = stage.forge.act("author")
    head = author.push("drafts/a/v1", {"a": b"1"})
    number = author.propose("drafts/a/v1", draft=True)
    author.say(number, "/propose")

    names = [each.name for each in stage.forge.deliveries]
    assert names == [
        "create", "push", "check_suite.requested", "pull_request.opened", "issue_comment.created",
    ]  # fmt: skip
    opened = stage.forge.deliveries[3]
    assert opened.headers["X-Hub-Signature-256"].startswith("sha256=")
    assert json.loads(opened.body)["pull_request"]["head"]["sha"] == head
    assert len({each.guid for each in stage.forge.deliveries}) == len(names)


async def test_git_refuses_what_the_rules_refuse(stage: Stage) -> None:
    """The short-cut lets the bot's git past the rules: a protected branch would move."""
    author, owner = stage.forge.act("author"), stage.forge.act("owner")
    head = author.push("drafts/a/v1", {"a": b"1"})
    token = await stage.bot.git_credentials()
    stage.fetch(token)
    here = stage.forge.read.refs(author.repo)[MAIN]
    move = [RefUpdate(MAIN, here, head), RefUpdate(Ref("refs/heads/other"), "", head)]
    owner.protect()

    with pytest.raises(GitRefusedError, match="pull request"):
        stage.mirror.push(token, move)
    with pytest.raises(GitRefusedError, match="pull request"):
        author.push("main", {"a": b"2"})
    with pytest.raises(RefusedError):
        stage.forge.act("reader").push("drafts/b/v1", {"b": b"2"})
    assert "refs/heads/other" not in stage.forge.read.refs(author.repo)
    owner.unprotect()
    assert stage.mirror.push(token, move) is Pushed.DONE
    with pytest.raises(GitRefusedError, match="non-fast-forward"):
        author.push("main", {"a": b"3"}, base=here)
    author.push("main", {"a": b"3"}, base=here, force=True)
    assert (await stage.bot.pushes("main", author.repo.id))[0].forced


async def test_an_answer_may_be_of_earlier(stage: Stage) -> None:
    """The short-cut shows all of it late or nothing: forges mix old and new from read to read."""
    author = stage.forge.act("author")
    old = author.push("drafts/a/v1", {"a": b"1"})
    number = author.propose("drafts/a/v1")
    new = author.push("drafts/a/v1", {"a": b"2"})
    author.say(number, "/check")
    stage.forge.act("owner").grant("author", "admin")

    for name, before in (("proposal", 3), ("conversation", 3), ("role", 1), ("git list", 3)):
        stage.order(name, faults.stale(before))
        shown = await stage.bot.proposal(number)
        talk = await stage.bot.conversation(number)
        late = name == "proposal"
        assert shown.head == (old if late else new)
        assert (talk.head, len(talk.comments)) == ((old, 0) if name == "conversation" else (new, 1))
        role = await stage.bot.role("author", 0)
        assert role is (Role.WRITE if name == "role" else Role.ADMIN)
    author.tag("app/v1", new)
    stage.order("git list", faults.stale(1))
    token = await stage.bot.git_credentials()
    assert stage.mirror.tags(token) == {}
    stage.goes_well()
    assert stage.mirror.tags(token) == {"refs/tags/app/v1": new}


async def test_what_was_not_there_then_is_missing(stage: Stage) -> None:
    author = stage.forge.act("author")
    author.push("drafts/a/v1", {"a": b"1"})
    number = author.propose("drafts/a/v1")

    stage.order("proposal", faults.stale(1))
    with pytest.raises(ForgeMissingError):
        await stage.bot.proposal(number)
    stage.order("open_proposals", faults.stale(1))
    assert await stage.bot.open_proposals() == ()


async def test_a_lost_answer_was_done(stage: Stage) -> None:
    """The short-cut fails before: nobody would ever see a deed without an answer."""
    author = stage.forge.act("author")
    head = author.push("drafts/a/v1", {"a": b"1"})
    number = author.propose("drafts/a/v1")
    token = await stage.bot.git_credentials()
    stage.fetch(token)
    update = RefUpdate(Ref("refs/tags/a/v1"), "", head)

    for fault, there in ((faults.AWAY, False), (faults.TIMED_OUT, False), (faults.LOST, True)):
        stage.order("git push", fault)
        with pytest.raises(GitBusyError):
            stage.mirror.push(token, [update])
        assert ("refs/tags/a/v1" in stage.forge.read.refs(author.repo)) is there
    for fault, said in ((faults.AWAY, 0), (faults.limited(30), 0), (faults.CUT, 1)):
        stage.order("comment", fault)
        with pytest.raises(ForgeBusyError) as failed:
            await stage.bot.comment(number, "text")
        assert failed.value.after == (30 if fault.status == 403 else 0)
        assert len(stage.forge.read.comments(author.repo, number)) == said
    stage.order("merge", faults.CONFLICT)
    args = (MergeMethod.MERGE, "", "")
    assert (await stage.bot.merge(number, Sha(head), *args)).obstacle is MergeObstacle.HEAD_MOVED
    stage.order("merge", faults.LOST)
    with pytest.raises(ForgeBusyError):
        await stage.bot.merge(number, Sha(head), *args)
    assert (await stage.bot.proposal(number)).merged


async def test_a_token_ends_and_is_minted_again(stage: Stage) -> None:
    clock = stage.forge.clock
    assert isinstance(clock, ManualClock)
    first = await stage.bot.git_credentials()
    assert await stage.bot.git_credentials() == first
    clock.seconds += 3_600

    with pytest.raises(GitBusyError, match="Bad credentials"):
        stage.fetch(first)
    stage.order("token", faults.NOT_ALLOWED)
    with pytest.raises(ForgeRefusedError):
        await stage.bot.open_proposals()
    stage.goes_well()
    stage.fetch(await stage.bot.git_credentials())


async def test_a_webhook_says_what_the_sandbox_says(stage: Stage) -> None:
    """The short-cut has fields of its own making: a bot that reads others would never notice."""
    forge, full = stage.forge, list[OutgoingHook]()
    DeliveryPublisher(forge.state, forge.links, full.append)
    forge.deliveries.clear()
    author, approver, owner = (forge.act(login) for login in ("author", "approver", "owner"))
    head = author.push("drafts/a/v1", {"a": b"1"})
    number = author.propose("drafts/a/v1", draft=True)
    await stage.bot.set_check(_check(head))
    author.set_draft(number, False)
    said = author.say(number, "/check")
    author.edit_comment(said, "/render")
    owner.delete_comment(said)
    review = approver.review(number, "APPROVE", "Fine.")
    owner.dismiss(number, review)
    author.report(head, "ci", "success")
    author.rerun(forge.read.checks(author.repo, head)[0].id)
    fork = forge.act("reader").fork()
    forge.act("reader").push("drafts/b/v1", {"b": b"1"}, repo=fork)
    strange = forge.act("reader").propose("reader:drafts/b/v1")
    owner.push("release", {}, base="main")
    author.edit(strange, base="release")
    author.close(strange)
    author.reopen(strange)
    author.tag("other", head)
    approver.merge(number)
    author.delete_branch("drafts/a/v1")
    author.push("drafts/c/v1", {"c": b"1"})
    queued = author.repo.pulls[author.propose("drafts/c/v1")]
    with forge.change():
        forge.state.rules.add(author.repo, merge_queue=QueueRule())
        forge.state.queues.enqueue(queued, forge.state.user("author"))
        author.repo.has_issues = True
        boxes = forge.state.issues.open(author.repo, forge.state.user("author"), "B", "- [ ] a")
        forge.state.issues.edit(boxes, forge.state.user("author"), body="- [x] a")
        forge.state.admin.rename(author.repo, "plans")
        installation = next(iter(forge.state.data.installations.values()))
        forge.state.admin.rename_account(forge.state.user("acme"), "umbrella")
        forge.state.suspend(installation)
        forge.state.suspend(installation, False)
        forge.state.admin.remove_from(installation, author.repo)

    assert {each.event for each in full} == {*forge_hooks.BUILDERS, "repository"}
    for lean, whole in zip(forge.deliveries, full, strict=True):
        said_lean, said_whole = json.loads(lean.body), json.loads(whole.body)
        assert (lean.name, list(_more(said_lean, said_whole))) == (whole.name, [])
        headers = {"content-type": "application/json", "x-github-delivery": "1"}
        headers["x-github-event"] = lean.event
        for me in (None, BotIdentity("porchbot[bot]", "")):
            read = [read_verified(headers, each.body, me) for each in (lean, whole)]
            assert read[0] == read[1]


def _more(lean: object, whole: object, at: str = "") -> Iterator[str]:
    """Where one says what the other does not."""
    match lean, whole:
        case dict(), dict():
            for key, value in lean.items():
                yield from _more(value, whole.get(key, "nothing"), f"{at}.{key}")
        case list(), list():
            for number, (one, other) in enumerate(zip(lean, whole, strict=True)):
                yield from _more(one, other, f"{at}[{number}]")
        case _ if lean != whole:
            yield f"{at}: {lean!r}, not {whole!r}"


def _check(head: str) -> SetCheck:
    return SetCheck(
        head=Sha(head),
        name=RENDER,
        status=Status.COMPLETED,
        conclusion=Conclusion.SUCCESS,
        title="T",
        summary="S",
        annotations=(),
        digest="d",
        run=None,
    )
