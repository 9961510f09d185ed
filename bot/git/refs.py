"""Refs of a mirror: which ones a fetch asks for, and which are on disk."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeVar

from bot.git.port import GitBusyError, Scope
from bot.git.process import reason, run
from lifecycle.names import HEADS, TAGS, RefRule, Sha, fault

T = TypeVar("T")

MOST_NAMED: Final = 500
"""Places that git is asked for by name. It compares each with each ref: 1,000 of them take four
seconds of a processor where all 20,000 tags take two, and so many more fit into no command line."""

_FEW: Final = 4
"""Places whose refs are found quicker by going over all refs for each of them."""


@lru_cache(maxsize=256)  # each look fetches the same places several times
def places(scope: Scope) -> tuple[str, ...]:
    """Refs and folders of refs, such as "refs/tags/net/core"; none lies inside another.

    A name that git has no ref for, such as a package "my app", has none.
    """
    wanted = {f"{HEADS}/{b}" if b else HEADS for b in scope.branches}
    wanted |= {f"{TAGS}/{p}" if p else TAGS for p in scope.packages}
    return outermost({place for place in wanted if may_hold(place)})


def may_hold(place: str) -> bool:
    """Whether git can have a ref at a place or below it.

    Where it cannot, it brings nothing of all that it is asked for.
    """
    found = fault(f"{place}/v1")
    return found is None or found.rule is RefRule.LENGTH  # that is a rule of disks


def outermost(places: Collection[str]) -> tuple[str, ...]:
    """Places of which none lies inside another, sorted."""
    known, found = set(places), []
    for place in sorted(known):
        parts = place.split("/")
        if not any("/".join(parts[:length]) in known for length in range(2, len(parts))):
            found.append(place)
    return tuple(found)


def inside(ref: str, place: str) -> bool:
    """Whether a ref, or a folder of refs, is at a place or below it."""
    return ref == place or ref.startswith(f"{place}/")


def around(ref: str) -> Iterator[str]:
    """A ref, or a folder of refs, and every folder that it is in."""
    yield ref
    while "/" in ref:
        ref = ref.rpartition("/")[0]
        yield ref


def prefix(place: str) -> str:
    """How the names begin that are asked for at a place.

    A branch is asked for with all that begin as it does: an exact name that is gone would fail the
    fetch, and one whose name became a folder would be missed.
    """
    return place if place.startswith(f"{HEADS}/") else f"{place}/"


def named(places: Sequence[str]) -> Sequence[str]:
    """The places to ask git for: all tags, or branches, in place of very many."""
    if len(places) <= MOST_NAMED:
        return places
    tags = [place for place in places if inside(place, TAGS)]
    heads = [place for place in places if not inside(place, TAGS)]
    return [*(heads if len(heads) <= MOST_NAMED else [HEADS]), *([TAGS] if tags else [])]


def refspec(place: str) -> str:
    """What to fetch for a place."""
    return f"+{prefix(place)}*:{prefix(place)}*"


def listed(folder: Path, places: Sequence[str]) -> dict[str, tuple[Sha, Sha]]:
    """List refs in a mirror.

    Args:
        folder: The mirror.
        places: Refs and folders of refs.

    Raises:
        GitBusyError: They cannot be listed: an empty list would say that there are none.
    """
    fields = "%(refname)%00%(objectname)%00%(*objectname)"
    asked = named(places)
    done = run(folder, ["for-each-ref", f"--format={fields}", "--", *asked])
    if done.returncode:
        raise GitBusyError(f"the refs of a mirror cannot be listed: {reason(done.stderr)}")
    found: dict[str, tuple[Sha, Sha]] = {}
    # Not splitlines(): a ref may hold U+2028, which that takes for the end of a line.
    for line in filter(None, done.stdout.split("\n")):
        ref, sha, peeled = line.split("\0")
        found[ref] = (Sha(sha), Sha(peeled or sha))
    return found if asked is places else at(found, places)


def at(refs: Mapping[str, T], places: Collection[str]) -> dict[str, T]:
    """Those of some refs that are at some places.

    Many refs are looked through for each look at one package: the tests are those that are quick.
    """
    wanted = frozenset(places)
    if wanted <= refs.keys():  # git holds no ref inside another
        return {place: refs[place] for place in wanted}
    if len(wanted) > _FEW:
        return {r: value for r, value in refs.items() if not wanted.isdisjoint(around(r))}
    folders = tuple(f"{place}/" for place in wanted)
    return {r: value for r, value in refs.items() if r.startswith(folders) or r in wanted}


def by_place(refs: Mapping[str, T], places: Collection[str]) -> dict[str, dict[str, T]]:
    """Those of some refs that are at each of some places, in time that does not grow with both."""
    if len(places) <= _FEW:
        return {place: at(refs, [place]) for place in places}
    found: dict[str, dict[str, T]] = {place: {} for place in places}
    for ref, value in refs.items():
        for place in around(ref):
            if place in found:
                found[place][ref] = value
    return found


def advertised(text: str) -> Iterator[tuple[str, str]]:
    """Pairs of object and name in what `git ls-remote` printed.

    One line is read after the other: of 100,000 tags all lines at once would take 14 MiB more.
    """
    begin = 0
    # Not splitlines(): the name of a ref may hold U+2028, and would pass for a shorter one.
    while (end := text.find("\n", begin)) >= 0:
        sha, tab, name = text[begin:end].partition("\t")
        if tab:
            yield sha, name
        begin = end + 1
