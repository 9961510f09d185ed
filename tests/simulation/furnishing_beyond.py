"""The other repository as the forge has it, and what is written down of it."""

from bot.sandbox.git import trees
from bot.sandbox.records.memory import Happening
from bot.sandbox.records.repository import Repository
from tests.simulation.beyond import (
    AFAR_FILE,
    EAST,
    MARKED,
    OWNER,
    ROLES,
    TOPIC,
    ZONE_FILE,
    Standing,
    Stood,
    afar,
    configuration,
)
from tests.simulation.diary import Diary
from tests.simulation.forge import SimulatedForge
from tests.simulation.setting import BOT, CONFIG, MAIN, called


def east(forge: SimulatedForge) -> Repository:
    """Make the public one."""
    files = {CONFIG: configuration(lets_in=True), **afar(EAST, 0)}
    return forge.add_repository(OWNER, EAST, files, ROLES)


class Beyond:
    """The other repository.

    Args:
        forge: Where it is.
        repo: It.
        here: This one.
        diary: What happens here.

    Attributes:
        repo: It.
        name: What rules here call it.
        stood: How it stood at each place of the diary.
        revision: How often its object was changed.
    """

    def __init__(
        self, forge: SimulatedForge, repo: Repository, here: Repository, diary: Diary
    ) -> None:
        self._forge, self.repo, self._here, self._diary = forge, repo, here, diary
        self.name: str = repo.name
        self.stood, self.revision = Stood(diary, self.name), 0
        forge.state.listeners.append(self._hear)
        self.changed()

    def changed(self) -> None:
        """Something of it, or a topic, may have changed."""
        config, found = self.file(CONFIG), MARKED.search(self.file(AFAR_FILE).decode())
        installed = self._forge.state.data.installations.values()
        served = any(self.repo in each.repositories for each in installed)
        now = Standing(
            topic_here=TOPIC in self._here.topics,
            topic_there=TOPIC in self.repo.topics,
            lets_in=b"variants_from" in config,
            open=not self.repo.private or b"share" in config,
            there=served and self.repo.name == self.name and not self.repo.archived,
            zone=bool(self.file(ZONE_FILE)),
            value=found[0] if found else "",
        )
        self.stood.note(now)

    def file(self, path: str) -> bytes:
        """A file on its main branch; b"" for none."""
        git = self._forge.state.git(self.repo)
        entry = trees.entry_at(git, self.repo.branch(MAIN) or "", path)
        return b"" if entry is None else git.blob(entry.sha)

    def _hear(self, happening: Happening) -> None:
        """What the bot does there stands in the diary as well."""
        if happening.repo is not self.repo or called(happening.sender.login) != BOT:
            return
        if happening.kind == "pull_request" and happening.action == "opened":
            pull = happening.extra["pull"]
            ref = f"refs/heads/{pull.head_ref}"
            self._diary.add(BOT, "there opened", number=pull.number, text=ref, head=pull.head_sha)
        elif happening.kind == "push":
            change = happening.extra["change"]
            self._diary.add(
                BOT, "there pushed", text=change.ref, before=change.before, after=change.after
            )
