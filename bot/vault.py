"""Secrets at rest: a file of them, each encrypted on its own with a key from the master key.

AES-256-GCM with a nonce of its own for each value; the name is authenticated with it, so that no
value can be passed off as another. What the file holds without the master key are names and times.

The master key is 32 bytes, written as 64 hexadecimal digits or as base64. It comes from the
variable PORCHBOT_MASTER_KEY, from the file that PORCHBOT_MASTER_KEY_FILE names, or else from
`master.key` beside the secrets, which is made with mode 0600 where it is missing.

Source: NIST SP 800-38D (GCM), RFC 5869 (HKDF).
"""

import base64
import binascii
import fcntl
import hmac
import json
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

FILE: Final = "secrets.json"
KEY_FILE: Final = "master.key"
VERSION: Final = 1

_NONCE = 12  # bytes, as GCM wants them
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
_MAKE = "Generate one with `openssl rand -hex 32`"


class VaultError(Exception):
    """Secrets cannot be read or kept; the message says what an operator has to do."""


class MasterKey:
    """What all other keys come from.

    Args:
        key: 32 bytes.
        origin: Where it was found, for messages.
    """

    def __init__(self, key: bytes, origin: str) -> None:
        self._key = key
        self.origin = origin

    def derive(self, purpose: str) -> bytes:
        """A key of 32 bytes for one purpose only, by HKDF with SHA-256."""
        extracted = hmac.digest(b"porchbot master", self._key, "sha256")
        return hmac.digest(extracted, f"porchbot {purpose} 1\x01".encode(), "sha256")


def master_key(environ: Mapping[str, str], folder: Path, *, make: bool = False) -> MasterKey:
    """Find the master key.

    Args:
        environ: The environment.
        folder: The bot's state folder; a generated one lies beside the secrets.
        make: Generate it where there is none.

    Raises:
        VaultError: There is none, it is no key, or others may read a generated one.
    """
    name = "PORCHBOT_MASTER_KEY"
    if text := environ.get(name, "").strip():
        return MasterKey(_key(text, name), name)
    if path := environ.get(f"{name}_FILE", "").strip():
        return MasterKey(_key(_text(Path(path), f"{name}_FILE"), path), path)
    file = secrets_file(environ, folder).parent / KEY_FILE
    if make and not file.exists():
        _private_folder(file.parent)
        _write(file, secrets.token_hex(32) + "\n", exclusive=True)
    if not file.exists():
        raise VaultError(
            f"There is no master key: neither {name} nor {name}_FILE is set, and {file} is missing."
            f" {_MAKE}, or run `porchbot setup`, which creates one."
        )
    if stat.S_IMODE(file.stat().st_mode) & 0o077:
        raise VaultError(
            f"{file} is readable by users other than its owner. Run `chmod 600 {file}`; if somebody"
            " may have read it, replace the secrets that it protects."
        )
    return MasterKey(_key(_text(file, str(file)), str(file)), str(file))


class Vault:
    """The secrets in one file.

    Args:
        file: Where they are kept; need not exist yet.
        key: Encrypts them.
    """

    def __init__(self, file: Path, key: MasterKey) -> None:
        self.file = file
        self._origin = key.origin
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # 6 MB, for who has secrets

        self._cipher = AESGCM(key.derive("secrets"))

    def names(self) -> tuple[str, ...]:
        """Which secrets there are, sorted."""
        return tuple(sorted(_stored(self.file)))

    def get(self, name: str) -> str:
        """One secret; "" where there is none of that name.

        Raises:
            VaultError: It was encrypted with another master key, or was changed.
        """
        sealed = _stored(self.file).get(name)
        if sealed is None:
            return ""
        from cryptography.exceptions import InvalidTag

        try:
            data = base64.b64decode(sealed, validate=True)
            return self._cipher.decrypt(data[:_NONCE], data[_NONCE:], _bound(name)).decode()
        except (InvalidTag, ValueError, UnicodeDecodeError) as error:
            raise VaultError(
                f"{self.file}: {name} cannot be decrypted with the master key of {self._origin}."
                " Use the key that it was encrypted with, or store the secret again."
            ) from error

    def put(self, name: str, value: str) -> None:
        """Keep a secret, in place of an older one of that name."""
        self.put_all({name: value})

    def put_all(self, values: Mapping[str, str]) -> None:
        """Keep several secrets, all or none of them; "" removes one.

        Raises:
            VaultError: A name is none, or the file cannot be written.
        """
        for name in values:
            if not _NAME.fullmatch(name):
                raise VaultError(
                    f"{name!r} is not a valid name of a secret. Use up to 100 lower-case letters,"
                    " digits, '.', '-' and '_'."
                )
        with _locked(self.file):
            self._keep(values)

    def change(self, name: str, change: Callable[[str], str]) -> None:
        """Keep what becomes of a secret, "" for none; nobody else writes between the two.

        Raises:
            VaultError: As in `get` and `put_all`.
        """
        with _locked(self.file):
            self._keep({name: change(self.get(name))})

    @contextmanager
    def alone(self, name: str) -> Iterator[None]:
        """Inside the block nobody else is in one of this name; secrets may be read and kept.

        Args:
            name: As that of a secret.

        Raises:
            VaultError: The folder cannot be written.
        """
        with _locked(self.file, f".{name}"):
            yield

    def _keep(self, values: Mapping[str, str]) -> None:
        kept = {**_stored(self.file), **{n: self._seal(n, v) for n, v in values.items()}}
        kept = {name: sealed for name, sealed in kept.items() if values.get(name) != ""}
        text = json.dumps({"version": VERSION, "secrets": kept}, indent=2, sort_keys=True)
        _write(self.file, text + "\n")

    def _seal(self, name: str, value: str) -> str:
        nonce = secrets.token_bytes(_NONCE)
        sealed = self._cipher.encrypt(nonce, value.encode(), _bound(name))
        return base64.b64encode(nonce + sealed).decode()


