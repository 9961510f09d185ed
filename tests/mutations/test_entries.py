"""The list of mutations holds what there is; `python -m tests.mutations` tries whether it bites."""

import pytest

from tests.mutations import ROOT, has_test, read


def test_every_entry_is_about_what_is_there() -> None:
    """Fails when code or a test moves and leaves its entry behind: it would be tried no more."""
    stale = []
    for mutation in read():
        try:
            mutation.applied(ROOT)
        except ValueError as error:
            stale.append(f"{mutation.area}: {mutation.defence}: {error}")
        if not has_test(mutation.test):
            stale.append(f"{mutation.area}: {mutation.defence}: no test {mutation.test}")

    assert not stale, "\n".join(stale)


def test_entries_stand_by_the_folder_of_what_they_change() -> None:
    """The short-cut puts them into files named for the day they were written: nobody finds them."""
    assert [m for m in read() if m.area != (m.file.rpartition("/")[0] or "root")] == []
    assert {m.area for m in read(("bot/forges",))} >= {"bot/forges", "bot/forges/gitlab"}
    assert {m.area for m in read(("bot/loop", "lifecycle/variants"))} == {
        "bot/loop",
        "lifecycle/variants",
    }
    with pytest.raises(ValueError, match="no such area: bot/loo; there are"):
        read(("bot/loo",))
