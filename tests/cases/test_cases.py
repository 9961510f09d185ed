"""The cases of each corpus that must be known: our own, and the shared ones where they stand."""

from pathlib import Path

import pytest

from tests.cases.model import Outcome, corpora, load
from tests.cases.run import FUNCTIONS, NAMED, OWN, SHARED, handlers, run


def _of_functions(folder: Path) -> list[str]:
    return [each for each in corpora(folder) if each.startswith(FUNCTIONS)]


@pytest.mark.parametrize("corpus", [*sorted(NAMED), *_of_functions(OWN)])
def test_own_cases(corpus: str) -> None:
    """The short-cut answers the shared cases by their names."""
    _all_kept(OWN, corpus)


@pytest.mark.parametrize("corpus", sorted(NAMED))
def test_own_cases_have_every_kind(corpus: str) -> None:
    """The short-cut runs a kind only where the shared cases stand."""
    kinds = {case.kind for case in load(corpus, corpora(OWN)[corpus])}

    assert set(handlers(corpus)) - kinds == set()


@pytest.mark.parametrize("corpus", [*sorted(NAMED), *_of_functions(SHARED)])
def test_shared_cases(corpus: str) -> None:
    """The short-cut leaves out what kpt's own tests ask."""
    if not SHARED.exists():
        pytest.skip(f"{SHARED} is missing: the shared cases are not beside this checkout")
    _all_kept(SHARED, corpus)


def _all_kept(folder: Path, corpus: str) -> None:
    ran = list(run(load(corpus, corpora(folder)[corpus])))

    failed = {each.case.id: each for each in ran if each.verdict.outcome is Outcome.FAILED}
    assert ran
    assert not failed, "\n".join(f"{name}: {each.verdict.text}" for name, each in failed.items())
