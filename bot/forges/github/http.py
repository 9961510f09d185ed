"""Requests to GitHub: a pool of PyGithub clients, and its errors turned into ours.

PyGithub runs without its own retries and waits (docs/design.md, "Forge calls"): by default it
repeats a merge after a 502 and sleeps between writes. Its connection object is not safe between
threads, so each request takes a client of its own out of a pool. What an answer means is decided
here and not by the client: it takes a redirect of a write for success and text that is no JSON for
data, follows redirections in circles, and asks again for ever where it is told to come later.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import github
import requests
from github.Auth import Auth, Token
from github.Requester import (
    HTTPRequestsConnectionClass,
    HTTPSRequestsConnectionClass,
    Requester,
    RequestsResponse,
)

from bot import metrics
from bot.clock import SYSTEM, Clock, Offload, in_thread
from bot.forges import timed
from bot.forges.budget import Account
from bot.forges.exchange import (
    MOST_PAGES,
    ForgeAnswer,
    ForgeTime,
    Pool,
    ask,
    call,
    digest,
    listed,
    read,
    send,
)
from bot.forges.github import limits
from bot.forges.github.limits import Cost
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

__all__ = ["ask", "call", "send"]

JSONObject = dict[str, Any]

NOT_TRUSTED = (
    "its certificate is not trusted (name the certificates of its authority in PORCHBOT_GITHUB_CA)"
)

TIMEOUT = 20
"""Seconds for one call: GitHub cuts off its own answers after 10
(docs/design.md, "GitHub: answers and errors")."""

MOST_ANSWER = 64 * 1024**2
"""Bytes of one answer that are read: a page of GitHub may have a hundred comments and as many
reviews, each of 65,536 characters of up to four bytes."""

MOST_MOVES = 5
"""Redirections that are followed for one request: a repository was renamed, and its owner."""

_PASSING = ("something went wrong while executing your query", "was submitted too quickly")
"""How GraphQL says, inside a 200, that asking again helps
(docs/design.md, "GitHub: answers and errors")."""


@dataclass(frozen=True, slots=True)
class GitHubAnswer(ForgeAnswer):
    """What GitHub answered."""

    @property
    def limited(self) -> bool:
        """We ask too much (docs/design.md, "GitHub: identity and limits"): nothing was done."""
        return self.status == 429 or (
            self.status == 403
            and (
                bool(self.headers.get("retry-after"))
                or self.headers.get("x-ratelimit-remaining") == "0"
                or "rate limit" in self.reason.lower()
                or "abuse detection" in self.reason.lower()
            )
        )

    @property
    def reason(self) -> str:
        """GitHub's own words about what is wrong."""
        if not isinstance(self.data, Mapping):
            return "no reason given"
        text = str(self.data.get("message", "no reason given"))
        told = self.data.get("errors")
        errors = told if isinstance(told, list) else []
        details = [str(e.get("message", "")) if isinstance(e, Mapping) else str(e) for e in errors]
        return "; ".join([text, *[d for d in details if d]])[:MOST_REASON]


class _Bounded:
    """A connection of PyGithub's, of either kind, whose answers are bounded."""

    session: requests.Session
    verb: str
    protocol: str
    host: str

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        timed.mount(self.session, MOST_ANSWER)
        self._moves = 0

    def getresponse(self) -> RequestsResponse:
        """As PyGithub has it."""
        answer: RequestsResponse = super().getresponse()  # type: ignore[misc] # the other base's
        self._moves = _moves(self, answer, self._moves)
        return answer


class BoundedHTTPS(_Bounded, HTTPSRequestsConnectionClass):
    """PyGithub's over TLS, whose answers are bounded."""


class BoundedHTTP(_Bounded, HTTPRequestsConnectionClass):
    """PyGithub's without TLS, likewise."""


def _moves(connection: _Bounded, answer: RequestsResponse, before: int) -> int:
    """How many redirections PyGithub follows in a row now; it would follow any number.

    Args:
        connection: Which the answer came on.
        answer: The answer.
        before: How many it followed before.

    Raises:
        requests.RequestException: It would ask again for what is not ready, or is led in circles.
    """
    if answer.status == 202 and connection.verb in {"GET", "HEAD"}:
        raise requests.exceptions.RetryError
    to = urls.parts(answer.headers.get("location", ""))
    # One to another host it refuses itself.
    if answer.status != 301 or (to.scheme, to.hostname) != (connection.protocol, connection.host):
        return 0
    if before == MOST_MOVES:
        connection.session.close()
        raise requests.TooManyRedirects
    return before + 1


