"""In whose name upstreams are read again, for conflicts of upgrades."""

import pytest

from bot.look.upgrades import asked_by
from cadlib.kptfile.values import GitRef
from lifecycle.access import Person
from lifecycle.facts.upgrades import Upgrade
from lifecycle.names import Sha
from tests.lifecycle.samples import PROPOSAL, changed

ANN, EVE = Person(1, "ann", bot=False), Person(9, "eve", bot=False)
LOCK = GitRef(repo="https://github.com/acme/secret", directory="/net", ref="v2", commit="c" * 40)


@pytest.mark.parametrize(
    ("asker", "authors", "wanted"),
    [
        ("", {"ann"}, ANN),
        ("", {"ann", "eve"}, None),
        ("eve (9)", {"ann", "eve"}, EVE),
        ("eve (9)", {"ann"}, EVE),
    ],
)
def test_whose_right_to_read_counts(asker: str, authors: set[str], wanted: Person | None) -> None:
    """The short-cut takes who opened the pull request: whoever may push to its branch names any
    upstream that its author may read, and sees its values in a check that everybody reads."""
    upgrade = Upgrade(
        package="net/core", commit=Sha("a" * 40), before="b" * 40, upstream=LOCK, asker=asker
    )

    proposal = changed(PROPOSAL, author=ANN, authors=frozenset(authors), authors_known=True)

    assert asked_by(upgrade, proposal) == wanted
