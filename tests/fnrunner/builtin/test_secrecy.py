"""What of a value is told."""

import pytest

from cadlib.yaml import Value
from fnrunner.builtin.secrecy import HIDDEN, redacted

LETTERS = "abcdefghij0123456789"

SECRETS = {
    "a key": "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
    "a JSON web token": f"eyJ{LETTERS}.eyJ{LETTERS}.{LETTERS}",
    "AWS": "AKIA" + "ABCDEFGH23456789",
    "GitHub": "ghp_" + "a1B2" * 9,
    "GitLab": "x glpat-" + LETTERS,
    "Slack": "xoxb-1234567890-1234567890",
    "an address with a password": "postgres://me:word@host/db",
    "a header": "Authorization: Bearer abcdefghijkl",
    "long text without words": "aB1+" * 12,
}


@pytest.mark.parametrize("value", SECRETS.values(), ids=SECRETS)
def test_what_looks_like_a_secret_is_hidden(value: str) -> None:
    """Short-cut: hide by the name of the field only."""
    assert redacted(value, whole={}, path=("spec", "value")) == HIDDEN


HARMLESS = ["", "my-app", "nginx:1.7.9", "https://host/path", "basic plan", "a" * 60, "ghp_short"]


@pytest.mark.parametrize("value", HARMLESS)
def test_others_are_told(value: str) -> None:
    assert redacted(value, whole={}, path=("spec", "value")) == value


def test_names_hide_any_value() -> None:
    assert redacted("x", whole={}, path=("spec", "tls", "privateKey")) == HIDDEN
    assert redacted("x", whole={}, path=("v",), setters=("db-Password",)) == HIDDEN


def test_data_of_secrets_are_hidden() -> None:
    secret: Value = {"apiVersion": "v1", "kind": "Secret"}

    assert redacted("x", whole=secret, path=("stringData", "user")) == HIDDEN
    assert redacted("x", whole=secret, path=("metadata", "name")) == "x"
    held: Value = {"kind": "List", "items": [secret]}
    assert redacted("x", whole=held, path=("items", 0, "stringData", "user")) == HIDDEN


def test_long_values_are_cut() -> None:
    assert redacted("x " * 250, whole={}, path=()) == "x " * 64 + "... (truncated 372 chars)"
