"""Webhooks as the bot needs them read: a forge's reader turns bytes into keys to look at again.

Nothing of what a delivery says is believed: it wakes keys, and says what exists (the hint), so that
a look that sees less is known to be too early (docs/design.md, "Work").
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from bot.forges.port import BotIdentity
from bot.keys import BaseKey, GroupKey, Key, ProposalKey, RepositoryKey, parse
from bot.store.hints import NOTHING, Hint
from bot.store.values import Delivered
from lifecycle import names
from lifecycle.identity import RepositoryId

SPEAKER = "porchbot-speaker"
"""Whose webhook sent a delivery, as it is stored beside the headers; no forge sends that."""

MOST_HEADER = 100
"""Characters of a header with an id or a kind."""

MOST_TEXT = 1_000
"""Bytes of a text that is a part of a key: a ref on GitHub has at most 255."""


class WebhookError(Exception):
    """A delivery cannot be taken.

    Attributes:
        status: HTTP status for the answer.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One verified delivery.

    Attributes:
        id: The forge's id for it; a redelivery has the same.
        event: Its kind, in the forge's words, such as "pull_request".
        action: Such as "opened"; "" for events without one.
        repository_id: Which repository; None for what is about none.
        repository: Its full name; "" likewise.
        installation_id: Number of the installation; None when it does not say.
        sender: Login of who caused it; "" when it does not say.
        headers: Those on the forge's allow-list, which may be stored.
        wakes: Key to what the event said exists; empty for what concerns nobody.
        ignored: Why it wakes nothing, as a sentence; "" where it does.
        group: Number of the group whose webhook sent it: it counts if the repository is in there. 0
            for another webhook, which counts for the repository.
        tells_renames: No event of its own tells everybody that a repository is called otherwise, so
            that any one that calls it so does.
    """

    id: str
    event: str
    action: str
    repository_id: RepositoryId | None
    repository: str
    installation_id: int | None
    sender: str
    headers: Mapping[str, str]
    wakes: Mapping[Key, Hint]
    ignored: str = ""
    group: int = 0
    tells_renames: bool = False

    def unproved(self) -> "Delivery":
        """It, with nothing that counts but where to look."""
        kept = {name: value for name, value in self.headers.items() if name != SPEAKER}
        return replace(self, headers=kept, wakes=dict.fromkeys(self.wakes, NOTHING), group=0)

    def stored(self, forge: str, body: bytes) -> Delivered:
        """It as it is stored, with the body that it was read from."""
        return Delivered(
            guid=self.id,
            event=self.event,
            action=self.action,
            headers=self.headers,
            body=body,
            repository=self.repository_id,
            forge=forge,
            called=self.repository if self.tells_renames else "",
        )


class DeliverySignature(Protocol):
    """What a forge signed a delivery with, checked while its body comes in."""

    def update(self, part: bytes) -> None:
        """Take the next part of the body."""

    def verify(self) -> None:
        """Check the body as a whole.

        Raises:
            WebhookError: It does not match (401).
        """


class WebhookReader(Protocol):
    """Reads the deliveries of one forge."""

    @property
    def forge(self) -> str:
        """Which forge: the first part of each `RepositoryId`."""

    def read_headers(self, headers: Mapping[str, str]) -> DeliverySignature:
        """Refuse what is no delivery before anything of its body is read.

        Args:
            headers: Request headers, names in lower case.

        Raises:
            WebhookError: It is not signed (401), or no delivery (400, 415).
        """

    def read_verified(
        self, headers: Mapping[str, str], body: bytes, me: BotIdentity | None = None
    ) -> Delivery:
        """Say what to look at again, of a delivery whose signature was verified.

        Args:
            headers: Request headers, names in lower case; see `read_headers`.
            body: Request body, byte for byte as received.
            me: Who we are; None while it is not known.

        Raises:
            WebhookError: It is no delivery (400, 415).
        """


def short_header(headers: Mapping[str, str], name: str, forge: str) -> str:
    """A header that must be there, of printable ASCII.

    Args:
        headers: Names in lower case.
        name: Which.
        forge: Whose deliveries have it, for the error: "GitHub".

    Raises:
        WebhookError: It is missing, or longer than any that a forge sends (400).
    """
    value = headers.get(name, "")
    if not 0 < len(value) <= MOST_HEADER or not value.isascii() or not value.isprintable():
        raise WebhookError(400, f"{name} is missing or no short text: not {forge}'s.")
    return value


def content_type(headers: Mapping[str, str], taken: Collection[str]) -> str:
    """The content type, without its parameters.

    Args:
        headers: Names in lower case.
        taken: Those that are read.

    Raises:
        WebhookError: It is another one (415).
    """
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in taken:
        raise WebhookError(415, f"The content type is {kind[:100]}. Choose application/json.")
    return kind


def json_object(read: Callable[[], Any]) -> dict[str, Any]:
    """The payload of a delivery that was verified.

    Args:
        read: Reads it out of the body.

    Raises:
        WebhookError: It is no JSON object (400).
    """
    try:
        payload = read()
    except (ValueError, KeyError, RecursionError) as error:
        raise WebhookError(400, "The body is no JSON. It was signed, so report this.") from error
    if not isinstance(payload, dict):
        raise WebhookError(400, "The body is no JSON object. It was signed, so report this.")
    return payload


def read_with(event: str, make: Callable[[], Delivery]) -> Delivery:
    """A delivery as an adapter reads it, once it can be stored.

    Args:
        event: Its kind, as the delivery says: any text.
        make: Reads it.

    Raises:
        WebhookError: A field that is read is not there, or of another kind (400): the forge marks
            the delivery as failed, and it can be sent again once we read it.
    """
    try:
        delivery = make()
        check_storable(delivery)
    except (KeyError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        what = _ascii(error, 200)
        raise WebhookError(
            400,
            f"A {_ascii(event, MOST_HEADER)} delivery lacks a field that is needed, or has"
            f" another kind there: {what}. Report this to the makers of the bot.",
        ) from error
    return delivery


def _ascii(said: object, most: int) -> str:
    """What a sender may have chosen, for an answer and a log."""
    return str(said)[:most].encode("ascii", "backslashreplace").decode()[:most]


def wakes_of_branch(
    repository: RepositoryId, branch: str, default_branch: str, hint: Hint
) -> Iterator[tuple[Key, Hint]]:
    """What a push to a branch wakes: its proposal, what it is the base of, and the whole.

    Args:
        repository: Which.
        branch: Without `refs/heads/`.
        default_branch: The repository's.
        hint: What was pushed.
    """
    if names.group_of(branch) is not None:
        yield GroupKey(repository, branch), hint
        return
    yield ProposalKey(repository, repository.number, branch), hint
    if not branch.startswith(names.DRAFTS):
        yield BaseKey(repository, branch), NOTHING
    if branch == default_branch:
        yield RepositoryKey(repository), NOTHING


def moment(text: object) -> datetime | None:
    """A time as forges write them in deliveries; None for none.

    Args:
        text: ISO 8601, or as GitLab has it ("2026-11-21 10:00:00 UTC").
    """
    said = str(text or "").replace(" UTC", "+00:00").replace("Z", "+00:00")
    try:
        found = datetime.fromisoformat(said)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def check_storable(delivery: Delivery) -> None:
    """Refuse what no forge sends and no database takes: it would fail at every look.

    Raises:
        TypeError, ValueError: Something is no text, or no number, of a kind that is stored.
    """
    if " " in delivery.id:  # hints name it with other words, a blank between them
        raise ValueError("an id with a blank")
    repository = delivery.repository_id
    for number in (repository and repository.number, delivery.installation_id):
        if number is not None:
            _check_value(number)
    _check_value(delivery.event)
    _check_value(delivery.action)
    for key, hint in delivery.wakes.items():
        _check_value(str(key))
        if parse(str(key)) != key:
            raise ValueError("a key that cannot be read back")
        row = hint.to_json()
        for value in (value for values in row.values() for value in values):
            _check_value(value)
        if Hint.from_json(row) != hint:
            raise TypeError("a number or a text of another kind")


def _check_value(value: object) -> None:
    match value:
        case bool():
            raise TypeError("a truth value")
        case int() if not 0 <= value < 2**63:
            raise ValueError("a number out of bounds")
        case str() if "\0" in value or len(value.encode()) > MOST_TEXT:  # encode: no surrogates
            raise ValueError("a text that cannot be stored")
        case int() | str():
            return
        case _:
            raise TypeError(f"a {type(value).__name__}")
