"""The way to a repository elsewhere: its address judged, followed where it leads on, and pinned.

Rules:

1. Only https and ssh; http where the operator named the host.
2. An address that leads on is asked for by us before git is: each next one is judged like the
   first, by the configuration as well. Git itself follows nothing.
3. Git connects to the addresses that were judged, and to no others.
4. Credentials are sent to the host that they are for, in a header, never in an address, and not
   over http where the operator gave them for https.
"""

import os
import re
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from urllib.parse import SplitResult

from bot.git.connections import FAILURES, Connections, HttpAnswer, RemoteAddress, Request
from bot.git.process import AUTHORITY, PROXIES, authorised, basic, environment
from bot.reach import Reach, Resolve
from fnrunner import urls
from lifecycle.messages import upstreams as texts
from lifecycle.upstreams.errors import UpstreamError, UpstreamFault
from lifecycle.upstreams.locations import Location, locate

MOST_REDIRECTS = 5

MOST_TOLD = 4 * 1024**2
"""Bytes of the first answer; servers without git's protocol 2 list their refs in it."""

_SCP = re.compile(r"(?:([^/@:]+)@)?([^/@:]+):(?!//)(.+)")
_PORTS = {"https": 443, "http": 80, "ssh": 22}
_REFUSED = UpstreamFault.REFUSED
_SERVICE = "/info/refs?service=git-upload-pack"

PUBLIC = ""
"""Whoever asks in nobody's name gets what the public gets: no credentials are sent, and no key."""

Allowed = Callable[[Location], None]
"""Raises UpstreamError for a repository that may not be used."""


@dataclass(frozen=True, slots=True)
class GitRoute:
    """How git gets to a repository.

    Attributes:
        url: Where it is, in the end.
        configuration: For git, credentials among it.
        ssh: What git runs for ssh; "" where it needs none.
    """

    url: str
    configuration: dict[str, str] = field(repr=False)
    ssh: str = ""

    def environment(self, folder: Path) -> dict[str, str]:
        """All of git's environment, for a repository in a folder."""
        found = environment(folder, self.configuration)
        return found | ({"GIT_SSH_COMMAND": self.ssh, "GIT_SSH_VARIANT": "ssh"} if self.ssh else {})


