"""Signed records in comments, the summary's marker, marks and trailers of commits and tags.

A record is an HTML comment with compact JSON and its MAC. Only a valid MAC makes it ours; whether
the comment it stands in is ours is for the caller to check. A trailer is Porch's line in a commit
message: anybody can write one, so it informs and never decides. A mark is a line with a MAC that
makes a render commit provably ours.

Nothing here holds a key: each function is given one (docs/design.md, "Records and events").
"""

import base64
import binascii
import hashlib
import hmac
import json
import re
from collections.abc import Mapping, Sequence

from lifecycle import identity
from lifecycle.identity import RepositoryId

JSON = str | int | float | bool | None | Sequence["JSON"] | Mapping[str, "JSON"]
"""What JSON can hold."""

Record = Mapping[str, JSON]
"""What one comment remembers; `kind` says how to read the rest."""

_RECORD = re.compile(r"<!-- porchbot:record (\{[ !-;=?-~]*\}) ([0-9a-f]{64}) -->")
_LAST_RECORD = re.compile(rf"(?:\n\n)?{_RECORD.pattern}\s*\Z")
_MARKER = re.compile(r"<!-- porchbot:summary ([A-Za-z0-9._]+(?:-[A-Za-z0-9._]+)*) -->\n?")

_MOST_RECORDS = 100
"""Records read from one comment; we write one, so more is somebody's attempt to keep us busy."""

_AWKWARD = re.compile("[-<>&@#`]")
# "--" and ">" end an HTML comment, the others mean something to a forge.

_ESCAPES = {char: f"\\u{ord(char):04x}" for char in "-<>&@#`"}
_NEGATIVE = re.compile(r"[\[:,]-[0-9]|[eE]-")
# Where a number may be negative, or its exponent; a string may look like that as well.


_PEM = re.compile(r"-----BEGIN ([A-Z ]+)-----\n([A-Za-z0-9+/=\n]+)\n-----END \1-----")


# --- keys -----------------------------------------------------------------------------------------


def derive_key(private_key_pem: bytes) -> bytes:
    """Derive the MAC key from the App's private key, 32 bytes, by HKDF with SHA-256.

    The way the file is wrapped (line ends, blank lines at its ends) makes no difference.

    Raises:
        ValueError: It is not PEM. The text of the key is not in the message.

    Source: RFC 5869.
    """
    lines = [line.strip() for line in private_key_pem.decode("ascii", "replace").split("\n")]
    found = _PEM.fullmatch("\n".join(line for line in lines if line))
    try:
        secret = base64.b64decode(found[2].replace("\n", ""), validate=True) if found else b""
    except binascii.Error:
        secret = b""
    if not secret:
        raise ValueError(
            "the App's private key: it is not PEM. Give the file that GitHub let you download."
        )
    extracted = hmac.digest(b"porchbot", secret, "sha256")
    return hmac.digest(extracted, b"porchbot records 1\x01", "sha256")


def key_of(key: bytes, instance: str) -> bytes:
    """Return the key of one of several bots on one repository.

    With the same App, or the same machine user, both have one key: what the one signed is none of
    the other's records, renderings and tags then.

    Args:
        key: From `derive_key`.
        instance: Name of the bot; "" for the one without a name of its own.
    """
    return (
        hmac.digest(key, b"porchbot instance\n" + instance.encode(), "sha256") if instance else key
    )


# --- hidden records -------------------------------------------------------------------------------


def sign(record: Record, key: bytes) -> str:
    """Write a record as an HTML comment on one line; the same record gives the same text.

    Args:
        record: Names to JSON values.
        key: From `derive_key`.
    """
    text = _canonical(record)
    return f"<!-- porchbot:record {text} {_mac(key, 'record', text)} -->"


def holds_one(body: str) -> bool:
    """Tell whether a text holds what looks like a record, whoever made it; for who only looks."""
    return _RECORD.search(body) is not None


def length(record: Record) -> int:
    """Return the characters of a record in a comment, its MAC and an empty line included."""
    return len(_canonical(record)) + 120


def read(body: str, keys: Sequence[bytes]) -> tuple[Record, ...]:
    """Read the records in a comment that one of our keys made, in their order.

    Args:
        body: Markdown as the forge gives it.
        keys: The current key and older ones.
    """
    found = list(_RECORD.finditer(body))
    if len(found) > _MOST_RECORDS:
        return ()
    return tuple(
        json.loads(match[1]) for match in found if _valid(keys, "record", match[1], match[2])
    )


