"""Checks of the simulated forge as the bot has them."""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from bot.forges.github.checks import bodies
from bot.forges.port import (
    UNREAD,
    Context,
    ForgeMissingError,
    ForgeRefusedError,
    RequiredCheck,
)
from bot.sandbox.errors import RefusedError
from bot.sandbox.records.checks import Annotation
from bot.sandbox.rules.accounts import Caller
from bot.sandbox.rules.checks import CheckRunFields
from bot.sayable import sayable
from lifecycle.actions import SetCheck
from lifecycle.facts.checks import CheckRun, CheckState
from lifecycle.names import Sha
from tests.simulation.forge_asking import REPO, Asking


class CheckRuns(Asking):
    """Implements what `bot.forges.port.Forge` has about them."""

    async def checks(self, head: Sha) -> tuple[CheckRun, ...]:
        def read(_: Caller) -> tuple[CheckRun, ...]:
            found: tuple[CheckRun, ...] = self._at(("runs", self._number, head), ())
            return found

        return await self._get("checks", f"GET {REPO}/commits/{{ref}}/check-runs", read, head)

    async def statuses(self, head: Sha) -> dict[Context, CheckState]:
        def read(_: Caller) -> dict[Context, CheckState]:
            found: dict[str, str] = self._at(("statuses", self._number, head), {})
            return {
                context: CheckState("failure" if state == "error" else state)
                for context, state in found.items()
            }

        operation = f"GET {REPO}/commits/{{ref}}/status"
        try:
            return await self._get("statuses", operation, read, head)
        except ForgeRefusedError:
            if self._may_read_statuses():
                raise
            return {UNREAD: CheckState.UNKNOWN}

    def _may_read_statuses(self) -> bool:
        """As the adapter asks, where it was refused."""
        installation = self._state.data.installations[self._repository.installation]
        return "statuses" in installation.permissions

    def standing(self, number: int) -> dict[Context, CheckState]:
        del number
        return {}

    async def statuses_by(self, head: Sha) -> dict[tuple[Context, Context], CheckState]:
        def read(_: Caller) -> dict[tuple[Context, Context], CheckState]:
            found: dict[tuple[Context, Context], CheckState] = {}
            for made in self._state.checks.statuses_on(self._repo, head, latest=False):
                app = made.creator.app.slug if made.creator.app else ""
                state = CheckState("failure" if made.state == "error" else made.state)
                found.setdefault((made.context, app), state)
            return found

        operation = f"GET {REPO}/commits/{{ref}}/statuses"
        try:
            return await self._get("statuses_by", operation, read, head)
        except ForgeRefusedError:
            if self._may_read_statuses():
                raise
            return {(UNREAD, UNREAD): CheckState.UNKNOWN}

    async def set_check(self, check: SetCheck) -> None:
        body, *rest = bodies(check)
        run = check.run
        if run is None:

            def make(_: Caller) -> int:
                app = self._forge.app
                return self._state.checks.create(self._repo, app, check.head, _wish(body)).id

            run = await self._put("set_check", f"POST {REPO}/check-runs", make, check.head)
        else:
            await self._update_check(run, body, check.head, 0)
        for step, more in enumerate(rest, 1):
            await self._update_check(run, more, check.head, step)

    async def _update_check(
        self, number: int, body: Mapping[str, Any], head: Sha, step: int
    ) -> None:
        def update(_: Caller) -> None:
            found = self._state.checks.find(self._repo, number)
            if found.suite.app is not self._forge.app:
                raise RefusedError(403, "check run can only be modified by its App.")
            self._state.checks.update(found, _wish(body))
            self._state.touch_commit(self._repo, found.head_sha)

        operation = f"PATCH {REPO}/check-runs/{{check_run_id}}"
        await self._put("set_check", operation, update, head, step=step)

    async def required_checks(self, branch: str) -> tuple[RequiredCheck, ...]:
        rules, us = self._state.rules, self._forge.app.id

        def by_rules(_: Caller) -> set[tuple[str, int | None]]:
            sets = rules.rulesets(self._repo, f"refs/heads/{branch}")
            return {check for ruleset in sets for check in ruleset.required_checks}

        def by_protection(_: Caller) -> set[tuple[str, int | None]]:
            found = rules.protection(self._repo, branch) if self._repo.branch(branch) else None
            return set(found.required_checks) if found else set()

        name, operation = "required_checks", f"GET {REPO}/rules/branches/{{branch}}"
        found = await self._get(name, operation, by_rules, branch)
        operation = f"GET {REPO}/branches/{{branch}}"
        with suppress(ForgeMissingError):
            found |= await self._get(name, operation, by_protection, branch, step=1)
        checks = [RequiredCheck(name, app, app in (None, us)) for name, app in found]
        return tuple(sorted(checks, key=lambda check: (check.name, check.source or 0)))

    async def required_reviews(self, branch: str) -> int:
        def read(_: Caller) -> int:
            sets = self._state.rules.rulesets(self._repo, f"refs/heads/{branch}")
            return max((each.required_reviews for each in sets), default=0)

        operation = f"GET {REPO}/rules/branches/{{branch}}"
        return await self._get("required_reviews", operation, read, branch)

    async def rules(self, branch: str) -> str:
        if not branch:
            return ""

        def read(caller: Caller) -> str:
            rules, allowed = self._state.rules, caller.token.permissions if caller.token else {}
            sets = rules.rulesets(self._repo, f"refs/heads/{branch}")
            found = sets, rules.protection(self._repo, branch), self._repo.archived, allowed
            return hashlib.sha256(repr(found).encode()).hexdigest()

        return await self._get("rules", f"GET {REPO}/rules/branches/{{branch}}", read, branch)


def _wish(body: Mapping[str, Any]) -> CheckRunFields:
    """What the body of a request asks of a check run."""
    output = body.get("output", {})
    return CheckRunFields(
        name=body.get("name"),
        status=body.get("status"),
        conclusion=body.get("conclusion"),
        external_id=body.get("external_id"),
        title=output.get("title"),
        summary=output.get("summary"),
        text=output.get("text"),
        annotations=[Annotation(**sayable(note)) for note in output.get("annotations", ())],
        actions=body.get("actions"),
    )
