"""What the adversary has a webhook at GitLab say by a custom template."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from bot.forges.gitlab import deliveries
from bot.forges.gitlab.hooks import GROUP, PROJECT, HookOwner
from bot.forges.webhooks import WebhookError
from bot.sandbox.faults.hooks import OutgoingHook
from tests.simulation.gitlab_templates import HERS, Templated
from tests.simulation.history import Simulation
from tests.simulation.manner import CALM


@pytest.fixture
def there() -> Simulation:
    """A project at GitLab in which nothing goes wrong."""
    asyncio.set_event_loop(None)
    return Simulation("7", how=CALM, at="gitlab")


def _said(s: Simulation) -> list[Templated]:
    """What she says like one webhook, each way."""
    with s.forge.change():
        s.hands.commit("ann", "drafts/x", {"app/a.yaml": b"v: 7\n"}, "x")
    hook: OutgoingHook = s.forge.deliveries[-1]
    made = [s.place.templated(replace(hook, guid=str(n)), s.draw) for n in range(2_000)]
    return [each for each in made if each is not None]


def test_she_speaks_for_her_own_project_alone(there: Simulation) -> None:
    """Short-cuts refused: tokens that no webhook has, which are refused whatever the body says; and
    bodies that name the same person as the forge did."""
    said = _said(there)
    assert {each.speaker.number for each in said} > {there.repo.id, HERS, 0}
    assert len({each.body for each in said}) > 3
    for each in said:
        headers = {name.lower(): value for name, value in each.headers.items()}
        there.reader.read_headers(headers)  # GitLab sends the right token
        if each.is_of_another and each.speaker.kind == PROJECT:
            with pytest.raises(WebhookError, match="is of project 1000000000"):
                there.reader.read_verified(headers, each.body, there.me)
        else:
            read = there.reader.read_verified(headers, each.body, there.me)
            assert read.group == (each.speaker.number if each.speaker.kind == GROUP else 0)


def test_what_is_taken_for_another_project_is_found(
    there: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut compares no token: what the bot takes is then no violation."""
    other = next(e for e in _said(there) if e.speaker == HookOwner(PROJECT, HERS))
    assert there._read(other) is None
    assert there._judge() == []
    whole = deliveries.read_verified

    def believes(forge: str, headers: Any, body: bytes, me: Any, _: HookOwner | None) -> Any:
        return whole(forge, headers, body, me, None)

    monkeypatch.setattr(deliveries, "read_verified", believes)
    assert there._read(other) is not None
    assert [each.check for each in there._judge()] == ["own project"]


@pytest.mark.parametrize("hers", [True, False])
def test_a_group_that_the_project_is_not_in_has_nothing_said_of_it(
    there: Simulation, monkeypatch: pytest.MonkeyPatch, *, hers: bool
) -> None:
    """Short-cuts refused: no group's webhook is taken, or each; what the bot takes of hers is then
    no violation."""
    with there.happening():
        there.begin()
        there.pass_time(30)
        replica = there.replicas[0]
        said = next(e for e in _said(there) if e.speaker.kind == GROUP and e.is_hers == hers)
        before = {(name.lower(), value) for name, value in said.headers.items()}
        read = there.reader.read_verified(dict(before), said.body, there.me)
        assert read.wakes

        def counted() -> list[object]:
            found = list[object]()

            async def asks() -> None:
                found.append(await there._of_group(replica, read))

            replica.start(asks())
            there.pass_time(20)
            return found

        assert counted() == ([None] if hers else [read])
        assert there._judge() == []
        monkeypatch.setattr(type(replica.forges), "covers", _everything)
        assert counted() == [read]
    assert [each.check for each in there._judge()] == ["own project"] * hers


async def _everything(*_: object) -> bool:
    return True
