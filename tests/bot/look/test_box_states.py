"""How far boxes are that were begun."""

from types import SimpleNamespace
from typing import Any

import pytest

from bot.look.box_states import states
from lifecycle.facts.boxes import BegunBox
from lifecycle.facts.checks import RENDER, VALIDATE, CheckRun, Conclusion, Status


@pytest.mark.parametrize(
    ("name", "ours", "why"),
    [
        (RENDER, True, f"`{RENDER}` failed in #7"),
        (VALIDATE, True, f"`{VALIDATE}` failed in #7"),
        (RENDER, False, ""),
        (VALIDATE, False, ""),
        ("build", True, ""),
    ],
)
async def test_a_check_of_ours_alone_fails_a_box(name: str, ours: bool, why: str) -> None:
    """Fails if the name of a check is enough: whoever may write statuses stops all boxes."""
    run = CheckRun(
        id=1, name=name, status=Status.COMPLETED, conclusion=Conclusion.FAILURE, ours=ours
    )

    async def proposal(_number: int) -> Any:
        return SimpleNamespace(merged=False, open=True, head="a" * 40)

    async def checks(_head: str) -> tuple[CheckRun, ...]:
        return (run,)

    forge: Any = SimpleNamespace(proposal=proposal, checks=checks)
    (found,) = await states(forge, [BegunBox(command="upgrade net", number=7)])
    assert found.failed == why
