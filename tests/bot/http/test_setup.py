"""The pages of `porchbot setup`: whom they let in, and which answers of the forge they take."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from bot.apps import KnownApp
from bot.http.setup import CREATED, ENTER, PAGE, RegistrationError, SetupPages, plan_of
from tests.bot.test_settings import APP

TOKEN = "a one-time token"
MANIFEST = {
    "hook_attributes": {"url": "https://bot.example/webhooks/github"},
    "default_permissions": {"contents": "write"},
    "default_events": ["push"],
}


class Stage:
    """The pages, and the codes that were exchanged."""

    def __init__(self, *answers: KnownApp | RegistrationError) -> None:
        self.codes: list[str] = []
        self.states: list[str] = []
        self._answers = list(answers)
        plan = plan_of(MANIFEST, "{}", "https://ghes.corp", "acme", self._action)
        self.pages = SetupPages(plan, TOKEN, self._register)

    def _action(self, state: str) -> str:
        self.states.append(state)
        return "https://ghes.corp/settings/apps/new"

    async def _register(self, code: str) -> KnownApp:
        self.codes.append(code)
        answer = self._answers.pop(0)
        if isinstance(answer, RegistrationError):
            raise answer
        return answer

    @asynccontextmanager
    async def browser(self) -> AsyncIterator[httpx.AsyncClient]:
        transport = httpx.ASGITransport(self.pages.application())
        async with httpx.AsyncClient(
            transport=transport, base_url="http://here", follow_redirects=True
        ) as made:
            yield made


@pytest.mark.parametrize("secure", [True, False])
async def test_the_cookie_goes_by_what_browsers_see(secure: bool) -> None:
    """The short-cut goes by the scheme that comes out of a proxy."""
    stage = Stage(APP)
    pages = SetupPages(stage.pages._plan, TOKEN, stage._register, secure=secure)
    transport = httpx.ASGITransport(pages.application())
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as browser:
        entered = await browser.post(ENTER, data={"token": TOKEN})

    assert ("Secure" in entered.headers["set-cookie"]) is secure


async def test_the_preview_of_a_link_does_not_use_it_up() -> None:
    """The short-cut lets in whatever asks for the address first: the chat program that it was
    sent by, which shows a preview; the person who comes then is turned away."""
    stage = Stage(APP)
    async with stage.browser() as preview, stage.browser() as person:
        for method in ("HEAD", "GET", "GET"):
            seen = await preview.request(method, PAGE, params={"token": TOKEN})
            assert (seen.status_code, list(preview.cookies)) == (200, [])
        assert (await preview.get(PAGE)).status_code == 403
        assert (await preview.get(ENTER, params={"token": TOKEN})).status_code == 405
        asked = await person.get(PAGE, params={"token": TOKEN})
        assert asked.text.count("<button") == asked.text.count("Continue</button>") == 1
        assert "form-action 'self'" in asked.headers["content-security-policy"]
        assert stage.states == []
        shown = await person.post(ENTER, data={"token": TOKEN})
        assert (shown.status_code, str(shown.url)) == (200, f"http://here{PAGE}")
        assert "acme" in shown.text


async def test_one_browser_is_let_in_once() -> None:
    """The short-cut leaves the token in the address, where a proxy's log has it for everybody."""
    stage = Stage(APP)
    async with stage.browser() as mine, stage.browser() as other:
        assert (await mine.get(PAGE)).status_code == 403
        assert (await mine.get(PAGE, params={"token": TOKEN[:-1]})).status_code == 403
        for wrong in ({"token": TOKEN[:-1]}, {}):
            assert (await mine.post(ENTER, data=wrong)).status_code == 403
        shown = await mine.post(ENTER, data={"token": TOKEN})
        assert (shown.status_code, str(shown.url)) == (200, f"http://here{PAGE}")
        assert "acme" in shown.text
        for again in ({"token": TOKEN}, {}):
            assert (await other.get(PAGE, params=again)).status_code == 403
            assert (await other.post(ENTER, data=again)).status_code == 403
            assert (await other.get(CREATED, params=again)).status_code == 403
        known = {"code": "c", "state": stage.states[-1]}  # of a history, or a log
        assert (await other.get(CREATED, params=known)).status_code == 403
        assert stage.codes == []
        assert (await mine.get(PAGE)).status_code == 200
    policy = shown.headers["content-security-policy"]
    assert "form-action https://ghes.corp;" in policy
    assert "frame-ancestors 'none'" in policy
    (cookie,) = (h for r in shown.history for h in r.headers.get_list("set-cookie"))
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie


@pytest.mark.parametrize(
    "query", [{"code": "c"}, {"code": "c", "state": "guessed"}, {"state": "right"}, {}]
)
async def test_an_answer_to_no_question_is_not_used(query: dict[str, str]) -> None:
    """The short-cut takes a code of somebody else's App: the bot then works for a stranger."""
    stage = Stage(APP)
    async with stage.browser() as mine:
        await mine.post(ENTER, data={"token": TOKEN})
        given = {**query, **({"state": stage.states[-1]} if "right" in query.values() else {})}
        refused = await mine.get(CREATED, params=given)

        assert (refused.status_code, stage.codes) == (403, [])
        assert "does not belong to a request" in refused.text
        # A state counts once: what was tried with a wrong one has to be begun again.
        stale = {"code": "c", "state": stage.states[0]}
        assert (await mine.get(CREATED, params=stale)).status_code == 403
        assert stage.codes == []
        good = {"code": "c", "state": stage.states[-1]}
        done = await mine.get(CREATED, params=good)
        assert (done.status_code, stage.codes) == (200, ["c"])


async def test_what_fails_is_said_and_can_be_begun_again() -> None:
    stage = Stage(RegistrationError("GitHub does not know this code."), APP)
    async with stage.browser() as mine:
        await mine.post(ENTER, data={"token": TOKEN})
        failed = await mine.get(CREATED, params={"code": "old", "state": stage.states[-1]})
        assert (failed.status_code, stage.pages.registered.is_set()) == (502, False)
        assert "GitHub does not know this code." in failed.text
        done = await mine.get(CREATED, params={"code": "new", "state": stage.states[-1]})
        assert "https://ghes.corp/apps/porchbot/installations/new" in done.text
        assert APP.private_key.split("\n")[1] not in done.text
        assert APP.webhook_secret not in done.text
        assert APP.client_secret not in done.text
        assert stage.pages.registered.is_set()
        assert stage.pages.seen.is_set()
        # Nothing is exchanged any more.
        await mine.get(CREATED, params={"code": "third", "state": stage.states[-1]})
        assert stage.codes == ["old", "new"]
