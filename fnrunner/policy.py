"""Which functions may run, and what each may have: the operator's rules, as values.

Rules
- A pattern is the name of an image with `*` for any characters, "/" included; without a tag it
  means all tags. `PATTERN@sha256:…` means one build only, and `sha256:…` that build from anywhere.
- A tag beside a digest is not checked by anybody: a pattern with a tag does not mean such names.
- What is not among the allowed is refused; what is builtin is allowed by being built in.
- Of the grants that fit a function, the last counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final

from cadlib import images
from fnrunner.errors import FunctionRefusedError
from fnrunner.run import Granted

ANY: Final = ("*",)


@dataclass(frozen=True, slots=True)
class Policy:
    """What an operator allows.

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
        """Let a function pass.

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
                f"Add a pattern that fits it ({images.repository(image)}) or its digest"
                f" ({digest}) to `allow` in the runner's configuration",
            )

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
    """Return whether a pattern means an image (full name, with or without tag or digest)."""
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
    return any(fnmatchcase(each, name if at else pattern) for each in names)
