"""Secrets at rest: what lies on disk tells nothing, and nothing is taken for another."""

import base64
import fcntl
import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from bot import apps
from bot.vault import MasterKey, Vault, VaultError, master_key, open_vault
from tests.bot.test_settings import APP

KEY = "4f" * 32
ENVIRON = {"PORCHBOT_MASTER_KEY": KEY}


def test_a_secret_is_not_on_disk_and_comes_back(tmp_path: Path) -> None:
    """Short-cut refused: a file with mode 0600 is enough; backups and images of disks are read."""
    vault = open_vault(ENVIRON, tmp_path)

    vault.put("app.1.private-key", "-----BEGIN a very secret key")

    assert open_vault(ENVIRON, tmp_path).get("app.1.private-key") == "-----BEGIN a very secret key"
    assert stat.S_IMODE(vault.file.stat().st_mode) == 0o600
    for file in tmp_path.iterdir():
        assert b"secret key" not in file.read_bytes()
        assert base64.b64encode(b"a very secret key")[:12] not in file.read_bytes()


def test_a_folder_that_cannot_be_made_is_told_once(tmp_path: Path) -> None:
    """The short-cut prints Python's error: `([Errno 20] Not a directory: '/x/file/state')`, with
    the path a second time."""
    (tmp_path / "file").touch()
    state = tmp_path / "file" / "state"

    with pytest.raises(VaultError) as told:
        open_vault(ENVIRON, state).put("webhook", "secret")

    assert str(told.value) == (
        f"cannot create {state} (Not a directory). Use a folder that the bot can write to."
    )


def test_a_secret_under_another_name_is_refused(tmp_path: Path) -> None:
    """Short-cut refused: values are encrypted alone; whoever may write the file exchanges them."""
    vault = open_vault(ENVIRON, tmp_path)
    vault.put_all({"webhook": "what everybody at GitHub knows", "signing-key": "ours alone"})
    kept = json.loads(vault.file.read_text())
    kept["secrets"]["signing-key"] = kept["secrets"]["webhook"]
    vault.file.write_text(json.dumps(kept))

    with pytest.raises(VaultError, match="signing-key cannot be decrypted with the master key of"):
        vault.get("signing-key")


@pytest.mark.parametrize("at", [0, 20, -1])
def test_a_changed_secret_is_refused(tmp_path: Path, at: int) -> None:
    vault = open_vault(ENVIRON, tmp_path)
    vault.put("one", "some text of a secret")
    kept = json.loads(vault.file.read_text())
    sealed = bytearray(base64.b64decode(kept["secrets"]["one"]))
    sealed[at] ^= 1
    kept["secrets"]["one"] = base64.b64encode(sealed).decode()
    vault.file.write_text(json.dumps(kept))

    with pytest.raises(VaultError, match="one cannot be decrypted"):
        vault.get("one")


def test_another_master_key_opens_nothing(tmp_path: Path) -> None:
    open_vault(ENVIRON, tmp_path).put("one", "text")
    other = open_vault({"PORCHBOT_MASTER_KEY": "50" * 32}, tmp_path)

    with pytest.raises(VaultError) as caught:
        other.get("one")

    assert str(caught.value) == (
        f"{tmp_path}/secrets.json: one cannot be decrypted with the master key of"
        " PORCHBOT_MASTER_KEY. Use the key that it was encrypted with, or store the secret again."
    )


def test_equal_secrets_look_different(tmp_path: Path) -> None:
    """Short-cut refused: one nonce for all; two of them tell what both hold."""
    vault = open_vault(ENVIRON, tmp_path)
    vault.put_all({"one": "same", "two": "same"})
    before = json.loads(vault.file.read_text())["secrets"]
    vault.put("one", "same")
    after = json.loads(vault.file.read_text())["secrets"]

    nonces = {base64.b64decode(each)[:12] for each in (*before.values(), after["one"])}
    assert len(nonces) == 3


def test_names_and_removal(tmp_path: Path) -> None:
    vault = open_vault(ENVIRON, tmp_path)
    vault.put_all({"b": "1", "a": "2"})
    assert vault.names() == ("a", "b")

    vault.put("a", "")

    assert vault.names() == ("b",)
    assert vault.get("a") == ""
    with pytest.raises(VaultError, match="not a valid name of a secret"):
        vault.put("../a", "text")


def test_where_the_master_key_comes_from(tmp_path: Path) -> None:
    """The variable, the file that is named, then a file of our own; all three are the same key."""
    named = tmp_path / "named"
    named.write_text(base64.b64encode(bytes.fromhex(KEY)).decode() + "\n")

    wanted = master_key(ENVIRON, tmp_path).derive("records")
    assert (
        master_key({"PORCHBOT_MASTER_KEY_FILE": str(named)}, tmp_path).derive("records") == wanted
    )
    assert master_key(ENVIRON, tmp_path).derive("secrets") != wanted

    with pytest.raises(VaultError, match="There is no master key"):
        master_key({}, tmp_path)
    made = master_key({}, tmp_path, make=True)
    file = tmp_path / "master.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(bytes.fromhex(file.read_text().strip())) == 32
    assert master_key({}, tmp_path, make=True).derive("records") == made.derive("records") != wanted


def test_a_generated_key_that_others_read_is_refused(tmp_path: Path) -> None:
    """Short-cut refused: it worked yesterday; a copy made with `cp` has mode 0644."""
    master_key({}, tmp_path, make=True)
    (tmp_path / "master.key").chmod(0o640)

    with pytest.raises(
        VaultError, match=r"is readable by users other than its owner\. Run `chmod 600"
    ):
        master_key({}, tmp_path)


@pytest.mark.parametrize("text", ["short", "zz" * 32, base64.b64encode(b"x" * 31).decode(), "é"])
def test_what_is_no_master_key(tmp_path: Path, text: str) -> None:
    with pytest.raises(VaultError, match="PORCHBOT_MASTER_KEY is not a master key: it must be 32"):
        master_key({"PORCHBOT_MASTER_KEY": text}, tmp_path)


@pytest.mark.parametrize("text", ["", "[]", '{"version": 2, "secrets": {}}', '{"version": 1}'])
def test_a_file_that_is_none_of_ours_is_not_overwritten(tmp_path: Path, text: str) -> None:
    """Short-cut refused: what cannot be read counts as empty, and the next write deletes it."""
    vault = Vault(tmp_path / "secrets.json", MasterKey(b"x" * 32, "here"))
    vault.file.write_text(text)

    with pytest.raises(VaultError, match="is not a secret store of this version"):
        vault.put("one", "text")
    assert vault.file.read_text() == text


class Watched(Vault):
    """Knows whether nobody else could write while something was read."""

    def get(self, name: str) -> str:
        file = self.file.with_name(f".{self.file.name}.lock")
        with file.open("a") as lock, pytest.raises(BlockingIOError, match="unavailable"):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return super().get(name)


def test_nobody_writes_between_reading_the_apps_and_keeping_them(tmp_path: Path) -> None:
    """The short-cut reads first, and then writes: of two that do so one loses an App."""
    vault = Watched(tmp_path / "secrets.json", MasterKey(b"x" * 32, "here"))

    apps.keep(vault, APP)
    apps.keep(vault, replace(APP, id=APP.id + 1))
    apps.forget(vault, APP)

    unwatched = Vault(vault.file, MasterKey(b"x" * 32, "here"))
    assert [each.id for each in apps.read(unwatched)] == [APP.id + 1]
