"""The bot's token at a GitLab is exchanged before it ends, once, and stored."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import requests
from structlog.testing import capture_logs

from bot import gitlabs, logs
from bot.clock import SystemClock
from bot.forges.gitlab.http import Clients, send
from bot.forges.gitlab.renewing import RenewedToken
from bot.forges.gitlab.user import GitLabUser
from bot.forges.port import ForgeBusyError, ForgeRefusedError
from bot.gitlabs import GitLabInstance
from bot.sandbox.serve import SandboxForge
from bot.vault import Vault, open_vault
from tests.bot.forges.gitlab.wire import URL, Wire
from tests.bot.sandbox.gitlab.inprocess import ForgeAdapter
from tests.in_process import session

NOW = datetime(2026, 3, 5, 12, tzinfo=UTC)
TODAY = NOW.date()


class AtNoon(SystemClock):
    """A clock that stands: days must not end in the middle of a test."""

    def now(self) -> datetime:
        """As `Clock` has it."""
        return NOW


class Place:
    """A forge, the bot's token there, and the secret store that has it."""

    def __init__(self, folder: Path, days: int | None, scope: str = "api") -> None:
        self.forge = SandboxForge(folder / "forge", dialect="gitlab", clock=lambda: NOW)
        self.forge.state.add_user("bot")
        until = None if days is None else TODAY + timedelta(days=days)
        self.first = self.forge.tokens.make("bot", scopes=[scope], expires_at=until).value
        self.vault: Vault = open_vault({"PORCHBOT_MASTER_KEY": "4f" * 32}, folder)
        gitlabs.keep(
            self.vault,
            GitLabInstance(
                name="gitlab", url=self.forge.web_url, token=self.first, webhook_secrets=("hook",)
            ),
        )

    def clients(self, url: str, token: Callable[[], str]) -> Clients:
        """Clients that call the forge within the process."""

        def session() -> requests.Session:
            made = requests.Session()
            made.mount(self.forge.web_url, ForgeAdapter(self.forge))
            return made

        return Clients(url, token, session=session)

    def replica(self) -> RenewedToken:
        """The token as one process has it."""
        (instance,) = gitlabs.stored(self.vault)
        return RenewedToken(instance, self.vault, clock=AtNoon(), clients=self.clients)

    @property
    def kept(self) -> str:
        """The token that the store has."""
        return gitlabs.stored(self.vault)[0].token

    def works(self, token: str) -> bool:
        """Whether GitLab takes a token."""
        pool = self.clients(self.forge.web_url, lambda: token)
        try:
            return bool(send(pool, "read", "GET", "/user").data)
        finally:
            pool.close()


