"""Checks of commits on GitHub: check runs, statuses, and which of them a branch requires."""

import asyncio
import hashlib
import json
from typing import Any
from urllib.parse import quote

from bot.forges.github.calls import Calls
from bot.forges.github.fields import time
from bot.forges.github.http import JSONObject, pages
from bot.forges.marks import NAMED, digest_of, external, own, spelled
from bot.forges.port import (
    UNREAD,
    Context,
    ForgeMissingError,
    ForgeRefusedError,
    ForgeUnreadableError,
    RequiredCheck,
)
from lifecycle.actions import SetCheck
from lifecycle.facts.checks import Button, CheckRun, CheckState, Conclusion, Status
from lifecycle.messages.checks import button as button_texts
from lifecycle.messages.findings import annotation
from lifecycle.messages.markdown import CUT
from lifecycle.names import Sha
from lifecycle.owners import PLAIN
from lifecycle.terms import AS_WRITTEN

ANNOTATIONS = 50
"""Annotations that one request may carry (docs/design.md, "GitHub: checks and statuses")."""

SUMMARY_BYTES, MESSAGE_BYTES, TITLE_BYTES = 65_535, 64 * 1024, 255
"""Bytes, not characters, of a check's summary, an annotation's message and a title
(docs/design.md, "GitHub: checks and statuses")."""

UNFINISHED = "unfinished"
"""Stands in the place of the digest while a run lacks annotations."""

MOST_STATUSES = 300
"""Commit statuses that are read of one commit: three requests. Whoever may write can put many."""

BOT = "[bot]"
"""Ends the login of an App; no person's login has brackets."""

_REVIEWED = "pull_request"
"""The rule that asks for reviews."""

_MERGE_SETTINGS = ("allow_", "archived", "permissions")
"""Begin the fields of a repository that say what may be merged, and by us."""

_LEVEL = {"error": "failure", "warning": "warning", "info": "notice"}

_PASSING = frozenset({"success", "neutral", "skipped"})
"""Conclusions that GitHub lets pass where a check is required."""

_SPELLED = {
    Status.IN_PROGRESS: "in_progress",
    Status.COMPLETED: "completed",
    Conclusion.SUCCESS: "success",
    Conclusion.FAILURE: "failure",
    Conclusion.NEUTRAL: "neutral",
}


