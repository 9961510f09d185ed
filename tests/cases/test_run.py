"""What the runner of cases makes of a handler's answer, and of a corpus that nobody knows."""

import json
from pathlib import Path

import pytest

from tests.cases import __main__ as command
from tests.cases import run
from tests.cases.model import (
    Case,
    Handler,
    Outcome,
    Verdict,
    checked,
    corpora,
    deviates,
    failed,
    load,
    passed,
    waiting,
)


def _case(corpus: str, kind: str = "some") -> Case:
    return Case(corpus, "one", kind, {})


def _raises(case: Case) -> Verdict:
    raise ValueError(f"nothing fits {case.id}")


def _answers(monkeypatch: pytest.MonkeyPatch, handler: Handler) -> Verdict:
    monkeypatch.setattr(run, "handlers", lambda _: {"some": handler})
    return run.one(_case("merge3")).verdict


def test_a_deviation_without_its_entry_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The short-cut believes whatever number a handler names."""
    monkeypatch.setattr(run, "deviations", lambda: frozenset({"D20"}))

    known = _answers(monkeypatch, lambda _: deviates("D20", "both sides changed a port"))
    unknown = _answers(monkeypatch, lambda _: deviates("D21", "both sides changed a port"))

    assert known.outcome is Outcome.DEVIATES
    assert unknown.outcome is Outcome.FAILED
    assert "D21" in unknown.text


def test_entries_are_read_from_the_headings_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The short-cut searches the whole text, and finds the numbers that it mentions."""
    file = tmp_path / "deviations.md"
    file.write_text("# Title\nNumbers: D10-D19.\n\n## D12 Comments\nSee D13.\n### D14: x\n")
    monkeypatch.setattr(run, "DEVIATIONS", file)
    run.deviations.cache_clear()
    try:
        assert run.deviations() == {"D12", "D14"}
    finally:
        run.deviations.cache_clear()


def test_a_handler_that_raises_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The short-cut lets one broken case end the run."""
    verdict = _answers(monkeypatch, _raises)

    assert verdict.outcome is Outcome.FAILED
    assert "nothing fits one" in verdict.text


def test_what_nobody_runs_fails_in_a_named_corpus_and_waits_in_another() -> None:
    """The short-cut counts as waiting whatever it cannot run."""
    assert run.one(_case("merge3", "unheard-of")).verdict.outcome is Outcome.FAILED
    assert run.one(_case("unheard-of")).verdict == waiting("unheard-of")
    assert run.one(_case("functions/unheard-of")).verdict.outcome is Outcome.FAILED


def test_differences_are_failures() -> None:
    assert checked("") == passed()
    assert checked("- a") == failed("- a")


def test_cases_are_read_with_the_place_of_what_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "deep/corpus/cases.jsonl"
    file.parent.mkdir(parents=True)
    row = {"id": "a", "kind": "k", "functions": ["set-labels"], "text": "line\u2028separator"}
    file.write_text(json.dumps(row, ensure_ascii=False) + "\n\n", encoding="utf-8")

    assert corpora(tmp_path) == {"deep/corpus": file}
    assert corpora(file.parent) == {"corpus": file}
    assert list(load("c", file)) == [Case("c", "a", "k", row, ("set-labels",))]

    file.write_text(json.dumps(row) + "\n" + json.dumps(row), encoding="utf-8")
    with pytest.raises(ValueError, match=r"cases\.jsonl:2: there are two cases named 'a'"):
        list(load("c", file))
    file.write_text('{"id": "a"}', encoding="utf-8")
    with pytest.raises(ValueError, match=r"cases\.jsonl:1: this is no case"):
        list(load("c", file))


@pytest.mark.parametrize(
    ("verdict", "status"), [(passed(), 0), (waiting("starlark"), 0), (failed("- a\n+ b"), 1)]
)
def test_the_exit_code_tells_of_failures(
    verdict: Verdict,
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """The short-cut prints the failures and exits with 0."""
    (tmp_path / "merge3").mkdir()
    (tmp_path / "merge3/cases.jsonl").write_text('{"id": "one", "kind": "some"}\n')
    monkeypatch.setattr(run, "handlers", lambda _: {"some": lambda _: verdict})

    assert command.main([str(tmp_path)]) == status
    printed = capsys.readouterr().out
    assert ("FAILED merge3: one (some)\n    - a\n    + b" in printed) == bool(status)
    assert ("merge3: starlark (1)" in printed) == (verdict.outcome is Outcome.WAITING)
    assert command.main([str(tmp_path), "--corpus", "merge2"]) == 2
