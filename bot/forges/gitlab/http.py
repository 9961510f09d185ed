"""Requests to GitLab: a pool of python-gitlab's clients, and its errors turned into ours.

python-gitlab runs without its own retries and waits, and follows no redirect: it would send the
token along to wherever that leads. It raises for a refusal and drops the headers, so the answer is
taken from the backend below it, and what it means is decided here.

Source: https://docs.gitlab.com/api/rest/, https://docs.gitlab.com/api/rest/troubleshooting/
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import urlsplit

import gitlab
import requests
from gitlab._backends.requests_backend import RequestsBackend, RequestsResponse

from bot.clock import SYSTEM, Clock, Offload, in_thread
from bot.forges.budget import Account
from bot.forges.exchange import Answer, ForgeTime, Idle, counted, granted, read
from bot.forges.gitlab import limits
from bot.forges.gitlab.limits import Cost
from bot.forges.port import (
    ForgeBusyError,
    ForgeDeniedError,
    ForgeMissingError,
    ForgeRefusedError,
    ForgeUntrustedError,
)
from bot.sayable import sayable

JSONObject = dict[str, Any]

P = ParamSpec("P")
T = TypeVar("T")

TIMEOUT = 30
"""Seconds for one call; GitLab ends its own after 60, and a merge may take most of them."""

ASK_OPERATOR = (
    "Check the token of the bot, its scopes and its access level: `porchbot doctor` shows them"
)
NOT_TRUSTED = "its certificate is not trusted (name its authority's certificates in the settings)"

MOST_ANSWER = 16 * 1024**2
"""Bytes of one answer that are read: a comment may have six million, and a list a hundred such."""

_CHUNK = 8_192
"""Bytes that are taken off the wire at a time: what is packed is unpacked so much at a time."""


class TooLargeError(ForgeRefusedError):
    """There is more of what was asked for than is read: whoever wrote it can make it less."""

    def __init__(self, wanted: str, reason: str, fix: str = "Make it shorter") -> None:
        super().__init__(wanted, reason, fix)
        self.args = (f"There is too much to {wanted}: {reason}. {fix}.",)


@dataclass(frozen=True, slots=True)
class GitLabAnswer(Answer):
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
        return "; ".join(words for words in said if words) or "no reason given"


def _words(said: object) -> str:
    match said:
        case None | "":
            return ""
        case Mapping():
            return "; ".join(f"{field} {_words(each)}" for field, each in said.items())
        case list():
            return ", ".join(_words(each) for each in said)
        case _:
            return str(said)


class _Backend(RequestsBackend):
    """Sends one request, follows nothing, and keeps the answer."""

    def __init__(self, session: requests.Session) -> None:
        super().__init__(session)
        self.answered: requests.Response | None = None

    def http_request(self, *args: Any, **named: Any) -> RequestsResponse:
        """Send it, and read no more of the answer than `MOST_ANSWER`."""
        self.answered = None
        sent = super().http_request(*args, **{**named, "stream": True}, allow_redirects=False)
        read = bytearray()
        with sent.response as answer:
            for chunk in answer.iter_content(_CHUNK):
                read += chunk
                if len(read) > MOST_ANSWER:
                    raise _TooLargeError
        answer._content = bytes(read)
        self.answered = answer
        return sent


class _TooLargeError(Exception):
    """An answer goes on after `MOST_ANSWER`."""


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


class Clients:
    """A pool of clients with one token.

    Args:
        url: The instance's address, such as "https://gitlab.com"; may have a path.
        token: Gives the token; asked before each request, since it is exchanged now and then.
        ca: File of certificates to trust; "" for the system's.
        account: What its requests count for; None asks without limit.
        clock: Tells when an answer came.
        offload: Where requests wait for their answers.
        time: Learns from answers what time it is at GitLab.
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
        session: Callable[[], requests.Session] = requests.Session,
    ) -> None:
        self.url = url.rstrip("/")
        self.token = token
        self.clock = clock
        self.time = time or ForgeTime(clock)
        self.offload = offload
        self._ca = ca
        self._session = session
        self._account = account or Account("", None)
        self._service = limits.is_service(url)
        self._idle = Idle[_Client]()

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

    async def run(
        self,
        cost: Cost,
        wanted: str,
        work: Callable[Concatenate["Clients", P], T],
        *args: P.args,
        **named: P.kwargs,
    ) -> T:
        """Do what makes one request, when the account grants it; away from the event loop.

        Raises:
            ForgeBusyError: GitLab limits us, or would; whatever else `work` raises.
        """
        draws = limits.draws(cost, service=self._service)
        return await granted(self._account, self.offload, draws, wanted, work, self, *args, **named)

    def heard(self, headers: Mapping[str, str]) -> None:
        """Heed what an answer says is left; from threads."""
        told = limits.told(headers, self.time.now().timestamp())
        if told is not None:
            self._account.told(told)

    @contextmanager
    def client(self) -> Iterator[_Client]:
        """Take a client out of the pool and put it back."""
        token = self.token()
        with self._idle.client(token, lambda: self._make(token)) as client:
            yield client

    def _make(self, token: str) -> _Client:
        return _Client(self.url, token, self._ca, self._session())

    def close(self) -> None:
        """Close every idle client's connections."""
        self._idle.close()


