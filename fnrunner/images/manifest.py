"""OCI and docker manifests: parsing, choosing the platform, the image's configuration.

Source: OCI image specification 1.1 (image-index, manifest, config); Docker's image manifest
version 2, schema 2.
"""

import json
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

INDEXES: Final = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
IMAGES: Final = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_CONFIGS: Final = (
    "application/vnd.oci.image.config.v1+json",
    "application/vnd.docker.container.image.v1+json",
)
_LAYER: Final = re.compile(
    r"application/vnd\.(oci\.image\.layer\.(nondistributable\.)?v1\.tar"
    r"|docker\.image\.rootfs\.(foreign\.)?diff\.tar)([.+](gzip|zstd))?"
)
_MACHINES: Final = MappingProxyType(
    {
        "x86_64": "amd64",
        "aarch64": "arm64",
        "armv7l": "arm",
        "armv6l": "arm",
        "i686": "386",
        "ppc64le": "ppc64le",
        "s390x": "s390x",
        "riscv64": "riscv64",
    }
)

Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]


class ImageManifestError(Exception):
    """An image is not one that runs here.

    Attributes:
        reason: Why.
        fix: What to do.
    """

    def __init__(self, reason: str, fix: str) -> None:
        super().__init__(f"{reason}. {fix}.")
        self.reason = reason
        self.fix = fix


class _Part(BaseModel):
    # Fields that newer specifications add are none of our business.
    model_config = ConfigDict(frozen=True, extra="ignore")


class Platform(_Part):
    """What an image was built for."""

    os: str = ""
    architecture: str = ""
    variant: str = ""

    def __str__(self) -> str:
        return "/".join(filter(None, (self.os, self.architecture, self.variant)))


class Descriptor(_Part):
    """A descriptor: media type, digest and size of a blob or manifest.

    Attributes:
        media_type: What it is.
        digest: Of its bytes.
        size: Its length in bytes.
        platform: What it was built for, in an index.
    """

    media_type: str = Field(default="", alias="mediaType")
    digest: Digest
    size: int = Field(ge=0)
    platform: Platform | None = None


class ImageIndex(_Part):
    """Images for several platforms under one name."""

    manifests: Sequence[Descriptor] = Field(max_length=1000)


class Image(_Part):
    """One image: what it asks for, and its layers from the lowest up."""

    config: Descriptor
    layers: Sequence[Descriptor] = Field(max_length=200)  # docker's own limit is 127

    @property
    def size_bytes(self) -> int:
        """How much there is to bring."""
        return sum(layer.size for layer in self.layers)


class _Settings(_Part):
    user: str = Field(default="", alias="User")
    env: Sequence[str] | None = Field(default=None, alias="Env")
    entrypoint: Sequence[str] | None = Field(default=None, alias="Entrypoint")
    cmd: Sequence[str] | None = Field(default=None, alias="Cmd")
    folder: str | None = Field(default="", alias="WorkingDir")


class _Config(_Part):
    os: str = ""
    architecture: str = ""
    variant: str = ""
    config: _Settings | None = None


@dataclass(frozen=True, slots=True)
class ImageConfig:
    """An image's configuration: entrypoint, environment, user, working folder.

    Attributes:
        argv: Its entrypoint, then its default arguments; () if it names none.
        environment: Variables in order, "NAME=value".
        folder: Its working directory.
        user: Who it wants to be; the sandbox's own user is used all the same.
    """

    argv: tuple[str, ...]
    environment: tuple[str, ...] = ()
    folder: str = "/"
    user: str = ""


