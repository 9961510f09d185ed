"""Signed tags with their provenance: how the text of one is made, and what is checked of one.

A tag's message ends in its provenance, a DSSE envelope between two lines of ours, and that in the
SSH signature of the whole tag. Both stand in the message, so a tag that the forge's API makes is
the same object as one that is pushed, and whoever has the tag has all that speaks for it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from bot.signing import dsse, ssh
from bot.signing.allowed import Signer
from bot.signing.ssh import PublicKey, SignatureError, SigningKey
from lifecycle import names
from lifecycle.provenance import PREDICATE
from lifecycle.records import JSON

STATEMENT = "https://in-toto.io/Statement/v1"

BEGIN, END = "-----BEGIN PORCHBOT PROVENANCE-----", "-----END PORCHBOT PROVENANCE-----"

_PROVENANCE = re.compile(rf"^{BEGIN}\n([^\n]*)\n{END}$", re.MULTILINE)
_HEADERS = re.compile(
    rb"object ([0-9a-f]{40,64})\ntype (\w+)\ntag ([^\n]*)\ntagger [^\n]*> (-?\d+) "
)


class ForgedError(Exception):
    """A tag is not what it says: what is wrong, and what to do."""

    def __init__(self, problem: str, fix: str) -> None:
        super().__init__(f"{problem}. {fix}.")
        self.problem = problem
        self.fix = fix


@dataclass(frozen=True, slots=True)
class ExpectedRepository:
    """The repository that a tag has to be of, as far as it is known; a fork has the same commits.

    Attributes:
        path: Its whole path, such as "acme/blueprints"; "" where `id` tells.
        host: Host of the forge, such as "github.com"; "" where nobody told.
        id: The identity that the provenance has of it, such as "github:42"; "" where `path` tells.
        over: Which kind of address named it. "http": `path` is below the host, as the forge may be
            below a path of it. "ssh": `path` is its name, and `host` may be a name of the forge
            for SSH alone. "": no address; `path` is its name.
    """

    path: str = ""
    host: str = ""
    id: str = ""
    over: Literal["", "http", "ssh"] = ""

    def __str__(self) -> str:
        at = f" at {self.host}" if self.host else ""
        return self.id or f"{self.path}{at}"


@dataclass(frozen=True, slots=True)
class Attested:
    """A tag whose signature and provenance hold.

    Attributes:
        signer: Whose key signed it, as the file of allowed signers says.
        key: That key.
        commit: The commit that is tagged.
        predicate: What is attested.
    """

    signer: str
    key: PublicKey
    commit: str
    predicate: dict[str, Any]


def with_provenance(message: str, predicate: Mapping[str, JSON], key: SigningKey, tag: str) -> str:
    """Put the provenance at the end of a tag's message.

    Args:
        message: As it is without.
        predicate: Of `lifecycle.provenance`.
        key: Signs it.
        tag: Name of the tag, such as "net/core/v5".
    """
    statement = {
        "_type": STATEMENT,
        "subject": [{"name": tag, "digest": _digests(predicate)}],
        "predicateType": PREDICATE,
        "predicate": predicate,
    }
    return f"{message.rstrip()}\n\n{BEGIN}\n{dsse.seal(statement, key)}\n{END}\n"


def verifiable(message: str) -> bool:
    """Tell whether a tag's message has what is verified; whether that holds is not looked at."""
    return ssh.BEGIN in message and len(_PROVENANCE.findall(message)) == 1


def check(
    name: str,
    data: bytes,
    signers: Sequence[Signer],
    tree: Callable[[str], str],
    repository: ExpectedRepository,
) -> Attested:
    """Check the signature and the provenance of a tag.

    Args:
        name: Of the tag, such as "net/core/v5".
        data: The tag object.
        signers: Who may sign.
        tree: Gives the package's tree at a commit; "" where there is none.
        repository: Which repository it has to be of.

    Raises:
        ForgedError: Something does not hold.
    """
    headers = _HEADERS.match(data)
    if headers is None:
        raise ForgedError(f"tag {name} is not written as git writes tags", _REPORT)
    commit, kind, called, at = (part.decode(errors="replace") for part in headers.groups())
    if called != name:
        raise ForgedError(f"tag {name} is the tag {called} under another name", _REPORT)
    if kind != "commit":
        raise ForgedError(f"tag {name} is of a {kind}, and has to be of a commit", _REPORT)
    signer = _signed_by(name, data, signers, _time(name, at))
    predicate = _attested(name, data, signer.key, commit, tree)
    _of_repository(name, predicate.get("repository"), repository)
    return Attested(signer.principals, signer.key, commit, predicate)


def _time(name: str, seconds: str) -> datetime:
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError) as error:  # by platform and by size
        problem = f"tag {name} has a time that is none: {_shown(seconds)}"
        raise ForgedError(problem, _REPORT) from error