class GitRoutes:
    """Opens the way to repositories.

    Args:
        reach: What the operator lets be reached.
        seconds: For each of the first requests.
        resolve: Looks hosts up; None for the system.
    """

    def __init__(self, reach: Reach, seconds: float = 15.0, resolve: Resolve | None = None) -> None:
        self._reach = reach
        self._resolve = resolve
        self._seconds = seconds

    @property
    def has_credentials(self) -> bool:
        """Whether some repositories may be read that others may not."""
        return bool(self._reach.credentials or self._reach.ssh_key)

    def opens(self, at: Location, reader: str) -> bool:
        """Tell whether credentials of the operator's are used for a repository, by any scheme.

        Args:
            at: Which one.
            reader: As for `open`.
        """
        if reader == PUBLIC:
            return False
        sent = self._reach.credentials_for(at, reader)
        return bool(sent) or self._reach.key_for(at, reader) is not None

    def open(self, repo: str, reader: str, allowed: Allowed, ends: float = inf) -> GitRoute:
        """Judge an address, and where it leads to.

        Args:
            repo: As it was written.
            reader: Location of the repository that the package is for; `PUBLIC` for none.
            allowed: Judges each repository on the way by the configuration.
            ends: When it has to be done, by `time.monotonic`: a name may have many addresses.

        Raises:
            UpstreamError: It is not reached, or nothing is there.
        """
        url = _spelled(repo)
        first = url.hostname or ""
        for _ in range(MOST_REDIRECTS + 1):
            try:
                route, next_url = self._judged(url, reader, allowed, ends)
            except UpstreamError as error:
                if url.hostname == first:
                    raise
                problem = texts.redirected(first, url.hostname or "", error.problem)
                raise UpstreamError(error.fault, problem, error.fix) from error
            if next_url is None:
                return route
            url = next_url
        raise UpstreamError(_REFUSED, *texts.redirects(first, _shown(url)))

    def _judged(
        self, url: SplitResult, reader: str, allowed: Allowed, ends: float
    ) -> tuple[GitRoute, SplitResult | None]:
        """The route to an address, and where it leads to; None where it is the one."""
        location = locate(url.geturl())
        if location is None:
            raise UpstreamError(_REFUSED, *texts.no_address(_shown(url)))
        allowed(location)
        host, port = url.hostname or "", _port(url)
        if url.scheme == "ssh" and self._reach.known_hosts is None:
            raise UpstreamError(_REFUSED, *texts.no_ssh(host))
        addresses = self._reach.addresses(host, port, self._resolve)
        if url.scheme == "http" and not self._reach.is_named(host, addresses):
            raise UpstreamError(_REFUSED, *texts.plain_http(host))
        if url.scheme == "ssh":
            return self._by_ssh(url, addresses, location, reader), None
        credentials = ""
        if reader != PUBLIC:
            secure = url.scheme == "https"
            credentials = self._reach.credentials_for(location, reader, encrypted=secure)
        pinned = ",".join(f"[{each}]" if ":" in each else each for each in addresses)
        configuration = {
            "http.curloptResolve": f"{host}:{port}:{pinned}",
            **authorised(url.geturl(), credentials),
        }
        proxied = any(os.environ.get(each) for each in PROXIES)
        if not proxied:  # a proxy looks hosts up itself, and judges by its own rules
            answer = self._asked(url, addresses, credentials, ends)
            if 300 <= answer.status < 400 and answer.location:
                return GitRoute(url.geturl(), configuration), self._next(url, answer.location)
            _judge_answer(answer, url)
        return GitRoute(url.geturl(), configuration), None

    def _asked(
        self, url: SplitResult, addresses: tuple[str, ...], credentials: str, ends: float
    ) -> HttpAnswer:
        secure = url.scheme == "https"
        authority = os.environ.get(AUTHORITY, "") if secure else ""
        headers = {"User-Agent": "git/porchbot", "Accept": "*/*", "Git-Protocol": "version=2"}
        headers |= {"Authorization": basic(credentials)} if credentials else {}
        asked = Request("GET", f"{url.path.rstrip('/')}{_SERVICE}", headers, most=MOST_TOLD)
        host = url.hostname or ""
        fault, problem = UpstreamFault.TOO_SLOW, texts.too_slow(host, self._seconds)
        for each in addresses:
            seconds = min(self._seconds, ends - time.monotonic())
            if seconds <= 0:
                break
            at = RemoteAddress(host, _port(url), secure, authority, each)
            connections = Connections(seconds)  # hosts are asked too seldom to keep any
            try:
                return connections.ask(at, asked)
            except TimeoutError:
                fault, problem = UpstreamFault.TOO_SLOW, texts.too_slow(host, self._seconds)
            except FAILURES as error:
                reason = " ".join(str(error).split()) or type(error).__name__
                fault, problem = UpstreamFault.UNREACHABLE, texts.unreachable(host, reason)
            finally:
                connections.close()
        raise UpstreamError(fault, *problem)

    def _next(self, url: SplitResult, location: str) -> SplitResult:
        """Where an answer leads to: a repository by the same service, or nowhere."""
        to = urls.parts(urls.joined(url.geturl().rstrip("/") + _SERVICE, location))
        path, _, rest = to.path.rpartition("/info/refs")
        plain = to.query == "service=git-upload-pack" and not rest and path
        if to.scheme not in ("https", url.scheme) or not plain or to.username or to.password:
            raise UpstreamError(_REFUSED, *texts.redirects(url.hostname or "", _shown(to)))
        return to._replace(path=path, query="", fragment="")

    def _by_ssh(
        self, url: SplitResult, addresses: Sequence[str], at: Location, reader: str
    ) -> GitRoute:
        asked = at, reader, addresses, self._resolve
        key = None if reader == PUBLIC else self._reach.key_for(*asked)
        given = {
            "BatchMode": "yes",
            "StrictHostKeyChecking": "yes",
            "UserKnownHostsFile": str(self._reach.known_hosts),
            "GlobalKnownHostsFile": os.devnull,
            "CheckHostIP": "no",
            "UpdateHostKeys": "no",
            "HostKeyAlias": _alias(url),
            "HostName": addresses[0],
            "IdentitiesOnly": "yes",
            "IdentityFile": str(key or os.devnull),
            "IdentityAgent": "none",
            "ProxyCommand": "none",
            "PermitLocalCommand": "no",
            "ForwardAgent": "no",
            "ConnectTimeout": "15",
        }
        words = ["ssh", "-F", os.devnull, *(f"-o{name}={text}" for name, text in given.items())]
        return GitRoute(url.geturl(), {"protocol.ssh.allow": "always"}, shlex.join(words))


def _judge_answer(answer: HttpAnswer, url: SplitResult) -> None:
    """Say in words why a repository does not answer."""
    place = _shown(url)
    if answer.status in (401, 403, 404, 410):
        raise UpstreamError(UpstreamFault.MISSING, *texts.no_repository(place))
    if answer.status != 200 or answer.kind != "application/x-git-upload-pack-advertisement":
        reason = f"it answers with status {answer.status}, and is no git repository"
        raise UpstreamError(UpstreamFault.UNREACHABLE, *texts.unreachable(place, reason))


def _spelled(repo: str) -> SplitResult:
    """An address as an URL, what ssh has in its own way among it."""
    found = None if "://" in repo else _SCP.fullmatch(repo)
    if found:
        user = f"{found[1]}@" if found[1] else ""
        repo = f"ssh://{user}{found[2]}/{found[3].lstrip('/')}"
    parts = urls.parts(repo)
    if parts == urls.NONE:
        raise UpstreamError(_REFUSED, *texts.no_address(repo))
    if parts.scheme not in _PORTS:
        raise UpstreamError(_REFUSED, *texts.scheme(parts.scheme))
    unplain = not (parts.hostname and parts.hostname.isascii()) or parts.query or parts.fragment
    secret = parts.password is not None or (parts.username and parts.scheme != "ssh")
    dashed = (parts.username or "").startswith("-") or (parts.hostname or "").startswith("-")
    if unplain or secret or dashed:
        raise UpstreamError(_REFUSED, *texts.no_address(_shown(parts)))
    return parts


def _port(url: SplitResult) -> int:
    return url.port or _PORTS[url.scheme]


def _alias(url: SplitResult) -> str:
    """As a file of known hosts names it."""
    host = url.hostname or ""
    return f"[{host}]:{url.port}" if url.port not in (None, 22) else host


def _shown(url: SplitResult) -> str:
    """An address for people, without what may be secret in it."""
    return url._replace(netloc=url.netloc.rpartition("@")[2], query="", fragment="").geturl()
