"""A bare repository behind git's own HTTP backend, for tests of what speaks to one.

It is no forge: it knows one token, and does as it is told for the next requests.
"""

import base64
import hashlib
import os
import re
import ssl
import subprocess
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from bot.sandbox.git.bare import http_backend

PASSWORD = "ghs_the_token"
TOKEN = f"anybody:{PASSWORD}"


class Remote:
    """The repository at the other end, changed by plain git.

    Attributes:
        folder: The bare repository.
        url: Its address.
        failing: Status that requests are answered with; 0 while they are served.
        requests: Paths asked for.
        told: Refs that it has told of, each time it was asked for some.
        connections: How many were made to it.
        protocol: Whether it speaks protocol 2.
        odd: Given each request with its body; True where that has answered it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = ""
        self.failing = 0
        self.requests: list[str] = []
        self.told: list[str] = []
        self.connections = 0
        self.protocol = True
        self.odd: Callable[[BaseHTTPRequestHandler, bytes], bool] = lambda _, __: False
        self.git("init", "--quiet", "--bare", "--template=", "--initial-branch=main", ".")
        (folder / "hooks").mkdir()
        with (folder / "config").open("a") as config:
            config.write("[http]\nreceivepack = true\n[uploadpack]\nallowAnySHA1InWant = true\n")

    def git(self, *arguments: str, data: bytes = b"", at: int | None = None) -> str:
        """Run git in the repository, at a time in seconds; returns what it said."""
        self.folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.folder,
            input=data,
            capture_output=True,
            check=True,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.folder),
                "GIT_CONFIG_NOSYSTEM": "1",
                **{
                    f"GIT_{who}_{what}": value
                    for who in ("AUTHOR", "COMMITTER")
                    for what, value in (("NAME", "author"), ("EMAIL", "author@forge.example"))
                },
                **({} if at is None else {"GIT_COMMITTER_DATE": f"@{at} +0000"}),
            },
        )
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def commit(
        self,
        files: dict[str, bytes | str],
        *parents: str,
        ref: str = "",
        message: str = "change",
        at: int | None = None,
    ) -> str:
        """Write a commit with exactly these files, and move a ref to it.

        Args:
            files: Path to bytes; a text is the mode and id of an entry, such as a submodule's.
            parents: Of the commit.
            ref: Full name of the ref to move.
            message: Of the commit.
            at: When, in seconds; None for now.
        """
        lines = []
        for path, data in files.items():
            if isinstance(data, bytes):
                lines.append(f"100644 {self._blob(data)}\t{path}")
            else:
                lines.append(f"{data}\t{path}")
        index = {"GIT_INDEX_FILE": str(self.folder / "test-index")}
        Path(index["GIT_INDEX_FILE"]).unlink(missing_ok=True)
        spelled = "".join(f"{line}\0" for line in lines).encode("utf-8", "surrogateescape")
        command = ["git", "update-index", "--add", "-z", "--index-info"]
        environment = {**os.environ, **index, "GIT_DIR": str(self.folder)}
        subprocess.run(command, input=spelled, check=True, env=environment, cwd=self.folder)
        tree = subprocess.run(
            ["git", "write-tree"], check=True, env=environment, cwd=self.folder, capture_output=True
        )
        before = [word for parent in parents for word in ("-p", parent)]
        sha = self.git(
            "commit-tree", tree.stdout.decode().strip(), *before, data=message.encode(), at=at
        )
        if ref:
            self.git("update-ref", ref, sha)
        return sha

    def _blob(self, data: bytes) -> str:
        """Write a blob as git does, which would be a process for each file of each commit."""
        whole = b"blob %d\0%s" % (len(data), data)
        sha = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
        path = self.folder / "objects" / sha[:2] / sha[2:]
        path.parent.mkdir(exist_ok=True)
        if not path.exists():
            path.write_bytes(zlib.compress(whole, 1))
        return sha

    def refs(self) -> dict[str, str]:
        """Every ref and the object it names."""
        lines = self.git("for-each-ref", "--format=%(refname) %(objectname)").split("\n")
        return {name: sha for name, _, sha in (line.partition(" ") for line in lines if line)}

    def hook(self, script: str) -> None:
        """Make pushes run this before they are accepted."""
        path = self.folder / "hooks" / "pre-receive"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)


def certificate(folder: Path) -> Path:
    """A key and a certificate for this machine, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "forge.example")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    file = folder / "forge.pem"
    pem = serialization.Encoding.PEM
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(private + made.public_bytes(pem))
    return file


def _told(body: bytes) -> list[str]:
    """The refs in an answer to `ls-refs`, or in what a push is told first; none in any other."""
    lines = re.findall(rb"[0-9a-f]{44} (refs/[^\0\n ]+)", body)
    return [line.decode("utf-8", "surrogateescape") for line in lines]


@contextmanager
def serve(folder: Path, tls: ssl.SSLContext | None = None) -> Iterator[Remote]:
    """A new, empty repository over HTTP, or over HTTPS with a certificate."""
    remote = Remote(folder)
    wanted = base64.b64encode(TOKEN.encode()).decode()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self) -> None:
            remote.connections += 1
            super().setup()

        def log_message(self, *_: object) -> None:
            """Nothing."""

        def do_GET(self) -> None:
            self._serve()

        def do_POST(self) -> None:
            self._serve()

        def _serve(self) -> None:
            remote.requests.append(f"{self.command} {self.path}")
            given = self._body()
            if remote.odd(self, given):
                return
            if remote.failing:
                self.send_error(remote.failing)
                return
            if self.headers.get("Authorization") != f"Basic {wanted}":
                self.send_response(401)
                self.send_header("WWW-Authenticate", "Basic realm=x")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            path, _, query = self.path.partition("?")
            done = subprocess.run(
                [http_backend()],
                input=given,
                capture_output=True,
                check=True,
                env={
                    "PATH": os.environ["PATH"],
                    "GIT_PROJECT_ROOT": str(folder.parent),
                    "GIT_HTTP_EXPORT_ALL": "1",
                    "GIT_CONFIG_NOSYSTEM": "1",
                    "HOME": str(folder),
                    "PATH_INFO": path,
                    "QUERY_STRING": query,
                    "REQUEST_METHOD": self.command,
                    "REMOTE_USER": "bot",
                    "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                    "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                    "GIT_PROTOCOL": self.headers.get("Git-Protocol", "") * remote.protocol,
                },
            )
            head, _, body = done.stdout.partition(b"\r\n\r\n")
            remote.told += _told(body)
            fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
            self.send_response(int(fields.pop("Status", "200").split()[0]))
            for name, value in fields.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    remote.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}/{folder.name}"
    try:
        yield remote
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
