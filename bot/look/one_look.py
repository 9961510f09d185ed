"""What one look at a head branch goes by."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.look import rendering
from bot.look.reader import MirrorReader
from bot.look.states import HeadBranch, HeadState
from bot.store.hints import Press
from bot.store.values import Adoption
from lifecycle.names import Sha


@dataclass(frozen=True, slots=True)
class OneLook:
    """What one look goes by.

    Attributes:
        head: The branch.
        state: What the forge told of it.
        adoption: What the repository was when the bot first saw it.
        reader: Reads git.
        since: By the monotonic clock; git as it was fetched after that will do.
        read: By the same, when it began.
        begun: Goes on with renderings that are not done soon; None to wait for them.
        pressed: Buttons that were pressed.
        rules: A commit whose rules judge it; None for those that hold. They are tried out: no
            function runs by them.
        told: Teams whose members may be told where rules are tried out.
    """

    head: HeadBranch
    state: HeadState
    adoption: Adoption
    reader: MirrorReader
    since: float
    read: float
    begun: rendering.Begun | None = None
    pressed: Sequence[Press] = ()
    rules: Sha | None = None
    told: frozenset[str] | None = None
