"""Names of function images: short ones made full, tags and digests, what is well formed.

Source: kptdev/kpt, pkg/lib/runneroptions and pkg/fn/runtime; the OCI distribution
specification for the grammar of names.
"""

import re
from fnmatch import fnmatchcase

CATALOG = "ghcr.io/kptdev/krm-functions-catalog"
"""Where functions with a short name come from, as in kpt."""

# The grammar of image references: a name in lower case, of parts joined by "/", the first
# of which may be a host with a port; a tag; a digest. The OCI distribution specification
# has the parts, and 255 characters as the bound on a name.
_LONGEST = 512
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_DOMAIN = rf"{_HOST}(?:\.{_HOST})*(?::[0-9]+)?"
_TAG = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"
_IMAGE = re.compile(
    rf"(?:{_DOMAIN}/)?{_PART}(?:/{_PART})*"
    rf"(?P<tag>:{_TAG})?"
    r"(?P<digest>@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?"
)
_PREFIX = re.compile(rf"{_DOMAIN}(?:/{_PART})*/?")


def is_image(image: str) -> bool:
    """Tell whether `image` is a well-formed name of an OCI image."""
    return len(image) <= _LONGEST and _IMAGE.fullmatch(image) is not None


def is_tag(tag: str) -> bool:
    """Tell whether `tag` can be the tag of an image."""
    return re.fullmatch(_TAG, tag) is not None


def is_prefix(prefix: str) -> bool:
    """Tell whether short names can be looked for below `prefix`: a host and a path.

    A slash at its end does no harm; "" leaves short names as they are.
    """
    return not prefix or (len(prefix) <= _LONGEST and _PREFIX.fullmatch(prefix) is not None)


def resolve_image(image: str, prefix: str = CATALOG) -> str:
    """Return the full name of an image, with a tag or digest.

    Args:
        image: As written; a name without "/" is one of the catalog's.
        prefix: Where short names come from; "" to leave them as they are.

    Returns:
        Such as "ghcr.io/kptdev/krm-functions-catalog/set-labels:latest".
    """
    image = full_name(image, prefix)
    return image if has_tag_or_digest(image) else f"{image}:latest"


def full_name(image: str, prefix: str = CATALOG) -> str:
    """Return an image name with its registry; arguments as for `resolve_image`."""
    return f"{prefix.rstrip('/')}/{image}" if prefix and "/" not in image else image


def has_tag_or_digest(image: str) -> bool:
    """Tell whether an image name ends in a tag or a digest (a port is neither)."""
    last = image.rpartition("/")[2]
    return ":" in last or "@" in last


def base_name_and_tag(image: str) -> tuple[str, str]:
    """Return the last part of an image name, and its tag or ""."""
    last = image.rpartition("/")[2].partition("@")[0]
    base, _, tag = last.partition(":")
    return base, tag


def repository(image: str) -> str:
    """Return an image name without its tag and digest; a port stays."""
    host, slash, _ = image.rpartition("/")
    return f"{host}{slash}{base_name_and_tag(image)[0]}"


def fits(pattern: str, image: str, prefix: str = CATALOG) -> bool:
    """Tell whether a pattern means an image.

    `*` stands for any characters, but what is before a pattern's first "/" is held against the host
    alone; a pattern without a tag means all tags; `*` alone means everything.

    Args:
        pattern: Such as "ghcr.io/acme/*", or "set-labels:v0.2" of the catalog.
        image: Its full name, as `resolve_image` gives it.
        prefix: Where short names come from.
    """
    if pattern == "*":
        return True
    wanted_host, _, wanted = full_name(pattern, prefix).partition("/")
    host, _, name = image.partition("/")
    names = [name] if has_tag_or_digest(pattern) else [name, repository(name)]
    return fnmatchcase(host, wanted_host) and any(fnmatchcase(each, wanted) for each in names)
