"""Lists on GitLab, page by page: no more of one is in memory than a page, and what is made of it.

People choose how long texts in lists are: a comment may have a million characters, a description as
many. So a page that is too large is asked for in smaller ones.

Source: https://docs.gitlab.com/api/rest/#pagination
"""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final
from urllib.parse import parse_qs

from bot.forges.exchange import MOST_PAGES, digest, listed
from bot.forges.gitlab.http import Clients, TooLargeError, call
from bot.forges.port import ForgeBusyError
from fnrunner import urls

SIZES: Final = (100, 20, 4, 1)
"""Items of a page, from what GitLab gives at most; each is divided by the next, so that a smaller
page begins where a larger one did."""

_NEXT = 'rel="next"'


async def pages(
    pool: Clients, wanted: str, path: str, query: Mapping[str, object] | None = None
) -> AsyncIterator[Any]:
    """Every item of a list, page by page.

    The next page is asked for by the parameters of the link to it, and at the address that we know:
    an instance behind a proxy may name itself otherwise, and our token goes nowhere else. With
    `pagination=keyset` such a link is all there is.

    A list that shows a page again has ended.

    Raises:
        TooLargeError: One item alone is larger than is read.
    """
    asked: Mapping[str, object] = {"per_page": SIZES[0], **(query or {})}
    seen: set[bytes] = set()
    for _ in range(MOST_PAGES):
        try:
            answer = await call(pool, wanted, "GET", path, query=asked)
        except TooLargeError:
            asked = _smaller(asked)
            if not asked:
                raise
            continue
        following = _next(answer.headers)
        if seen or following:  # most lists have one page, which is none again
            shown = await pool.offload(digest, answer.data)  # it may have 16 MiB
            if shown in seen:
                return
            seen.add(shown)
        for item in listed(wanted, answer.data):
            yield item
        if not following:
            return
        asked = _larger({**asked, **following})


async def page(pool: Clients, wanted: str, path: str, number: int) -> tuple[list[Any], bool]:
    """One page of a list, and whether there is another; in parts where it is too large.

    Args:
        pool: What is asked with.
        wanted: What it is for, as in errors.
        path: Of the list.
        number: Of the page, from 1, in pages of a hundred.
    """
    for size in SIZES[:-1]:
        try:
            return await _parts(pool, wanted, path, number, size)
        except TooLargeError:
            continue
    return await _parts(pool, wanted, path, number, SIZES[-1])


async def around(pool: Clients, wanted: str, path: str, at: int) -> list[Any]:
    """The items of a list around a place: a small page, or less of it where that is too large.

    Args:
        pool: What is asked with.
        wanted: What it is for, as in errors.
        path: Of the list.
        at: How many items stand before the place.

    Raises:
        TooLargeError: The item alone is larger than is read.
    """
    for size in SIZES[1:-1]:
        try:
            return await _one_page(pool, wanted, path, at // size + 1, size)
        except TooLargeError:
            continue
    return await _one_page(pool, wanted, path, at + 1, SIZES[-1])


async def _one_page(pool: Clients, wanted: str, path: str, number: int, size: int) -> list[Any]:
    asked = {"per_page": size, "page": number}
    return listed(wanted, (await call(pool, wanted, "GET", path, query=asked)).data)


async def _parts(
    pool: Clients, wanted: str, path: str, number: int, size: int
) -> tuple[list[Any], bool]:
    parts, found = SIZES[0] // size, list[Any]()
    for part in range(parts):
        told = await _one_page(pool, wanted, path, (number - 1) * parts + part + 1, size)
        found += told
        if len(told) < size:
            return found, False
    return found, True


def _next(headers: Mapping[str, str]) -> Mapping[str, object]:
    """Parameters of the next page; none where there is no next one."""
    for link in headers.get("link", "").split(", <"):
        address, _, said = link.partition(">")
        if _NEXT in said:
            to = urls.parts(address.lstrip("<"))
            if to == urls.NONE:
                raise ForgeBusyError("read a list", "the address of its next page is none")
            query = parse_qs(to.query)
            return {name: values[-1] for name, values in query.items() if not name.endswith("]")}
    number = headers.get("x-next-page", "")
    return {"page": number} if number else {}


def _smaller(asked: Mapping[str, object]) -> Mapping[str, object]:
    """The same place of a list in the next smaller pages; nothing where there are none."""
    size = _number(asked, "per_page", 0)
    below = next((each for each in SIZES if each < size and size % each == 0), 0)
    return _paged(asked, size, below) if below else {}


def _larger(asked: Mapping[str, object]) -> Mapping[str, object]:
    """The largest page again, once one begins here: what was too large may be behind us."""
    size = _number(asked, "per_page", 0)
    if size not in SIZES[1:]:
        return asked
    if "page" in asked and (_number(asked, "page", 1) - 1) * size % SIZES[0]:
        return asked
    return _paged(asked, size, SIZES[0])


def _paged(asked: Mapping[str, object], size: int, other: int) -> Mapping[str, object]:
    number = (
        {"page": (_number(asked, "page", 1) - 1) * size // other + 1} if "page" in asked else {}
    )
    return {**asked, **number, "per_page": other}


def _number(asked: Mapping[str, object], name: str, otherwise: int) -> int:
    said = str(asked.get(name, otherwise))
    return int(said) if said.isdecimal() else otherwise
