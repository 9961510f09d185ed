"""Comments, docstrings and pages cite what is in the repository, by the name that it has there."""

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests import mutations
from tests.test_security import rows

ROOT = Path(__file__).resolve().parents[1]
DESIGN = ROOT / "docs/design.md"
SHARED = "../shared/"  # test data beside the checkout; only tests read it, and skip without it
GENERATED = ("_pb2.py", "_pb2_grpc.py", "_pb2.pyi")

_SEEN = (
    ".md", "ADR", "threat", "trap", "DESIGN", "STYLE", "ssue", "(R", "bots", "peers", "shared/",
)  # fmt: skip
"""What stands in each citation."""

_PAGE = re.compile(r"(?<![\w./-])((?:\.{1,2}/)*[\w][\w./-]*\.md)\b")
_SECTION = re.compile(r'([\w./-]+\.md)[`)]?,\s+"([^"]+)"')
_ADR = re.compile(r"\bADRs? (\d+)")
_ROW = re.compile(r"\b(threat|trap) (\d+)\b")
_ELSEWHERE = {
    "a chapter of a document without its file": re.compile(r"\bDESIGN\b|\bSTYLE \d"),
    "an item of a list that is not here": re.compile(r"\b[Ii]ssue \d+(?:\.\d+)?\b|\(R\d{1,2}\)"),
    "rows of a table that is not here": re.compile(r"\b(?:bots|peers) \d+"),
}
_NOT_OURS = frozenset({"README.md", "UIDS-GIDS.md", "functions-spec.md"})
"""Pages of packages, systemd and kustomize, named in what is said about these."""


def _tracked() -> list[Path]:
    """The files of the repository that people read: code, pages, settings."""
    command = ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", "-z"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    named = (ROOT / each for each in listed.split("\0") if each)
    read = {".py", ".md", ".sh", ".yaml", ".yml", ".toml", ""}
    return [
        path
        for path in named
        if path.suffix in read and path.is_file() and not path.name.endswith(GENERATED)
    ]


def said(path: Path) -> str:
    """What a file says to people: a page whole, of code its comments and docstrings.

    Lines keep their numbers: what is no comment is blank.
    """
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".py":
        return _comments(text)
    if path.suffix == ".md":
        return text
    return "\n".join(line.partition("#")[2] for line in text.split("\n"))


def _comments(text: str) -> str:
    lines = [""] * (text.count("\n") + 2)
    if "#" in text:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                lines[token.start[0]] += token.string
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            for number, line in enumerate(str(node.value.value).split("\n"), node.lineno):
                lines[number] += line
    return "\n".join(lines[1:])


@cache
def _headings(page: Path) -> frozenset[str]:
    return frozenset(re.findall(r"(?m)^#+ (.+?)\s*$", page.read_text(encoding="utf-8")))


def _page(name: str, near: Path) -> Path | None:
    """The page that a name means: from the root, from docs, or from the file that names it."""
    places = (ROOT / name, ROOT / "docs" / name, near.parent / name)
    return next((each for each in places if each.is_file()), None)


def wrong(path: Path, text: str) -> Iterator[str]:
    """Yield what a text cites that is not there."""
    if not any(map(text.__contains__, _SEEN)):  # most files: to search them is slow
        return
    flat = re.sub(r"\s*\n\s*#?\s*", " ", text)
    for name in _PAGE.findall(re.sub(r"https?://\S+", "", flat)) if ".md" in flat else ():
        if Path(name).name not in _NOT_OURS and _page(name, path) is None:
            yield f"no page {name}"
    for name, section in _SECTION.findall(flat) if ".md" in flat else ():
        page = _page(name, path)
        if page is not None and section not in _headings(page):
            yield f'no section "{section}" in {name}'
    for number in _ADR.findall(flat) if "ADR" in flat else ():
        if not list((ROOT / "docs/adr").glob(f"{int(number):04}-*.md")):
            yield f"no ADR {number}"
    for kind, number in _ROW.findall(flat):
        if int(number) not in rows(kind):
            yield f"no {kind} {number} in docs/security.md"
    for what, pattern in _ELSEWHERE.items():
        yield from (f"{what}: {found[0]}" for found in pattern.finditer(flat))
    if "tests" not in path.relative_to(ROOT).parts and SHARED.strip("./") + "/" in flat:
        yield f"a folder that is not here: {SHARED}"