def read(data: bytes) -> ImageIndex | Image:
    """Read a manifest of any kind.

    Raises:
        ManifestError: It is none, or of a kind that is not run.
    """
    found = _object(data, "its manifest")
    if found.get("schemaVersion") == 1:
        raise ImageManifestError(
            "its manifest is of Docker's schema 1, which is no longer in use",
            "Push it again with a current tool",
        )
    # Two tools would read such a document as two different images.
    if ("manifests" in found) == ("layers" in found or "config" in found):
        raise ImageManifestError(
            "its manifest is neither clearly an image nor clearly an index of images",
            "Push it again",
        )
    kind = found.get("mediaType")
    known = INDEXES if "manifests" in found else IMAGES
    if kind and kind not in known:
        raise ImageManifestError(
            f"its manifest has the media type {kind!r}", "Use the image of a function"
        )
    if "manifests" in found:
        return _read(ImageIndex, data, "its index")
    image = _read(Image, data, "its manifest")
    if image.config.media_type not in _CONFIGS:
        raise ImageManifestError(
            f"it is not a container image but {image.config.media_type!r}",
            "Use the image of a function",
        )
    for layer in image.layers:
        if not _LAYER.fullmatch(layer.media_type):
            raise ImageManifestError(
                f"it has a layer of unknown type {layer.media_type!r}", "Rebuild it"
            )
    return image


def choose(index: ImageIndex) -> Descriptor:
    """Return the image for this machine.

    Raises:
        ManifestError: There is none; the error says what there is.
    """
    here = machine()
    fitting = [
        each
        for each in index.manifests
        if each.platform is not None
        and each.platform.os == here.os
        and each.platform.architecture == here.architecture
        and _runs(each.platform.variant, here)
    ]
    if not fitting:
        # Builders keep attestations beside images, as images for "unknown".
        there = sorted({str(each.platform or "an unnamed platform") for each in index.manifests})
        known = [each for each in there if "unknown" not in each]
        raise ImageManifestError(
            f"it is built for {', '.join(known) or 'nothing'}, and this machine is {here}",
            f"Build it for {here} as well",
        )
    # Where an architecture has levels, the plain one runs everywhere; of others, the highest.
    return max(fitting, key=lambda each: each.platform.variant if each.platform else "")


def image_config(data: bytes) -> ImageConfig:
    """Read the configuration of an image.

    Raises:
        ManifestError: It is none, or is built for another machine.
    """
    config = _read(_Config, data, "its configuration")
    here = machine()
    built = Platform(os=config.os, architecture=config.architecture, variant=config.variant)
    if (built.os or here.os, built.architecture or here.architecture) != (
        here.os,
        here.architecture,
    ):
        raise ImageManifestError(
            f"it is built for {built}, and this machine is {here}", f"Build it for {here} as well"
        )
    wants = config.config or _Settings()
    argv = (*(wants.entrypoint or ()), *(wants.cmd or ()))
    texts = (*argv, *(wants.env or ()), wants.folder or "")
    if any("\0" in text for text in texts):
        raise ImageManifestError("its configuration holds a NUL character", "Rebuild it")
    return ImageConfig(
        argv=argv,
        environment=tuple(each for each in wants.env or () if "=" in each[1:]),
        folder="/" + (wants.folder or "").lstrip("/"),
        user=wants.user,
    )


def machine() -> Platform:
    """Return what this machine runs, as OCI names it."""
    name = platform.machine()
    variant = {"armv7l": "v7", "armv6l": "v6"}.get(name, "")
    return Platform(os="linux", architecture=_MACHINES.get(name, name), variant=variant)


def _runs(variant: str, here: Platform) -> bool:
    if here.architecture == "arm":
        return variant <= (here.variant or "v7")
    if here.architecture == "arm64":
        return variant in ("", "v8")
    return variant in ("", "v1")  # levels of amd64 beyond the first need newer processors


Part = TypeVar("Part", bound=_Part)


def _read(kind: type[Part], data: bytes, what: str) -> Part:
    try:
        return kind.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the whole"
        raise ImageManifestError(
            f"{what} does not follow the specification: {place}: {first['msg']}", "Push it again"
        ) from error


def _object(data: bytes, what: str) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ImageManifestError(f"{what} is not JSON", "Push it again") from error
    if not isinstance(found, dict):
        raise ImageManifestError(f"{what} is not a JSON object", "Push it again")
    return found
