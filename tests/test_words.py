"""Words that somebody who has never seen the tool has to guess at: none stands where users read."""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.mutations import ROOT

GUESSED = {
    r"\bfile with (?:it|them)\b": "say what is in the file",
    r"\bnothing such\b": "name what is not there",
    r"\bthere (?:is|was) no time\b": "say what took too long, and how long it may take",
    r"\bcannot be had\b": "say what failed",
    r"\b(?:Mend|mend) (?:that|it)\b": '"Fix", as everywhere else',
    r"\bask the bot for something\b": '"give the bot a command"',
    r"\bwhat (?:it|GitHub|the forge) grants\b": '"the limit", or what is left of it',
    r"\ba part in it\b": "say who did what",
    r"\bleft out for trial\b": "say what was tried",
    r"\bworked out ahead\b": '"computed in advance"',
    r"\bwithout room here\b": '"that did not fit here"',
    r"\blisted otherwise\b": "say what changed",
    r"\bwhere they stand\b": "name the file or the repository",
    r"\bworked out now\b": "say what was done now",
    r"\bother times\b": "say what is at other times",
    r"\bleft off\b": '"turned off"',
    r"\banother(?: one)? had the name\b": "say what had that name",
    r"\bgoes first meanwhile\b": "say what waits for it",
    r"\bwhoever\b": '"anyone who", or who it is',
}
"""What is not written, and what is written in its place."""

PAGES = ("README.md", "docs/guide/*.md", "docs/operate/*.md", "docs/reference/*.md")
CODE = (
    "lifecycle/messages/*.py",
    "lifecycle/commands/*.py",
    "cadlib/**/*.py",
    "fnrunner/**/*.py",
    "bot/variables.py",
)


def _files(patterns: tuple[str, ...]) -> list[Path]:
    return sorted({path for pattern in patterns for path in ROOT.glob(pattern)})


def _literals(path: Path) -> Iterator[str]:
    """The texts of a module that people may see: not its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value


@cache
def _texts() -> list[tuple[Path, str]]:
    """Files, and what is in each; texts of code that go on in the next line in one piece."""
    found = [(path, path.read_text(encoding="utf-8")) for path in _files((*PAGES, *CODE))]
    return [(path, re.sub(r"""["']\s+[rbf]*["']|\\\n""", "", text)) for path, text in found]


def _guessed(words: str) -> Iterator[Path]:
    """Yield the files in which such words stand where users read."""
    for path, text in _texts():
        # Reading code as code is slow: only where they stand anywhere in it.
        if re.search(words, text) and (
            path.suffix != ".py" or any(re.search(words, each) for each in _literals(path))
        ):
            yield path


def test_there_is_something_to_read() -> None:
    """The short-cut reads nothing, because folders were renamed."""
    read = Counter(path.relative_to(ROOT).parts[0] for path, _ in _texts())

    assert read["docs"] > 15
    assert min(read[folder] for folder in ("lifecycle", "cadlib", "fnrunner")) > 30


def test_texts_in_pieces_are_read_and_comments_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut looks at lines: what goes on in the next one is never found."""
    code = {
        "comment": "A = 1  # left off\n",
        "pieces": "A = (\n    'It is left '\n    f\"off by {A}\"\n)\n",
        "goes on": 'A = """left \\\noff"""\n',
    }
    for name, text in code.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    monkeypatch.setattr(sys.modules[__name__], "CODE", ("*.py",))
    _texts.cache_clear()
    try:
        assert [path.stem for path in _guessed(r"\bleft off\b")] == ["goes on", "pieces"]
    finally:
        _texts.cache_clear()


@pytest.mark.parametrize("words", GUESSED)
def test_no_words_that_have_to_be_guessed(words: str) -> None:
    """Short-cut refused: the one place that somebody noticed is mended, and the next one stays."""
    found = [str(path.relative_to(ROOT)) for path in _guessed(words)]

    assert found == [], GUESSED[words]
