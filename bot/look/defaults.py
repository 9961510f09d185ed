"""Fetches the files that rules extend: each once, as what it pins never changes (`bot.extends`)."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from bot.clock import Clock
from bot.config import CONFIG
from bot.extends import KEY, MOST_BYTES, DefaultsNeededError, FileReference
from bot.forges.port import Forge, ForgeBusyError, ForgeMissingError, ForgeRefusedError
from cadlib.errors import Place
from lifecycle.messages import configuration as texts
from lifecycle.policy import BrokenPolicy, ConfigurationProblem

T = TypeVar("T")

AGAIN = 60.0
"""Seconds after which what could not be read is asked for again."""

MOST_DEFAULTS = 32
"""Files that the rules of one look extend: those of its bases and heads, three each at most."""

MOST_KEPT = 50
"""Files; a proposal of anybody may name one."""


class ExtendedFiles:
    """The files that the rules of one repository extend.

    Args:
        owner: Whose repository.
        forge: Its forge.
        clock: How old an answer is.
    """

    def __init__(self, owner: str, forge: Forge, clock: Clock) -> None:
        self._owner = owner
        self._forge = forge
        self._clock = clock
        self._found: dict[FileReference, tuple[float, bytes | BrokenPolicy]] = {}

    def get(self, reference: FileReference) -> bytes | BrokenPolicy:
        """A file that was fetched; for threads.

        Raises:
            DefaultsNeededError: It was not, or it is time to ask again.
        """
        found = self._found.get(reference)
        if found is None or self._is_old(*found):
            raise DefaultsNeededError(reference)
        return found[1]

    def _is_old(self, at: float, found: bytes | BrokenPolicy) -> bool:
        return isinstance(found, BrokenPolicy) and self._clock.monotonic() > at + AGAIN

    async def fetch(self, reference: FileReference) -> None:
        """Fetch a file, or find out why there is none.

        Raises:
            ForgeBusyError: Trying again may help.
        """
        found = await self._read(reference)
        while len(self._found) >= MOST_KEPT:
            del self._found[next(iter(self._found))]
        self._found.pop(reference, None)
        self._found[reference] = (self._clock.monotonic(), found)

    async def fetched(self, look: Callable[[], Awaitable[T]]) -> T:
        """Look, and look again until nothing that rules extend is missing.

        Args:
            look: Reads rules by `get`.

        Raises:
            ForgeBusyError: Trying again may help.
        """
        for _ in range(MOST_DEFAULTS):
            try:
                return await look()
            except DefaultsNeededError as needed:
                await self.fetch(needed.reference)
        raise ForgeBusyError("read the defaults of the organisation", "they are too many at once")

    async def _read(self, reference: FileReference) -> bytes | BrokenPolicy:
        shown = reference.shown
        if not reference.may_be_used_by(self._owner):
            return _broken(texts.foreign_defaults(shown, self._owner))
        try:
            pinned = await self._forge.pinned_file(
                reference.repository, reference.commit, reference.path, MOST_BYTES
            )
        except ForgeMissingError:
            return _broken(texts.missing_defaults(shown, texts.NOT_THERE))
        except ForgeBusyError:
            raise
        except ForgeRefusedError as error:
            return _broken(texts.missing_defaults(shown, error.reason))
        if pinned.data is None:
            return _broken(texts.stray_defaults(shown, pinned.default_branch))
        return pinned.data


def _broken(problem: tuple[str, str]) -> BrokenPolicy:
    return BrokenPolicy((ConfigurationProblem(Place(CONFIG, None, KEY), *problem),))
