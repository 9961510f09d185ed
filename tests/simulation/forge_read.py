"""What stands at the simulated forge, for who judges: plain values, read from its records alone."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.sandbox.git import history
from bot.sandbox.git.objects import Commit, TagObject
from bot.sandbox.records.repository import CheckRun, Comment, Pull, Repository
from tests.simulation.forge_git import MemoryGit

if TYPE_CHECKING:
    from tests.simulation.forge import SimulatedForge


@dataclass(frozen=True, slots=True)
class MadeTag:
    """A tag.

    Attributes:
        name: Such as "net/core/v1".
        commit: Behind it.
        object: Its own, where it is annotated.
    """

    name: str
    commit: str
    object: TagObject | None


class Reading:
    """Reads a forge without any code of the bot; all of it is of now."""

    def __init__(self, forge: "SimulatedForge") -> None:
        self._forge = forge
        self._files: dict[str, Mapping[str, bytes]] = {}

    def git(self, repo: Repository) -> MemoryGit:
        """Its objects and refs."""
        return self._forge.store.open(repo.id)

    def refs(self, repo: Repository) -> dict[str, str]:
        """Branches and tags, full name to object."""
        return self.git(repo).refs()

    def tags(self, repo: Repository) -> list[MadeTag]:
        """All tags, by name."""
        git = self.git(repo)
        found = []
        for ref, sha in sorted(git.refs().items()):
            if ref.startswith("refs/tags/"):
                tag = git.tag(sha) if git.kind(sha) == "tag" else None
                found.append(MadeTag(ref[10:], tag.target if tag else sha, tag))
        return found

    def commit(self, repo: Repository, sha: str) -> Commit:
        """A commit."""
        return self.git(repo).commit(sha)

    def tree(self, repo: Repository, commit: str, path: str = "") -> str:
        """Id of what stands at a path in a commit; "" where nothing does."""
        git = self.git(repo)
        sha = git.commit(commit).tree
        for part in [p for p in path.split("/") if p]:
            entries = {e.name: e.sha for e in git.tree(sha)} if git.kind(sha) == "tree" else {}
            sha = entries.get(part, "")
            if not sha:
                return ""
        return sha

    def files(self, repo: Repository, tree: str) -> Mapping[str, bytes]:
        """Files of a tree by their paths."""
        if tree not in self._files:
            self._files[tree] = dict(self._walk(self.git(repo), tree, ""))
        return self._files[tree]

    def contains(self, repo: Repository, tip: str, sha: str) -> bool:
        """Whether a commit is another or an ancestor of it."""
        return history.contains(self.git(repo), tip, sha)

    def pulls(self, repo: Repository) -> list[Pull]:
        """Pull requests by number."""
        return list(repo.pulls.values())

    def comments(self, repo: Repository, number: int) -> list[Comment]:
        """What was said on one, oldest first."""
        return list(repo.pulls[number].comments)

    def checks(self, repo: Repository, sha: str) -> list[CheckRun]:
        """The newest check run of each name and App at a commit."""
        return self._forge.state.checks.runs_on(repo, sha)

    def _walk(self, git: MemoryGit, tree: str, under: str) -> Iterator[tuple[str, bytes]]:
        for entry in git.tree(tree):
            if entry.kind == "tree":
                yield from self._walk(git, entry.sha, f"{under}{entry.name}/")
            elif entry.kind == "blob":
                yield f"{under}{entry.name}", git.blob(entry.sha)
