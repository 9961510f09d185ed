"""The logs of the webhooks of all projects: what GitLab could not bring, listed and read.

Each webhook has a log of its own, kept for some days, and numbers in them count for the instance as
a whole. The log says no secret, and comes to us by our own token: it needs no second one. Whoever
maintains a project writes what its webhooks send, so an entry counts for that project alone.

Whoever maintains a project may also change our webhook there, or remove it: where that was seen, it
is set again, with its secret.

Source: https://docs.gitlab.com/api/project_webhooks/#list-all-events-for-a-project-webhook
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import structlog

from bot.forges.gitlab import pages as paging
from bot.forges.gitlab.deliveries import delivery_id, read_verified
from bot.forges.gitlab.events import is_heard, kind_of
from bot.forges.gitlab.hooks import PROJECT, HookOwner, OurHooks
from bot.forges.gitlab.http import ASK_OPERATOR, JSONObject, call
from bot.forges.gitlab.user import GitLabUser
from bot.forges.port import (
    FailedDeliveries,
    FailedDelivery,
    ForgeBusyError,
    ForgeMissingError,
    ForgeRefusedError,
    LoggedDelivery,
    Repository,
)
from bot.forges.webhooks import WebhookError
from bot.sayable import sayable

log = structlog.get_logger()

_WANTED = "read the log of a webhook"
MOST_KEPT = 32 * 1024**2
"""Bytes of what was sent that are kept from when it is listed until it is taken in."""

SHARE = 2 * 1024**2
"""Bytes of these that one project may take; what is not kept is asked for again."""

LATER = (0, 20, 40)
"""Where an entry is looked for again, behind its place: each that comes moves the others on."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an entry was listed.

    Attributes:
        project: The project's number.
        hook: The webhook's.
        at: How many stood before it.
    """

    project: int
    hook: int
    at: int

    @property
    def path(self) -> str:
        """Of the log."""
        return f"/projects/{self.project}/hooks/{self.hook}/events"


class _Kept:
    """Entries of the page that was listed last; each project has a share of the room."""

    def __init__(self) -> None:
        self.places: dict[int, _Place] = {}
        self._entries: dict[int, JSONObject] = {}
        self._sizes: dict[int, int] = {}
        self._bytes = 0

    def get(self, number: int) -> JSONObject | None:
        """The entry of that number; None where it is not kept."""
        return self._entries.get(number)

    def add(self, place: _Place, tried: JSONObject, size: int) -> None:
        """Remember where an entry is, and keep it where there is room."""
        number, used = int(tried["id"]), self._sizes.get(place.project, 0)
        self.places[number] = place
        if used + size <= SHARE and self._bytes + size <= MOST_KEPT:
            kept = ("request_headers", "request_data")
            self._entries[number] = {name: tried.get(name) for name in kept}
            self._sizes[place.project] = used + size
            self._bytes += size

    def again(self, project: int, found: Mapping[int, JSONObject]) -> None:
        """Keep other entries of a project, oldest first as they are read, in the place of those."""
        for number in [n for n in self._entries if self.places[n].project == project]:
            del self._entries[number]
        self._bytes -= self._sizes.pop(project, 0)
        for number in sorted(self.places.keys() & found):
            self.add(self.places[number], found[number], len(_sent(found[number])[1]))


class DeliveryLog:
    """Reads the logs.

    Args:
        user: Who we are.
        ours: Our webhooks, which are set again where somebody changed them; the others are left
            alone. None for any, as it is.
    """

    def __init__(self, user: GitLabUser, ours: OurHooks | None = None) -> None:
        self._user = user
        self._ours = ours
        self._kept = _Kept()

    async def failed(self, projects: Sequence[Repository], page: str) -> FailedDeliveries:
        """A page of each log, what was not accepted alone, newest first.

        Args:
            projects: Those whose webhooks are meant.
            page: Which page of each log; "" for the first.
        """
        self._kept = _Kept()
        found: list[FailedDelivery] = []
        more, read = False, not projects
        broken: ForgeBusyError | None = None
        for project in projects:
            name = project.full_name
            try:
                full, tries = await self._failed_of(project, page or "1")
            except ForgeRefusedError as error:
                log.warning("log of a webhook not read", project=name, reason=str(error))
                continue
            except ForgeBusyError as error:
                if error.after:
                    raise  # asked too much: so would the next one be
                log.warning("log of a webhook not read", project=name, reason=str(error))
                broken = error
                continue
            more, read, found = more or full, True, found + tries
        if broken is not None and not read:
            raise broken  # the instance answers nobody
        found.sort(key=lambda tried: tried.number, reverse=True)
        return FailedDeliveries(tuple(found), str(int(page or "1") + 1) if more else "")

    async def _failed_of(
        self, repository: Repository, page: str
    ) -> tuple[bool, list[FailedDelivery]]:
        """Whether a page of a project's logs is full, and what was not accepted on it."""
        found: list[FailedDelivery] = []
        full, project = False, repository.id.number
        for hook in await self._hooks(repository):
            place = _Place(project, hook, (int(page) - 1) * paging.SIZES[0])
            told, more = await paging.page(self._user.clients, _WANTED, place.path, int(page))
            full = full or more
            for before, each in enumerate(told):
                try:
                    found += [] if _accepted(each) else [self._listed(each, place, before)]
                except (AttributeError, KeyError, TypeError, ValueError, WebhookError) as error:
                    log.warning("logged delivery not read", hook=hook, reason=repr(error))
        return full, found

    async def read(self, number: int) -> LoggedDelivery | None:
        """One of those that were listed, with what it says; None where we make no sense of it.

        Raises:
            ForgeMissingError: It is not among those that were listed last, or not in the log now.
        """
        place = self._kept.places.get(number)
        tried = None if place is None else await self._entry(number, place)
        if place is None or tried is None:
            raise ForgeMissingError(
                "read a delivery", f"no delivery {number} was listed", ASK_OPERATOR
            )
        headers, body = _sent(tried)
        try:
            me, speaker = await self._user.identity(), HookOwner(PROJECT, place.project)
            delivery = read_verified(self._user.name, headers, body, me, speaker)
        except WebhookError as error:
            log.warning("logged delivery not read", number=number, reason=str(error))
            return None
        return LoggedDelivery(delivery.stored(self._user.name, body), delivery.wakes)

    async def _entry(self, number: int, place: _Place) -> JSONObject | None:
        """An entry as it was listed, or asked for again with newer ones; None where it is gone."""
        found = self._kept.get(number)
        if found is not None:
            return found
        for later in LATER:
            at = place.at + later
            told = await paging.around(self._user.clients, _WANTED, place.path, at)
            numbered: dict[int, JSONObject] = {e["id"]: e for e in told if _is_numbered(e)}
            after = {each: entry for each, entry in numbered.items() if each >= number}
            if number in after:
                self._kept.again(place.project, after)
                return after[number]
            if not told:
                break
        return None

    async def _hooks(self, project: Repository) -> list[int]:
        """Our webhooks of a project; none where only its maintainers are told."""
        path, ours = f"/projects/{project.id.number}/hooks", self._ours
        listed = paging.pages(self._user.clients, _WANTED, path)
        try:
            found = [each async for each in listed if ours is None or ours.is_ours(each)]
        except ForgeRefusedError:
            return []
        if ours is None:
            return [int(hook["id"]) for hook in found]
        speaker = HookOwner(PROJECT, project.id.number)
        for hook in found:
            at = f"{path}/{hook['id']}"
            if off := ours.otherwise(hook, speaker):
                # Which ones they are: what it is set to has secrets.
                await self._change("PUT", at, project, ", ".join(off), ours.settings(speaker))
            if hook.get("alert_status", "executable") != "executable":
                # One success turns it on again.
                await self._change("POST", f"{at}/test/push_events", project, "disabled")
        if not found and ours.misses(project.full_name):
            await self._change("POST", path, project, "missing", ours.settings(speaker))
        return [int(hook["id"]) for hook in found]

    async def _change(
        self,
        verb: str,
        path: str,
        project: Repository,
        was: str,
        body: Mapping[str, object] | None = None,
    ) -> None:
        """Set a webhook as it is to be; a Maintainer may."""
        try:
            await call(self._user.clients, "set a webhook", verb, path, body=body)
        except (ForgeBusyError, ForgeRefusedError) as error:
            reason = str(error)
            log.warning("webhook not set", project=project.full_name, was=was, reason=reason)
        else:
            log.info("webhook set again", project=project.full_name, was=was)

    def _listed(self, tried: JSONObject, first: _Place, before: int) -> FailedDelivery:
        headers, body = _sent(tried)
        self._kept.add(replace(first, at=first.at + before), tried, len(body))
        at = tried.get("created_at")
        return FailedDelivery(
            number=int(tried["id"]),
            guid=delivery_id(headers, body),
            # Where no time is told, it is old enough for all before it to be in the log.
            at=datetime.fromisoformat(at) if at else datetime.min.replace(tzinfo=UTC),
            heard=is_heard(kind_of(_payload(tried))),
        )


def _accepted(tried: JSONObject) -> bool:
    """Whether it was answered as GitLab counts for success; "internal error" is no answer."""
    status = str(tried.get("response_status", ""))
    return status.isdecimal() and 200 <= int(status) < 400


def _is_numbered(tried: object) -> bool:
    return isinstance(tried, Mapping) and isinstance(tried.get("id"), int)


def _payload(tried: JSONObject) -> Mapping[str, Any]:
    found = tried.get("request_data")
    return found if isinstance(found, Mapping) else {}


def _sent(tried: JSONObject) -> tuple[Mapping[str, str], bytes]:
    """Headers, names in lower case, and the body as it was, but for its spaces."""
    given = (tried.get("request_headers") or {}).items()
    headers = {str(name).lower(): str(value) for name, value in given}
    body = json.dumps(sayable(_payload(tried)), ensure_ascii=False, separators=(",", ":"))
    return {**headers, "content-type": "application/json"}, body.encode()