class _Client(Requester):
    """A client of PyGithub whose answers are bounded.

    Its classes of connections are named here: once `injectConnectionClasses` was called, each
    request opens a connection of its own.
    """

    _Requester__httpConnectionClass = BoundedHTTP
    _Requester__httpsConnectionClass = BoundedHTTPS


class Clients(Pool[_Client, GitHubAnswer, Cost]):
    """A pool of PyGithub clients with one identity.

    Args:
        api_url: Where GitHub's REST API answers.
        auth: Gives what requests are signed with; asked before each.
        account: As `Pool` has it.
        moments: Whether limits for a minute hold there; None: where GitHub's own service is.
        clock: As `Pool` has it.
        offload: Likewise.
        time: Likewise.
    """

    def __init__(
        self,
        api_url: str,
        auth: Callable[[], Auth | None],
        *,
        account: Account | None = None,
        moments: bool | None = None,
        clock: Clock = SYSTEM,
        offload: Offload = in_thread,
        time: ForgeTime | None = None,
    ) -> None:
        super().__init__(account, clock, offload, time)
        self.kind, self.network, self.failure = GitHubAnswer, _network, failure
        self.cost_of = limits.cost_of
        self._api_url = api_url
        self._auth = auth
        self._moments = limits.has_limits(api_url) if moments is None else moments

    def draws(self, cost: Cost) -> tuple[Draw, ...]:
        """As `Pool` has it."""
        return limits.draws(cost, moments=self._moments)

    def left(self, headers: Mapping[str, str]) -> ReportedLimit | None:
        """As `Pool` has it."""
        metrics.BUDGETS.told(id(self), headers)
        return limits.told(headers, self.time.now().timestamp())

    @contextmanager
    def client(self) -> Iterator[_Client]:
        """As `Pool` has it."""
        auth = self._auth()
        token = auth.token if isinstance(auth, Token) else ""
        with self._idle.client(token, lambda: self._make(auth)) as client:
            yield client

    def _make(self, auth: Auth | None) -> _Client:
        return _Client(
            auth=auth,
            base_url=self._api_url,
            timeout=TIMEOUT,
            per_page=100,
            verify=True,
            retry=None,
            pool_size=None,
            seconds_between_requests=0,
            seconds_between_writes=0,
            user_agent="porchbot",
        )

    def transfer(
        self,
        client: _Client,
        verb: str,
        path: str,
        query: Mapping[str, object] | None,
        body: object,
        headers: Mapping[str, str] | None,
    ) -> tuple[int, Mapping[str, Any], str]:
        """As `Pool` has it."""
        return client.requestJson(
            verb,
            path,
            parameters=dict(query) if query else None,
            headers=dict(headers) if headers else None,
            input=body,
        )


async def call_unless(
    pool: Clients, wanted: str, path: str, etag: str, *, query: Mapping[str, object]
) -> GitHubAnswer | None:
    """Read something, unless it is still what had this `ETag`, which costs nothing; then None.

    Source: https://docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api
    """
    return await pool.run(Cost.READ, wanted, _unless, wanted, path, etag, query)


def _unless(
    pool: Clients, wanted: str, path: str, etag: str, query: Mapping[str, object]
) -> GitHubAnswer | None:
    condition = {"If-None-Match": etag} if etag else None
    answer = ask(pool, wanted, "GET", path, query=query, headers=condition)
    if answer.status == 304 and etag:
        return None
    if not answer.ok:
        raise failure(wanted, answer)
    return answer


async def pages(
    pool: Clients, wanted: str, path: str, key: str = "", **query: object
) -> AsyncIterator[Any]:
    """Every item of a list, page by page; `key` names the list in a wrapped answer.

    A list that shows a page again, as one does whose redirect lost the page's number, has ended.
    No more of one is in memory than a page, and what is made of it.
    """
    seen: set[bytes] = set()
    for page in range(1, MOST_PAGES + 1):
        asked = {"per_page": 100, **query} | ({"page": page} if page > 1 else {})
        answer = await call(pool, wanted, "GET", path, query=asked)
        items = listed(wanted, answer.data[key] if key else answer.data)
        more = 'rel="next"' in answer.headers.get("link", "")
        if more or seen:
            shown = await pool.offload(digest, items)
            if shown in seen:
                return
            seen.add(shown)
        for item in items:
            yield item
        if not more:
            return


