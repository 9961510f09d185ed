"""Full names of images, and how an operator has their registries reached."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from cadlib import images
from fnrunner.contract.errors import FunctionNotFoundError, FunctionRefusedError
from fnrunner.contract.policy import HUB
from fnrunner.contract.run import MIB

_LAST_PORT: Final = 65535
DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
"""A digest, the only kind that is checked here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """How one registry, or a host that it redirects to, is reached. To name it is to trust it.

    Attributes:
        plain: It speaks HTTP without TLS.
        ca: File with PEM certificates to trust besides the system's.
    """

    plain: bool = False
    ca: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryAccess:
    """How registries are reached.

    Attributes:
        sites: Hosts, with their port if they have one, that need something of their own.
        credentials: File of docker's format; None for docker's own configuration.
        private: Hosts at private addresses may be asked though they are not among `sites`.
        seconds: Longest time to bring one image.
        image_bytes: Largest image, as it is sent.
    """

    sites: Mapping[str, Site] = field(default_factory=dict)
    credentials: Path | None = None
    private: bool = False
    seconds: float = 300.0
    image_bytes: int = 1024 * MIB


@dataclass(frozen=True, slots=True)
class Name:
    """The full name of an image, taken apart.

    Attributes:
        image: As it was asked for.
        host: Of its registry, with its port if it has one; "docker.io" where none is named.
        repository: Such as "team/set-labels".
        tag: "" beside a digest: the digest counts.
        digest: "sha256:…" or "".
    """

    image: str
    host: str
    repository: str
    tag: str
    digest: str

    @classmethod
    def read(cls, image: str) -> Self:
        """Take a full name apart.

        Raises:
            FunctionNotFoundError: It is not well formed.
            FunctionRefusedError: Its digest is not of SHA-256, or its registry has no such port.
        """
        if not images.is_image(image):
            raise FunctionNotFoundError(image)
        bare, _, digest = image.partition("@")
        if digest and not DIGEST.fullmatch(digest):
            raise FunctionRefusedError(
                image,
                f"{digest.partition(':')[0]} is not a supported digest algorithm",
                "Write sha256: and 64 digits 0-9 and a-f",
            )
        host, slash, rest = images.repository(bare).partition("/")
        if not slash or not ("." in host or ":" in host or host == "localhost"):
            host, rest = HUB, host + slash + rest
        port = host.rpartition(":")[2]
        if ":" in host and port.isdecimal() and not 0 < int(port) <= _LAST_PORT:
            raise FunctionRefusedError(
                image, f"{port} is not a port", f"Use one from 1 to {_LAST_PORT}"
            )
        if host in (HUB, f"index.{HUB}"):
            host, rest = HUB, rest if "/" in rest else f"library/{rest}"
        tag = "" if digest else images.base_name_and_tag(bare)[1] or "latest"
        return cls(image, host, rest, tag, digest)

    @property
    def reference(self) -> str:
        """What it is called within its repository."""
        return self.digest or self.tag
