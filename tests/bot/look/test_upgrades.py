"""In whose name upstreams are read again, for conflicts of upgrades."""

import pytest

from bot.look.upgrades import asked_by
from cadlib.kptfile.values import GitRef
from lifecycle.access import Person
from lifecycle.facts.upgrades import Upgrade
from lifecycle.names import Sha

ANN, EVE = Person(1, "ann", bot=False), Person(9, "eve", bot=False)
LOCK = GitRef(repo="https://github.com/acme/secret", directory="/net", ref="v2", commit="c" * 40)


@pytest.mark.parametrize(
    ("askers", "sole", "wanted"),
    [
        ([""], ANN, [ANN]),
        ([""], None, [None]),
        (["eve (9)", ""], None, [EVE, None]),
        (["eve (9)", ""], ANN, [EVE, ANN]),
        (["eve (9)"], ANN, [EVE]),
    ],
)
async def test_whose_right_to_read_counts(
    askers: list[str], sole: Person | None, wanted: list[Person | None]
) -> None:
    """The short-cut takes who opened the pull request: whoever may push to its branch names any
    upstream that its author may read, and sees its values in a check that everybody reads."""

    async def alone() -> Person | None:
        assert "" in askers
        return sole

    upgrades = [
        Upgrade(package="p", commit=Sha("a" * 40), before="b" * 40, upstream=LOCK, asker=each)
        for each in askers
    ]

    assert await asked_by(upgrades, alone) == wanted
