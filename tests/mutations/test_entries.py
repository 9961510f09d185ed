"""The list of mutations holds what there is; `python -m tests.mutations` tries whether it bites."""

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
