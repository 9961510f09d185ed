"""The second repository as the forge has it, and what is written down of it."""

from bot.sandbox.git import trees
from bot.sandbox.records.repository import Repository
from tests.simulation.catalog import (
    LIB,
    NAME,
    OWNER,
    REACHING,
    ROLES,
    Standing,
    Stood,
    configuration,
    content,
)
from tests.simulation.diary import Diary
from tests.simulation.forge import SimulatedForge
from tests.simulation.setting import CONFIG, MAIN, kptfile


class Catalog:
    """The catalog.

    Args:
        forge: Where it is made.
        diary: What happens in the other repository.
        lets_in: It lets rules of that one in, whose packages may be made in it.

    Attributes:
        repo: It.
        stood: How it stood at each place of the diary.
        revision: How often something was proposed for its package.
    """

    def __init__(self, forge: SimulatedForge, diary: Diary, *, lets_in: bool = False) -> None:
        self._forge, self._lets_in = forge, lets_in
        config = self.configuration(shares=True)
        files = {f"{LIB}/Kptfile": kptfile(LIB), **content(0), CONFIG: config}
        self.repo: Repository = forge.add_repository(OWNER, NAME, files, ROLES, private=True)
        self.stood, self.revision = Stood(diary), 0
        self.changed()

    def configuration(self, *, shares: bool) -> bytes:
        """How it is configured where it shares its text, or does not."""
        return configuration(shares=shares, lets_in=self._lets_in)

    def changed(self) -> None:
        """Something of it changed."""
        self.stood.published = [r for r in self.repo.refs if r.startswith(f"refs/tags/{LIB}/v")]
        installed = self._forge.state.data.installations.values()
        now = Standing(
            shares=b"share" in self.file(CONFIG),
            private=self.repo.private,
            reaches=bool(self.file(REACHING)),
            served=any(self.repo in each.repositories for each in installed),
            named=self.repo.name == NAME,
        )
        self.stood.note(now)

    def file(self, path: str) -> bytes:
        """A file on its main branch; b"" for none."""
        git = self._forge.state.git(self.repo)
        entry = trees.entry_at(git, self.repo.branch(MAIN) or "", path)
        return b"" if entry is None else git.blob(entry.sha)
