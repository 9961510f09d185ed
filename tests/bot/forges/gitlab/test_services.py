"""External status checks, which come with Ultimate: ours is answered, others are waited for."""

from dataclasses import replace

import pytest

from bot.forges.gitlab.services import SERVICES
from bot.forges.port import RequiredCheck
from bot.sandbox.records.gitlab import PREMIUM, ULTIMATE
from lifecycle.actions import SetCheck
from lifecycle.facts.checks import PUBLISH, CheckState, Conclusion
from lifecycle.names import Sha
from tests.bot.forges.gitlab import test_checks
from tests.bot.forges.gitlab.conftest import BOT, World

BINDING = "only_allow_merge_if_all_status_checks_passed"


def check(head: Sha, conclusion: Conclusion | None) -> SetCheck:
    return replace(test_checks.check(head, conclusion, str(conclusion)), name=PUBLISH)


def place(world: World) -> str:
    return f"/projects/{world.repo.id}"


def add(world: World, name: str) -> int:
    """A Maintainer has a service asked about each merge request."""
    wish = {"name": name, "external_url": "https://service.example/"}
    client = world.as_("ann").manager.gitlab
    return int(client.http_post(f"{place(world)}/external_status_checks", post_data=wish)["id"])


def answer(world: World, number: int, service: int, head: Sha, said: str) -> None:
    """A Developer answers for a service, whosever it is."""
    told = {"sha": head, "external_status_check_id": service, "status": said}
    path = f"{place(world)}/merge_requests/{number}/status_check_responses"
    world.as_("ben").manager.gitlab.http_post(path, post_data=told)


def said(world: World, number: int) -> dict[str, str]:
    path = f"{place(world)}/merge_requests/{number}/status_checks"
    listed = world.as_("ann").manager.gitlab.http_list(path)
    return {each["name"]: each["status"] for each in listed}


@pytest.mark.parametrize("instance", ["", "staging"])
async def test_the_bot_answers_for_the_service_of_its_name(world: World, instance: str) -> None:
    """The short-cut leaves it waiting for ever: then nobody merges what may be published."""
    world.sandbox.state.data.gitlab.tier = ULTIMATE
    own = f"{PUBLISH} ({instance})" if instance else PUBLISH
    for name in (own, "scanner"):
        add(world, name)
    number, head = await test_checks.proposed(world)
    forge = world.forge(instance)
    await forge.proposal(number)
    await forge.required_checks("main")
    seen = []
    for conclusion in (None, Conclusion.SUCCESS, Conclusion.FAILURE, Conclusion.NEUTRAL):
        await forge.set_check(check(head, conclusion))
        seen.append(said(world, number))

    assert [each[own] for each in seen] == ["pending", "passed", "failed", "passed"]
    assert {each["scanner"] for each in seen} == {"pending"}


async def test_what_others_answer_for_us_is_put_right(world: World) -> None:
    """The short-cut trusts what it said once: whoever may push says "passed" in our name."""
    world.sandbox.state.data.gitlab.tier = ULTIMATE
    world.as_("ann").manager.gitlab.http_put(place(world), post_data={BINDING: True})
    own = add(world, PUBLISH)
    number, head = await test_checks.proposed(world)
    forge = world.forge()
    await forge.proposal(number)
    await forge.required_checks("main")
    await forge.set_check(check(head, None))
    answer(world, number, own, head, "failed")  # what GitLab makes of one that waits for long
    (waits,) = await forge.checks(head)
    answer(world, number, own, head, "passed")
    (forged,) = await forge.checks(head)

    await forge.set_check(check(head, None))

    assert (waits.ours, forged.ours) == (True, False)
    assert said(world, number) == {PUBLISH: "failed"}
    assert [each.ours for each in await forge.checks(head)] == [True]


async def test_others_are_waited_for_where_a_merge_waits_for_them(world: World) -> None:
    """The short-cut tries to merge, is refused, and says nothing of what is missing."""
    world.sandbox.state.data.gitlab.tier = ULTIMATE
    scanner = add(world, "scanner")
    number, head = await test_checks.proposed(world)
    forge = world.forge()
    await forge.proposal(number)
    assert await forge.required_checks("main") == ()
    world.as_("ann").manager.gitlab.http_put(place(world), post_data={BINDING: True})

    required = await forge.required_checks("main")
    states = []
    for word in ("pending", "failed", "passed"):
        answer(world, number, scanner, head, word)
        await forge.checks(head)
        await forge.statuses(head)
        states.append(forge.standing(number)[SERVICES])

    assert required == (RequiredCheck(SERVICES, None, False),)
    assert states == [CheckState.PENDING, CheckState.FAILURE, CheckState.SUCCESS]
    world.commit("change", {"net/a.yaml": "a: 9\n"})
    await forge.proposal(number)
    assert forge.standing(number)[SERVICES] is CheckState.PENDING


async def test_what_cannot_be_read_is_waited_for(world: World) -> None:
    """The short-cut takes a list that is refused for an empty one: none of them objects."""
    world.sandbox.state.data.gitlab.tier = ULTIMATE
    add(world, "scanner")
    number, head = await test_checks.proposed(world)
    forge = world.forge()
    await forge.proposal(number)
    world.as_("ann").manager.gitlab.http_put(place(world), post_data={BINDING: True})
    await forge.required_checks("main")
    listed = "GET */status_checks"
    world.sandbox.faults.fail(listed, 403, caller=BOT)

    await forge.checks(head)

    assert forge.standing(number)[SERVICES] is CheckState.PENDING


async def test_below_ultimate_no_service_is_asked_for(world: World) -> None:
    """The short-cut asks every project with every check, and each time is told that it may not."""
    world.sandbox.state.data.gitlab.tier = PREMIUM
    number, head = await test_checks.proposed(world)
    forge = world.forge()
    await forge.proposal(number)
    await forge.required_checks("main")
    await forge.set_check(check(head, Conclusion.SUCCESS))
    await forge.checks(head)

    assert not [each for each in world.asked if "status_check" in each]
    assert SERVICES not in forge.standing(number)
