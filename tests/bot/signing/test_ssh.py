"""SSH keys: which ones sign, and what is said of those that do not; never the key itself."""

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_ssh_private_key,
)

from bot.signing import ssh
from bot.signing.ssh import KeyUnusableError, SignatureError, SigningKey
from tests.bot.signing.signed import KEY, key_text


def test_keys_that_do_not_sign_are_told_apart() -> None:
    """Short-cut refused: the library's error, which may hold a part of the file."""
    locked = load_ssh_private_key(key_text().encode(), None).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x")
    )
    other = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    for text, wanted in (
        (locked.decode(), "it is protected by a passphrase. Give a key without one"),
        (other.decode(), "it is not an ed25519 key"),
        ("secret text", "it is no SSH private key"),
        (KEY.public.line, "it is no SSH private key"),
    ):
        with pytest.raises(KeyUnusableError) as caught:
            SigningKey.read(text)
        assert wanted in str(caught.value)
        assert "secret" not in str(caught.value)
    assert ssh.read_public(f"{KEY.public.line} of the bot") == KEY.public
    assert str(KEY.public.raw) not in repr(KEY)


def test_a_signature_is_for_git_and_always_the_same() -> None:
    """The short-cut checks key and data only: a signature of a file then passes for a tag's."""
    made = KEY.sign(b"text")
    assert made == KEY.sign(b"text")
    assert ssh.verify(made, b"text") == KEY.public
    for armoured, data in (
        (made, b"text "),
        (made.replace("\n-----END", "AAAA\n-----END"), b"text"),
        (made.replace("U1NIU0lH", "U1NIU0lI"), b"text"),
        ("", b"text"),
    ):
        with pytest.raises(SignatureError):
            ssh.verify(armoured, data)