class CheckRuns(Calls):
    """Checks of one repository."""

    checks_hold_text = True
    owners = PLAIN
    tells_objections = True
    terms = AS_WRITTEN

    async def checks(self, head: Sha) -> tuple[CheckRun, ...]:
        """The newest check run of each name and App."""
        app_id, instance = await self._app.number(), self._app.instance
        path = f"{self._path}/commits/{head}/check-runs"
        listed = pages(self._pool, "read the check runs", path, key="check_runs", filter="latest")
        return tuple([_check(data, app_id, instance) async for data in listed])

    async def statuses(self, head: Sha) -> dict[Context, CheckState]:
        """Commit statuses by context; not read where the App was not given the permission.

        What a branch requires of anybody is then unknown, so that proposals to it wait, and no
        other.
        """
        path = f"{self._path}/commits/{head}/status"
        listed = pages(self._pool, "read the commit statuses", path, key="statuses")
        try:
            return {str(s["context"]): state_of(s) async for s in listed}
        except ForgeRefusedError:
            if await self._may_read_statuses():
                raise
            return {UNREAD: CheckState.UNKNOWN}

    async def _may_read_statuses(self) -> bool:
        """Whether the App has the permission, as far as that is known."""
        granted = await self._app.permissions(self._repository.installation)
        return granted is None or "statuses" in granted

    def standing(self, number: int) -> dict[Context, CheckState]:
        """Nothing: all that is required of a pull request is required of its head."""
        del number
        return {}

    async def statuses_by(self, head: Sha) -> dict[tuple[Context, Context], CheckState]:
        """As the port has it: GitHub lists all that were put, the newest first.

        Without the permission any context may have failed.
        """
        try:
            return await self._statuses_by(head)
        except ForgeRefusedError:
            if await self._may_read_statuses():
                raise
            return {(UNREAD, UNREAD): CheckState.UNKNOWN}

    async def _statuses_by(self, head: Sha) -> dict[tuple[Context, Context], CheckState]:
        path = f"{self._path}/commits/{head}/statuses"
        listed = pages(self._pool, "read who put the commit statuses", path)
        found: dict[tuple[Context, Context], CheckState] = {}
        count = 0
        async for each in listed:
            login = str((each["creator"] or {}).get("login", ""))
            app = login.removesuffix(BOT) if login.endswith(BOT) else ""
            found.setdefault((str(each["context"]), app), state_of(each))
            count += 1
            if count >= MOST_STATUSES:
                return found | await self._unread(head)
        return found

    async def _unread(self, head: Sha) -> dict[tuple[Context, Context], CheckState]:
        """Of which contexts there may be more: whoever floods a commit hides nothing by that."""
        path, unread = f"{self._path}/commits/{head}/status", set[Context]()
        async for each in pages(self._pool, "read the commit statuses", path, key="statuses"):
            unread.add(str(each["context"]))
            if len(unread) >= MOST_STATUSES:
                unread = {UNREAD}
                break
        return {(context, UNREAD): CheckState.UNKNOWN for context in unread}

    async def set_check(self, check: SetCheck) -> None:
        """Make or update a check run; annotations beyond 50 follow in requests of their own.

        Only the last of them carries the digest: a run that lacks some is made anew.
        """
        body, *rest = bodies(check)
        body["name"] = spelled(check.name, self._app.instance)
        for each in (body, *rest):
            if "external_id" in each:
                each["external_id"] = external(each["external_id"], self._app.instance)
        if check.run is None:
            body["head_sha"] = check.head
            made = await self._send("make a check run", "POST", "/check-runs", body)
            run = int(made["id"])
        else:
            run = check.run
            await self._send("update a check run", "PATCH", f"/check-runs/{run}", body)
        for more in rest:
            await self._send("add annotations", "PATCH", f"/check-runs/{run}", more)

    async def required_checks(self, branch: str) -> tuple[RequiredCheck, ...]:
        """What a branch requires: rulesets and classic protection are told apart, and each alone.

        Both answers are readable with what every App may read
        (docs/design.md, "GitHub: checks and statuses").
        """
        app_id, by_rules, by_protection = await asyncio.gather(
            self._app.number(),
            self._required_by_rules(branch),
            self._required_by_protection(branch),
        )
        # Rulesets write -1, or nothing, where it may come from any App.
        found = {(name, app if app and app > 0 else None) for name, app in by_rules | by_protection}
        instance = self._app.instance
        checks = [_required(name, app, app_id, instance) for name, app in found]
        return tuple(sorted(checks, key=lambda check: (check.name, check.source or 0)))

    async def required_reviews(self, branch: str) -> int:
        """By rulesets; classic protection tells its number to administrators only."""
        found = [each for each in await self._branch_rules(branch) if each["type"] == _REVIEWED]
        name = "required_approving_review_count"
        return max((int(each["parameters"].get(name) or 0) for each in found), default=0)

    async def rules(self, branch: str) -> str:
        """Digest of rulesets, protection, settings and our permissions.

        Of classic protection an App without administration sees the required checks alone.
        """
        listed = await self._branch_rules(branch)
        found = [[rule["type"], rule.get("parameters")] for rule in listed]
        repository, permissions, protection = await asyncio.gather(
            self._get("read the repository", ""),
            self._app.permissions(self._repository.installation),
            self._required_by_protection(branch),
        )
        settings = {k: v for k, v in repository.items() if k.startswith(_MERGE_SETTINGS)}
        told = [found, settings, permissions, sorted(protection, key=repr)]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()

    async def _required_by_rules(self, branch: str) -> set[tuple[str, int | None]]:
        found: set[tuple[str, int | None]] = set()
        for rule in await self._branch_rules(branch):
            if rule["type"] == "required_status_checks":
                found |= {
                    (str(check["context"]), check.get("integration_id"))
                    for check in rule["parameters"]["required_status_checks"]
                }
        return found

    async def _required_by_protection(self, branch: str) -> set[tuple[str, int | None]]:
        wanted = "read the base branch"
        try:
            data = await self._get(wanted, f"/branches/{quote(branch, safe='')}")
        except ForgeMissingError:
            return set()  # a base branch that is gone protects nothing
        # What is no branch, or half of one, does not say that nothing is required.
        if not {"name", "protection"} <= data.keys():
            raise ForgeUnreadableError(wanted, "its answer is no branch")
        if data["name"] != branch:
            return set()  # it was renamed, and GitHub led on to what it is called now
        required = (data["protection"] or {}).get("required_status_checks") or {}
        if required.get("enforcement_level") == "off":
            return set()
        checks = required.get("checks") or []
        named = {str(check["context"]) for check in checks}
        # Older servers tell `contexts` only.
        more = {str(context) for context in required.get("contexts") or []} - named
        return {(context, None) for context in more} | {
            (str(check["context"]), check.get("app_id")) for check in checks
        }


