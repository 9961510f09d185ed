"""What is built in and how to configure it, as Markdown: one function, or all on a page.

Everything is taken from what the functions say of themselves (`About`).
"""

from typing import Final

from fnrunner.builtin.lookup import IMAGE_ONLY, PREFIXES, CatalogFunction, get, names
from fnrunner.contract.errors import FunctionNotFoundError

_INTRO: Final = """\
# Built-in functions

These functions of kpt's catalog run inside porchbot, without an image. Refer to one by its short
name, or by its full name with one of these prefixes (an operator can change them):

{prefixes}

and with one of the tags listed for it, with `latest` or `unstable`, or without a tag. Every other
name means an image.
"""
_IMAGES: Final = """\
## Functions that are not built in

The other functions of the catalog run from their images, if the runner can run images:
"""


def page() -> str:
    """Return the page about all functions: those that are built in, then those that are not."""
    prefixes = "\n".join(f"- `{each}`" for each in PREFIXES)
    listed = "".join(f"- [{name}](#{name}): {get(name).about.summary}\n" for name in names())
    functions = "\n".join(_described(get(name), "##") for name in names())
    images = "".join(f"- `{name}`: it {why}.\n" for name, why in _images())
    return f"{_INTRO.format(prefixes=prefixes)}\n{listed}\n{functions}\n{_IMAGES}{images}"


def one(name: str) -> str:
    """Return what one function does and how to configure it.

    Args:
        name: Its short name.

    Raises:
        FunctionNotFoundError: It is neither built in nor one of the catalog's.
    """
    if name in names():
        return _described(get(name), "#")
    if name in IMAGE_ONLY:
        return f"# {name}\n\nIt is not built in and runs from its image: it {IMAGE_ONLY[name]}.\n"
    raise FunctionNotFoundError(name, names())


def _images() -> list[tuple[str, str]]:
    return sorted((name, why) for name, why in IMAGE_ONLY.items() if name not in names())


def _described(function: CatalogFunction, heading: str) -> str:
    about = function.about
    tags = ", ".join(f"`{tag}`" for tag in about.tags)
    parts = [
        f"{heading} {function.name}",
        about.summary,
        about.doc.strip(),
    ]
    if about.tags:
        parts.append(f"Tags: {tags}.")
    if about.alone:
        parts.append("It processes each resource separately.")
    if about.example:
        parts.append(f"Example configuration:\n\n```yaml\n{about.example.strip()}\n```")
    return "\n\n".join(parts) + "\n"
