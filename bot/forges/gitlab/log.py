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
from datetime import UTC, datetime
from typing import Any

import structlog

from bot.forges.gitlab import pages as paging
from bot.forges.gitlab.deliveries import delivery_id, read_verified
from bot.forges.gitlab.events import is_heard, kind_of
from bot.forges.gitlab.hooks import PROJECT, OurHooks, Speaker
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
        self._tries: dict[int, JSONObject] = {}
        self._kept = 0

    async def failed(self, projects: Sequence[Repository], page: str) -> FailedDeliveries:
        """A page of each log, what was not accepted alone, newest first.

        Args:
            projects: Those whose webhooks are meant.
            page: Which page of each log; "" for the first.
        """
        if not page:
            self._tries, self._kept = {}, 0
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
            path = f"/projects/{project}/hooks/{hook}/events"
            told, more = await paging.page(self._user.clients, _WANTED, path, int(page))
            full = full or more
            for each in told:
                try:
                    found += [] if _accepted(each) else [self._listed(each, project)]
                except (AttributeError, KeyError, TypeError, ValueError, WebhookError) as error:
                    log.warning("logged delivery not read", hook=hook, reason=repr(error))
        return full, found

    async def read(self, number: int) -> LoggedDelivery | None:
        """One of those that were listed, with what it says; None where we make no sense of it.

        Raises:
            ForgeMissingError: It is not among those that were listed last.
        """
        tried = self._tries.get(number)
        if tried is None:
            raise ForgeMissingError(
                "read a delivery", f"no delivery {number} was listed", ASK_OPERATOR
            )
        headers, body = _sent(tried)
        try:
            me, speaker = await self._user.identity(), Speaker(PROJECT, tried["project"])
            delivery = read_verified(self._user.name, headers, body, me, speaker)
        except WebhookError as error:
            log.warning("logged delivery not read", number=number, reason=str(error))
            return None
        return LoggedDelivery(delivery.stored(self._user.name, body), delivery.wakes)

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
        speaker = Speaker(PROJECT, project.id.number)
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

    def _listed(self, tried: JSONObject, project: int) -> FailedDelivery:
        headers, body = _sent(tried)
        self._kept += len(body)
        if self._kept <= MOST_KEPT:  # the rest is found by the sweeps of what changed
            kept = ("request_headers", "request_data")
            entry = {name: tried.get(name) for name in kept}
            self._tries[int(tried["id"])] = {**entry, "project": project}
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


def _payload(tried: JSONObject) -> Mapping[str, Any]:
    found = tried.get("request_data")
    return found if isinstance(found, Mapping) else {}


def _sent(tried: JSONObject) -> tuple[Mapping[str, str], bytes]:
    """Headers, names in lower case, and the body as it was, but for its spaces."""
    given = (tried.get("request_headers") or {}).items()
    headers = {str(name).lower(): str(value) for name, value in given}
    body = json.dumps(sayable(_payload(tried)), ensure_ascii=False, separators=(",", ":"))
    return {**headers, "content-type": "application/json"}, body.encode()
