"""What the bot says to people stands in `lifecycle/messages`, and nowhere else."""

import ast
from collections.abc import Iterator
from pathlib import Path

TOP = Path(__file__).parents[1]

SAID_BY = frozenset({"ConfigurationProblem", "Finding", "PackageError", "Wait", "later", "wrong"})
"""Calls that make what people are shown; in the core any text of several words counts."""


OTHERS = ("lifecycle/messages/", "bot/cli/", "bot/sandbox/")
"""Where it stands, a page of documentation, the command line, and the forge's own words."""


def _modules() -> Iterator[str]:
    for folder in ("lifecycle", "bot"):
        for path in sorted((TOP / folder).rglob("*.py")):
            name = path.relative_to(TOP).as_posix()
            if not name.startswith(OTHERS):
                yield name


def _texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Texts of at least four words, without docstrings and errors of programs (`raise`)."""
    ours = [tree]
    while ours:
        node = ours.pop()
        match node:
            case ast.Raise(exc=ast.Call(func=ast.Name(id="ValueError"))):
                continue
            case ast.Expr(value=ast.Constant()):
                continue
            case ast.keyword(arg="help"):  # the table of commands is where these stand
                continue
            case ast.Call(func=ast.Attribute(attr="compile")):  # what others write
                continue
            case ast.ClassDef(bases=[ast.Name(id="Enum" | "StrEnum")]):  # names of values
                continue
            case ast.Constant(value=str(text)) if len(_words(text)) > 3:
                yield node.lineno, text
            case _:
                ours += ast.iter_child_nodes(node)


def _words(text: str) -> list[str]:
    return [word for word in text.split(" ") if word.strip(",.;:").isalpha()]


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in SAID_BY:
                yield node


def test_what_people_read_stands_in_messages() -> None:
    """The short-cut: a finding with its text where it is found."""
    found = []
    for module in _modules():
        text = (TOP / module).read_text(encoding="utf-8")
        core = module.startswith("lifecycle/")
        if not core and not any(f"{name}(" in text for name in SAID_BY):
            continue  # to read it as code would take a while
        tree = ast.parse(text)
        said = [tree] if core else list(_calls(tree))
        found += [(module, *each) for one in said for each in _texts(one)]
    assert found == [], "\n".join(map(str, found))
