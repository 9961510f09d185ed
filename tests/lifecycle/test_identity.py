"""What a repository is called: forge and number, and a bare number for GitHub as before."""

import pytest

from lifecycle import identity, memory, records
from lifecycle.events import Held
from lifecycle.identity import RepositoryId
from lifecycle.memory import Memory
from tests.lifecycle.samples import NOW, PROPOSAL, REPOSITORY

ON_GITLAB = RepositoryId("gitlab", REPOSITORY.number)
KEY = b"k" * 32

SPELLED: dict[str, tuple[object, RepositoryId | None]] = {
    "a bare number is of GitHub": (42, RepositoryId("github", 42)),
    "GitHub may be said": ("github:42", RepositoryId("github", 42)),
    "another forge is said": ("gitlab:42", RepositoryId("gitlab", 42)),
    "what names no forge": ("Elsewhere:42", None),
    "another instance": ("gitlab-eu:42", RepositoryId("gitlab-eu", 42)),
    "a number spelled otherwise": ("gitlab:042", None),
    "digits of another script": ("gitlab:٤٢", None),
    "more than the database holds": (f"gitlab:{2**63}", None),
    "a bare number as text": ("42", None),
    "a truth value": (True, None),
    "nothing": (None, None),
}


@pytest.mark.parametrize(("spelled", "meant"), SPELLED.values(), ids=SPELLED)
def test_what_records_say_is_read(spelled: object, meant: RepositoryId | None) -> None:
    assert identity.read(spelled) == meant


@pytest.mark.parametrize("repository", [REPOSITORY, ON_GITLAB], ids=str)
def test_what_is_spelled_is_read_back(repository: RepositoryId) -> None:
    assert identity.read(repository.spelled) == repository


def test_records_of_the_same_number_at_another_forge_are_not_read() -> None:
    """Fails when records are told apart by the number alone."""
    hold = Held(person="ann", at=NOW, comment=1, reason="wait")
    log = Memory(frozenset({hold}))

    for here, there in ((REPOSITORY, ON_GITLAB), (ON_GITLAB, REPOSITORY)):
        record = memory.log_record(log, PROPOSAL, here)
        body, number = records.sign(record, KEY), PROPOSAL.place.number
        assert records.read_about(body, [KEY], here, number) == (record,)
        assert records.read_about(body, [KEY], there, number) == ()


def test_marks_of_the_same_number_at_another_forge_prove_nothing() -> None:
    """Fails when a mark is made over the number alone: a push could carry it to the other forge."""
    marked = records.mark_message("m", KEY, "p" * 40, "t" * 40, ON_GITLAB)
    tag = records.mark_tag(
        "t", KEY, repository_id=ON_GITLAB, package="a", revision=1, commit="c", tree="t"
    )

    for at, proves in ((ON_GITLAB, True), (REPOSITORY, False)):
        asker = records.render_asker(
            marked, [KEY], parent="p" * 40, tree="t" * 40, repository_id=at
        )
        assert (asker == "") is proves
        assert (
            records.has_tag_mark(
                tag, [KEY], repository_id=at, package="a", revision=1, commit="c", tree="t"
            )
            is proves
        )


def test_marks_of_before_there_was_a_second_forge_still_prove() -> None:
    """Fails when GitHub's marks are made over anything but the number, as they ever were."""
    mac = "d5724db3dd2690c6400d73c33961e991c59d6c39efca0145d8f2f23e311d3271"
    mark = records.render_mark(KEY, "p" * 40, "t" * 40, REPOSITORY)

    assert mark == f"Porchbot-Render: {mac}"
