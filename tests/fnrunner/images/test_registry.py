"""What registries are asked, what they are told about us, and what they cannot make us do.

Longer than 400 lines: one stand-in for a registry, and what it may answer.
"""

from __future__ import annotations

import base64
import datetime
import io
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from fnrunner.contract.errors import (
    FunctionError,
    FunctionNotFoundError,
    FunctionRefusedError,
    FunctionUnavailableError,
)
from fnrunner.images import credentials, fetch
from fnrunner.images.credentials import Credentials, CredentialsError
from fnrunner.images.manifest import (
    Descriptor,
    ImageManifestError,
    choose,
    image_config,
    machine,
    read,
)
from fnrunner.images.names import Name, RegistryAccess, Site
from fnrunner.images.registry import Registries
from tests.fnrunner.registry import (
    ARCHITECTURE,
    HTPASSWD,
    INDEX,
    LAYER,
    MANIFEST,
    MISSING,
    USER,
    Image,
    basic,
    digest,
    files,
    index,
    registry,
)

needs_registry = pytest.mark.skipif(bool(MISSING), reason=f"these programs are not here: {MISSING}")
SMALL = Image([files({"a": "1"})], {"Entrypoint": ["/a"]})
BODY = SMALL.manifest()


def access(path: Path | None = None, **more: Any) -> RegistryAccess:
    return RegistryAccess(**{"private": True, "credentials": path, "seconds": 60.0, **more})


def login(folder: Path, host: str, **entry: str) -> Path:
    """A credential file for one host; user and password unless something else is given."""
    path = folder / "credentials.json"
    given = entry or {"auth": basic().removeprefix("Basic ")}
    path.write_text(json.dumps({"auths": {host: given}}))
    return path


def meant(name: str, given: RegistryAccess, seconds: float | None = None) -> str:
    with Registries(given).session(Name.read(name), seconds) as session:
        return session.digest()


def brought(name: str, given: RegistryAccess, part: Descriptor) -> bytes:
    into = io.BytesIO()
    with Registries(given).session(Name.read(name)) as session:
        session.blob(part, into)
    return into.getvalue()


def why(error: type[FunctionError], run: Callable[[], object]) -> str:
    with pytest.raises(error) as caught:
        run()
    return str(caught.value)


# -- a server that does as a test tells it --------------------------------------------------------

Answer = Callable[["Liar", BaseHTTPRequestHandler], None]


class Liar:
    """An HTTP server whose every answer is a function of the test's.

    Attributes:
        host: Such as "127.0.0.1:40123".
        seen: Method, path and `Authorization` of each request.
    """

    def __init__(self, answer: Answer, address: str = "127.0.0.1") -> None:
        self.seen: list[tuple[str, str, str]] = []
        liar = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                sent = self.headers.get("Authorization", "")
                liar.seen.append((self.command, self.path, sent))
                self.close_connection = True
                answer(liar, self)

            do_HEAD = do_POST = do_GET  # noqa: N815 - as http.server calls them

            def log_message(self, *args: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer((address, 0), Handler)
        self._server.daemon_threads = False
        self.host = f"{address}:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@contextmanager
def lying(answer: Answer, address: str = "127.0.0.1") -> Iterator[Liar]:
    liar = Liar(answer, address)
    try:
        yield liar
    finally:
        liar.close()


def say(
    handler: BaseHTTPRequestHandler,
    status: int,
    body: bytes = b"",
    length: int | None = None,
    **headers: str,
) -> None:
    handler.send_response(status)
    for key, value in headers.items():
        handler.send_header(key.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(body) if length is None else length))
    handler.end_headers()
    if handler.command != "HEAD":
        try:
            handler.wfile.write(body)
        except OSError:
            return  # the client has heard enough


PART = Descriptor(mediaType=LAYER, digest=digest(b"x" * 5000), size=5000)


def test_what_is_not_what_it_should_be_is_refused() -> None:
    """Short-cut: take what a registry sends for a digest."""
    bodies: dict[bytes, str] = {
        b"y" * 5000: "has a different digest or length",
        b"x" * 5001: "has a different digest or length",
        b"x" * 4999: "sent only a part of it",
    }
    for body, text in bodies.items():
        with lying(lambda _, handler, body=body: say(handler, 200, body)) as liar:  # type: ignore[misc] # bound now
            found = why(
                FunctionUnavailableError, lambda: brought(f"{liar.host}/f:v1", access(), PART)
            )
        assert text in found


