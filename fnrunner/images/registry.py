"""A client for OCI registries: tags, manifests and blobs, digests verified.

It is a client of our own, on urllib3. The two that are kept were read and left: oras (0.2) has
no time-outs, waits minutes before it gives up, checks no digest, and sends one token to whatever
host it is redirected to; python-dxf (12) checks digests of blobs, but reads manifests of any
length into memory, and follows redirections to any address.

Rules
- What is brought is checked against its digest and its announced length while it streams.
- Credentials go to the registry they are for and to the token service that it names, over TLS;
  in plain text only to a host that may be spoken to so. A redirection to another host has none.
- Private addresses are refused unless the operator named the host, or allows them all.
- "Come back later" is obeyed while it is short; else the caller is told how long.

Source: OCI distribution specification 1.1; Docker's token authentication for registries.
"""

import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import IO, Final, Self, TypeVar
from urllib.parse import urlencode

from urllib3 import BaseHTTPResponse

from fnrunner import urls
from fnrunner.contract.errors import (
    FunctionError,
    FunctionNotFoundError,
    FunctionUnavailableError,
)
from fnrunner.contract.policy import HUB
from fnrunner.contract.run import MIB
from fnrunner.images import credentials, fetch
from fnrunner.images.credentials import Credentials, CredentialsError
from fnrunner.images.fetch import FetchError, ResponseTooLargeError, loopback
from fnrunner.images.manifest import IMAGES, INDEXES, Descriptor
from fnrunner.images.names import DIGEST, Name, RegistryAccess, Site
from fnrunner.images.tokens import TOKEN_SECONDS, parameters, read_token

_HUB_SERVER: Final = "registry-1.docker.io"
_ACCEPT: Final = ", ".join((*INDEXES, *IMAGES))
_LONGEST_MANIFEST: Final = 4 * MIB  # what the distribution specification has registries take
_LONGEST_TOKEN: Final = 64 * 1024
_REDIRECTIONS: Final = 5
_TAGS_A_PAGE: Final = 1000
_PAGES: Final = 20
_NEXT: Final = re.compile(r'<([^>]*)>\s*;\s*rel="?next"?')
_TRIES: Final = 3
_PAUSE: Final = 0.5  # seconds before the second try; twice that before the third
_LONGEST_PAUSE: Final = 10.0  # seconds that a registry may ask us to wait
_REDIRECTED: Final = frozenset({301, 302, 303, 307, 308})

_T = TypeVar("_T")


class Registries:
    """Registries, with the tokens that they gave; safe to use from several threads."""

    def __init__(self, access: RegistryAccess, clock: Callable[[], float] = time.monotonic) -> None:
        self.access = access
        self._clock = clock
        self._lock = Lock()
        self._tokens: dict[tuple[str, str], tuple[str, float]] = {}

    def session(self, name: Name, seconds: float | None = None) -> "RegistrySession":
        """Return a session, to be entered, for one image.

        Args:
            name: The image.
            seconds: How long it may take, if that is less than what bringing an image may.
        """
        most = self.access.seconds
        return RegistrySession(self, name, most if seconds is None else min(seconds, most))

    def token(self, name: Name) -> str:
        """Return what to send as `Authorization`, if a repository took it lately; else ""."""
        with self._lock:
            value, until = self._tokens.get((name.host, name.repository), ("", 0.0))
        return value if self._clock() < until else ""

    def keep(self, name: Name, value: str, seconds: float) -> None:
        """Remember what a repository takes; 0 seconds to forget it."""
        with self._lock:
            if len(self._tokens) > 1000:  # names come from packages
                self._tokens.clear()
            self._tokens[name.host, name.repository] = (value, self._clock() + seconds)

    def named(self, host: str) -> bool:
        """Tell whether a host may stand at a private address."""
        return self.access.private or self.configured(host)

    def configured(self, host: str) -> bool:
        """Tell whether the operator says how a host is reached."""
        return self._site(host) is not None

    def plain(self, host: str) -> bool:
        """Tell whether a host, with its port if it has one, speaks HTTP without TLS."""
        site = self._site(host)
        return loopback(urls.parts(f"//{host}").hostname or "") if site is None else site.plain

    def authority(self, host: str) -> Path | None:
        """Return the certificates to trust for a host."""
        return (self._site(host) or Site()).ca

    def _site(self, host: str) -> Site | None:
        """Return what an operator says about a host; Docker's registry has two names."""
        other = HUB if host == _HUB_SERVER else host
        return self.access.sites.get(host) or self.access.sites.get(other)


