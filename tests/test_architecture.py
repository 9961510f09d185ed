"""docs/architecture.md leads to what is there: each path, folder, module and name that it gives."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
TREES = ("cadlib", "fnrunner", "lifecycle", "bot")

_TABLE = re.compile(r"(?m)^\| `([\w/]+)/` \| \|\n\| --- \| --- \|\n((?:\|.*\n)+)")
"""A table of folders: the folder in its head, and its rows."""

_SHORT = re.compile(r"`([a-z_]+)/?`")
_PATH = re.compile(r"`((?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:py|md|toml))`( beside it)?")
_NAMED = re.compile(r"`([\w./-]+\.py)`: `([\w.]+)`|`([\w.]+)` in `([\w./-]+\.py)`")
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
        ("| ? | `DiskMirror.gone` in `bot/git/mirror.py` |", "no gone in bot/git/mirror.py"),
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


def test_each_question_is_answered_by_two_files_at_most() -> None:
    """The short-cut adds to a row what another question asks: nobody opens five files."""
    _, _, rows = PAGE.partition("## Where to look\n")
    named = {row: len(_PATH.findall(row)) for row in rows.splitlines() if row.startswith("| ")}

    assert len(named) > 150
    assert [row for row, files in named.items() if files > 2] == []


LONGEST = 400
"""Lines of a module that needs no reason for its length."""


def test_what_is_long_says_why() -> None:
    """Fails when a module grows past one job, and nobody notices; or says why at its end."""
    long = [
        (path.relative_to(ROOT).as_posix(), text)
        for tree in (*TREES, "tests")
        for path in sorted((ROOT / tree).rglob("*.py"))
        if (text := path.read_text(encoding="utf-8")).count("\n") > LONGEST
    ]
    said = {path: (re.match(r'(?s)"""(.*?)"""', text) or ("", ""))[1] for path, text in long}
    # Its first line says what it is; the paragraph after that why it is so long.
    first = {path: "".join(text.split("\n\n")[1:2]) for path, text in said.items()}

    assert [path for path, text in first.items() if "Longer than 400 lines" not in text] == []


BY_NAME = {
    "fnrunner/builtin/catalog/": "each module is found by its name, and says `ABOUT` and `run`",
    "fnrunner/builtin/confined/": "engines are found by name, and the helper is started as one",
    "bot/sandbox/": "tests and the playground ask it",
    "bot/cli/rpkg/asking.py": "commands are found in their group",
    "bot/config.py: schema_text": "docs/reference is made of it",
}
"""Names that no module of the product imports, and who uses them all the same."""


def _given(node: ast.stmt) -> str:
    """The name that a statement gives; none to what is decorated: click and others keep these."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return node.name if not node.decorator_list or isinstance(node, ast.ClassDef) else ""
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
    return ""


def _nodes(tree: ast.AST) -> list[ast.AST]:
    """All nodes below one; `ast.walk` takes three times as long."""
    found = [tree]
    for node in found:
        for value in node.__dict__.values():
            if isinstance(value, list):
                found += [each for each in value if isinstance(each, ast.AST)]
            elif isinstance(value, ast.AST):
                found.append(value)
    return found


class _Said:
    """What a module says: words that it uses, what it imports, attributes of what.

    Attributes:
        words: How often it uses each.
        taken: Modules, and the names that it takes from them.
        given: Names at its top, and how often what gives one uses that itself.
    """

    def __init__(self, text: str) -> None:
        self.words: Counter[str] = Counter()
        self.taken: set[tuple[str, str]] = set()
        self.given: list[tuple[str, int]] = []
        self._near: dict[str, str] = {}
        self._attributes: set[tuple[str, str]] = set()
        for part in ast.parse(text).body:
            words = Counter(word for node in _nodes(part) for word in self._heard(node))
            self.words.update(words)
            if name := _given(part):
                self.given.append((name, words[name]))
        self.taken |= {(self._near.get(of, of), name) for of, name in self._attributes}

    def _heard(self, node: ast.AST) -> Sequence[str]:
        """The words of one node; keep what it takes from other modules."""
        # One after the other by their number: `match` takes twice as long for a million of them.
        if isinstance(node, ast.Name):
            return (node.id,) if isinstance(node.ctx, ast.Load) else ()
        if isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name):
                self._attributes.add((node.value.id, node.attr))
        elif isinstance(node, ast.Constant):  # annotations, `__all__`
            if isinstance(node.value, str) and len(node.value) < 100:
                return re.findall(r"\w+", node.value)
        elif isinstance(node, ast.ImportFrom):
            module, names = node.module or "", node.names
            self.taken |= {(module, each.name) for each in names}
            self._near |= {each.asname or each.name: f"{module}.{each.name}" for each in names}
        elif isinstance(node, ast.Import):
            self._near |= {each.asname or each.name: each.name for each in node.names}
        return ()


def unused(modules: Mapping[str, str]) -> Iterator[str]:
    """Yield the names of modules that nothing in any of them uses.

    Args:
        modules: Text by path from the root.
    """
    said = {path: _Said(text) for path, text in modules.items()}
    taken = set().union(*(each.taken for each in said.values()))
    for path, each in said.items():
        module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for name, inside in each.given:
            if (module, name) in taken or name.startswith("__"):
                continue
            outside = each.words[name]
            if outside == 0 or (outside < 3 and outside == inside):
                yield f"{path}: {name}"


def test_what_a_module_gives_is_used() -> None:
    """The short-cut asks whether the word stands anywhere: `log` and `kinds` always do, and what
    only tests use is kept for years."""
    modules = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for tree in TREES
        for path in (ROOT / tree).rglob("*.py")
        if "_pb2" not in path.name
    }
    found = list(unused(modules))

    assert [each for each in found if not each.startswith(tuple(BY_NAME))] == []
    assert [each for each in BY_NAME if not any(f.startswith(each) for f in found)] == []


def test_what_is_used_nowhere_is_seen() -> None:
    modules = {
        "bot/a.py": "import logging\nlog = logging\ndef one(): return one()\nTWO = 2\nTHREE = TWO",
        "bot/b.py": "from bot import a\nlog = 1\nprint(log, a.THREE)",
    }

    assert list(unused(modules)) == ["bot/a.py: log", "bot/a.py: one"]
