"""What workers are told of a configuration."""

from dataclasses import replace
from zoneinfo import ZoneInfo

from bot.render.workers.requests import RenderRequest
from cadlib.limits import DEFAULT
from lifecycle.access import UserSource
from lifecycle.policy import AccessRule
from lifecycle.windows import Cron, Window, WindowKind
from tests.bot.render.workers.bench import CHECKED, bench


async def test_rules_of_every_kind_leave_a_package_renderable() -> None:
    """The short-cut sends workers the whole configuration: a window with a time zone needs a file
    to be read again, which they do not have, and from then on nothing is rendered at all.
    """
    zone = ZoneInfo("Europe/Berlin")
    window = Window(
        kind=WindowKind.FREEZE, begins=Cron("0 0 * * *", zone), ends=Cron("0 1 * * *", zone)
    )
    somebody = AccessRule(sources=(UserSource("somebody"),))
    rules = replace(CHECKED, calendars=((window,),), approve=somebody)
    async with bench() as at:
        at.functions.gate.set()

        verdict = await at.verdict(policy=rules)

    assert (verdict.complete, verdict.broken) == (True, "")
    sent = RenderRequest("net/core", {}, {}, rules, DEFAULT).frame()[1]
    assert b"registry.example/judge:v1" in sent
    assert b"somebody" not in sent
