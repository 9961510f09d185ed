"""`porchbot secret`: kept, listed by name, never shown."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from bot import apps
from bot.cli.root import main
from bot.githubs import variable
from bot.settings import Settings
from bot.vault import open_vault
from tests.app_key import keys as app_keys
from tests.bot.test_settings import APP


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

    for name in ("webhook-secret", "github.apps", "Signing-Key", "old-private-keys"):
        found = _run("put", name, given="swordfish\n")
        assert found.exit_code == 1
        told = "Give one of: signing-key, github-token, webhook-secrets, private-key;"
        assert told in found.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("forge", ["github", "corp"])
def test_what_setup_stored_is_replaced_and_the_old_one_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forge: str
) -> None:
    """Short-cuts refused: the secret that setup stored is accepted for good, whoever read it; the
    new key takes the old one's place, and what that signed counts no more; a second renewal loses
    the first one; another GitHub's App gets the key; a key is stored that the bot does not use,
    since a variable has another one, or that GitHub takes from nobody.
    """
    monkeypatch.setenv("PORCHBOT_STATE", str(tmp_path))
    end = "" if forge == "github" else f".{forge}"
    vault = open_vault({}, tmp_path, make=True)
    apps.keep(vault, replace(APP, forge=forge))
    other = replace(APP, id=8, forge="else", api_url="https://else.example/api/v3")
    apps.keep(vault, other)
    lone = _run("remove", f"setup-webhook-secret{end}")
    put = _run("put", f"webhook-secrets{end}", given="fresh\n")
    both = _known(forge)
    listed = _run("list").output.split()
    gone = _run("remove", f"setup-webhook-secret{end}")
    keys = [app_keys()[0], app_keys()[0] + "\n"]
    bad = _run("put", f"private-key{end}", given="swordfish")
    other_kind = _run("put", f"private-key{end}", given=_ed25519())
    monkeypatch.setenv(variable("PRIVATE_KEY_FILE", forge), "key.pem")
    unused = _run("put", f"private-key{end}", given=keys[0])
    monkeypatch.delenv(variable("PRIVATE_KEY_FILE", forge))
    nobodys = _run("put", "private-key.none", given=keys[0])
    renewed = [_run("put", f"private-key{end}", given=key) for key in (*keys, keys[1])]
    now = _known(forge)
    dropped = _run("remove", f"old-private-keys{end}")
    again = _run("remove", f"old-private-keys{end}")

    assert (lone.exit_code, put.exit_code, gone.exit_code) == (1, 0, 0)
    assert f"Store a new one first: porchbot secret put webhook-secrets{end}" in lone.output
    assert both["webhook_secrets"] == (b"fresh", b"the new secret")
    assert f"setup-webhook-secret{end}" in listed
    assert now["webhook_secrets"] == (b"fresh",)
    assert (bad.exit_code, nobodys.exit_code) == (1, 1)
    assert "is not a private RSA key in PEM" in bad.output
    assert "no App of a GitHub named none" in nobodys.output
    assert other_kind.output == bad.output
    assert unused.exit_code == 1
    assert (
        f"{variable('PRIVATE_KEY_FILE', forge)} is set, and the bot uses that key" in unused.output
    )
    assert [each.exit_code for each in renewed] == [0, 0, 0]
    assert f"porchbot secret remove old-private-keys{end}" in renewed[0].output
    assert now["private_key"] == keys[1]
    assert now["older_keys"] == (keys[0], APP.private_key)
    assert (dropped.exit_code, again.exit_code) == (0, 1)
    assert _known(forge)["older_keys"] == ()
    assert other in apps.read(vault)
    monkeypatch.setenv("PORCHBOT_MASTER_KEY", "4f" * 32)  # the other one is lost
    unread, cleared = _run("list"), _run("remove", f"webhook-secrets{end}")
    assert (unread.exit_code, cleared.exit_code) == (1, 0)
    assert unread.output.startswith(f"github.apps\nwebhook-secrets{end}\n")
    said = "".join(e.output for e in (put, gone, bad, *renewed, dropped)) + " ".join(listed)
    assert not any(hidden in said for hidden in ("fresh", "the new secret", "swordfish", "BEGIN"))


def _ed25519() -> str:
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    key = Ed25519PrivateKey.generate()
    return key.private_bytes(*form, serialization.NoEncryption()).decode()


def _known(forge: str) -> Mapping[str, object]:
    """What the settings have of a GitHub's keys and secrets."""
    settings = Settings.from_env({"PORCHBOT_STATE": os.environ["PORCHBOT_STATE"]})
    here: object = settings
    if forge != "github":
        (here,) = (each for each in settings.further_githubs if each.name == forge)
    return {name: getattr(here, name) for name in ("webhook_secrets", "private_key", "older_keys")}
