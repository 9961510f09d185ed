"""A real registry for tests, and images built from nothing and pushed to it.

`Registry` starts Debian's docker-registry on a free port of loopback; images are built from layers
that are written here as tar archives, with a static busybox as their only program.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import platform
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.ports import free_port

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
DOCKER_INDEX = "application/vnd.docker.distribution.manifest.list.v2+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_CONFIG = "application/vnd.docker.container.image.v1+json"
DOCKER_LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"

ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())

USER, PASSWORD = "robot", "open sesame"
# bcrypt of PASSWORD, with the least work that bcrypt knows.
HTPASSWD = "robot:$2y$04$CEzdRgRGx5006vR9y64MBujGwXNdQI6u3Vt.Tv.wV6TRtJUmUxHjO\n"


def program(name: str) -> str | None:
    """A program of the virtual environment or of the system; None where it is missing."""
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else shutil.which(name)


MISSING = ", ".join(name for name in ("docker-registry", "busybox") if program(name) is None)
"""What is not here, for the reason to skip."""


# -- layers ---------------------------------------------------------------------------------------


def entry(name: str, kind: bytes = tarfile.REGTYPE, **more: Any) -> tarfile.TarInfo:
    """One entry of a layer."""
    info = tarfile.TarInfo(name)
    info.type = kind
    info.mode = more.pop("mode", 0o755)
    for key, value in more.items():
        setattr(info, key, value)
    return info


def layer(*entries: tuple[tarfile.TarInfo, bytes]) -> bytes:
    """A layer as a plain tar archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for info, content in entries:
            if info.isreg():
                info.size = len(content)
            archive.addfile(info, io.BytesIO(content) if info.isreg() else None)
    return buffer.getvalue()


def files(contents: Mapping[str, bytes | str], mode: int = 0o755) -> bytes:
    """A layer of files."""
    return layer(
        *(
            (entry(name, mode=mode), text.encode() if isinstance(text, str) else text)
            for name, text in contents.items()
        )
    )


def busybox(*links: str) -> bytes:
    """A layer with busybox, and links to it such as "bin/sh"."""
    found = program("busybox")
    assert found is not None
    return layer(
        (entry("bin/busybox"), Path(found).read_bytes()),
        *((entry(link, tarfile.SYMTYPE, linkname="/bin/busybox"), b"") for link in links),
    )


# -- images ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Image:
    """An image to push: its layers as tar archives, and its configuration."""

    layers: Sequence[bytes]
    config: Mapping[str, Any] = field(default_factory=dict)
    architecture: str = ARCHITECTURE
    docker: bool = False
    compress: Any = None  # a function, and the media type of layers
    kind: str = LAYER

    @property
    def media_type(self) -> str:
        return DOCKER_MANIFEST if self.docker else MANIFEST

    def blobs(self) -> list[tuple[str, bytes]]:
        """Media type and bytes of the configuration, then of each layer."""
        pack = self.compress or (lambda data: gzip.compress(data, 1, mtime=0))
        config = {
            "architecture": self.architecture,
            "os": "linux",
            "config": dict(self.config),
            "rootfs": {"type": "layers", "diff_ids": [digest(each) for each in self.layers]},
        }
        kinds = (DOCKER_CONFIG, DOCKER_LAYER) if self.docker else (CONFIG, self.kind)
        return [
            (kinds[0], json.dumps(config).encode()),
            *((kinds[1], pack(each)) for each in self.layers),
        ]

    def manifest(self) -> bytes:
        config, *layers = (
            {"mediaType": kind, "digest": digest(data), "size": len(data)}
            for kind, data in self.blobs()
        )
        return json.dumps(
            {"schemaVersion": 2, "mediaType": self.media_type, "config": config, "layers": layers}
        ).encode()


def shell(script: str, **config: Any) -> Image:
    """A function that is a script for busybox's shell, with its usual commands."""
    commands = [f"bin/{name}" for name in ("sh", "cat", "sed", "sleep", "env", "id", "ls", "nc")]
    return Image(
        [busybox(*commands), files({"function.sh": script})],
        {"Entrypoint": ["/bin/sh", "/function.sh"], **config},
    )


def index(*images: Image, docker: bool = False) -> bytes:
    """An index of images."""
    return json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": DOCKER_INDEX if docker else INDEX,
            "manifests": [
                {
                    "mediaType": each.media_type,
                    "digest": digest(each.manifest()),
                    "size": len(each.manifest()),
                    "platform": {"os": "linux", "architecture": each.architecture},
                }
                for each in images
            ],
        }
    ).encode()


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


# -- the registry ---------------------------------------------------------------------------------