def test_a_manifest_that_is_another_is_refused() -> None:
    with lying(lambda _, handler: say(handler, 200, BODY + b" ")) as liar:
        name = Name.read(f"{liar.host}/f:v1")
        with (
            Registries(access()).session(name) as session,
            pytest.raises(FunctionUnavailableError) as e,
        ):
            session.manifest(digest(BODY))

    assert str(e.value) == (
        f'function "{liar.host}/f:v1": what {liar.host} sends for {digest(BODY)} has a'
        f" different digest or length. Do not use it until the operator of {liar.host} has found"
        " out why."
    )
    assert not e.value.passing


def test_a_manifest_without_end_is_not_read_to_its_end() -> None:
    sent = [0]

    def endless(_: Liar, handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        try:
            while handler.command != "HEAD" and sent[0] < 200:
                handler.wfile.write(b"100000\r\n" + b" " * 0x100000 + b"\r\n")
                sent[0] += 1
        except OSError:
            return

    with lying(endless) as liar:
        found = why(FunctionUnavailableError, lambda: meant(f"{liar.host}/f:v1", access()))

    assert "sends more than the 4194304 bytes" in found
    assert sent[0] < 100


def test_a_digest_in_a_header_is_enough_and_its_lack_is_no_harm() -> None:
    answers: list[dict[str, str]] = [
        {"Docker_Content_Digest": digest(b"other")},
        {},
        {"Docker_Content_Digest": "sha256:../../x"},
    ]
    found = []
    for headers in answers:
        with lying(lambda _, handler, headers=headers: say(handler, 200, BODY, **headers)) as liar:  # type: ignore[misc] # bound now
            found.append(meant(f"{liar.host}/f:v1", access()))

    assert found == [digest(b"other"), digest(BODY), digest(BODY)]


def test_a_broken_transfer_is_tried_again() -> None:
    def breaks_off_once(liar: Liar, handler: BaseHTTPRequestHandler) -> None:
        whole = len(liar.seen) > 1
        say(handler, 200, b"x" * (5000 if whole else 100), 5000)

    with lying(breaks_off_once) as liar:
        assert brought(f"{liar.host}/f:v1", access(), PART) == b"x" * 5000
    assert len(liar.seen) == 2


def test_come_back_later_is_obeyed_while_it_is_short() -> None:
    """Short-cut: give up, or try again at once."""

    def once(liar: Liar, handler: BaseHTTPRequestHandler) -> None:
        if len(liar.seen) == 1:
            say(handler, 429, Retry_After="1")
        else:
            say(handler, 200, b"x" * 5000)

    begun = time.monotonic()
    with lying(once) as liar:
        assert brought(f"{liar.host}/f:v1", access(), PART) == b"x" * 5000
    assert time.monotonic() - begun >= 1.0

    with lying(lambda _, handler: say(handler, 429, Retry_After="3600")) as liar:
        name = f"{liar.host}/f:v1"
        with pytest.raises(FunctionUnavailableError) as caught:
            meant(name, access())
    assert str(caught.value) == (
        f'function "{name}": its image cannot be pulled: {liar.host} answers 429.'
        " Try again in 3600 seconds."
    )
    assert caught.value.passing
    assert len(liar.seen) == 1


def test_tags_of_all_pages() -> None:
    pages = {
        "/v2/f/tags/list?n=1000": (["a", "b"], '</v2/f/tags/list?n=1000&last=b>; rel="next"'),
        "/v2/f/tags/list?n=1000&last=b": (["c", 5], ""),
    }

    def answer(_: Liar, handler: BaseHTTPRequestHandler) -> None:
        tags, link = pages[handler.path]
        say(handler, 200, json.dumps({"name": "f", "tags": tags}).encode(), Link=link)

    with (
        lying(answer) as liar,
        Registries(access()).session(Name.read(f"{liar.host}/f")) as session,
    ):
        assert session.tags() == ("a", "b", "c")


STATUSES: dict[int, tuple[type[FunctionError], str, int]] = {
    404: (FunctionNotFoundError, "no runner provides it", 1),
    403: (
        FunctionUnavailableError,
        "answers 403: it does not exist, or the runner has no access",
        1,
    ),
    418: (FunctionUnavailableError, "answers 418", 1),
    500: (FunctionUnavailableError, "answers 500. Try again later.", 3),
}


@pytest.mark.parametrize("status", STATUSES)
def test_what_a_status_means(status: int) -> None:
    error, text, times = STATUSES[status]
    with lying(lambda _, handler: say(handler, status)) as liar:
        assert text in why(error, lambda: meant(f"{liar.host}/f:v1", access()))
    assert len(liar.seen) == times


@pytest.mark.parametrize(("whole", "this"), [(0.5, None), (0.5, 60.0), (60.0, 0.5)])
def test_a_server_that_sends_a_byte_at_a_time_ends_in_time(
    whole: float, this: float | None
) -> None:
    """Short-cut: a time-out on each read."""
    stop = threading.Event()

    def drips(_: Liar, handler: BaseHTTPRequestHandler) -> None:
        try:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
            while not stop.wait(0.05):
                handler.wfile.write(b"x")
        except OSError:
            return

    try:
        with lying(drips) as liar:
            found = why(
                FunctionUnavailableError,
                lambda: meant(f"{liar.host}/f:v1", access(seconds=whole), this),
            )
            stop.set()
    finally:
        stop.set()
    assert found.endswith(
        "its image cannot be pulled: it was not pulled within 0.5 seconds."
        " Try again later, or allow more time."
    )


def test_a_redirection_is_followed_without_credentials(tmp_path: Path) -> None:
    """Short-cut: send the same headers again."""
    with lying(lambda _, handler: say(handler, 200, b"x" * 5000)) as other:

        def away(_: Liar, handler: BaseHTTPRequestHandler) -> None:
            if not handler.headers.get("Authorization"):
                say(handler, 401, WWW_Authenticate='Basic realm="x"')
            else:
                say(handler, 307, Location=f"http://{other.host}/data?signed=1")

        with lying(away) as liar:
            given = access(login(tmp_path, liar.host))
            assert brought(f"{liar.host}/f:v1", given, PART) == b"x" * 5000

    assert [sent for *_, sent in liar.seen] == ["", basic()]
    assert other.seen == [("GET", "/data?signed=1", "")]


PLACES: dict[str, tuple[str, str]] = {
    "without end": ("http://HOST/v2/f/blobs/x", "redirects endlessly"),
    "to no address": ("http://[", "redirects to '', which is no address"),
    "to no address of its own": ("//HOST:x/", "which is no address"),
    "to a file": ("file:///etc/passwd", "redirects to file://, without TLS"),
    "to plain text": (
        "http://public.example/x",
        "redirects to http://public.example, without TLS."
        " Name public.example under `registries` with `insecure: true` if that is intended.",
    ),
}


@pytest.mark.parametrize(("place", "text"), PLACES.values(), ids=PLACES)
def test_a_redirection_is_not_followed_anywhere(place: str, text: str) -> None:
    def away(liar: Liar, handler: BaseHTTPRequestHandler) -> None:
        say(handler, 302, Location=place.replace("HOST", liar.host))

    with lying(away) as liar:
        found = why(FunctionUnavailableError, lambda: brought(f"{liar.host}/f:v1", access(), PART))
    assert text in found


def test_private_addresses_are_refused_unless_they_are_named() -> None:
    """Short-cut: look at the name. What it resolves to is what counts, on redirections as well."""
    with (
        lying(lambda _, handler: say(handler, 200, b"x" * 5000)) as inner,
        lying(
            lambda _, handler: say(handler, 307, Location=f"http://localhost:{inner.host[10:]}/x")
        ) as liar,
    ):
        name = f"{liar.host}/f:v1"
        strict = access(private=False)
        assert why(FunctionUnavailableError, lambda: brought(name, strict, PART)) == (
            f'function "{name}": its image cannot be pulled: 127.0.0.1 resolves to a'
            " private address. List it under `registries` in the runner's configuration if it may"
            " be used."
        )
        assert liar.seen == []
        named = access(private=False, sites={liar.host: Site(plain=True)})
        assert "localhost resolves to a private address" in why(
            FunctionUnavailableError, lambda: brought(name, named, PART)
        )
        assert inner.seen == []


ADDRESSES = {
    "8.8.8.8": True,
    "2001:4860:4860::8888": True,
    "10.1.2.3": False,
    "::ffff:224.0.0.251": False,
    "172.16.0.1": False,
    "192.168.1.1": False,
    "100.64.0.1": False,
    "127.0.0.1": False,
    "0.0.0.0": False,
    "169.254.169.254": False,
    "224.0.0.1": False,
    "::1": False,
    "fe80::1%eth0": False,
    "fd00:ec2::254": False,
    "::ffff:10.0.0.1": False,
    "64:ff9b::a9fe:a9fe": False,
    "2002:a9fe:a9fe::1": False,
}


@pytest.mark.parametrize(("address", "public"), ADDRESSES.items())
def test_which_addresses_are_public(address: str, public: bool) -> None:
    assert fetch._public(address) is public


def test_a_token_service_is_told_the_password_and_the_registry_only_the_token(
    tmp_path: Path,
) -> None:
    """Short-cut: basic authentication for whatever is asked."""
    with lying(
        lambda _, handler: say(handler, 200, b'{"token": "t0ken", "expires_in": 300}')
    ) as service:

        def challenges(_: Liar, handler: BaseHTTPRequestHandler) -> None:
            if handler.headers.get("Authorization") == "Bearer t0ken":
                say(handler, 200, BODY, Docker_Content_Digest=digest(BODY))
            else:
                realm = f'Bearer realm="http://{service.host}/token?x=1",service="s, t",scope="all"'
                say(handler, 401, WWW_Authenticate=realm)

        with lying(challenges) as liar:
            registries = Registries(access(login(tmp_path, liar.host)))
            for _ in range(2):  # the second time the token is known
                with registries.session(Name.read(f"{liar.host}/team/f:v1")) as session:
                    assert session.digest() == digest(BODY)

    assert [sent for *_, sent in liar.seen] == ["", "Bearer t0ken", "Bearer t0ken"]
    ((_, path, sent),) = service.seen
    assert sent == basic()
    assert parse_qs(urlsplit(path).query) == {
        "x": ["1"],
        "service": ["s, t"],
        "scope": ["repository:team/f:pull"],
    }


def test_a_token_that_is_no_longer_taken_is_replaced(tmp_path: Path) -> None:
    tokens = iter(["first", "second"])

    def answer(_: Liar, handler: BaseHTTPRequestHandler) -> None:
        if handler.path.startswith("/token"):
            say(handler, 200, json.dumps({"access_token": next(tokens)}).encode())
        elif handler.headers.get("Authorization") == f"Bearer {current[0]}":
            say(handler, 200, Docker_Content_Digest=digest(BODY))
        else:
            realm = f'Bearer realm="http://{liar.host}/token"'
            say(handler, 401, WWW_Authenticate=realm)

    current = ["first"]
    with lying(answer) as liar:
        registries = Registries(access())
        for token in ("first", "second"):
            current[0] = token
            with registries.session(Name.read(f"{liar.host}/f:v1")) as session:
                assert session.digest() == digest(BODY)


def test_an_identity_token_is_exchanged(tmp_path: Path) -> None:
    posted = []

    def answer(liar: Liar, handler: BaseHTTPRequestHandler) -> None:
        if handler.command == "POST":
            length = int(handler.headers["Content-Length"])
            posted.append(parse_qs(handler.rfile.read(length).decode()))
            say(handler, 200, b'{"access_token": "t"}')
        elif handler.headers.get("Authorization") == "Bearer t":
            say(handler, 200, Docker_Content_Digest=digest(BODY))
        else:
            say(handler, 401, WWW_Authenticate=f'Bearer realm="http://{liar.host}/token"')

    with lying(answer) as liar:
        file = login(tmp_path, liar.host, identitytoken="refresh me")
        assert meant(f"{liar.host}/f:v1", access(file)) == digest(BODY)
    assert posted[0]["refresh_token"] == ["refresh me"]
    assert posted[0]["grant_type"] == ["refresh_token"]


REALMS = {
    "https://HOST/": "cannot be trusted",
    "http://tokens.example/": "names the token service http://tokens.example, without TLS",
    "": "names the token service '', which is no address",
    "http://[": "names the token service 'http://[', which is no address",
}


@pytest.mark.parametrize(("realm", "text"), REALMS.items())
def test_a_password_goes_to_no_service_in_plain_text(tmp_path: Path, realm: str, text: str) -> None:
    def answer(liar: Liar, handler: BaseHTTPRequestHandler) -> None:
        where = realm.replace("HOST", liar.host)
        say(handler, 401, WWW_Authenticate=f'Bearer realm="{where}"')

    with lying(answer) as liar:
        given = access(login(tmp_path, liar.host))
        assert text in why(FunctionUnavailableError, lambda: meant(f"{liar.host}/f:v1", given))


@pytest.mark.parametrize("token", [b"", b"[]", b"{}", b'{"token": 5}', b'{"token": "a\\r\\nb"}'])
def test_a_token_that_is_none(token: bytes) -> None:
    def answer(liar: Liar, handler: BaseHTTPRequestHandler) -> None:
        if handler.path.startswith("/token"):
            say(handler, 200, token)
        else:
            say(handler, 401, WWW_Authenticate=f'Bearer realm="http://{liar.host}/token"')

    with lying(answer) as liar:
        found = why(FunctionUnavailableError, lambda: meant(f"{liar.host}/f:v1", access()))
    assert "sent no usable token" in found


# -- a real registry ------------------------------------------------------------------------------


@needs_registry
def test_a_registry_with_a_password(tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text(HTPASSWD)
    with registry({"htpasswd": {"realm": "r", "path": str(users)}}) as hub:
        pushed = hub.authorized(basic()).push("t/f:v1", SMALL)
        name = f"{hub.host}/t/f:v1"

        assert meant(name, access(login(tmp_path, hub.host))) == pushed
        anonymous = tmp_path / "none.json"
        anonymous.write_text("{}")
        wrong = {"username": USER, "password": "guess"}
        for given in (anonymous, login(tmp_path, hub.host, **wrong)):
            found = why(FunctionUnavailableError, lambda given=given: meant(name, access(given)))  # type: ignore[misc] # bound now
            assert found == (
                f'function "{name}": its image cannot be pulled: {hub.host} answers 401: it does'
                " not exist, or the runner has no access to it. Check its name, or give the runner"
                f" credentials for {hub.host}."
            )


class Tokens:
    """A token service that the real registry trusts."""

    def __init__(self, folder: Path) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._certificate = _certificate(self._key, "tokens")
        self.bundle = folder / "bundle.pem"
        self.bundle.write_bytes(self._certificate)

    def answer(self, liar: Liar, handler: BaseHTTPRequestHandler) -> None:
        """Let everybody read, and who has the password write."""
        image_config = parse_qs(urlsplit(handler.path).query)
        known = handler.headers.get("Authorization") == basic()
        scope = image_config["scope"][0].split(":")
        may = scope[2].split(",") if known else [each for each in ("pull",) if scope[1] == "open/f"]
        now = datetime.datetime.now(datetime.UTC)
        token = jwt.encode(
            {
                "iss": "test",
                "aud": image_config["service"][0],
                "sub": USER if known else "",
                "nbf": now - datetime.timedelta(minutes=1),
                "exp": now + datetime.timedelta(minutes=5),
                "iat": now,
                "jti": "1",
                "access": [{"type": "repository", "name": scope[1], "actions": may}],
            },
            self._key,
            "ES256",
            {"x5c": [base64.b64encode(_der(self._certificate)).decode()]},
        )
        say(handler, 200, json.dumps({"token": token}).encode())


def _certificate(key: ec.EllipticCurvePrivateKey, name: str) -> bytes:
    who = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(who)
        .issuer_name(who)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(
            x509.KeyUsage(
                digital_signature=True,
                key_cert_sign=True,
                crl_sign=True,
                content_commitment=False,
                key_encipherment=False,
                data_encipherment=False,
                key_agreement=False,
                encipher_only=False,
                decipher_only=False,
            ),
            critical=True,
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM)


def _der(certificate: bytes) -> bytes:
    return x509.load_pem_x509_certificate(certificate).public_bytes(serialization.Encoding.DER)


@needs_registry
def test_a_registry_with_tokens(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    with lying(tokens.answer) as service:
        given = {
            "realm": f"http://{service.host}/token",
            "service": "registry",
            "issuer": "test",
            "rootcertbundle": str(tokens.bundle),
        }
        with registry({"token": given}) as hub:
            for name in ("open/f", "closed/f"):
                scope = f"http://{service.host}/?service=registry&scope=repository:{name}:pull,push"
                token = _token(scope)
                pushed = hub.authorized(f"Bearer {token}").push(f"{name}:v1", SMALL)
            anonymous = tmp_path / "none.json"
            anonymous.write_text("{}")
            known = login(tmp_path, hub.host)

            assert meant(f"{hub.host}/open/f:v1", access(anonymous)) == pushed
            assert "answers 401" in why(
                FunctionUnavailableError,
                lambda: meant(f"{hub.host}/closed/f:v1", access(anonymous)),
            )
            assert meant(f"{hub.host}/closed/f:v1", access(known)) == pushed


def _token(url: str) -> str:
    with fetch.HttpSession(60.0, lambda _: True, lambda _: None) as session:
        data = bytearray()
        session.read(session.open("GET", url, {"Authorization": basic()}), 100_000, data.extend)
    return str(json.loads(data)["token"])


@needs_registry
def test_a_registry_with_a_certificate_of_its_own(tmp_path: Path) -> None:
    """Short-cut: trust every certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    (tmp_path / "cert.pem").write_bytes(_certificate(key, "localhost"))
    (tmp_path / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    tls = {"certificate": str(tmp_path / "cert.pem"), "key": str(tmp_path / "key.pem")}
    with registry(tls=tls) as hub:
        name = f"{hub.host}/t/f:v1"
        trusted = {hub.host: Site(ca=tmp_path / "cert.pem")}
        with pytest.raises(FunctionNotFoundError):  # reached, and empty
            meant(name, access(sites=trusted))
        found = why(FunctionUnavailableError, lambda: meant(name, access(sites={hub.host: Site()})))
        assert "localhost cannot be trusted" in found
        assert (
            "Name its certificate authority (`ca`) in the runner's configuration, or that" in found
        )
        assert "(`insecure`)" in found
        broken = {hub.host: Site(ca=tmp_path / "none.pem")}
        assert "the certificates in" in why(
            FunctionUnavailableError, lambda: meant(name, access(sites=broken))
        )


def test_what_is_said_of_docker_s_registry_is_said_of_its_server() -> None:
    said = Registries(RegistryAccess(sites={"docker.io": Site(ca=Path("/ca.pem"))}))
    unsaid = Registries(RegistryAccess())

    assert said.named("registry-1.docker.io")
    assert said.authority("registry-1.docker.io") == Path("/ca.pem")
    assert not unsaid.named("registry-1.docker.io")
    assert [unsaid.plain(host) for host in ("localhost:5", "127.0.0.1", "a.corp", "127.corp")] == [
        True,
        True,
        False,
        False,
    ]


# -- names ----------------------------------------------------------------------------------------

D = f"sha256:{'a' * 64}"
NAMES: dict[str, tuple[str, str, str, str]] = {
    "registry.corp/team/f:v1": ("registry.corp", "team/f", "v1", ""),
    "registry.corp:5000/f": ("registry.corp:5000", "f", "latest", ""),
    "localhost/f:v1": ("localhost", "f", "v1", ""),
    "team/f:v1": ("docker.io", "team/f", "v1", ""),
    "f:v1": ("docker.io", "library/f", "v1", ""),
    "docker.io/f:v1": ("docker.io", "library/f", "v1", ""),
    "index.docker.io/team/f:v1": ("docker.io", "team/f", "v1", ""),
    f"ghcr.io/t/f:v1@{D}": ("ghcr.io", "t/f", "", D),
}


@pytest.mark.parametrize("image", NAMES)
def test_a_name_is_taken_apart(image: str) -> None:
    found = Name.read(image)
    assert (found.host, found.repository, found.tag, found.digest) == NAMES[image]


@pytest.mark.parametrize(
    "found", [f"sha512:{'a' * 128}", f"sha256:{'A' * 64}", f"sha256:{'a' * 65}"]
)
def test_a_digest_that_cannot_be_checked(found: str) -> None:
    with pytest.raises(FunctionRefusedError, match=r"Write sha256: and 64 digits"):
        Name.read(f"ghcr.io/t/f@{found}")


@pytest.mark.parametrize("port", ["0", "65536", "99999"])
def test_a_port_that_there_is_not(port: str) -> None:
    """Short-cut: leave it to what connects, which takes it for a bad certificate."""
    with pytest.raises(FunctionRefusedError, match=f"{port} is not a port. Use one from 1"):
        Name.read(f"localhost:{port}/f:v1")


# -- credentials ----------------------------------------------------------------------------------

AUTHS: dict[str, Mapping[str, object]] = {
    "registry.corp": {"username": "a", "password": "b"},
    "https://schemed.corp/v2/": {"username": "s", "password": "b"},
    "https://index.docker.io/v1/": {"username": "hub", "password": "b"},
    "ghcr.io/team": {"username": "team", "password": "b"},
    "ghcr.io": {"username": "all", "password": "b"},
    "*.gcr.example": {"username": "star", "password": "b"},
    "*.gcr.example/team": {"username": "star team", "password": "b"},
    "eu.gcr.example": {"username": "eu", "password": "b"},
    "encoded.corp": {"auth": base64.b64encode(b"u:p:w").decode()},
    "bearer.corp": {"registrytoken": "t"},
    "empty.corp": {},
}
FOUND = {
    ("registry.corp", "f"): Credentials("a", "b"),
    ("registry.corp:5000", "f"): Credentials(),
    ("other.registry.corp", "f"): Credentials(),
    ("registry.corp.evil.example", "f"): Credentials(),
    ("registry", "corp"): Credentials(),
    ("schemed.corp", "f"): Credentials("s", "b"),
    ("docker.io", "library/f"): Credentials("hub", "b"),
    ("ghcr.io", "team/f"): Credentials("team", "b"),
    ("ghcr.io", "teams/f"): Credentials("all", "b"),
    ("us.gcr.example", "f"): Credentials("star", "b"),
    ("us.gcr.example", "team/f"): Credentials("star team", "b"),
    ("eu.gcr.example", "f"): Credentials("eu", "b"),
    ("eu.gcr.example", "team/f"): Credentials("eu", "b"),
    ("eu.gcr.example.evil.example", "f"): Credentials(),
    ("a.b.gcr.example", "f"): Credentials(),
    ("encoded.corp", "f"): Credentials("u", "p:w"),
    ("bearer.corp", "f"): Credentials(bearer="t"),
    ("empty.corp", "f"): Credentials(),
}


@pytest.mark.parametrize(("host", "repository"), FOUND)
def test_which_credentials_are_for_whom(tmp_path: Path, host: str, repository: str) -> None:
    """Short-cut: the entry whose name the host begins with."""
    path = tmp_path / ".dockerconfigjson"
    path.write_text(json.dumps({"auths": AUTHS}))

    assert credentials.find(host, repository, path) == FOUND[host, repository]


def test_docker_s_own_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_CONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert credentials.find("registry.corp", "f") == Credentials()
    (tmp_path / ".docker").mkdir()
    (tmp_path / ".docker/config.json").write_text(json.dumps({"auths": AUTHS}))
    assert credentials.find("registry.corp", "f") == Credentials("a", "b")
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    assert credentials.find("registry.corp", "f") == Credentials()


HELPER = """#!/bin/sh
server=$(cat)
case "$1 $server" in
  "get registry.corp") echo '{"ServerURL": "x", "Username": "u", "Secret": "s"}';;
  "get https://index.docker.io/v1/") echo '{"Username": "hub", "Secret": "s"}';;
  "get token.corp") echo '{"Username": "<token>", "Secret": "refresh"}';;
  "get broken.corp") echo 'secret words';;
  "get failing.corp") echo 'secret words' >&2; exit 2;;
  *) echo 'credentials not found in native keychain'; exit 1;;