class RegistrySession:
    """What is asked of one registry for one image, with one end in time."""

    def __init__(self, registries: Registries, name: Name, seconds: float) -> None:
        self._registries = registries
        self._name = name
        self._fetch = fetch.HttpSession(seconds, registries.named, registries.authority)

    def __enter__(self) -> Self:
        self._fetch.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._fetch.__exit__(kind, error, trace)

    def abort(self) -> None:
        """End it, from any thread."""
        self._fetch.abort()

    @property
    def over(self) -> bool:
        """Whether it has ended, by its time or by `abort`."""
        return self._fetch.over

    def digest(self) -> str:
        """Return the digest that the name means now, of an index or an image.

        Raises:
            FunctionNotFoundError: The registry does not have it.
            FunctionUnavailableError: The registry refuses, or does not answer.
        """
        path = f"manifests/{self._name.reference}"
        answer = self._again(lambda: self._ask("HEAD", path, {200, 400, 405, 501}))
        answer.close()
        found = answer.headers.get("Docker-Content-Digest", "")
        if answer.status == 200 and DIGEST.fullmatch(found):
            return found
        # Not every registry answers so; then what it sends says it.
        return f"sha256:{hashlib.sha256(self._manifest(path)).hexdigest()}"

    def tags(self) -> tuple[str, ...]:
        """Return all tags of the repository, as far as a registry lists them in some pages.

        Raises:
            FunctionNotFoundError: The registry does not have it.
            FunctionUnavailableError: As `digest`, or what it sends is no list.
        """
        found: list[str] = []
        path = f"tags/list?n={_TAGS_A_PAGE}"
        for _ in range(_PAGES):
            page, following = self._again(partial(self._tags, path))
            found += page
            if not following:
                break
            path = f"tags/list?{urls.parts(following).query}"
        return tuple(found)

    def _tags(self, path: str) -> tuple[list[str], str]:
        """Return a page of tags, and the address of the next; "" after the last."""
        answer = self._ask("GET", path, {200})
        link = _NEXT.search(answer.headers.get("Link", ""))
        try:
            listed = json.loads(self._text(answer, _LONGEST_MANIFEST))["tags"] or []
        except (ValueError, KeyError, TypeError) as error:
            raise FetchError("its registry sent no list of tags", "Contact its operator") from error
        return [each for each in listed if isinstance(each, str)], link[1] if link else ""

    def manifest(self, digest: str) -> bytes:
        """Return a manifest by its digest, checked.

        Raises:
            FunctionNotFoundError: The registry does not have it.
            FunctionUnavailableError: As `digest`, or what it sends is something else.
        """
        data = self._manifest(f"manifests/{digest}")
        if f"sha256:{hashlib.sha256(data).hexdigest()}" != digest:
            raise self._unlike(digest)
        return data

    def blob(self, part: Descriptor, into: IO[bytes]) -> None:
        """Write a part of an image into an empty file, checked.

        Raises:
            FunctionUnavailableError: As `manifest`.
        """
        self._again(lambda: self._blob(part, into))

    def _blob(self, part: Descriptor, into: IO[bytes]) -> None:
        into.seek(0)
        into.truncate()
        answer = self._ask("GET", f"blobs/{part.digest}", {200})
        digest = hashlib.sha256()

        def take(piece: bytes) -> None:
            digest.update(piece)
            into.write(piece)

        try:
            length = self._fetch.read(answer, part.size, take)
        except ResponseTooLargeError:
            raise self._unlike(part.digest) from None
        if length < part.size:
            raise FetchError("its registry sent only a part of it", "Try again later", passing=True)
        if f"sha256:{digest.hexdigest()}" != part.digest:
            raise self._unlike(part.digest)

    def _manifest(self, path: str) -> bytes:
        return self._again(lambda: self._text(self._ask("GET", path, {200}), _LONGEST_MANIFEST))

    def _text(self, answer: BaseHTTPResponse, most: int) -> bytes:
        data = bytearray()
        self._fetch.read(answer, most, data.extend)
        return bytes(data)

    def _again(self, request: Callable[[], _T]) -> _T:
        """Ask up to three times, and say failures in the words of a function."""
        for attempt in range(1, _TRIES + 1):
            try:
                return request()
            except _LaterError as error:
                failed: FetchError = error
                pause = error.seconds
            except FetchError as error:
                failed = error
                pause = _PAUSE * attempt
            except CredentialsError as error:
                where, _, fix = str(error).rpartition(". ")
                raise FunctionUnavailableError(self._name.image, where, fix.rstrip(".")) from error
            if not failed.passing or attempt == _TRIES or pause > _LONGEST_PAUSE:
                raise self._told(failed) from failed
            try:
                self._fetch.wait(pause)
            except FetchError as error:
                raise self._told(error) from error
        raise AssertionError("the last try returns or raises")

    def _told(self, error: FetchError) -> FunctionError:
        return FunctionUnavailableError(
            self._name.image,
            f"its image cannot be pulled: {error.reason}",
            error.fix,
            passing=error.passing,
        )

    def _unlike(self, digest: str) -> FunctionError:
        return FunctionUnavailableError(
            self._name.image,
            f"what {self._name.host} sends for {digest} has a different digest or length",
            f"Do not use it until the operator of {self._name.host} has found out why",
        )

    def _ask(self, method: str, path: str, good: set[int]) -> BaseHTTPResponse:
        """Ask the registry, with a token if it wants one, and return an answer that is good."""
        held = self._registries.token(self._name)
        answer = self._followed(method, self._url(path), held)
        if answer.status == 401:
            challenges = answer.headers.getlist("WWW-Authenticate")
            answer.close()
            value = self._authorization(challenges)
            answer = self._followed(method, self._url(path), value)
        if answer.status in good:
            return answer
        answer.close()
        raise self._refused(answer, path)

    def _url(self, path: str) -> str:
        host = _HUB_SERVER if self._name.host == HUB else self._name.host
        scheme = "http" if self._registries.plain(host) else "https"
        return f"{scheme}://{host}/v2/{self._name.repository}/{path}"

    def _followed(self, method: str, url: str, authorization: str) -> BaseHTTPResponse:
        headers = {"Accept": _ACCEPT} if "/manifests/" in url else {}
        first = urls.parts(url)
        for _ in range(_REDIRECTIONS):
            here = urls.parts(url)
            own = (here.scheme, here.netloc) == (first.scheme, first.netloc)
            sent = {"Authorization": authorization} if authorization and own else {}
            answer = self._fetch.open(method, url, headers | sent)
            if answer.status not in _REDIRECTED:
                return answer
            answer.close()
            url = urls.joined(url, answer.headers.get("Location", ""))
            self._check(url, "redirects to")
        raise FetchError(f"{first.netloc} redirects endlessly", "Contact its operator")

    def _check(self, url: str, does: str) -> None:
        """Refuse to go from TLS to plain text, except to a host that is spoken to so."""
        parts = urls.parts(url)
        if parts == urls.NONE:
            raise FetchError(
                f"{self._name.host} {does} {url!r}, which is no address", "Contact its operator"
            )
        if parts.scheme == "https" or (
            parts.scheme == "http" and self._registries.plain(parts.netloc)
        ):
            return
        raise FetchError(
            f"{self._name.host} {does} {parts.scheme or 'no scheme'}://{parts.netloc}, without TLS",
            f"Name {parts.netloc} under `registries` with `insecure: true` if that is intended",
        )

    def _authorization(self, challenges: list[str]) -> str:
        """Return what to send after a registry asked who we are, and remember it."""
        found = credentials.find(
            self._name.host, self._name.repository, self._registries.access.credentials
        )
        value, seconds = self._answered(challenges, found)
        self._registries.keep(self._name, value, seconds)
        return value

    def _answered(self, challenges: list[str], found: Credentials) -> tuple[str, float]:
        if found.bearer:
            return f"Bearer {found.bearer}", TOKEN_SECONDS
        for challenge in challenges:
            scheme, _, rest = challenge.strip().partition(" ")
            if scheme.lower() == "bearer":
                return self._token(parameters(rest), found)
            if scheme.lower() == "basic" and found.basic:
                return found.basic, TOKEN_SECONDS
        return "", 0.0

    def _token(self, given: Mapping[str, str], found: Credentials) -> tuple[str, float]:
        """Ask the token service that a registry names."""
        realm = given.get("realm", "")
        self._check(realm, "names the token service")
        asked = {
            "service": given.get("service", ""),
            "scope": f"repository:{self._name.repository}:pull",
        }
        if found.identity:
            form = {**asked, "grant_type": "refresh_token", "client_id": "porchbot"}
            body = urlencode({**form, "refresh_token": found.identity}).encode()
            kind = {"Content-Type": "application/x-www-form-urlencoded"}
            answer = self._fetch.open("POST", realm, kind, body)
        else:
            sign = "&" if urls.parts(realm).query else "?"
            sent = {"Authorization": found.basic} if found.basic else {}
            answer = self._fetch.open("GET", f"{realm}{sign}{urlencode(asked)}", sent)
        if answer.status != 200:
            answer.close()
            raise self._refused(answer, "", urls.parts(realm).netloc)
        return read_token(self._text(answer, _LONGEST_TOKEN), realm)

    def _refused(self, answer: BaseHTTPResponse, path: str, by: str = "") -> Exception:
        """Return the error for an answer that is not good."""
        host = by or self._name.host
        status = answer.status
        if status in (404, 410) and path.startswith(("manifests/", "tags/")):
            return FunctionNotFoundError(self._name.image)
        if status in (401, 403):
            self._registries.keep(self._name, "", 0.0)
            return FetchError(
                f"{host} answers {status}: it does not exist, or the runner has no access to it",
                f"Check its name, or give the runner credentials for {self._name.host}",
            )
        if status == 429 or status >= 500:
            return _LaterError(host, status, answer.headers.get("Retry-After", ""))
        if status == 404:
            return FetchError(f"{host} no longer has all of its parts", "Push it again")
        return FetchError(
            f"{host} answers {status} {answer.reason or ''}".rstrip(), "Contact its operator"
        )


class _LaterError(FetchError):
    """A registry says to come back.

    Attributes:
        seconds: When.
    """

    def __init__(self, host: str, status: int, after: str) -> None:
        self.seconds = float(after) if re.fullmatch(r"[0-9]{1,6}", after) else _PAUSE * 2
        when = f"Try again in {self.seconds:g} seconds" if after else "Try again later"
        super().__init__(f"{host} answers {status}", when, passing=True)
