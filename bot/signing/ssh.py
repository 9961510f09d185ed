"""SSH keys and signatures (SSHSIG), as git and `ssh-keygen -Y` make and check them.

Only ed25519: one kind of key, whose signatures of the same text are always the same.
cryptography, 8 MB, is read by what needs it: not by a bot without a key, nor by what only
receives webhooks.

Source: https://github.com/openssh/openssh-portable/blob/master/PROTOCOL.sshsig, RFC 8709.
"""

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

NAMESPACE = "git"
"""What git signs for: a signature for anything else says nothing of a tag."""

KIND = "ssh-ed25519"

BEGIN, END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"

_MAGIC, _VERSION = b"SSHSIG", 1
_DIGESTS = {"sha512": hashlib.sha512, "sha256": hashlib.sha256}
_LINE = 70
"""Characters of a line of the armour, as OpenSSH writes it."""

_ARMOUR = re.compile(rf"{BEGIN}\s+([A-Za-z0-9+/=\s]+?)\s+{END}\s*\Z")


class KeyUnusableError(ValueError):
    """A key cannot be used; the text of the key is never in the message."""


class SignatureError(Exception):
    """A signature is not what it should be: what is wrong, as a clause."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """An ed25519 key that signatures are checked with.

    Attributes:
        raw: Its 32 bytes.
    """

    raw: bytes

    @property
    def blob(self) -> bytes:
        """The key as it stands on the wire."""
        return _string(KIND.encode()) + _string(self.raw)

    @property
    def line(self) -> str:
        """The key as it stands in `.pub` files, without a comment."""
        return f"{KIND} {base64.b64encode(self.blob).decode()}"

    @property
    def fingerprint(self) -> str:
        """As `ssh-keygen -l` shows it."""
        digest = base64.b64encode(hashlib.sha256(self.blob).digest()).decode().rstrip("=")
        return f"SHA256:{digest}"

    def verifies(self, signature: bytes, data: bytes) -> bool:
        """Whether a bare ed25519 signature of some bytes was made with this key."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, data)
        except InvalidSignature:
            return False
        return True


class SigningKey:
    """An ed25519 key that signs; it never shows itself."""

    def __init__(self, key: "Ed25519PrivateKey") -> None:
        self._key = key
        self.public = PublicKey(key.public_key().public_bytes_raw())

    @classmethod
    def read(cls, text: str) -> "SigningKey":
        """Read a private key without a passphrase, in OpenSSH's or PKCS 8's form.

        Raises:
            KeyUnusableError: It is none, or of another kind.
        """
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import (
            load_pem_private_key,
            load_ssh_private_key,
        )

        load = load_ssh_private_key if "OPENSSH PRIVATE KEY" in text else load_pem_private_key
        try:
            key = load(text.encode(), password=None)
        except TypeError as error:
            problem = "it is protected by a passphrase. Give a key without one"
            raise KeyUnusableError(problem) from error
        except (ValueError, UnsupportedAlgorithm) as error:
            problem = "it is no SSH private key. Make one: `ssh-keygen -t ed25519 -N '' -f FILE`"
            raise KeyUnusableError(problem) from error
        if not isinstance(key, Ed25519PrivateKey):
            problem = "it is not an ed25519 key. Make one: `ssh-keygen -t ed25519 -N '' -f FILE`"
            raise KeyUnusableError(problem)
        return cls(key)

    def sign_raw(self, data: bytes) -> bytes:
        """A bare ed25519 signature."""
        return self._key.sign(data)

    def sign(self, data: bytes) -> str:
        """An SSH signature for git, with its armour; ends in a line feed."""
        body = _signed("sha512", data)
        made = _string(KIND.encode()) + _string(self._key.sign(body))
        blob = (
            _MAGIC
            + _VERSION.to_bytes(4, "big")
            + _string(self.public.blob)
            + _string(NAMESPACE.encode())
            + _string(b"")
            + _string(b"sha512")
            + _string(made)
        )
        text = base64.b64encode(blob).decode()
        lines = [text[at : at + _LINE] for at in range(0, len(text), _LINE)]
        return "\n".join((BEGIN, *lines, END)) + "\n"


def read_public(text: str) -> PublicKey:
    """Read a key as it stands in `.pub` files: kind, base64, perhaps a comment.

    Raises:
        KeyUnusableError: It is none, or of another kind.
    """
    words = text.split()
    if len(words) < 2 or words[0] != KIND:
        raise KeyUnusableError(f"it is no {KIND} key")
    try:
        return _public(base64.b64decode(words[1], validate=True))
    except (binascii.Error, SignatureError) as error:
        raise KeyUnusableError(f"it is no {KIND} key") from error


def verify(armoured: str, data: bytes) -> PublicKey:
    """Check a signature for git, and return the key that made it; whose that is nobody knows yet.

    Raises:
        SignatureError: It cannot be read, is meant for something else, or does not fit the data.
    """
    found = _ARMOUR.fullmatch(armoured.strip())
    if found is None:
        raise SignatureError("the signature is not written as an SSH signature")
    try:
        blob = base64.b64decode("".join(found[1].split()), validate=True)
    except binascii.Error as error:
        raise SignatureError("the signature is not written as an SSH signature") from error
    if not blob.startswith(_MAGIC) or blob[6:10] != _VERSION.to_bytes(4, "big"):
        raise SignatureError("the signature is not written as an SSH signature")
    key_blob, namespace, reserved, digest, made = _strings(blob[10:], 5)
    if namespace != NAMESPACE.encode():
        shown = namespace.decode(errors="replace")[:40]
        raise SignatureError(f"the signature is for {shown!r}, and has to be for '{NAMESPACE}'")
    if reserved or digest.decode(errors="replace") not in _DIGESTS:
        raise SignatureError("the signature is made in a way that is not known here")
    key = _public(key_blob)
    kind, raw = _strings(made, 2)
    if kind != KIND.encode():
        raise SignatureError(f"the signature is of another kind than {KIND}")
    if len(raw) != 64 or not key.verifies(raw, _signed(digest.decode(), data)):
        raise SignatureError("the signature does not fit: what it signed was changed since")
    return key


def _signed(digest: str, data: bytes) -> bytes:
    """What is really signed: a digest of the data, and what the signature is for."""
    return (
        _MAGIC
        + _string(NAMESPACE.encode())
        + _string(b"")
        + _string(digest.encode())
        + _string(_DIGESTS[digest](data).digest())
    )


def _public(blob: bytes) -> PublicKey:
    kind, raw = _strings(blob, 2)
    if kind != KIND.encode() or len(raw) != 32:
        raise SignatureError(f"the signature is of another kind than {KIND}")
    return PublicKey(raw)


def _string(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def _strings(data: bytes, count: int) -> list[bytes]:
    """The strings of the wire that some bytes are, no more and no fewer."""
    found, at = [], 0
    for _ in range(count):
        length = int.from_bytes(data[at : at + 4], "big")
        if at + 4 + length > len(data):
            raise SignatureError("the signature is cut off")
        found.append(data[at + 4 : at + 4 + length])
        at += 4 + length
    if at != len(data):
        raise SignatureError("the signature has more to it than a signature has")
    return found
