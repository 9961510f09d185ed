"""Records, marks and trailers: only what one of our keys made counts, and all is read back."""

import json
import re
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from hypothesis import given
from hypothesis import strategies as st

from lifecycle import records
from lifecycle.records import JSON
from tests.counting import assert_seconds_in_proportion
from tests.ids import on_github

KEY, OLD, STRANGER = b"k" * 32, b"o" * 32, b"s" * 32
RECORD: dict[str, JSON] = {"kind": "approve", "comment": 7, "trees": {"net/core": "a" * 40}}

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.text(st.characters(codec="utf-8")))
VALUES: st.SearchStrategy[JSON] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=5,
)
RECORDS = st.dictionaries(st.text(st.characters(codec="utf-8")), VALUES, max_size=3)
BODIES = st.text(st.sampled_from("ab \n\r<!->{}`@é")).map(lambda text: text.replace("\r", "x"))


def test_a_record_counts_only_with_a_mac_of_ours() -> None:
    """Short-cut refused: parsing the JSON and trusting the marker."""
    signed = records.sign(RECORD, KEY)
    forged = records.sign(RECORD, STRANGER)
    changed = signed.replace('"comment":7', '"comment":8')

    assert changed != signed
    assert records.read(f"{forged}\n{changed}\ntext\n{signed}", [KEY, OLD]) == (RECORD,)


def test_older_keys_are_accepted_while_they_are_configured() -> None:
    signed = records.sign(RECORD, OLD)

    assert records.read(signed, [KEY, OLD]) == (RECORD,)
    assert records.read(signed, [KEY]) == ()
    assert records.read(signed, []) == ()


@given(RECORDS)
def test_every_record_is_read_back_from_any_text_around_it(record: dict[str, JSON]) -> None:
    signed = records.sign(record, KEY)

    assert records.read(f"@ann approved <b>\n\n{signed}\n", [KEY]) == (record,)


@given(RECORDS)
def test_a_record_stays_inside_its_html_comment_and_calls_nobody(record: dict[str, JSON]) -> None:
    """Short-cut refused: base64url, which may hold "--", or plain JSON, which may hold "-->"."""
    signed = records.sign(record, KEY)
    inside = signed.removeprefix("<!-- ").removesuffix(" -->")

    assert "--" not in inside
    assert re.search("[<>@#\n]", inside) is None


def test_the_same_record_gives_the_same_text() -> None:
    turned = dict(reversed(RECORD.items()))

    assert records.sign(turned, KEY) == records.sign(RECORD, KEY)


@given(BODIES, RECORDS)
def test_the_visible_text_is_what_was_written(body: str, record: dict[str, JSON]) -> None:
    """Short-cut refused: `strip()`: a text with a blank at its end would be edited for ever."""
    signed = records.sign(record, KEY)
    marker = records.summary_marker("porchbot-1")

    for whole in (f"{body}\n\n{signed}", f"{marker}\n{body}\n\n{signed}"):
        assert records.visible(whole) == body
        assert records.visible(whole.replace("\n", "\r\n")) == body


def test_text_without_anything_hidden_stays() -> None:
    assert records.visible("plain <!-- note -->\n\ntext\n") == "plain <!-- note -->\n\ntext\n"


def test_a_comment_stuffed_with_records_is_read_fast_and_gives_nothing() -> None:
    """Short-cut: a pattern that looks for the end of a record from each of many beginnings."""
    assert records.read(records.sign(RECORD, KEY) * 300, [KEY]) == ()

    def reading(size: int) -> Callable[[], None]:
        body = "<!-- porchbot:record {" * size

        def read() -> None:
            assert records.read(body, [KEY]) == ()
            assert records.visible(body).startswith("<!--")

        return read

    assert_seconds_in_proportion(reading, 500)


MARKERS: dict[str, tuple[str, str | None, bool]] = {
    "at the very start": ("<!-- porchbot:summary acme -->\n### net/core", None, True),
    "of this instance": ("<!-- porchbot:summary acme -->\n", "acme", True),
    "of another instance": ("<!-- porchbot:summary acme -->\n", "other", False),
    "further down, as in a quote": ("> <!-- porchbot:summary acme -->", None, False),
    "not ours": ("<!-- porchbot:other -->", None, False),
    "nothing": ("", None, False),
}


@pytest.mark.parametrize(("body", "instance", "expected"), MARKERS.values(), ids=MARKERS)
def test_the_summary_is_found_again(body: str, instance: str | None, expected: bool) -> None:
    assert records.is_summary(body, instance) is expected


@pytest.mark.parametrize("instance", ["", "a b", "a--b", "-->", "a-", "é"])
def test_an_instance_that_would_break_the_marker_is_refused(instance: str) -> None:
    with pytest.raises(ValueError, match="not a plain name"):
        records.summary_marker(instance)