def read_about(
    body: str, keys: Sequence[bytes], repository_id: RepositoryId, number: int
) -> tuple[Record, ...]:
    """Read the records of a comment that were made for the proposal that it stands under.

    Nobody can carry one over from another proposal or repository.

    Args:
        body: Markdown as the forge gives it.
        keys: The current key and older ones.
        repository_id: Which repository.
        number: Of the proposal.
    """
    return tuple(
        record
        for record in read(body, keys)
        if identity.read(record.get("repository")) == repository_id
        and record.get("number") == number
    )


def carries_any(body: str) -> bool:
    """Tell whether a comment has a summary's marker or a record at all; anybody can write one."""
    return is_summary(body) or _RECORD.search(body) is not None


def visible(body: str) -> str:
    """Return a comment of ours without the summary's marker and the record at its end.

    Gives back exactly the text around which they were put.
    """
    text = _MARKER.sub("", body.replace("\r\n", "\n"), count=1) if is_summary(body) else body
    return _LAST_RECORD.sub("", text.replace("\r\n", "\n"))


def summary_marker(instance: str) -> str:
    """Return the hidden line at the very start of a summary comment.

    Args:
        instance: Tells several bots on one repository apart: letters, digits, ".", "_" and single
            "-" between them.

    Raises:
        ValueError: The instance holds anything else.
    """
    marker = f"<!-- porchbot:summary {instance} -->"
    if not _MARKER.fullmatch(marker):
        raise ValueError(
            f"instance {instance!r}: not a plain name. Use letters, digits and single dashes."
        )
    return marker


def is_summary(body: str, instance: str | None = None) -> bool:
    """Tell whether a comment carries the summary's marker; the caller checks that we wrote it.

    Args:
        body: Markdown as the forge gives it.
        instance: Accept this one only; None for any.
    """
    found = _MARKER.match(body)
    return found is not None and instance in (None, found[1])


# --- marks on render commits ----------------------------------------------------------------------

_MARK = re.compile(
    r"^(?:Porchbot-Asked-By: ([^\n\r]+)\n)?Porchbot-Render: ([0-9a-f]{64})[ \t\r]*$", re.MULTILINE
)
_TOLD = re.compile(r"^Porchbot-(?!Render: |Asked-By: )[A-Za-z-]+: [^\n\r]*", re.MULTILINE)
"""Our other lines: what a commit of ours says of itself, which its mark covers."""


def render_mark(
    key: bytes,
    parent: str,
    tree: str,
    repository_id: RepositoryId,
    asker: str = "",
    told: Sequence[str] = (),
) -> str:
    """Return the signed line of a render commit of ours: it fits one parent, tree and repository.

    Args:
        key: From `derive_key`.
        parent: The commit that was rendered; of a merge both, with a space between.
        tree: The tree of the rendering.
        repository_id: Which repository.
        asker: Whoever asked for it, in a line of its own; "" when nobody did.
        told: The other lines that it says something with.
    """
    mac = _mac(key, "render", _rendering(parent, tree, repository_id, asker, told))
    return (f"Porchbot-Asked-By: {asker}\n" if asker else "") + f"Porchbot-Render: {mac}"


def mark_message(
    message: str, key: bytes, parent: str, tree: str, repository_id: RepositoryId, asker: str = ""
) -> str:
    """Put the mark into a commit message, before the trailers at its end."""
    text = message.rstrip("\n")
    head, trailers = text, ""
    while (last := head.rpartition("\n"))[2].startswith("kpt:"):
        head, trailers = last[0], f"{last[2]}\n{trailers}"
    mark = render_mark(key, parent, tree, repository_id, asker, _TOLD.findall(text))
    return f"{head.rstrip()}\n\n{mark}\n\n{trailers}".rstrip("\n") + "\n"


def render_asker(
    message: str, keys: Sequence[bytes], *, parent: str, tree: str, repository_id: RepositoryId
) -> str | None:
    """Return who asked for a render commit of ours: "" for nobody; None when it is not ours.

    Args:
        message: The commit's message.
        keys: The current key and older ones.
        parent: The commit's only parent.
        tree: The commit's tree.
        repository_id: Which repository.
    """
    told = _TOLD.findall(message)[:_MOST_RECORDS]
    for asker, mac in _MARK.findall(message)[:_MOST_RECORDS]:
        # Versions before this one left out what else is said.
        for lines in (told, ()):
            if _valid(keys, "render", _rendering(parent, tree, repository_id, asker, lines), mac):
                return str(asker)
    return None