def ask(
    pool: Clients,
    wanted: str,
    verb: str,
    path: str,
    *,
    query: Mapping[str, object] | None = None,
    body: object = None,
) -> GitLabAnswer:
    """Send one request and return the answer, whatever its status; for threads.

    Args:
        pool: What it is sent with.
        wanted: What it is for, as in errors.
        verb: Of HTTP.
        path: Below "/api/v4", its parts quoted.
        query: Its parameters; true and false as they are.
        body: What is sent as JSON.

    Raises:
        ForgeBusyError: No answer came, or one that claims success and is no JSON.
        TooLargeError: The answer is larger than is read.
    """
    kind = "read" if verb in {"GET", "HEAD"} else "write"
    given = {name: str(v).lower() if v in (True, False) else v for name, v in (query or {}).items()}
    with (
        _network(wanted),
        pool.client() as client,
        counted(pool.clock, pool.heard, kind, wanted) as told,
    ):
        sent = client.send(verb, path, given, sayable(body))
        told(sent.status_code, sent.headers)
    at = pool.clock.now()
    answer = read(GitLabAnswer, wanted, sent.status_code, sent.headers, sent.text, at)
    pool.time.learn(answer)
    return answer


def send(
    pool: Clients,
    wanted: str,
    verb: str,
    path: str,
    *,
    query: Mapping[str, object] | None = None,
    body: object = None,
) -> GitLabAnswer:
    """Send one request that must succeed; for threads.

    Raises:
        ForgeBusyError: Trying again may help.
        ForgeMissingError: It is not there, or the bot may not see it.
        ForgeRefusedError: An operator must act.
    """
    answer = ask(pool, wanted, verb, path, query=query, body=body)
    if not answer.ok:
        raise failure(wanted, answer)
    return answer


async def call(
    pool: Clients,
    wanted: str,
    verb: str,
    path: str,
    *,
    query: Mapping[str, object] | None = None,
    body: object = None,
    cost: Cost = Cost.REQUEST,
) -> GitLabAnswer:
    """Send one request that must succeed, off the event loop; raises what `send` raises."""
    return await pool.run(cost, wanted, send, wanted, verb, path, query=query, body=body)


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
        to = urlsplit(answer.headers.get("location", ""))
        reason = f"{answer.status}, it redirects to {to.scheme}://{to.netloc}"
        return ForgeRefusedError(wanted, reason, "Set the address that the instance has now")
    return ForgeRefusedError(wanted, reason, ASK_OPERATOR)


@contextmanager
def _network(wanted: str) -> Iterator[None]:
    """Turn errors of the client itself into ours."""
    try:
        yield
    except _TooLargeError as error:
        raise TooLargeError(wanted, f"an answer has more than {MOST_ANSWER} bytes") from error
    except gitlab.exceptions.GitlabError as error:
        raise ForgeBusyError(wanted, type(error).__name__) from error
    except requests.exceptions.SSLError as error:
        raise ForgeUntrustedError(wanted, NOT_TRUSTED) from error
    except requests.RequestException as error:
        raise ForgeBusyError(wanted, type(error).__name__) from error