# --- keys -----------------------------------------------------------------------------------------


def pem(kind: serialization.PrivateFormat = serialization.PrivateFormat.PKCS8) -> bytes:
    key = rsa.generate_private_key(65537, 1024)
    return key.private_bytes(serialization.Encoding.PEM, kind, serialization.NoEncryption())


@pytest.mark.parametrize(
    "kind", [serialization.PrivateFormat.PKCS8, serialization.PrivateFormat.TraditionalOpenSSL]
)
def test_one_key_file_gives_one_mac_key_however_it_is_wrapped(
    kind: serialization.PrivateFormat,
) -> None:
    """Short-cut refused: hashing the file, so that an editor's CRLF voids every approval."""
    text = pem(kind)
    derived = records.derive_key(text)

    assert len(derived) == 32
    assert records.derive_key(b"\n" + text.replace(b"\n", b"\r\n") + b" \n") == derived
    assert records.derive_key(pem(kind)) != derived
    assert derived not in text


def test_the_derivation_is_hkdf() -> None:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    text = b"-----BEGIN KEY-----\nc2VjcmV0\n-----END KEY-----\n"
    hkdf = HKDF(SHA256(), length=32, salt=b"porchbot", info=b"porchbot records 1")

    assert records.derive_key(text) == hkdf.derive(b"secret")


@pytest.mark.parametrize(
    "text", [b"", b"secret", b"-----BEGIN KEY-----\nc2Vjc\n-----END KEY-----", b"\xff\x00"]
)
def test_what_is_no_key_is_refused_without_showing_it(text: bytes) -> None:
    with pytest.raises(ValueError, match="not PEM") as error:
        records.derive_key(text)

    assert "c2Vjc" not in str(error.value)
    assert "secret" not in str(error.value)


# --- marks ----------------------------------------------------------------------------------------

PARENT, TREE = "1" * 40, "2" * 40
MESSAGE = 'Render net/core\n\nkpt:{"package":"net/core","workspaceName":"v2"}'


def has_mark(message: str, **changed: object) -> bool:
    facts = {"parent": PARENT, "tree": TREE, "repository_id": on_github(42), **changed}
    keys = facts.pop("keys", [KEY])
    asker = records.render_asker(message, keys, **facts)  # type: ignore[arg-type]  # a test's shorthand
    return asker is not None


def test_a_mark_says_who_asked_and_cannot_say_otherwise() -> None:
    """Fails when the name stands outside of the mark: who asked would take it off, and approve."""

    def asker(message: str) -> str | None:
        return records.render_asker(
            message, [KEY], parent=PARENT, tree=TREE, repository_id=on_github(42)
        )

    asked = records.mark_message(MESSAGE, KEY, PARENT, TREE, on_github(42), "eve")

    assert asker(asked) == "eve"
    assert asker(asked.replace("eve", "bob")) is None
    assert asker(asked.replace("Porchbot-Asked-By: eve\n", "")) is None
    assert asker(records.mark_message(MESSAGE, KEY, PARENT, TREE, on_github(42))) == ""


def test_a_mark_proves_one_commit_and_no_other() -> None:
    """Short-cut refused: trusting the trailer, the author's name or a mark without its tree."""
    marked = records.mark_message(MESSAGE, KEY, PARENT, TREE, on_github(42))

    assert has_mark(marked)
    assert has_mark(marked, keys=[STRANGER, KEY])
    assert not has_mark(MESSAGE)
    assert not has_mark(marked, parent="3" * 40)
    assert not has_mark(marked, tree="3" * 40)
    assert not has_mark(marked, repository_id=on_github(43))
    assert not has_mark(marked, keys=[STRANGER])


def test_a_mark_covers_what_else_a_commit_of_ours_says() -> None:
    """The short-cut seals parent and tree alone: somebody writes another variant into a message."""
    facts = {"parent": PARENT, "tree": TREE, "repository_id": on_github(42)}
    line = "Porchbot-Variant: shop 1 2 3 4"
    marked = records.mark_message(f"Make it\n\n{line}", KEY, PARENT, TREE, on_github(42), "eve")
    old = records.mark_message("Make it", KEY, PARENT, TREE, on_github(42))
    added = old.replace("Make it", f"Make it\n\n{line}")

    def sealed(message: str) -> bool:
        return records.is_sealed(message, [KEY], **facts)  # type: ignore[arg-type]  # a shorthand

    assert sealed(marked)
    assert records.render_asker(marked, [KEY], **facts) == "eve"  # type: ignore[arg-type]  # as above
    for changed in (marked.replace("shop", "edge"), marked.replace(f"{line}\n", "")):
        assert not sealed(changed)
        assert not has_mark(changed)
    assert not sealed(marked + line + "\n")
    assert sealed(old)
    assert has_mark(added)  # as those of versions before are
    assert not sealed(added)


