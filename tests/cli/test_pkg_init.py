"""`porchbot pkg init`: what it writes, what it keeps, what it says, as kpt does."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bot.cli.pkg.init import init

FILES = ("Kptfile", "README.md", "package-context.yaml")


def run(*args: str) -> Result:
    """Run the command in the current folder."""
    return CliRunner().invoke(init, args)


def said(folder: str, names: Sequence[str] = FILES) -> str:
    """Return the lines that tell of files written."""
    return "".join(f"writing {folder}{name}\n" for name in names)


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def test_what_is_there_stays() -> None:
    """The short-cut is to write all three: what people wrote would be gone."""
    Path("app").mkdir()
    Path("app/README.md").write_text("mine")
    Path("app/Kptfile").write_text("not even YAML: [")

    result = run("app")

    assert (result.exit_code, result.output) == (0, said("app/", FILES[2:]))
    assert Path("app/README.md").read_text() == "mine"
    assert Path("app/Kptfile").read_text() == "not even YAML: ["
    assert run("app").output == ""


PLACES: dict[str, tuple[list[str], str, str]] = {
    "the current folder": ([], "", "here"),
    "the current folder by name": (["."], "", "here"),
    "a folder that is not there": (["a/b"], "a/b/", "b"),
    "a path with dots": (["./a/../c/"], "c/", "c"),
    "the folder above": (["../x"], "../x/", "x"),
}


@pytest.mark.parametrize("place", PLACES)
def test_the_name_is_that_of_the_folder(place: str) -> None:
    args, folder, name = PLACES[place]

    result = run(*args)

    made = f"creating package directory {folder.rstrip('/')}\n" if folder else ""
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", made + said(folder))
    assert f"\n  name: {name}\n" in Path(folder, "Kptfile").read_text()
    assert "description: sample description\n" in Path(folder, "Kptfile").read_text()


def test_options() -> None:
    run("app", "--description", "A: b", "--keywords", 'a,"b,c"', "--keywords", "yes", "--site", "s")

    assert Path("app/Kptfile").read_text().endswith(
        'info:\n  site: s\n  description: "A: b"\n'
        '  keywords:\n  - a\n  - b,c\n  - "yes"\n'
    )  # fmt: skip


WRONG: dict[str, tuple[list[str], str]] = {
    "two folders": (["a", "b"], "accepts at most 1 arg(s), received 2"),
    "an unknown option": (["--name", "a"], "unknown flag: --name"),
    "an unknown letter": (["-z"], "unknown shorthand flag: 'z' in -z"),
    "an option without its value": (["a", "--site"], "flag needs an argument: --site"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_use(name: str) -> None:
    """The short-cut is click's own: exit status 2, and the usage printed."""
    args, message = WRONG[name]

    result = run(*args)

    assert (result.exit_code, result.stdout, result.stderr) == (1, "", f"error: {message}\n")
    assert list(Path().iterdir()) == []


def test_a_file_in_place_of_the_folder() -> None:
    Path("f").write_text("x")

    result = run("f")

    assert result.exit_code == 1
    assert result.stderr == f"error: open {Path('f').resolve()}: not a directory\n"
    assert Path("f").read_text() == "x"