class Registry:
    """A running registry.

    Attributes:
        host: Its name in images, such as "localhost:40123".
        folder: What it stores, and its log.
    """

    def __init__(self, port: int, folder: Path, authorization: str = "") -> None:
        self.host = f"localhost:{port}"
        self.folder = folder
        self._authorization = authorization

    def authorized(self, value: str) -> Registry:
        """The same registry, pushed to by somebody."""
        other = Registry(0, self.folder, value)
        other.host = self.host
        return other

    def push(self, name: str, image: Image | bytes, kind: str = INDEX) -> str:
        """Push an image, or a manifest of a kind, as NAME:TAG; return its digest."""
        repository, _, tag = name.partition(":")
        if isinstance(image, Image):
            for _, data in image.blobs():
                self._blob(repository, data)
            kind, data = image.media_type, image.manifest()
        else:
            data = image
        self.send("PUT", f"{repository}/manifests/{tag or digest(data)}", data, kind)
        return digest(data)

    def delete(self, repository: str, digest: str) -> None:
        """Delete a manifest; its tags go with it."""
        self.send("DELETE", f"{repository}/manifests/{digest}")

    def asked(self) -> list[str]:
        """Method and path of each request so far, besides those of `push`."""
        for _ in range(1200):  # what is answered is in the log a moment later
            lines = (self.folder / "log").read_text().splitlines(keepends=True)
            found = [json.loads(line) for line in lines if line[0] == "{" and line[-1] == "\n"]
            begun = {
                each["http.request.id"] for each in found if each["msg"] == "authorizing request"
            }
            ended = {
                each["http.request.id"]
                for each in found
                if each["msg"].startswith("response completed")
            }
            if begun <= ended:
                break
            time.sleep(0.05)
        else:
            raise AssertionError("the registry does not end what it has begun")
        return [
            f"{each['http.request.method']} {each['http.request.uri']}"
            for each in found
            if each.get("msg") == "response completed"
            and each.get("http.request.useragent") == "porchbot"
        ]

    def _blob(self, repository: str, data: bytes) -> None:
        url = self.send("POST", f"{repository}/blobs/uploads/")
        sign = "&" if "?" in url else "?"
        self.send("PUT", f"{url}{sign}digest={digest(data)}", data, "application/octet-stream")

    def send(self, method: str, url: str, data: bytes | None = None, kind: str = "") -> str:
        """Ask something of it; return where it points to next."""
        if not url.startswith("http"):
            url = f"http://{self.host}/v2/{url}"
        request = urllib.request.Request(url, data, method=method)
        if kind:
            request.add_header("Content-Type", kind)
        if self._authorization:
            request.add_header("Authorization", self._authorization)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return str(answer.headers.get("Location", ""))


def basic(user: str = USER, password: str = PASSWORD) -> str:
    """Value of the header of who may push."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@contextmanager
def registry(
    auth: Mapping[str, Any] | None = None, tls: Mapping[str, str] | None = None
) -> Iterator[Registry]:
    """Start a registry, and end it."""
    found = program("docker-registry")
    assert found is not None
    with tempfile.TemporaryDirectory(prefix="porchbot-registry-") as name:
        folder = Path(name)
        for _ in range(5):  # another program may take the port first
            port = free_port()
            process = _start(found, folder, port, auth, tls)
            if _up(process, port):
                break
        else:
            raise RuntimeError((folder / "log").read_text())
        try:
            yield Registry(port, folder)
        finally:
            process.kill()
            process.wait()


def _start(
    found: str,
    folder: Path,
    port: int,
    auth: Mapping[str, Any] | None,
    tls: Mapping[str, str] | None,
) -> subprocess.Popen[bytes]:
    config = {
        "version": "0.1",
        "log": {"level": "debug", "formatter": "json"},
        "storage": {
            "filesystem": {"rootdirectory": str(folder / "data")},
            "delete": {"enabled": True},
            "maintenance": {"uploadpurging": {"enabled": False}},
        },
        "http": {"addr": f"127.0.0.1:{port}", "secret": "of no use", "tls": dict(tls or {})},
        "auth": dict(auth or {}),
    }
    path = folder / "config.yml"
    path.write_text(json.dumps(config))  # which is YAML as well
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            [found, "serve", path], stdout=log, stderr=log, env={"OTEL_TRACES_EXPORTER": "none"}
        )


def _up(process: subprocess.Popen[bytes], port: int) -> bool:
    for _ in range(600):
        if process.poll() is not None:
            return False
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except OSError:
            time.sleep(0.05)
        else:
            return True
    process.kill()
    process.wait()
    return False


def with_config(image: Image, **config: Any) -> Image:
    """The same image with more in its configuration."""
    return replace(image, config={**image.config, **config})
