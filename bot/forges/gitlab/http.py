"""Requests to GitLab: a pool of python-gitlab's clients, and its errors turned into ours.

python-gitlab runs without its own retries and waits, and follows no redirect: it would send the
token along to wherever that leads. It raises for a refusal and drops the headers, so the answer is
taken from the backend below it, and what it means is decided here.

Source: https://docs.gitlab.com/api/rest/, https://docs.gitlab.com/api/rest/troubleshooting/
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import gitlab
import requests
from gitlab._backends.requests_backend import RequestsBackend, RequestsResponse

from bot.clock import SYSTEM, Clock, Offload, in_thread
from bot.forges import timed
from bot.forges.budget import Account
from bot.forges.exchange import ForgeAnswer, ForgeTime, Pool, ask, call, send
from bot.forges.gitlab import limits
from bot.forges.gitlab.limits import Cost
from bot.forges.port import (
    ForgeBusyError,
    ForgeDeniedError,
    ForgeMissingError,
    ForgeRefusedError,
    ForgeUntrustedError,
)
from bot.forges.unreadable import MOST_REASON, UNREADABLE_HEADERS, TooLargeError, unreadable
from bot.store.buckets import Draw, ReportedLimit
from fnrunner import urls

__all__ = ["TooLargeError", "ask", "call", "send"]

JSONObject = dict[str, Any]

TIMEOUT = 30
"""Seconds for one call; GitLab ends its own after 60, and a merge may take most of them."""

ASK_OPERATOR = (
    "Check the token of the bot, its scopes and its access level: `porchbot doctor` shows them"
)
NOT_TRUSTED = "its certificate is not trusted (name its authority's certificates in the settings)"

MOST_ANSWER = 16 * 1024**2
"""Bytes of one answer that are read: a comment may have six million, and a list a hundred such."""


@dataclass(frozen=True, slots=True)
class GitLabAnswer(ForgeAnswer):
    """What GitLab answered."""

    @property
    def limited(self) -> bool:
        """We ask too much: nothing was done."""
        return self.status == 429

    @property
    def reason(self) -> str:
        """GitLab's own words about what is wrong, in one of the shapes that it has for them.

        A text, texts, or texts by the field that they are about; `error` for parameters and tokens.
        """
        if not isinstance(self.data, Mapping):
            return "no reason given"
        said = [_words(self.data.get(name)) for name in ("message", "error", "error_description")]
        return "; ".join(words for words in said if words)[:MOST_REASON] or "no reason given"


def _words(said: object, left: int = 3) -> str:
    match said:
        case None | "":
            return ""
        case Mapping() | list() if not left:
            return "…"
        case Mapping():
            return "; ".join(f"{field} {_words(each, left - 1)}" for field, each in said.items())
        case list():
            return ", ".join(_words(each, left - 1) for each in said)
        case _:
            return str(said)


class _Backend(RequestsBackend):
    """Sends one request, follows nothing, and keeps the answer."""

    def __init__(self, session: requests.Session) -> None:
        super().__init__(session)
        self.answered: requests.Response | None = None

    def http_request(self, *args: Any, **named: Any) -> RequestsResponse:
        """Send it, and read no more of the answer than `MOST_ANSWER`.

        Raises:
            requests.RequestException: It is larger, took longer than it may, or broke off.
        """
        self.answered = None
        sent = super().http_request(*args, **{**named, "stream": True}, allow_redirects=False)
        timed.take(sent.response, MOST_ANSWER)  # a sandbox's comes by another adapter
        self.answered = sent.response
        return sent


def bounded_session() -> requests.Session:
    """A session whose answers are bounded."""
    return timed.session(MOST_ANSWER)


class _Client:
    """One client of python-gitlab, for one request at a time."""

    def __init__(self, url: str, token: str, ca: str, session: requests.Session) -> None:
        self._gitlab = gitlab.Gitlab(
            url,
            private_token=token,
            ssl_verify=ca or True,
            timeout=TIMEOUT,
            user_agent="porchbot",
            retry_transient_errors=False,
            backend=_Backend,
            session=session,
        )

    def send(
        self, verb: str, path: str, query: Mapping[str, object] | None, body: object
    ) -> requests.Response:
        """Send a request and return the answer, whatever its status."""
        backend = self._gitlab._backend
        try:
            return self._gitlab.http_request(
                verb,
                path,
                query_data=dict(query or {}),
                post_data=body,  # type: ignore[arg-type] # a value of JSON
                obey_rate_limit=False,
                retry_transient_errors=False,
                max_retries=0,
            )
        except gitlab.exceptions.GitlabError:
            if not isinstance(backend, _Backend) or backend.answered is None:
                raise
            return backend.answered

    def close(self) -> None:
        """Close its connections."""
        self._gitlab.session.close()


class Clients(Pool[_Client, GitLabAnswer, Cost]):
    """A pool of clients with one token.

    Args:
        url: The instance's address, such as "https://gitlab.com"; may have a path.
        token: Gives the token; asked before each request, since it is exchanged now and then.
        ca: File of certificates to trust; "" for the system's.
        account: As `Pool` has it.
        clock: Likewise.
        offload: Likewise.
        time: Likewise.
        session: Makes what requests are sent over; one whose adapter calls a sandbox forge in this
            process needs no network.
    """

    def __init__(
        self,
        url: str,
        token: Callable[[], str],
        *,
        ca: str = "",
        account: Account | None = None,
        clock: Clock = SYSTEM,
        offload: Offload = in_thread,
        time: ForgeTime | None = None,
        session: Callable[[], requests.Session] = bounded_session,
    ) -> None:
        super().__init__(account, clock, offload, time)
        self.kind, self.network, self.failure = GitLabAnswer, _network, failure
        self.cost_of = lambda _: Cost.REQUEST
        self.url = url.rstrip("/")
        self.token = token
        self._ca = ca
        self._session = session
        self._service = limits.is_service(url)

    def with_token(self, token: str) -> "Clients":
        """Clients of the same instance with another token, such as its owner's."""
        return Clients(
            self.url,
            lambda: token,
            ca=self._ca,
            clock=self.clock,
            offload=self.offload,
            time=self.time,
            session=self._session,
        )

    def draws(self, cost: Cost) -> tuple[Draw, ...]:
        """As `Pool` has it."""
        return limits.draws(cost, service=self._service)

    def left(self, headers: Mapping[str, str]) -> ReportedLimit | None:
        """As `Pool` has it."""
        return limits.told(headers, self.time.now().timestamp())

    @contextmanager
    def client(self) -> Iterator[_Client]:
        """As `Pool` has it."""
        token = self.token()
        with self._idle.client(token, lambda: self._make(token)) as client:
            yield client

    def _make(self, token: str) -> _Client:
        return _Client(self.url, token, self._ca, self._session())

    def transfer(
        self,
        client: _Client,
        verb: str,
        path: str,
        query: Mapping[str, object] | None,
        body: object,
        headers: Mapping[str, str] | None,
    ) -> tuple[int, Mapping[str, Any], str]:
        """As `Pool` has it; parameters that are true or false are spelled as GitLab reads them."""
        del headers
        given = {k: str(v).lower() if v in (True, False) else v for k, v in (query or {}).items()}
        sent = client.send(verb, path, given, body)
        return sent.status_code, sent.headers, sent.text