def claimed_askers(message: str) -> list[str]:
    """Return whoever asked for a commit by what it says, whether its mark holds or not.

    It holds no more where the forge made the commit anew on another parent.
    """
    return [asker for asker, _ in _MARK.findall(message)[:_MOST_RECORDS] if asker]


def is_sealed(
    message: str, keys: Sequence[bytes], *, parent: str, tree: str, repository_id: RepositoryId
) -> bool:
    """Tell whether the mark of a commit of ours covers all that its message says in our lines.

    That of a version before this one did not: somebody may have put them in.

    Args:
        message: As for `render_asker`.
        keys: As there.
        parent: As there.
        tree: As there.
        repository_id: As there.
    """
    told = _TOLD.findall(message)[:_MOST_RECORDS]
    return any(
        _valid(keys, "render", _rendering(parent, tree, repository_id, asker, told), mac)
        for asker, mac in _MARK.findall(message)[:_MOST_RECORDS]
    )


def _rendering(
    parent: str, tree: str, repository_id: RepositoryId, asker: str, told: Sequence[str]
) -> str:
    more: list[JSON] = [asker] if asker else []
    return _canonical([repository_id.spelled, parent, tree, *more, *([list(told)] if told else [])])


# --- marks on tags --------------------------------------------------------------------------------

_TAG_MARK = re.compile(r"^Porchbot-Tag: ([0-9a-f]{64})[ \t\r]*$", re.MULTILINE)


def mark_tag(
    message: str,
    key: bytes,
    *,
    repository_id: RepositoryId,
    package: str,
    revision: int,
    commit: str,
    tree: str,
) -> str:
    """Put our signed line into a tag's message.

    Args:
        message: Of the tag.
        key: From `derive_key`.
        repository_id: Which repository.
        package: Path of the package.
        revision: Its number.
        commit: The commit that is tagged.
        tree: The package's tree at that commit.
    """
    mac = _mac(key, "tag", _canonical([repository_id.spelled, package, revision, commit, tree]))
    return f"{message.rstrip()}\nPorchbot-Tag: {mac}\n"


def carries_tag_mark(message: str) -> bool:
    """Tell whether a tag carries a mark at all; anybody can write one."""
    return _TAG_MARK.search(message) is not None


def has_tag_mark(
    message: str,
    keys: Sequence[bytes],
    *,
    repository_id: RepositoryId,
    package: str,
    revision: int,
    commit: str,
    tree: str,
) -> bool:
    """Tell whether a tag carries a mark that one of our keys made for exactly this revision."""
    text = _canonical([repository_id.spelled, package, revision, commit, tree])
    macs = _TAG_MARK.findall(message)[:_MOST_RECORDS]
    return any(_valid(keys, "tag", text, mac) for mac in macs)


# --- trailers -------------------------------------------------------------------------------------


def trailer(package: str, workspace: str, revision: int | None, task: Record | None) -> str:
    r"""Write a trailer, byte for byte as Porch does; one line without its end.

    Empty values are left out, the order is Porch's, `<`, `>` and `&` are escaped as Go does. The
    revision is text, as in the commits that Porch writes and reads
    (docs/design.md, "Porch: branches, tags and trailers").
    """
    said: dict[str, JSON] = {
        "package": package,
        "workspaceName": workspace,
        "revision": "" if revision is None else str(revision),
        "task": task,
    }
    kept = {name: value for name, value in said.items() if value}
    text = json.dumps(kept, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return "kpt:" + re.sub("[<>&\u2028\u2029\ud800-\udfff]", _escaped, text)


# --- pieces ---------------------------------------------------------------------------------------


def _canonical(value: JSON) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    if not _NEGATIVE.search(text):  # then what is awkward stands in strings
        for char, escaped in _ESCAPES.items():
            if char in text:
                text = text.replace(char, escaped)
        return text
    return re.sub(r'"(?:[^"\\]|\\.)*"', lambda match: _AWKWARD.sub(_escaped, match[0]), text)


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def _mac(key: bytes, use: str, text: str) -> str:
    # What it is for goes into the MAC, so that a mark can never be passed off as a record.
    return hmac.digest(key, f"{use}\n{text}".encode(), hashlib.sha256).hex()


def _valid(keys: Sequence[bytes], use: str, text: str, mac: str) -> bool:
    return any(hmac.compare_digest(_mac(key, use, text), mac) for key in keys)
