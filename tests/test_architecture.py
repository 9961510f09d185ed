"""docs/architecture.md leads to what is there: each path, folder, module and name that it gives."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
TREES = ("cadlib", "fnrunner", "lifecycle", "bot")

_TABLE = re.compile(r"(?m)^\| `([\w/]+)/` \| \|\n\| --- \| --- \|\n((?:\|.*\n)+)")
"""A table of folders: the folder in its head, and its rows."""

_SHORT = re.compile(r"`([a-z_]+)/?`")
_PATH = re.compile(r"`((?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:py|md|toml))`( beside it)?")
_NAMED = re.compile(r"`([\w./-]+\.py)`: `([\w.]+)`|`(\w+)` in `([\w./-]+\.py)`")
_DOTTED = re.compile(rf"`((?:{'|'.join(TREES)})(?:\.\w+)+)`")


def missing(page: str) -> Iterator[str]:
    """Yield what a page names that is not there."""
    for table in _TABLE.finditer(page):
        for row in table[2].splitlines():
            yield from _missing_in_row(ROOT / table[1], row)
    # Names in tables of folders are within these; anywhere else paths begin at the root.
    for line in _TABLE.sub("", page).splitlines():
        yield from _missing_paths(line)
        yield from _missing_names(line)
    for dotted in _DOTTED.findall(page):
        if not _is_there(ROOT, dotted.replace(".", "/")):
            yield f"no module {dotted}"


def _missing_in_row(folder: Path, row: str) -> Iterator[str]:
    names = _SHORT.findall(row)
    inside = [folder / name for name in names if (folder / name).is_dir()]
    for name in names:
        deep = (found for each in inside for found in each.rglob(f"{name}*"))
        if not _is_there(folder, name) and not any(f.stem == name for f in deep):
            yield f"no {name} in {folder.relative_to(ROOT)}"


def _is_there(folder: Path, name: str) -> bool:
    return (folder / name).is_dir() or (folder / f"{name}.py").is_file()


def _missing_paths(line: str) -> Iterator[str]:
    near = ROOT
    for path, beside in _PATH.findall(line):
        at = near / path if beside else ROOT / path
        if not at.exists():
            yield f"no file {at.relative_to(ROOT)}"
        near = at.parent


def _missing_names(line: str) -> Iterator[str]:
    for path, name, other, at in _NAMED.findall(line):
        last = (name or other).rpartition(".")[2]
        file = ROOT / (path or at)
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        if not re.search(rf"(?m)^\s*(?:async )?(?:def|class) {last}\b|^{last}\b.*=", text):
            yield f"no {last} in {path or at}"


def test_what_the_page_names_is_there() -> None:
    """The short-cut looks for links only: a module moves, and the row goes on naming it."""
    assert list(missing(PAGE)) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("| ? | `bot/gone.py` |", "no file bot/gone.py"),
        ("| ? | `bot/gone/` |", "no file bot/gone"),
        ("| ? | `bot/git/merge.py`, then `gone.py` beside it |", "no file bot/git/gone.py"),
        ("| ? | `bot/git/merge.py`, then `port.py` beside it |", ""),
        ("| ? | `bot/git/mirror.py`: `DiskMirrors.gone` |", "no gone in bot/git/mirror.py"),
        ("| ? | `bot/git/mirror.py`: `DiskMirrors.trim` |", ""),
        ("| ? | `GONE` in `bot/store/statements.py` |", "no GONE in bot/store/statements.py"),
        ("| ? | `TAKE` in `bot/store/statements.py` |", ""),
        ("through `cadlib.yaml.gone`", "no module cadlib.yaml.gone"),
        ("| `bot/` | |\n| --- | --- |\n| `git/` | `mirror`, `gone` |\n", "no gone in bot"),
        ("| `bot/` | |\n| --- | --- |\n| `cli/`, `clock` | `pkg/`, `worktree` |\n", ""),
    ],
)
def test_what_is_not_there_is_seen(text: str, problem: str) -> None:
    assert list(missing(text)) == ([problem] if problem else [])


@pytest.mark.parametrize("tree", [*TREES, "tests"])
def test_each_module_and_folder_at_the_top_has_its_place_on_the_page(tree: str) -> None:
    """The short-cut looks only at what the page names: what is new is named nowhere."""
    named = {
        name
        for folder, rows in _TABLE.findall(PAGE)
        if folder == tree
        for name in _SHORT.findall(rows)
    }
    folders = {each.parent.name for each in (ROOT / tree).glob("*/__init__.py")}
    modules = {each.stem for each in (ROOT / tree).glob("[a-z]*.py")}

    assert (folders if tree == "tests" else folders | modules) - named == set()


def test_each_folder_says_in_one_sentence_what_it_is_for() -> None:
    """The short-cut asks for a docstring, and takes one that goes on over the first line."""
    wrong = []
    for tree in TREES:
        for file in (ROOT / tree).rglob("__init__.py"):
            said = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
            first, _, rest = said.partition("\n")
            if not first.endswith(".") or (rest and not rest.startswith("\n")):
                wrong.append(str(file.relative_to(ROOT)))

    assert wrong == []


REFS = {
    "the bot": (("lifecycle", "bot"), "lifecycle/names.py"),
    "the sandbox forge": (("bot/sandbox",), "bot/sandbox/refnames.py"),
}
"""Where refs are spelled; the sandbox forge shares no code with the bot, so it has its own."""


@pytest.mark.parametrize(("folders", "place"), REFS.values(), ids=REFS)
def test_the_folders_of_refs_are_written_in_one_place(folders: tuple[str, ...], place: str) -> None:
    """The short-cut writes "refs/heads/" where it is needed: one in fifty lacks its last slash."""
    found = {
        str(path.relative_to(ROOT))
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        if "bot/sandbox" in folders or ROOT / "bot/sandbox" not in path.parents
        if re.search("refs/|drafts/", path.read_text("utf-8"))  # most need no parsing
        if any(re.search("refs/(heads|tags)|^drafts/", text) for text in _texts(path))
    }

    assert found == {place}


def test_addresses_are_taken_apart_in_one_place() -> None:
    """The short-cut calls `urlsplit`: on "http://[" or "//host:x" it raises, often only where the
    port is read, and whoever wrote the address sees "a bug of porchbot"."""
    found = {
        str(path.relative_to(ROOT))
        for tree in TREES
        for path in (ROOT / tree).rglob("*.py")
        if ROOT / "bot/sandbox" not in path.parents  # it has a code of its own
        if re.search(r"\b(urlsplit|urlparse|urljoin)\b", path.read_text(encoding="utf-8"))
    }

    assert found == {"fnrunner/urls.py"}


def _texts(path: Path) -> Iterator[str]:
    """Yield the string constants of a module, docstrings left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in told:
            match node.value:
                case str(text):
                    yield text
                case bytes(data):
                    yield data.decode("latin-1")


LONGEST = 400
"""Lines of a module that needs no reason for its length."""


def test_what_is_long_says_why() -> None:
    """Fails when a module grows past one job, and nobody notices."""
    silent = [
        path.relative_to(ROOT).as_posix()
        for tree in (*TREES, "tests")
        for path in sorted((ROOT / tree).rglob("*.py"))
        if len((text := path.read_text(encoding="utf-8")).splitlines()) > LONGEST
        and "Longer than 400 lines" not in (ast.get_docstring(ast.parse(text)) or "")
    ]
    assert [each for each in silent if not each.startswith(("tests/stories", "tests/sim"))] == []