def secrets_file(environ: Mapping[str, str], folder: Path) -> Path:
    """Where secrets are kept: PORCHBOT_SECRETS_STORE, or `secrets.json` in the state folder."""
    given = environ.get("PORCHBOT_SECRETS_STORE", "").strip()
    return Path(given).absolute() if given else folder / FILE


def open_vault(environ: Mapping[str, str], folder: Path, *, make: bool = False) -> Vault:
    """Open the secrets of this environment.

    Args:
        environ: The environment.
        folder: The bot's state folder.
        make: Generate a master key where there is none.

    Raises:
        VaultError: There is no master key that can be used.
    """
    file = secrets_file(environ, folder)
    return Vault(file, master_key(environ, folder, make=make))


def _bound(name: str) -> bytes:
    return f"porchbot secret {VERSION} {name}".encode()


def _key(text: str, origin: str) -> bytes:
    text = text.strip()
    try:
        if re.fullmatch(r"[0-9a-fA-F]{64}", text):
            key = bytes.fromhex(text)
        else:
            key = base64.b64decode(
                text, altchars=b"-_" if {*text} & {*"-_"} else None, validate=True
            )
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != 32:
        raise VaultError(
            f"{origin} is not a master key: it must be 32 bytes, as 64 hexadecimal digits or in"
            f" base64. {_MAKE}."
        )
    return key


def _text(path: Path, name: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise VaultError(
            f"{name}: cannot read {path} ({why}). Name a file that the bot can read."
        ) from error


def _stored(file: Path) -> dict[str, str]:
    """Names to encrypted values; nothing where there is no file."""
    if not file.exists():
        return {}
    try:
        read = json.loads(_text(file, str(file)))
        version, found = read["version"], read["secrets"]
        good = version == VERSION and all(
            isinstance(name, str) and isinstance(value, str) for name, value in found.items()
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        good, found = False, {}
    if not good:
        raise VaultError(
            f"{file} is not a secret store of this version. Restore it from a backup, or remove it"
            " and run `porchbot setup` again."
        )
    return dict(found)


@contextmanager
def _locked(file: Path, what: str = "") -> Iterator[None]:
    """Inside the block nobody else writes: two that read and write would lose a secret.

    Args:
        file: Where the secrets are.
        what: Another lock than that of the file.
    """
    _private_folder(file.parent)
    try:
        lock = file.with_name(f".{file.name}{what}.lock").open("a")
        fcntl.flock(lock, fcntl.LOCK_EX)
    except OSError as error:
        raise VaultError(
            f"cannot write {file} ({error.strerror or error}). Use a folder that"
            " the bot can write to."
        ) from error
    with lock:
        yield


def _private_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o711)
    except OSError as error:
        raise VaultError(
            f"cannot create {folder} ({error.strerror or error}). Use a folder that"
            " the bot can write to."
        ) from error


def _write(file: Path, text: str, *, exclusive: bool = False) -> None:
    """Write a file that only its owner reads; a reader never sees half of it."""
    part = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as out:
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
            if exclusive:
                os.link(part, file)  # fails where somebody was faster: theirs counts
            else:
                part.replace(file)
        finally:
            part.unlink(missing_ok=True)
    except FileExistsError:
        if not exclusive:
            raise
    except OSError as error:
        raise VaultError(
            f"cannot write {file} ({error.strerror or error}). Use a folder that"
            " the bot can write to."
        ) from error