def test_a_marked_message_still_ends_in_its_trailers() -> None:
    marked = records.mark_message(MESSAGE + "\nkpt:{}\n", KEY, PARENT, TREE, on_github(42))
    mark = records.render_mark(KEY, PARENT, TREE, on_github(42))

    assert marked == (
        f"Render net/core\n\n{mark}\n\n"
        'kpt:{"package":"net/core","workspaceName":"v2"}\nkpt:{}\n'
    )
    assert records.mark_message("Render", KEY, PARENT, TREE, on_github(42)) == f"Render\n\n{mark}\n"


def test_a_mark_is_no_record_and_a_record_no_mark() -> None:
    mac = records.render_mark(KEY, PARENT, TREE, on_github(42)).split()[1]

    assert records.read(f'<!-- porchbot:record {{"a":1}} {mac} -->', [KEY]) == ()


# --- trailers -------------------------------------------------------------------------------------

TRAILERS: dict[str, tuple[str, str, int | None, dict[str, JSON] | None, str]] = {
    "a merge": (
        "net/core", "v2", 5, None,
        'kpt:{"package":"net/core","workspaceName":"v2","revision":"5"}',
    ),
    "a render has neither revision nor task": (
        "net/core", "v2", None, None, 'kpt:{"package":"net/core","workspaceName":"v2"}',
    ),
    "a task": (
        "net/core", "v2", None, {"type": "init", "init": {"description": "x"}},
        'kpt:{"package":"net/core","workspaceName":"v2",'
        '"task":{"type":"init","init":{"description":"x"}}}',
    ),
    "the root package": ("", "pr-7", 1, None, 'kpt:{"workspaceName":"pr-7","revision":"1"}'),
    "as Go escapes": ("<>&é", "", None, None, 'kpt:{"package":"\\u003c\\u003e\\u0026é"}'),
    "no line breaks out": ("a\nb\u2028", "", None, None, 'kpt:{"package":"a\\nb\\u2028"}'),
}  # fmt: skip


@pytest.mark.parametrize(
    ("package", "workspace", "revision", "task", "expected"), TRAILERS.values(), ids=TRAILERS
)
def test_trailers_are_porchs(
    package: str, workspace: str, revision: int | None, task: dict[str, JSON] | None, expected: str
) -> None:
    assert records.trailer(package, workspace, revision, task) == expected


@given(
    st.text(st.characters(codec="utf-8")),
    st.text(st.characters(codec="utf-8")),
    st.none() | st.integers(1, 999_999_999),
    st.none() | RECORDS.filter(bool),
)
def test_every_trailer_is_one_line_of_json(
    package: str, workspace: str, revision: int | None, task: dict[str, JSON] | None
) -> None:
    line = records.trailer(package, workspace, revision, task)
    said = {
        "package": package,
        "workspaceName": workspace,
        "revision": "" if revision is None else str(revision),
        "task": task,
    }

    assert "\n" not in line
    assert json.loads(line.removeprefix("kpt:")) == {k: v for k, v in said.items() if v}


@given(st.text(), st.text())
def test_reading_is_total(text: str, more: str) -> None:
    records.read(f"{text}\n{more}", [KEY])
    records.visible(text)
    records.is_summary(text)
    assert not has_mark(text)


def test_what_a_record_looks_like() -> None:
    signed = records.sign({"kind": "answer", "at": "2026-11-21", "ok": True}, KEY)
    text = re.fullmatch(r"<!-- porchbot:record (.*) [0-9a-f]{64} -->", signed)

    assert text is not None
    assert text[1] == '{"at":"2026\\u002d11\\u002d21","kind":"answer","ok":true}'
    assert json.loads(text[1])["at"] == "2026-11-21"


def test_what_one_of_two_bots_signed_is_not_the_others() -> None:
    """Short-cut refused: the key of the App alone; staging then takes production's approvals."""
    one, other, nameless = (records.key_of(b"k" * 32, name) for name in ("a", "b", ""))
    here = on_github(42)
    about = {"kind": "answer", "repository": here.spelled, "number": 7}
    message = records.mark_message(MESSAGE, one, PARENT, TREE, here)

    assert nameless == b"k" * 32
    for key, expected in ((one, True), (other, False), (nameless, False)):
        body = f"words\n\n{records.sign(about, one)}"
        assert bool(records.read_about(body, [key], here, 7)) is expected
        asker = records.render_asker(message, [key], parent=PARENT, tree=TREE, repository_id=here)
        assert (asker == "") is expected
