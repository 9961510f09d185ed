"""A machine user: what its token reaches, its checks as statuses, and what it lacks."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.forges.github.app import AppClients
from bot.forges.github.checks import MOST_STATUSES
from bot.forges.github.forge import GitHubByUser
from bot.forges.github.forges import GitHubForges
from bot.forges.github.user import TokenAbout, UserClients
from bot.forges.github.users import UserForges, lacking
from bot.forges.port import CheckFullError, RequiredCheck
from bot.look import required
from bot.sandbox.records.repository import Repository
from bot.sandbox.serve import SandboxForge
from lifecycle.access import Role
from lifecycle.actions import SetCheck
from lifecycle.facts.checks import CheckRun, CheckState, Conclusion, Status
from lifecycle.names import Sha
from lifecycle.policy import OutsideCheck
from tests.app_key import keys
from tests.contract.watch import watched

NAME = "porchbot/publish"


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[SandboxForge]:
    source = tmp_path / "source"
    source.mkdir()
    (source / "words.md").write_text("Words.\n")
    with SandboxForge(tmp_path) as made, watched(made):
        state = made.state
        for login in ("acme", "robot", "ann"):
            state.add_user(login)
        for name, role in (("net", "write"), ("web", "write"), ("seen", "read"), ("other", "")):
            repo = state.add_repository("acme", name, source)
            state.add_member(repo, "ann", "write")
            if role:
                state.add_member(repo, "robot", role)
        yield made


def user_of(forge: SandboxForge, login: str = "robot", instance: str = "") -> UserClients:
    return UserClients(forge.api_url, forge.state.token(login), instance=instance)


def served(user: UserClients) -> GitHubByUser:
    async def first() -> GitHubByUser:
        forges = UserForges(user)
        (place,) = await forges.installations()
        listed = await forges.repositories_of(place.number)
        return forges.of(next(each for each in listed if each.full_name == "acme/net"))

    return asyncio.run(first())


def net(forge: SandboxForge) -> tuple[Repository, Sha]:
    repo = forge.state.repository("acme", "net")
    return repo, Sha(forge.state.git(repo).refs()["refs/heads/main"])


def check(head: Sha, conclusion: Conclusion | None, digest: str = "d1.m1", **more: str) -> SetCheck:
    return SetCheck(
        head=head,
        name=NAME,
        status=Status.COMPLETED if conclusion else Status.IN_PROGRESS,
        conclusion=conclusion,
        title=more.get("title", "net v1 waits"),
        summary="",
        annotations=(),
        digest=digest,
        run=None,
        after=0,
    )


def shown(at: GitHubByUser, head: Sha) -> CheckRun:
    (run,) = [run for run in asyncio.run(at.checks(head)) if run.name == NAME]
    return run


def test_it_serves_what_it_may_write_to(forge: SandboxForge) -> None:
    """Short-cuts serve whatever can be read, or stop at a name that is spelled wrong."""

    async def look(*names: str) -> list[str]:
        user = user_of(forge)
        forges = UserForges(user, names)
        (place,) = await forges.installations()
        found = await forges.repositories_of(place.number)
        reached = [await forges.is_installed(each.id) for each in found]
        assert all(reached)
        user.close()
        return sorted(each.full_name for each in found)

    assert asyncio.run(look()) == ["acme/net", "acme/web"]
    assert asyncio.run(look("acme/NET", "acme/seen", "acme/gone")) == ["acme/net"]


@pytest.mark.parametrize("conclusion", [None, *Conclusion])
def test_a_check_is_a_status_that_comes_back_the_same(
    forge: SandboxForge, conclusion: Conclusion | None
) -> None:
    """The short-cut forgets what it has shown, and puts a status at every look: of a thousand."""
    user, (_, head) = user_of(forge), net(forge)
    at = served(user)

    asyncio.run(at.set_check(check(head, conclusion, title="é" * 200)))
    found = shown(at, head)

    assert (found.digest, found.conclusion, found.ours) == ("d1.m1", conclusion, True)
    assert found.status is (Status.COMPLETED if conclusion else Status.IN_PROGRESS)
    assert (found.completed_at is not None) is (conclusion is not None)
    assert asyncio.run(at.statuses(head)) == {}  # those of others
    user.close()


def test_the_last_word_of_another_is_none_of_ours(forge: SandboxForge) -> None:
    """Short-cuts read the newest of ours, or any of the name: a forged success stays for good.

    Two bots on one account are told apart by their names.
    """
    user, (repo, head) = user_of(forge), net(forge)
    at = served(user)
    asyncio.run(at.set_check(check(head, None)))
    mine = forge.state.checks.statuses_on(repo, head, latest=True)[0]

    forge.state.checks.add_status(
        repo,
        head,
        forge.state.user("ann"),
        state="success",
        context=NAME,
        description="",
        target_url=mine.target_url,
    )
    forged = shown(at, head)
    asyncio.run(at.set_check(check(head, None)))
    second = user_of(forge, instance="second")

    assert (forged.ours, forged.conclusion) == (False, Conclusion.SUCCESS)
    assert shown(at, head).ours
    other = served(second)
    assert not [run for run in asyncio.run(other.checks(head)) if run.ours]
    asyncio.run(other.set_check(replace(check(head, None), digest="d2")))
    assert shown(at, head).digest != shown(other, head).digest  # neither takes the other's place
    user.close()
    second.close()


def test_who_it_is_has_no_role_and_a_check_of_an_app_is_not_its_own(forge: SandboxForge) -> None:
    """Short-cuts let the bot approve what it wrote, or wait for an App that is not there."""
    user, (repo, _) = user_of(forge), net(forge)
    at = served(user)
    forge.state.rules.add(repo, required_checks=[(NAME, 7), ("porchbot/render", None)])

    number = forge.state.user("robot").id
    assert asyncio.run(at.role("robot", number)) is Role.NONE
    assert asyncio.run(at.role("ann", forge.state.user("ann").id)) is Role.WRITE
    assert asyncio.run(at.required_checks("main")) == (
        RequiredCheck(NAME, 7, False),
        RequiredCheck("porchbot/render", None, True),
    )
    user.close()


def test_statuses_of_others_are_seen(forge: SandboxForge) -> None:
    user, (repo, head) = user_of(forge), net(forge)
    ann = forge.state.user("ann")
    forge.state.checks.add_status(
        repo, head, ann, state="success", context="scan", description=None, target_url=None
    )
    assert asyncio.run(served(user).statuses(head)) == {"scan": CheckState.SUCCESS}
    user.close()


SCOPED = {
    "fine-grained": (None, []),
    "all that is needed": (frozenset({"repo", "read:org"}), []),
    "more": (frozenset({"repo", "admin:org", "gist"}), []),
    "public only": (
        frozenset({"public_repo"}),
        ["wrong: The scope repo of the token", "hint: The scope read:org of the token"],
    ),
    "no teams": (frozenset({"repo"}), ["hint: The scope read:org of the token"]),
}


@pytest.mark.parametrize("case", sorted(SCOPED))
def test_what_a_token_lacks_is_told_in_words(case: str) -> None:
    """The short-cut says nothing, and teams are unknown for ever."""
    scopes, wanted = SCOPED[case]
    first, *found = lacking(TokenAbout("robot", scopes, ""))

    assert "which anyone with write access can set" in str(first)
    told = [f"{'wrong' if each.harmful else 'hint'}: {each.place}" for each in found]
    assert told == wanted


def test_the_end_of_a_token_is_told() -> None:
    found = [str(each) for each in lacking(TokenAbout("robot", None, "2027-01-01 00:00:00 UTC"))]
    assert found[1].startswith("The token: expires at 2027-01-01 00:00:00 UTC. Needed: ")


def test_a_flood_of_statuses_is_not_read_to_its_end(forge: SandboxForge) -> None:
    """The short-cut reads on until it has found each name, of which one is never put."""
    user, (repo, head) = user_of(forge), net(forge)
    at = served(user)
    asyncio.run(at.set_check(check(head, None)))
    for i in range(MOST_STATUSES):
        forge.state.checks.add_status(
            repo,
            head,
            forge.state.user("ann"),
            state="success",
            context=f"x{i}",
            description="",
            target_url="",
        )

    assert [run for run in asyncio.run(at.checks(head)) if run.ours] == []
    asyncio.run(at.set_check(check(head, None)))
    assert shown(at, head).ours
    user.close()


def test_a_commit_that_is_full_of_a_check_says_so(forge: SandboxForge) -> None:
    """The short-cut takes it for a lack of permissions: the merge that comes after is never made,
    and the operator is sent to look for a permission that is there."""
    user, (_, head) = user_of(forge), net(forge)
    at = served(user)
    for conclusion in (None, Conclusion.SUCCESS):
        asyncio.run(at.set_check(check(head, conclusion)))
    repo, _ = net(forge)
    for _ in range(1000 - 2):
        forge.state.checks.add_status(
            repo,
            head,
            forge.state.user("ann"),
            state="success",
            context=NAME,
            description="",
            target_url="",
        )

    with pytest.raises(CheckFullError, match="maximum number of statuses"):
        asyncio.run(at.set_check(check(head, None)))
    user.close()


@pytest.mark.parametrize("status", [403, 404])
def test_check_runs_that_cannot_be_read_may_have_failed(forge: SandboxForge, status: int) -> None:
    """The short-cut takes them for none: a writer's status of the same name then counts."""
    user, (_, head) = user_of(forge), net(forge)
    at = served(user)
    before = asyncio.run(at.statuses_by(head))
    forge.faults.fail("GET /repos/{owner}/{repo}/commits/{ref}/check-runs", status, times=2)
    put = {("scan", ""): CheckState.SUCCESS}

    unread = asyncio.run(at.statuses_by(head))

    assert before == {}
    assert asyncio.run(at.checks(head)) == ()
    for name in (OutsideCheck("scan", ""), OutsideCheck("scan", "scanner")):
        (found,) = required.outside([name], (), unread | put)
        assert found.state is CheckState.UNKNOWN
    user.close()


def test_what_a_machine_user_wrote_is_the_apps_that_took_its_place(forge: SandboxForge) -> None:
    """Short-cuts forget the account: a second dashboard is opened, a second summary written, and
    the account, which is a collaborator still, approves what the App publishes.
    """
    state = forge.state
    app = state.register_app("porchbot", keys()[1], owner="acme", app_id=31)
    state.install(app, state.repository("acme", "net"))
    robot = user_of(forge)
    opened = asyncio.run(served(robot).open_issue("Dashboard", "words"))
    number = state.user("robot").id

    async def look() -> None:
        for accounts in ({("robot", number)}, {("robot", number + 1)}):
            clients = AppClients(forge.api_url, "31", keys()[0], accounts=accounts)
            forges = GitHubForges(clients)
            (place,) = await forges.installations()
            (net_,) = await forges.repositories_of(place.number)
            at = forges.of(net_)
            ours = number in {account for _, account in accounts}
            assert [issue.number for issue in await at.own_issues()] == [opened] * ours
            assert await at.role("robot", number) == (Role.NONE if ours else Role.WRITE)
            clients.close()

    asyncio.run(look())
    robot.close()
