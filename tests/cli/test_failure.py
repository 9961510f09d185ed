"""What a command says when it breaks: one line, a hint, and no traceback unless asked."""

import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import requests

from bot.cli import failure, terminal
from bot.cli.dropin import CommandFailure

ROOT = Path(__file__).resolve().parents[2]


def told(error: Exception, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert failure.tell(error) == 1
    return capsys.readouterr().err.splitlines()


def test_an_extra_that_is_missing_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Fails when the module alone is named: nobody knows which package brings `psycopg_pool`."""
    assert told(ModuleNotFoundError("no", name="psycopg_pool"), capsys) == [
        "error: this command needs psycopg_pool, which is not installed.",
        "Install it: pip install 'porchbot[server]'",
    ]
    assert told(ModuleNotFoundError("no", name="grpc.aio"), capsys)[1].endswith("[server]'")


def test_a_command_of_the_sandbox_names_the_extra_that_brings_all(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Fails when the hint goes by the module that was missed first: the next is missing then."""
    failure.tell(ModuleNotFoundError("no", name="structlog"), "playground")

    assert capsys.readouterr().err.splitlines()[1] == "Install it: pip install 'porchbot[demo]'"


def test_a_bug_is_one_line_and_a_hint(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fails when Python tells it: a page of lines of which the last one counts."""
    assert told(ValueError("two\nlines"), capsys) == [
        "error: ValueError: two lines",
        "This is a bug of porchbot. PORCHBOT_TRACEBACK=1 shows where; please report it.",
    ]
    assert told(FileNotFoundError(2, "No such file or directory", "a.yaml"), capsys) == [
        "error: a.yaml: No such file or directory"
    ]
    monkeypatch.setenv("PORCHBOT_TRACEBACK", "1")
    assert told(ValueError("x"), capsys)[-1] == "ValueError: x"


def test_a_forge_that_does_not_answer_is_no_bug(capsys: pytest.CaptureFixture[str]) -> None:
    """The short-cut tells whatever the library says, and asks for a report."""
    request = requests.Request("GET", "https://me:secret@gitlab.example:8080/api/v4").prepare()
    said = told(requests.ConnectionError("HTTPSConnectionPool(...)", request=request), capsys)

    assert said[0] == "error: gitlab.example:8080 does not answer (ConnectionError)."
    assert "PORCHBOT_GITLAB_URL" in said[1]
    assert told(requests.Timeout(), capsys)[0] == "error: the forge does not answer (Timeout)."


def test_every_library_of_an_extra_is_known() -> None:
    """Fails when a dependency is added to an extra and the hint does not know it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    modules = metadata.packages_distributions()
    for extra in ("server", "policy", "kubernetes", "demo"):
        brought = {
            _name(line)
            for line in project["optional-dependencies"][extra]
            if "porchbot[" not in line
        }
        known = {
            _name(distribution)
            for module in failure._EXTRAS[extra]
            for distribution in modules.get(module, ())
        }
        assert brought - known <= {"uvloop"}, extra  # imported where it is there


def _name(line: str) -> str:
    for end in "[>=<;! ":
        line = line.partition(end)[0]
    return line.lower().replace("_", "-").replace(".", "-")


PRINTS = {
    "about.py": "help, and a script",
    "audit.py": "lines that JSON or a table writes",
    "check.py": "lines that are cleaned part by part, for the colours between them",
    "dropin.py": "messages, cleaned, behind a word in colour",
    "dryrun.py": "lines that are cleaned part by part, and JSON",
    "fn/catalog.py": "the catalog, which is ours",
    "fn/place.py": "resources, as data",
    "fn/render.py": "messages, cleaned",
    "impact.py": "lines, cleaned, and JSON",
    "pkg/cat.py": "resources, as data",
    "pkg/get.py": "words of ours",
    "pkg/init.py": "a path that was given",
    "pkg/update.py": "a number",
    "progress.py": "what is being done, cleaned",
    "rpkg/get.py": "JSON",
    "rpkg/graph.py": "a tree, DOT or JSON, whose parts are cleaned",
    "rpkg/upgrade.py": "columns, cleaned",
    "runner.py": "the operator's address",
    "secret.py": "names that the operator gave",
    "setup.py": "the operator's App",
    "terminal.py": "the one that cleans",
    "verify.py": "lines that are cleaned part by part, and JSON",
}
"""Modules of the command line that print by themselves, and what."""


def test_text_of_others_goes_to_a_terminal_by_one_module() -> None:
    """Short-cut: each command prints what a repository, a forge or a tag says as it is."""
    folder = ROOT / "bot/cli"
    found = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*.py")
        if "click.echo(" in path.read_text(encoding="utf-8")
    }
    assert {each for each in found if not each.startswith("demo/")} == set(PRINTS)


RAW = "a\x1b]0;b\x07\x9b1A\u202ec\rd"


def test_nothing_in_a_message_is_obeyed_by_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Short-cut: verify alone is careful, and a message of any other command goes out raw."""
    said = told(ValueError(RAW), capsys)[0]
    CommandFailure(f"one\n\ttwo {RAW}").show()
    shown = capsys.readouterr().err
    terminal.say(RAW)

    for text in (said, shown.replace("\n\t", ""), capsys.readouterr().out):
        assert text.rstrip("\n").isprintable()
        assert "a<U+001B>]0;b<U+0007><U+009B>1A<U+202E>c" in text
    assert shown.startswith("error: one\n\ttwo a<")
