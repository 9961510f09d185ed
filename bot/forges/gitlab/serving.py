"""Which projects the operator has served, of those that made the bot a member. Pure.

Whoever owns a project may make any account a member of it; on gitlab.com that is everybody.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from bot.forges.port import Drift

SETTING: Final = "PORCHBOT_GITLAB_PROJECTS"

_SHOWN: Final = 5
"""Projects that are named of those that are left out."""


class Served:
    """The projects that are served.

    Args:
        names: Full paths of projects, and of groups with all that is below them; none for every
            project that made the bot a member.
    """

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._names = tuple(name.strip().strip("/").lower() for name in names)

    @property
    def every(self) -> bool:
        """Whether nobody said which."""
        return not self._names

    def has(self, path: str) -> bool:
        """Tell whether a project is served.

        Args:
            path: Its full path.
        """
        path = path.lower()
        return self.every or any(
            path == name or path.startswith(f"{name}/") for name in self._names
        )

    def drift(self, name: str, paths: Sequence[str]) -> Iterator[Drift]:
        """Tell operators what is not held back, or what is.

        Args:
            name: Of the instance.
            paths: Of all projects that made the bot a member.
        """
        place = f"Which projects of {name} are served"
        if self.every:
            yield Drift(
                place=place,
                found="every project that makes the bot a member, and anybody's may",
                wanted="the groups and projects that you mean",
                fix=f"Name them in {SETTING}, separated by commas, or run `porchbot setup gitlab`",
                harmful=False,
            )
        left = sorted(path for path in paths if not self.has(path))
        if left:
            more = f" and {len(left) - _SHOWN} more" if len(left) > _SHOWN else ""
            yield Drift(
                place=place,
                found=f"not {', '.join(left[:_SHOWN])}{more}, where the bot is a member",
                wanted="no membership where it does nothing",
                fix=f"Name it in {SETTING}, or remove the bot from it",
                harmful=False,
            )