def failure(wanted: str, answer: GitLabAnswer) -> Exception:
    """The error that an answer without success stands for, sorted by who must act."""
    status = str(answer.status)
    said = answer.reason.removeprefix(status).strip()  # some of its messages begin with it
    reason = f"{status} {said}"
    if answer.limited:
        return ForgeBusyError(wanted, reason, limits.pause(answer.headers, answer.at.timestamp()))
    if answer.status == 401:
        return ForgeDeniedError(wanted, reason)
    if answer.status >= 500:
        after = answer.headers.get("retry-after", "")
        return ForgeBusyError(wanted, reason, float(after) if after.isdecimal() else 0)
    if answer.status == 409 and "lock" in answer.reason.lower():
        return ForgeBusyError(wanted, reason)  # another request changes the same thing just now
    if answer.status in {404, 410}:
        return ForgeMissingError(wanted, reason, ASK_OPERATOR)
    if 300 <= answer.status < 400:
        to = urls.parts(answer.headers.get("location", ""))
        reason = f"{answer.status}, it redirects to {to.scheme}://{to.netloc}"
        return ForgeRefusedError(wanted, reason, "Set the address that the instance has now")
    return ForgeRefusedError(wanted, reason, ASK_OPERATOR)


@contextmanager
def _network(wanted: str) -> Iterator[None]:
    """Turn errors of the client itself into ours."""
    try:
        yield
    except timed.LargeAnswerError as error:
        raise TooLargeError(wanted, f"an answer has more than {MOST_ANSWER} bytes") from error
    except gitlab.exceptions.GitlabError as error:
        raise ForgeBusyError(wanted, type(error).__name__) from error
    except requests.exceptions.SSLError as error:
        raise ForgeUntrustedError(wanted, NOT_TRUSTED) from error
    except requests.RequestException as error:
        raise ForgeBusyError(wanted, type(error).__name__) from error
    except UNREADABLE_HEADERS as error:
        raise unreadable(wanted, error) from error