class UnprocessableError(ForgeRefusedError):
    """GraphQL understood, and does not do it as things are: inside a 200, as REST's 405 and 422."""


def graphql(pool: Clients, wanted: str, query: str, variables: JSONObject) -> JSONObject:
    """Ask GraphQL and return `data`; for threads.

    Raises:
        ForgeBusyError: Trying again may help; GraphQL says so inside a 200.
        ForgeMissingError: What was named is not there.
        ForgeRefusedError: Any other error, also where a part of the data came with it.
    """
    with _network(wanted), pool.client() as client, pool.counted("graphql", wanted) as told:
        status, headers, text = client.requestJson(
            "POST", client.graphql_url, input={"query": query, "variables": variables}
        )
        told(status, headers)
    answer = read(GitHubAnswer, wanted, status, headers, text, pool.clock.now())
    if not answer.ok:
        raise failure(wanted, answer)
    data = answer.data if isinstance(answer.data, dict) else {}
    if data.get("errors"):
        raise _graphql_failure(wanted, answer, data["errors"])
    if not isinstance(data.get("data"), dict):
        raise ForgeBusyError(wanted, "the answer of GraphQL holds no data")
    found: JSONObject = data["data"]
    _whole(wanted, found)
    return found


def _whole(wanted: str, data: JSONObject) -> None:
    """Refuse data in which something else stands for a list: it would be taken for an empty one."""
    left: list[Any] = [data]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            if "nodes" in each:
                listed(wanted, each["nodes"])
            left += each.values()
        elif isinstance(each, list):
            left += each


def failure(wanted: str, answer: GitHubAnswer) -> Exception:
    """The error that an answer without success stands for, sorted by who must act."""
    reason = f"{answer.status} {answer.reason}"
    if answer.limited:
        return ForgeBusyError(wanted, reason, limits.pause(answer.headers, answer.at.timestamp()))
    if answer.status == 401:
        # A fresh or just ended token answers 401 for a moment (trap 14).
        return ForgeDeniedError(wanted, reason)
    if answer.status >= 500:
        return ForgeBusyError(wanted, reason)
    if answer.status in {404, 410} or 300 <= answer.status < 400:
        # Moved: names and installation are read again before the next try. Gone, 410, are issues
        # that were deleted, and all of a repository that has turned them off.
        return ForgeMissingError(wanted, reason)
    return ForgeRefusedError(wanted, reason)


def _graphql_failure(wanted: str, answer: GitHubAnswer, errors: Any) -> Exception:
    listed = [e for e in errors if isinstance(e, Mapping)] if isinstance(errors, list) else []
    kinds = {str(e.get("type", "")).upper() for e in listed}
    texts = "; ".join(str(e.get("message", "")) for e in listed) or "no reason given"
    if kinds & {"RATE_LIMITED", "RATE_LIMIT"} or "rate limit" in texts.lower():
        return ForgeBusyError(wanted, texts, limits.pause(answer.headers, answer.at.timestamp()))
    if kinds & {"INTERNAL", "SERVICE_UNAVAILABLE"} or any(p in texts.lower() for p in _PASSING):
        return ForgeBusyError(wanted, texts)
    if kinds == {"NOT_FOUND"}:
        return ForgeMissingError(wanted, texts)
    if kinds == {"UNPROCESSABLE"}:
        return UnprocessableError(wanted, texts)
    return ForgeRefusedError(wanted, texts)


@contextmanager
def _network(wanted: str) -> Iterator[None]:
    """Turn errors of the client itself into ours."""
    try:
        yield
    except github.GithubException as error:
        raise ForgeBusyError(wanted, f"{error.status} {type(error).__name__}") from error
    except requests.exceptions.SSLError as error:
        raise ForgeUntrustedError(wanted, NOT_TRUSTED) from error
    except timed.LargeAnswerError as error:
        raise TooLargeError(wanted, f"an answer has more than {MOST_ANSWER} bytes") from error
    except requests.RequestException as error:
        raise ForgeBusyError(wanted, type(error).__name__) from error
    except RuntimeError as error:  # how PyGithub refuses a redirect to another host
        raise ForgeMissingError(wanted, str(error)) from error
    except UNREADABLE_HEADERS as error:
        raise unreadable(wanted, error) from error
