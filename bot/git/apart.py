"""Refs that are left out of fetches: they take too much memory by themselves, or too long.

One would keep back all that is fetched with it: a tag all looks at its package, a branch all
sweeps. So, once something did not come, what is new is asked for by whole names, in ever smaller
parts. What does not come alone is remembered with where it is, and left out until it moves.
"""

from collections.abc import Callable, Collection, Mapping, Sequence

import structlog

from bot.clock import Clock
from bot.git import refs as git_refs
from bot.git.port import GitBusyError, ObjectTooLargeError
from bot.git.process import GitSlowError
from lifecycle.names import TAGS, Sha

log = structlog.get_logger()


class SlowRefsError(GitSlowError):
    """What was asked for takes too long, and is no first fetch."""


class LeftOut:
    """What is left out of one mirror, whose lock must be held but for `at`.

    Args:
        clock: How long parts have been tried.
        patience: Seconds after which the rest is for later.
    """

    def __init__(self, clock: Clock, patience: float) -> None:
        self._clock = clock
        self._patience = patience
        self._refs: Mapping[str, Sha] = {}  # replaced, never changed, for threads
        self._untried: frozenset[str] = frozenset()  # left out because others took long
        self._failed = False

    @property
    def by_name(self) -> bool:
        """Whether refs are asked for by their whole names."""
        return self._failed or bool(self._refs)

    def failed(self) -> None:
        """Something did not come: which that is shows only by name."""
        self._failed = True

    def came(self) -> None:
        """All of a sweep was tried by name: what did not come is known."""
        self._failed = False

    def at(self, places: Collection[str]) -> dict[str, Sha]:
        """What is left out at some places, and where it is on the forge."""
        return git_refs.at(self._refs, places) if self._refs else {}

    def forget(self, places: Collection[str], there: Mapping[str, Sha]) -> None:
        """Leave out no longer what is not where it was.

        Args:
            places: Those that were listed.
            there: The refs of the forge there.
        """
        gone = self.at(places).items() - there.items()
        self._refs = dict(self._refs.items() - gone)
        self._untried &= self._refs.keys()

    def fetch(
        self,
        new: Mapping[str, Sha],
        needed: Callable[[str], bool],
        fetch: Callable[[Sequence[str]], None],
        tried: ObjectTooLargeError | None = None,
    ) -> None:
        """Fetch refs, and leave out those that do not come alone.

        Args:
            new: Those that are to be fetched, and where they are.
            needed: Whether one must come: it is tried each time, and never left out.
            fetch: Fetches some.
            tried: How all of it failed just now.

        Raises:
            GitBusyError: It takes too long to find out which branches do not come; the next time
                goes on with the rest.
            ObjectTooLargeError: A needed one is too large.
        """
        begun, is_known = self._clock.monotonic(), False
        wanted = [r for r in new if r not in self._refs or r in self._untried or needed(r)]
        must = sorted(filter(needed, wanted))  # first, so that others keep none of it back
        parts = [part for part in (sorted({*wanted} - {*must}), must) if part]
        tried = tried if len(parts) == 1 else None
        while parts:
            if is_known and self._clock.monotonic() - begun > self._patience:
                self._put_off({ref: new[ref] for part in parts for ref in part}, needed)
                break
            part, failure, tried = parts.pop(), tried, None
            try:
                if failure is not None:
                    raise failure
                fetch(part)
            except (ObjectTooLargeError, SlowRefsError) as failed:
                if len(part) > 1 and isinstance(failed, SlowRefsError):
                    # Each half would take as long: one by one, only one does.
                    parts, begun = [*parts, *([ref] for ref in part)], self._clock.monotonic()
                    continue
                if len(part) > 1:
                    half = len(part) // 2
                    parts += [part[:half], part[half:]]
                    continue
                if needed(part[0]):
                    raise
                self._leave({part[0]: new[part[0]]})
                log.warning("ref_left_out", ref=part[0], why=str(failed))
            else:
                came = frozenset(part)
                self._refs = {ref: sha for ref, sha in self._refs.items() if ref not in came}
            self._untried -= {*part}
            is_known |= part is not must

    def _put_off(self, rest: Mapping[str, Sha], needed: Callable[[str], bool]) -> None:
        """Leave out what there is no time for, where that it is there is all that counts."""
        if any(needed(ref) or not git_refs.inside(ref, TAGS) for ref in rest):
            raise GitBusyError("many refs are too large; others are tried later")
        self._leave(rest)
        self._untried |= rest.keys()

    def _leave(self, refs: Mapping[str, Sha]) -> None:
        self._refs = {**self._refs, **refs}
