"""`porchbot secret`: kept, listed by name, never shown."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bot.cli.root import main
from bot.vault import open_vault


def _run(*arguments: str, given: str = "") -> Result:
    return CliRunner().invoke(main, ["secret", *arguments], input=given)


def test_a_secret_is_kept_and_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The short-cut shows the value to whoever lists, or keeps an empty one."""
    monkeypatch.setenv("PORCHBOT_STATE", str(tmp_path))
    missing = _run("list")
    kept = _run("put", "signing-key", given="swordfish\n")
    listed = _run("list")
    empty = _run("put", "other", given="\n")
    value = open_vault({}, tmp_path).get("signing-key")
    removed, again = _run("remove", "signing-key"), _run("remove", "signing-key")

    assert (missing.exit_code, kept.exit_code, empty.exit_code, again.exit_code) == (1, 0, 1, 1)
    assert "There is no master key" in missing.output
    assert value == "swordfish\n"
    assert listed.output == "signing-key\n"
    assert removed.output == "Removed signing-key.\n"
    assert "swordfish" not in kept.output + listed.output
    assert _run("list").output == ""


def test_a_name_that_nobody_reads_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut takes any name: a secret that was to be rotated is stored, and never used."""
    monkeypatch.setenv("PORCHBOT_STATE", str(tmp_path))

    for name in ("webhook-secret", "github.apps", "Signing-Key"):
        found = _run("put", name, given="swordfish\n")
        assert found.exit_code == 1
        assert "Give one of: signing-key, github-token, webhook-secrets;" in found.output
    assert list(tmp_path.iterdir()) == []
