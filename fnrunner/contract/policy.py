"""The operator's rules: which functions may run, and with which limits.

Rules
- A pattern is the name of an image with `*` for any characters; without a tag it means all tags.
  `PATTERN@sha256:…` means one build only, and `sha256:…` that build whatever its name.
- What stands before a pattern's first "/" is held against the host alone, so that `*.corp/fns/*`
  never means `evil.com/x.corp/fns/y`; behind it `*` means "/" as well. `*` alone means everything.
- A digest names no host: to find out whether a name means it, only hosts are asked that a
  pattern means too, or that the operator named as a registry.
- A tag beside a digest is not checked by anybody: a pattern with a tag does not mean such names.
- What is not among the allowed is refused; what is builtin is allowed by being built in.
- Of the grants that fit a function, the last counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Final, Self

from cadlib import images
from fnrunner.contract.errors import FunctionRefusedError
from fnrunner.contract.run import Granted, within

ANY: Final = ("*",)
HUB: Final = "docker.io"
"""Whose images the names without a host are."""


@dataclass(frozen=True, slots=True)
class RunnerPolicy:
    """The operator's allow-list and limits.

    Attributes:
        allow: Patterns of the functions that may run.
        grants: Patterns with what the functions that fit may have.
        usual: What all others may have.
        prefix: Where short names come from.
    """

    allow: Sequence[str] = ANY
    grants: Sequence[tuple[str, Granted]] = ()
    usual: Granted = field(default_factory=Granted)
    prefix: str = images.CATALOG

    def check(self, image: str, digest: str) -> None:
        """Raise FunctionRefusedError unless a function is allowed.

        Args:
            image: Its full name, with its tag if it has one.
            digest: What the name means now, such as "sha256:…".

        Raises:
            FunctionRefusedError: It may not run.
        """
        if not any(fits(pattern, image, digest) for pattern in self.allow):
            raise FunctionRefusedError(
                image,
                "it is not among the functions allowed here",
                f"Add the line `- {images.repository(image)}` under `allow` in the runner's"
                " configuration",
            )

    def check_host(self, image: str, *, named: bool) -> None:
        """Let a function pass whose registry has to be asked before `check` can be.

        Args:
            image: Its full name.
            named: The operator named its registry in the configuration.

        Raises:
            FunctionRefusedError: No pattern can mean it, or none means its host.
        """
        digest = image.partition("@")[2]
        if any(fits(pattern.partition("@")[0], image) for pattern in self.allow):
            if not digest:
                return  # its digest has a say once it is known
            self.check(image, digest)
        host = _parts(image)[0]
        pinned = [each for each in self.allow if each.startswith("sha256:")]
        if not any(digest in ("", each) for each in pinned):
            self.check(image, digest or "sha256:…")
        elif not named and not any(_means_host(pattern, host) for pattern in self.allow):
            raise FunctionRefusedError(
                image,
                f"its registry {host} is not among the registries allowed here",
                f"Add the line `- {images.repository(image)}` under `allow` in the runner's"
                f" configuration, or name {host} under `images.registries`",
            )

    def within(self, output_bytes: int, seconds: float) -> Self:
        """Return the policy of a runner that has no use for more.

        Args:
            output_bytes: Longest answer that it can hand on.
            seconds: Longest call, which shall still hear what a function took.
        """

        def less(given: Granted) -> Granted:
            bounds = within(given.bounds, seconds)
            output = min(bounds.output_bytes, output_bytes)
            return replace(given, bounds=replace(bounds, output_bytes=output))

        grants = tuple((pattern, less(given)) for pattern, given in self.grants)
        return replace(self, usual=less(self.usual), grants=grants)

    def granted(self, image: str, digest: str = "") -> Granted:
        """Return what a function may have, by its name as it was asked for, full or short."""
        # Whoever asks by the full name, or with the tag that no tag means, asks for the same.
        full = images.resolve_image(image, self.prefix)
        names = (image, full, full.removeprefix(f"{self.prefix.rstrip('/')}/"))
        fitting = [
            given
            for pattern, given in self.grants
            if any(fits(pattern, each, digest) for each in names)
        ]
        return fitting[-1] if fitting else self.usual


def fits(pattern: str, image: str, digest: str = "") -> bool:
    """Tell whether a pattern matches an image (full name, with or without tag or digest)."""
    name, at, wanted = pattern.rpartition("@")
    if pattern.startswith("sha256:"):
        name, at, wanted = "*", "@", pattern
    if at and wanted != digest:
        return False
    given, pinned, _ = image.partition("@")
    repository = images.repository(given)
    # Beside a digest a tag is mere words, which nobody checks; it counts where the pattern has
    # the digest as well.
    names = (repository,) if pinned and not at else (given, repository)
    return any(_matches(name if at else pattern, each) for each in names)


def _matches(pattern: str, name: str) -> bool:
    if not pattern.strip("*"):
        return bool(pattern)
    wanted, host = _parts(pattern), _parts(name)
    return fnmatchcase(host[0], wanted[0]) and fnmatchcase(host[1], wanted[1])


def _means_host(pattern: str, host: str) -> bool:
    """Tell whether a pattern means images of a host; one that is a digest means none."""
    name = pattern.partition("@")[0]
    if not name or name.startswith("sha256:"):
        return False
    return not name.strip("*") or fnmatchcase(host, _parts(name)[0])


def _parts(name: str) -> tuple[str, str]:
    """Return a name's host, in lower case as hosts are compared, and the rest from its "/" on.

    A first part that cannot be a host is a part of Docker's registry; a name alone stays as it is.
    """
    host, slash, rest = name.partition("/")
    if not slash:
        return name, ""
    if not set(host) & set(".:*?[") and host != "localhost":
        return HUB, f"/{name}"
    return host.lower(), f"/{rest}"