def test_what_is_cited_is_in_the_repository() -> None:
    """The short-cut forbids the names of five documents, and a sixth is cited."""
    here = Path(__file__)
    found = [
        f"{path.relative_to(ROOT)}: {each}"
        for path in _tracked()
        # Reading code as code is slow: only where its whole text would cite something wrong.
        if path != here and any(wrong(path, path.read_text(encoding="utf-8", errors="replace")))
        for each in wrong(path, said(path))
    ]

    assert not found, "\n".join(sorted(found))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("as plan.md says", "no page plan.md"),
        ("(../reference/forge.md 1)", "no page ../reference/forge.md"),
        ('docs/design.md, "Approvals"', ""),
        ('docs/design.md, "The way of approvals"', "no section"),
        ('docs/design.md,\n    # "Release tags"', ""),
        ("ADR 6", ""),
        ("ADR 999", "no ADR 999"),
        ("threat 30, trap 34", ""),
        ("threat 999", "no threat 999"),
        ("trap 99", "no trap 99"),
        ("DESIGN 13", "a chapter"),
        ("issue 4.7", "an item"),
        ("bots 6", "rows of a table"),
        ("https://example.com/a/page.md", ""),
        ("see shared/cases", "a folder that is not here"),
    ],
)
def test_a_wrong_citation_is_seen(text: str, problem: str) -> None:
    found = list(wrong(ROOT / "lifecycle/facts.py", text))

    assert [each for each in found if problem in each] if problem else found == []


def test_comments_and_docstrings_are_read_and_other_texts_are_not() -> None:
    """The short-cut reads module docstrings, and passes over those behind a constant."""
    code = '"""Of a module."""\nA = "no text"  # of a line\n"""Of a constant."""\n'

    text = _comments(code)

    assert [each in text for each in ("Of a module", "of a line", "Of a constant")] == [True] * 3
    assert "no text" not in text


def test_each_link_of_a_page_leads_somewhere() -> None:
    """The short-cut moves a page and leaves the links to it."""
    broken = []
    for page in (path for path in _tracked() if path.suffix == ".md"):
        text = re.sub(r"(?s)```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            name, _, anchor = target.partition("#")
            at = page.parent / name if name else page
            if "://" in target or target.startswith("mailto:"):
                continue
            if not at.exists() or (anchor and anchor not in _anchors(at)):
                broken.append(f"{page.relative_to(ROOT)}: {target}")

    assert not broken, "\n".join(broken)


@cache
def _anchors(page: Path) -> frozenset[str]:
    """The anchors that GitHub makes of headings."""
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in _headings(page))
    return frozenset(each.replace(" ", "-") for each in plain)


def test_sections_of_the_design_have_one_name_each() -> None:
    names = re.findall(r"(?m)^#+ (.+?)\s*$", DESIGN.read_text(encoding="utf-8"))

    assert len(names) == len(set(names))
    assert len(DESIGN.read_text(encoding="utf-8").splitlines()) <= 600


def test_each_mutation_says_what_it_is_about_in_our_own_words() -> None:
    """The short-cut leaves the field to whoever writes an entry: it named lists nobody ships."""
    found = [
        f"{each.area}: {each.threat}: {each.defence}"
        for each in mutations.read()
        if not _known(each.threat)
    ]

    form = "threat N; trap N (rows of docs/security.md); design: NAME (a section of docs/design.md)"
    assert not found, "\n".join([form, *found])


def _known(threat: str) -> bool:
    return all(map(_is_named, threat.split("; ")))


def _is_named(part: str) -> bool:
    kind, _, name = part.partition(" ")
    if kind == "design:":
        return name in _headings(DESIGN)
    return kind in ("threat", "trap") and name.isdecimal() and int(name) in rows(kind)
