"""External status checks: what services say of a merge request, and we as one of them; Ultimate.

A project asks services by a name and an address. One that is named like our `porchbot/publish` is
ours to answer: it says what that status says. A project may let nothing be merged before all of
them have passed; then those of others are read with each look, and ours as well, since whoever may
push can answer for any of them.

What waits for too long GitLab calls failed: the two are one to us, and answered once.

Source: https://docs.gitlab.com/api/status_checks/,
https://docs.gitlab.com/user/project/merge_requests/status_checks/
"""

from bot.forges.gitlab import pipelines
from bot.forges.gitlab.access import ForgeCredentials
from bot.forges.gitlab.calls import place
from bot.forges.gitlab.http import Clients, JSONObject, failure
from bot.forges.gitlab.merge_requests import MOST_SHOWN, Shown
from bot.forges.gitlab.threads import Threads
from bot.forges.marks import spelled
from bot.forges.port import (
    Context,
    ForgeMissingError,
    ForgeRefusedError,
    ForgeUnreadableError,
    Repository,
)
from lifecycle.actions import SetCheck
from lifecycle.facts.checks import PUBLISH, CheckState, Conclusion, Status
from lifecycle.names import Sha

SERVICES = "external status checks"
"""What stands for those of others, where nothing is merged before they have passed."""

_BINDING = "only_allow_merge_if_all_status_checks_passed"
_PASSED = "passed"
_STATES = {_PASSED: CheckState.SUCCESS, "failed": CheckState.FAILURE}


class ServiceChecks(Threads):
    """External status checks of one project, where it has them."""

    def __init__(self, access: ForgeCredentials, repository: Repository, pool: Clients) -> None:
        super().__init__(access, repository, pool)
        self._has_services = False
        self._binds = False
        self._asked: dict[int, tuple[Sha, tuple[JSONObject, ...]]] = {}

    async def _project(self) -> JSONObject:
        wanted = "read the project"
        found: JSONObject = await self._get(wanted, "")
        if "id" not in found:  # what it does not say would count as not required
            raise ForgeUnreadableError(wanted, "its answer is no project")
        self._trains = bool(found.get("merge_trains_enabled"))
        self._squashes = found.get("squash_option") == "always"
        self._has_services = _BINDING in found
        self._binds = bool(found.get(_BINDING))
        return found

    async def _read_services(self, head: Sha) -> None:
        """Read what they say of each merge request with this head, where a merge waits for it."""
        if self._binds:
            for shown in self._at_head(head):
                await self._read_of(shown)

    async def _read_of(self, shown: Shown) -> None:
        wanted, path = "read the external status checks", f"{place(shown.number)}/status_checks"
        try:
            listed = self._list(wanted, path)
            found = tuple([each async for each in listed])
        except ForgeMissingError:
            found = ()  # an instance without the licence
        except ForgeRefusedError:
            found = None  # there may be some, and nobody knows what they say
        self._asked.pop(shown.number, None)
        if found is None:
            return
        self._asked[shown.number] = shown.head, found
        if len(self._asked) > MOST_SHOWN:
            del self._asked[next(iter(self._asked))]

    def _services(self, shown: Shown) -> tuple[JSONObject, ...]:
        """Those that were read of a merge request at its head."""
        head, found = self._asked.get(shown.number, ("", ()))
        return found if head == shown.head else ()

    def _of_services(self, shown: Shown) -> dict[Context, CheckState]:
        """What the worst of the others says, where a merge waits for them."""
        if not self._binds:
            return {}
        if self._asked.get(shown.number, ("",))[0] != shown.head:
            return {SERVICES: CheckState.PENDING}
        found = [each for each in self._services(shown) if each["name"] != self._own_service]
        said = (_STATES.get(str(each["status"]), CheckState.PENDING) for each in found)
        return {SERVICES: pipelines.worst_of(said)}

    def _services_agree(self, head: Sha, conclusion: Conclusion | None) -> bool:
        """Whether ours says what our check says, in each merge request with this head."""
        return all(
            (each["status"] == _PASSED) == _passes(conclusion)
            for shown in self._at_head(head)
            for each in self._services(shown)
            if each["name"] == self._own_service
        )

    async def _tell_services(self, check: SetCheck) -> None:
        """Answer for ours in each merge request with this head; one that has another is over.

        Whether there are services is known once a look has asked what its project requires, which
        it asks for each that is proposed; of a draft nothing has passed.
        """
        if check.name != PUBLISH or not self._has_services:
            return
        conclusion = check.conclusion if check.status is Status.COMPLETED else None
        for shown in self._at_head(check.head):
            await self._read_of(shown)
            for each in self._services(shown):
                answered = (each["status"] == _PASSED) == _passes(conclusion)
                if each["name"] == self._own_service and not answered:
                    await self._answer(shown, int(each["id"]), passes=_passes(conclusion))

    async def _answer(self, shown: Shown, service: int, *, passes: bool) -> None:
        wanted, path = "answer an external status check", f"{place(shown.number)}/status_check"
        said = _PASSED if passes else "failed"
        body = {"sha": shown.head, "external_status_check_id": service, "status": said}
        answer = await self._ask(wanted, "POST", f"{path}_responses", body)
        if not answer.ok and answer.status not in {404, 409}:  # gone, or no longer the head
            raise failure(wanted, answer)

    @property
    def _own_service(self) -> str:
        return spelled(PUBLISH, self._access.instance)


def _passes(conclusion: Conclusion | None) -> bool:
    return conclusion in {Conclusion.SUCCESS, Conclusion.NEUTRAL}
