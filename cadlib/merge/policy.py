"""Which side of a conflict a merge takes: a value that rules name and no merge is needed for."""

from enum import Enum


class ConflictPolicy(Enum):
    """Which side a conflict goes to.

    `FAIL` merges as `UPSTREAM` does; who asked for it refuses the result if there is a
    conflict.
    """

    UPSTREAM = "upstream"
    LOCAL = "local"
    FAIL = "fail"

    @property
    def side(self) -> str:
        """The side that is taken: "local" or "upstream"."""
        return "local" if self is ConflictPolicy.LOCAL else "upstream"