Make = Callable[..., Place]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Makes a place whose token ends in so many days, None for never."""
    made: list[Place] = []

    def place(days: int | None, scope: str = "api") -> Place:
        made.append(Place(tmp_path, days, scope))
        return made[-1]

    yield place
    for each in made:
        each.forge.stop()


def test_replicas_exchange_a_token_once_and_both_have_the_new_one(make: Make) -> None:
    """The short-cut exchanges what the process began with: the second of two revokes them all."""
    place = make(20)
    one, two = place.replica(), place.replica()

    one.renew()
    two.renew()

    assert place.kept != place.first
    assert one() == two() == place.kept
    assert place.works(place.kept)
    live = [t for t in place.forge.state.data.gitlab.tokens.values() if not t.revoked]
    assert [each.expires_at for each in live] == [TODAY + timedelta(days=364)]


@pytest.mark.parametrize("days", [31, None], ids=["a month and a day", "for ever"])
def test_a_token_that_lasts_is_kept(make: Make, days: int | None) -> None:
    place = make(days)

    place.replica().renew()

    assert place.kept == place.first


def test_a_token_of_the_environment_is_left_alone(make: Make) -> None:
    """The short-cut exchanges it: the variable has a dead one from then on."""
    place = make(1)
    given = GitLabInstance(
        name="gitlab", url=place.forge.web_url, token=place.first, webhook_secrets=("hook",)
    )

    RenewedToken(given, place.vault, clock=AtNoon(), clients=place.clients).renew()

    assert place.kept == place.first
    assert place.works(place.first)


def test_one_that_may_not_be_exchanged_is_kept_and_told(make: Make) -> None:
    place = make(1, "read_api")

    with pytest.raises(ForgeRefusedError, match="refused to exchange its token: 403"):
        place.replica().renew()

    assert place.kept == place.first


@pytest.mark.usefixtures("own_secrets")
def test_an_exchanged_token_is_not_written_to_the_log(tmp_path: Path) -> None:
    """The short-cut hides the token of the start. What takes its place may begin with anything, so
    nothing else tells that it is one; a replica reads it from the store."""
    vault = open_vault({"PORCHBOT_MASTER_KEY": "4f" * 32}, tmp_path)
    first = GitLabInstance(name="gitlab", url=URL, token="corp_first", webhook_secrets=("hook",))
    gitlabs.keep(vault, first)
    wire = Wire()
    soon = (TODAY + timedelta(days=3)).isoformat()
    wire.has("GET /personal_access_tokens/self", {"expires_at": soon})
    wire.has("POST /personal_access_tokens/self/rotate", {"token": "corp_second"})
    (instance,) = gitlabs.stored(vault)
    one, two = (
        RenewedToken(instance, vault, clock=AtNoon(), clients=lambda *_: wire.clients())
        for _ in range(2)
    )
    two._written = 0

    logs.configure(["corp_first"])
    one.renew()
    by_who_exchanged_it = logs.redacted("it is corp_second")
    logs.configure(["corp_first"])
    told = two()

    assert told == "corp_second"
    assert by_who_exchanged_it == logs.redacted("it is corp_second") == "it is [secret]"


class Once(AtNoon):
    """Ends whoever waits."""

    async def sleep(self, seconds: float) -> None:
        """As `Clock` has it."""
        raise EndOfTestError


class EndOfTestError(Exception):
    """The first round is over."""


SOON_ENDS = {"expires_at": (TODAY + timedelta(days=3)).isoformat()}


@pytest.mark.parametrize(
    ("told", "given"),
    [
        ({}, {}),
        ([], {}),
        ("no JSON", {}),
        ({"expires_at": "soon"}, {}),
        ({"expires_at": 5}, {}),
        (SOON_ENDS, {}),
        (SOON_ENDS, []),
        (SOON_ENDS, {"token": None}),
        (SOON_ENDS, {"token": "line\nbreak"}),
    ],
)
async def test_an_answer_that_is_none_ends_no_bot(
    tmp_path: Path, told: object, given: object
) -> None:
    """The short-cut takes the answer apart where nobody catches what is raised: whoever owns one
    instance, or its proxy, ends the bot for all others, at each start anew."""
    vault = open_vault({"PORCHBOT_MASTER_KEY": "4f" * 32}, tmp_path)
    first = GitLabInstance(name="gitlab", url=URL, token="corp_first", webhook_secrets=("hook",))
    gitlabs.keep(vault, first)
    wire = Wire()
    wire.has("GET /personal_access_tokens/self", told)
    wire.has("POST /personal_access_tokens/self/rotate", given)
    (instance,) = gitlabs.stored(vault)
    token = RenewedToken(instance, vault, clock=Once(), clients=lambda *_: wire.clients())

    with capture_logs() as said, pytest.raises(EndOfTestError):
        await token.keep()

    assert [each["event"] for each in said] == ["the token is not renewed"]
    assert gitlabs.stored(vault)[0].token == token() == "corp_first"


@pytest.mark.parametrize("told", [{}, [], {"username": "bot", "id": "x"}, {"username": "b"}])
async def test_an_account_that_cannot_be_read_is_no_bug_of_ours(told: object) -> None:
    """The short-cut raises a KeyError: nobody who asks for the identity expects that."""
    wire = Wire()
    wire.has("GET /user", told)
    wire.has("GET /personal_access_tokens/self", told)
    user = GitLabUser("gitlab", URL, lambda: "glpat-one", session=lambda: session(wire.answer))

    with pytest.raises(ForgeBusyError, match="its answer cannot be read"):
        await user.identity()
    if isinstance(told, list):
        with pytest.raises(ForgeBusyError, match="its answer cannot be read"):
            await user.about()
