"""What names a package and a version of it."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.cli.given import path_and_version
from bot.cli.pkg.group import pkg
from cadlib.errors import PackageError


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("a", ("a", "")), ("a/b@v1", ("a/b", "v1")), ("@v1", ("", "v1")), ("", ("", ""))],
)
def test_either_may_be_missing(text: str, wanted: tuple[str, str]) -> None:
    assert path_and_version(text) == wanted


def test_two_versions_are_one_too_many() -> None:
    """Short-cut: cut at the first "@", and look for a version "v1@v2"."""
    with pytest.raises(PackageError, match="a@v1@v2: at most 1 version permitted"):
        path_and_version("a@v1@v2")


@pytest.mark.parametrize("command", ["diff", "update"])
def test_both_commands_refuse_two(command: str, tmp_path: Path) -> None:
    ran = CliRunner().invoke(pkg, [command, f"{tmp_path}@v1@v2"])
    assert ran.exit_code == 1
    assert "at most 1 version permitted" in ran.stderr