esac
"""


def test_helper_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helper = tmp_path / "docker-credential-test"
    helper.write_text(HELPER)
    helper.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    path = tmp_path / "config.json"
    for config in (
        {"credsStore": "test", "auths": {"registry.corp": {}}},
        {"credHelpers": dict.fromkeys(("registry.corp", "docker.io", "token.corp"), "test")},
    ):
        path.write_text(json.dumps(config))
        assert credentials.find("registry.corp", "f", path) == Credentials("u", "s")
        assert credentials.find("docker.io", "library/f", path) == Credentials("hub", "s")
        assert credentials.find("token.corp", "f", path) == Credentials(identity="refresh")
        assert credentials.find("unknown.corp", "f", path) == Credentials()


BAD_FILES: dict[str, tuple[str, str]] = {
    "no JSON": ("{secret", "it cannot be read (JSONDecodeError). Write it in docker's format."),
    "a list": ('["secret"]', "it is not a JSON object. Write it in docker's format."),
    "auths of text": ('{"auths": "secret"}', "auths is not a JSON object. Write it in"),
    "an entry of numbers": (
        '{"auths": {"broken.corp": {"username": 5}}}',
        "the entry of broken.corp is not text. Log in again.",
    ),
    "no base64": (
        '{"auths": {"broken.corp": {"auth": "secret!"}}}',
        "auth of broken.corp is not name:password in base64.",
    ),
    "no colon": (
        '{"auths": {"broken.corp": {"auth": "c2VjcmV0"}}}',
        "auth of broken.corp is not name:password in base64.",
    ),
    "a helper with a path": (
        '{"credsStore": "../secret"}',
        "the helper of broken.corp has an invalid name. Give the suffix of a credential helper.",
    ),
    "a helper that is missing": (
        '{"credsStore": "is-not-here"}',
        "docker-credential-is-not-here is not installed. Install it.",
    ),
}


@pytest.mark.parametrize(("text", "said"), BAD_FILES.values(), ids=BAD_FILES)
def test_credentials_that_cannot_be_read(tmp_path: Path, text: str, said: str) -> None:
    """Short-cut: quote what was found."""
    path = tmp_path / "file.json"
    path.write_text(text)

    with pytest.raises(CredentialsError) as caught:
        credentials.find("broken.corp", "f", path)
    assert str(caught.value).startswith(f"{path}: {said}")
    assert "secret" not in str(caught.value)


def test_a_credential_file_that_is_missing_is_told() -> None:
    with pytest.raises(CredentialsError, match="it cannot be read"):
        credentials.find("registry.corp", "f", Path("/not/there.json"))


def test_secrets_are_not_shown() -> None:
    assert "secret" not in repr(Credentials("u", "secret", "secret", "secret"))


# -- manifests ------------------------------------------------------------------------------------


def image_with(**changes: object) -> bytes:
    return json.dumps({**json.loads(BODY), **changes}).encode()


BAD_MANIFESTS: dict[str, tuple[bytes, str]] = {
    "no JSON": (b"<html>", "its manifest is not JSON. Push it again."),
    "a list": (b"[]", "its manifest is not a JSON object. Push it again."),
    "deep": (b"[" * 100_000, "its manifest is not JSON. Push it again."),
    "neither": (b"{}", "its manifest is neither clearly an image nor clearly an index of images."),
    "both at once": (
        image_with(manifests=[]),
        "its manifest is neither clearly an image nor clearly an index of images.",
    ),
    "schema 1": (b'{"schemaVersion": 1}', "its manifest is of Docker's schema 1"),
    "an index that says it is an image": (
        json.dumps({"mediaType": MANIFEST, "manifests": []}).encode(),
        f"its manifest has the media type '{MANIFEST}'.",
    ),
    "an artifact": (
        image_with(config={"mediaType": "text/plain", "digest": D, "size": 1}),
        "it is not a container image but 'text/plain'. Use the image of a function.",
    ),
    "a layer of another kind": (
        image_with(layers=[{"mediaType": "application/wasm", "digest": D, "size": 1}]),
        "it has a layer of unknown type 'application/wasm'. Rebuild it.",
    ),
    "a digest that climbs": (
        image_with(layers=[{"mediaType": LAYER, "digest": "sha256:../../x", "size": 1}]),
        "its manifest does not follow the specification: layers.0.digest: String should"
        " match pattern",
    ),
    "a size below zero": (
        image_with(layers=[{"mediaType": LAYER, "digest": D, "size": -1}]),
        "its manifest does not follow the specification: layers.0.size: Input should be greater"
        " than",
    ),
    "layers without end": (
        image_with(layers=[{"mediaType": LAYER, "digest": D, "size": 1}] * 201),
        "its manifest does not follow the specification: layers: ",
    ),
}


@pytest.mark.parametrize(("data", "text"), BAD_MANIFESTS.values(), ids=BAD_MANIFESTS)
def test_manifests_that_are_refused(data: bytes, text: str) -> None:
    with pytest.raises(ImageManifestError) as caught:
        read(data)
    assert str(caught.value).startswith(text)


def test_of_an_index_the_image_for_this_machine() -> None:
    """Short-cut: the first."""
    here = str(machine())
    entries = [
        ("windows", ARCHITECTURE, "", 1),
        ("unknown", "unknown", "", 2),
        ("linux", "mips", "", 3),
        ("linux", ARCHITECTURE, "v9", 4),
        ("linux", ARCHITECTURE, "", 5),
    ]
    listed = [
        {
            "mediaType": MANIFEST,
            "digest": f"sha256:{number:064x}",
            "size": 1,
            "platform": {"os": os_name, "architecture": architecture, "variant": variant},
        }
        for os_name, architecture, variant, number in entries
    ]
    whole = read(json.dumps({"mediaType": INDEX, "manifests": listed}).encode())
    lacking = read(json.dumps({"mediaType": INDEX, "manifests": listed[:3]}).encode())

    assert choose(whole).digest == f"sha256:{5:064x}"  # type: ignore[arg-type] # an index
    with pytest.raises(ImageManifestError) as caught:
        choose(lacking)  # type: ignore[arg-type] # an index
    assert str(caught.value) == (
        f"it is built for linux/mips, windows/{ARCHITECTURE}, and this machine is {here}."
        f" Build it for {here} as well."
    )


def test_an_index_made_here_is_read() -> None:
    assert choose(read(index(SMALL))).digest == digest(BODY)  # type: ignore[arg-type] # an index


def test_what_a_configuration_asks_for() -> None:
    config = {"Entrypoint": ["/f"], "Cmd": ["-x"], "Env": ["A=b", "=x", "C"], "WorkingDir": "w"}
    found = image_config(json.dumps({"os": "linux", "config": {**config, "User": "1000"}}).encode())

    assert (found.argv, found.environment, found.folder, found.user) == (
        ("/f", "-x"),
        ("A=b",),
        "/w",
        "1000",
    )
    assert image_config(b"{}").argv == image_config(b'{"config": null}').argv == ()
    with pytest.raises(ImageManifestError, match="NUL"):
        image_config(b'{"config": {"Cmd": ["a\\u0000b"]}}')