_REPORT = "Do not use it, and tell whoever administers the repository"
_UNSIGNED = (
    "Only tags that were made with a signing key can be verified; ask the operator of the bot"
)


def _signed_by(name: str, data: bytes, signers: Sequence[Signer], at: datetime) -> Signer:
    begins = data.rfind(f"\n{ssh.BEGIN}\n".encode()) + 1
    if not begins:
        if b"\n-----BEGIN PGP SIGNATURE-----" in data:
            raise ForgedError(f"tag {name} is signed with PGP, which porchbot does not do", _REPORT)
        raise ForgedError(f"tag {name} is not signed", _UNSIGNED)
    try:
        key = ssh.verify(data[begins:].decode("ascii", "replace"), data[:begins])
    except SignatureError as error:
        raise ForgedError(f"tag {name}: {error}", _REPORT) from error
    known = [signer for signer in signers if signer.key == key]
    if not known:
        raise ForgedError(
            f"tag {name} is signed with {key.fingerprint}, which is not among the allowed signers",
            "Compare it with the keys that the bot publishes at /allowed_signers",
        )
    for signer in known:
        if signer.counts_at(at):
            return signer
    raise ForgedError(
        f"tag {name} is signed with {key.fingerprint}, which was not allowed at the time of the tag"
        f" ({at:%Y-%m-%d})",
        _REPORT,
    )


def _attested(
    name: str, data: bytes, key: PublicKey, commit: str, tree: Callable[[str], str]
) -> dict[str, Any]:
    found = _PROVENANCE.findall(data.decode(errors="replace"))
    if not found:
        raise ForgedError(f"tag {name} has no provenance", _UNSIGNED)
    if len(found) > 1:
        raise ForgedError(f"tag {name} has {len(found)} provenances, and has to have one", _REPORT)
    try:
        statement = dsse.unseal(found[0], [key])
    except SignatureError as error:
        raise ForgedError(f"provenance of {name}: {error}", _REPORT) from error
    predicate = statement.get("predicate")
    if (statement.get("_type"), statement.get("predicateType")) != (STATEMENT, PREDICATE):
        raise ForgedError(f"provenance of {name}: it is no statement of porchbot's", _REPORT)
    if not isinstance(predicate, dict):
        raise ForgedError(f"provenance of {name}: it states nothing", _REPORT)
    package, revision = names.parse_tag(names.tag_ref(name)) or ("", 0)
    stands = {
        "package": package,
        "revision": revision,
        "commit": commit,
        "tree": tree(commit),
    }
    for what, wanted in stands.items():
        said = predicate.get(what)
        if said != wanted or type(said) is not type(wanted):
            raise ForgedError(
                f"provenance of {name}: its {what} is {_shown(said)}, and the tag's is"
                f" {_shown(wanted)}",
                _REPORT,
            )
    if statement.get("subject") != [{"name": name, "digest": _digests(predicate)}]:
        raise ForgedError(f"provenance of {name}: its subject is another one", _REPORT)
    return predicate


def _of_repository(name: str, said: object, wanted: ExpectedRepository) -> None:
    """Refuse what was published in another repository; forges' names know no upper case.

    Two forges have repositories of one name. Where the provenance is older than the host in it,
    the name alone is compared.
    """
    of = said if isinstance(said, dict) else {}
    found = ExpectedRepository(path=str(of.get("name", "")), host=str(of.get("host") or ""))
    below = str(of.get("path") or found.path)
    compared = below if wanted.over == "http" else found.path
    if wanted.id:
        found, compared = ExpectedRepository(id=str(of.get("id", ""))), ""
    hosts = {found.host.lower(), wanted.host.lower()} - {""}
    same = (compared.lower(), found.id.lower()) == (wanted.path.lower(), wanted.id.lower())
    if same and len(hosts) < 2:
        return
    told = str(found)[:200] if found.path or found.id else _UNNAMED
    fix = _ANOTHER
    if same and wanted.over == "ssh":
        fix = (
            f"If {wanted.host} is an alias in your SSH configuration or where that forge takes SSH,"
            f" give --repository https://{found.host}/{below}; otherwise do not use the tag"
        )
    raise ForgedError(f"tag {name} was published in {told}, and not in {wanted}", fix)


_ANOTHER = (
    "Do not use it, unless you know that it is the same repository, which had another name or"
    " address then, or whose forge is below a path of its host: give the id that you know it by"
    " with --repository"
)
_UNNAMED = "a repository that it does not name"


def _digests(predicate: Mapping[str, Any]) -> dict[str, Any]:
    return {"gitCommit": predicate["commit"], "gitTree": predicate["tree"]}


def _shown(value: object) -> str:
    return str(value)[:100] or "nothing"