def _required(name: str, app: int | None, app_id: int, instance: str) -> RequiredCheck:
    ours = own(name, instance)
    reportable = app in (None, app_id) and (bool(ours) or not NAMED.fullmatch(name))
    return RequiredCheck(ours if ours and reportable else name, app, reportable)


def state_of(status: JSONObject) -> CheckState:
    """What a commit status says."""
    return CheckState("failure" if status["state"] == "error" else str(status["state"]))


def _check(data: JSONObject, app_id: int, instance: str) -> CheckRun:
    named, digest = digest_of(str(data["external_id"] or ""))
    made_by, completed = int((data["app"] or {}).get("id", 0)), data["status"] == "completed"
    passed = Conclusion.SUCCESS if data["conclusion"] in _PASSING else Conclusion.FAILURE
    ours = own(str(data["name"]), instance) if made_by == app_id and named == instance else ""
    if ours and data["conclusion"] == "neutral":  # of observing: it says of nothing that it holds
        passed = Conclusion.NEUTRAL
    return CheckRun(
        id=int(data["id"]),
        name=ours or str(data["name"]),
        status=Status.COMPLETED if completed else Status.IN_PROGRESS,
        conclusion=passed if completed else None,
        digest=digest,
        completed_at=time(data["completed_at"]) if data["completed_at"] else None,
        ours=bool(ours),
        source=made_by,
        app=str((data["app"] or {}).get("slug") or ""),
    )


def bodies(check: SetCheck) -> list[JSONObject]:
    """What a check is made or updated with, and then what adds its further annotations.

    The digest comes last: until it is there, something is missing.
    """
    batches = [
        [_annotation(f) for f in check.annotations[at : at + ANNOTATIONS]]
        for at in range(0, max(1, len(check.annotations)), ANNOTATIONS)
    ]
    body: JSONObject = {
        "name": check.name,
        "status": _SPELLED[check.status],
        "external_id": check.digest if len(batches) == 1 else UNFINISHED,
        "output": _output(check, batches[0]),
    }
    if check.buttons or check.run is not None:
        body["actions"] = [_button(button) for button in check.buttons]
    if check.status is Status.COMPLETED and check.conclusion:
        body["conclusion"] = _SPELLED[check.conclusion]
    more: list[JSONObject] = [{"output": _output(check, batch)} for batch in batches[1:]]
    if more:
        more[-1]["external_id"] = check.digest
    return [body, *more]


def _button(button: Button) -> JSONObject:
    """A button as GitHub shows it: 20, 40 and 20 characters at most."""
    label, description = button_texts(button)
    return {"label": label, "description": description, "identifier": button.value}


def _output(check: SetCheck, annotations: list[JSONObject]) -> JSONObject:
    text = {"text": _cut(check.text, SUMMARY_BYTES)} if check.text else {}
    return text | {
        "title": _cut(check.title, TITLE_BYTES),
        "summary": _cut(check.summary, SUMMARY_BYTES),
        "annotations": annotations,
    }


def _annotation(finding: Any) -> JSONObject:
    line = finding.place.line or 1
    return {
        "path": finding.place.path,
        "start_line": line,
        "end_line": line,
        "annotation_level": _LEVEL[finding.severity.value],
        "message": _cut(annotation(finding), MESSAGE_BYTES),
        "title": _cut(finding.function or "porchbot", TITLE_BYTES),
    }


def _cut(text: str, most: int) -> str:
    """At most so many bytes of UTF-8, with a note where something was left out."""
    data = text.encode("utf-8", "replace")
    if len(data) <= most:
        return data.decode()
    kept = data[: most - len(CUT.encode())].decode("utf-8", "ignore")
    return kept + CUT
