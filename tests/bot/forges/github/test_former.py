"""Apps whose place another one has taken."""

import pytest

from bot.forges.github.former import FormerApp, counting
from bot.forges.port import BotIdentity, ForgeBusyError, ForgeRefusedError


class _App:
    """What GitHub answers to the key of an App."""

    def __init__(self, *answers: str | Exception) -> None:
        self.answers = list(answers)

    async def login(self) -> str:
        found = self.answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return found


REFUSED = ForgeRefusedError("read the App", "no such App")


async def test_an_app_counts_by_the_number_of_its_account() -> None:
    """The short-cut goes by the slug, which anybody can take once its App is deleted."""
    former = await counting([FormerApp("old[bot]", 7, _App().login)])
    me = BotIdentity("new[bot]", "x", former=former)

    assert me.is_us(7, "old[bot]", app=True)
    assert not me.is_us(8, "old[bot]", app=True)
    assert not me.is_us(7, "old[bot]", app=False)


@pytest.mark.parametrize(
    ("answers", "counts"),
    [
        (["old[bot]"], [True, True]),
        (["renamed[bot]"], [False, False]),
        ([REFUSED], [False, False]),
        ([ForgeBusyError("read", "it is down"), "old[bot]"], [False, True]),
    ],
)
async def test_where_nobody_knows_the_number_its_own_key_proves_the_name(
    answers: list[str | Exception], counts: list[bool]
) -> None:
    """Short-cuts refused: a name without a number counts for ever; GitHub is asked each time."""
    github = _App(*answers)
    app = FormerApp("old[bot]", 0, github.login)

    assert [bool(await counting([app])) for _ in counts] == counts
    assert github.answers == []


async def test_what_nothing_proves_does_not_count() -> None:
    assert await counting([FormerApp("old[bot]", 0)]) == frozenset()
