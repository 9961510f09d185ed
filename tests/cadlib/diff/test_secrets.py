"""Values of Secrets: found wherever they lie, and taken out of whatever is said."""

import base64

import pytest

from cadlib.diff import secrets
from cadlib.diff.secrets import HIDDEN, added

WORD = "hunter2-and-more"
ENCODED = base64.b64encode(WORD.encode()).decode()


def secret(body: str) -> bytes:
    return f"apiVersion: v1\nkind: Secret\nmetadata: {{name: a}}\n{body}\n".encode()


HOLDING: dict[str, bytes] = {
    "as stringData": secret(f"stringData: {{password: {WORD}}}"),
    "encoded": secret(f"data: {{password: {ENCODED}}}"),
    "in a list": b"kind: List\nitems:\n- "
    + secret(f"stringData: {{p: {WORD}}}").replace(b"\n", b"\n  "),
    "in a list of secrets": b"kind: SecretList\nitems:\n- stringData: {p: "
    + WORD.encode()
    + b"}\n",
    "with the kind spelled by escapes": secret(f"stringData: {{p: {WORD}}}").replace(
        b"kind: Secret", b'kind: "\\x53ecret"'
    ),
    "in JSON": b'{"kind":"Secret","stringData":{"p":"' + WORD.encode() + b'"}}',
    "in the second document": b"kind: ConfigMap\n---\n" + secret(f"stringData: {{p: {WORD}}}"),
    "as kubectl keeps it": (
        b"kind: ConfigMap\nmetadata:\n  annotations:\n    last: '"
        + b'{"kind":"Secret","stringData":{"p":"'
        + WORD.encode()
        + b"\"}}'\n"
    ),
}


@pytest.mark.parametrize("data", HOLDING.values(), ids=HOLDING)
def test_values_are_found_wherever_they_lie(data: bytes) -> None:
    """Fails when only `data` of top level resources is looked at."""
    found = secrets.values(data)

    said = f"p: got {WORD}, and {ENCODED} encoded"
    assert secrets.redacted(said, found) == f"p: got {HIDDEN}, and {HIDDEN} encoded"


def test_a_value_of_several_lines_is_hidden_line_by_line() -> None:
    """Fails when the value is looked for as a whole: a function quotes the line it dislikes."""
    found = secrets.values(secret("stringData:\n  key: |\n    first line here\n    second one"))

    assert secrets.redacted("bad: 'second one'", found) == f"bad: '{HIDDEN}'"
    assert secrets.redacted("'first line here\\nsecond one\\n'", found) == f"'{HIDDEN}'"


def test_short_values_are_words_of_their_own() -> None:
    """Fails when a short value is taken out of other words: no message could be read any more."""
    found = secrets.values(secret("stringData: {a: abcde, b: '1', c: no}"))

    assert (
        secrets.redacted("abcde, xabcdey, 1 of 11, no", found) == f"{HIDDEN}, xabcdey, 1 of 11, no"
    )


def test_what_is_no_secret_stays() -> None:
    data = f"kind: ConfigMap\ndata: {{p: {WORD}}}\n".encode()

    assert secrets.values(data) == frozenset()
    assert secrets.values(b"kind: Secret\n\t- no YAML") == frozenset()


SENT = b"kind: ResourceList\nitems:\n- kind: Secret\n  data: {p: aGVsbG8gd29ybGQ=}\n"


def test_only_what_a_function_added_is_searched_and_all_of_it() -> None:
    """Fails when lines behind what was sent count as a text of their own."""
    assert added(SENT, SENT) == frozenset()
    assert added(SENT + b"results:\n- message: a\n", SENT) == frozenset()
    assert "new word" in added(SENT + b"  stringData: {q: new word}\n", SENT)
    assert "hello world" in added(b"# other\n" + SENT, SENT)
