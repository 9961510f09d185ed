"""Git of the simulated forge: who may fetch and push, and what becomes of a push."""

from base64 import b64encode
from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bot.git.port import GitBusyError, GitRefusedError, Pushed, RefUpdate
from bot.git.process import refusal
from bot.sandbox.errors import RefusedError
from bot.sandbox.git import history
from bot.sandbox.records.accounts import User
from bot.sandbox.records.refs import ZERO, PushVerdict, RefChange
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules.pushing import GitCaller
from tests.memory.git_objects import MemoryObjects
from tests.simulation.forge_calls import Fault, ForgeCall
from tests.simulation.forge_git import MemoryGit

if TYPE_CHECKING:
    from tests.simulation.forge import SimulatedForge


class RemoteRepository:
    """A repository as one replica's mirrors reach it; implements `tests.memory.git.Remote`.

    Args:
        forge: Whose it is.
        repo: Which.
        replica: Whose calls these are.
    """

    def __init__(self, forge: "SimulatedForge", repo: Repository, replica: str) -> None:
        self._forge = forge
        self._repo = repo
        self._replica = replica

    @property
    def objects(self) -> MemoryObjects:
        """All that was ever pushed."""
        return self._git.objects

    @property
    def _git(self) -> MemoryGit:
        return self._forge.store.open(self._repo.id)

    @property
    def refs(self) -> Mapping[str, str]:
        """All refs as they are, for nobody of the bot."""
        return self._git.place.refs

    def shown(self, credentials: str, places: Sequence[str] = ()) -> Mapping[str, str]:
        """All refs, or those of a while ago.

        Raises:
            GitBusyError: It fails, or nobody with these may fetch.
        """
        name = "git fetch" if places else "git list"
        fault = self._befalls(name, "fetch", tuple(places), writes=False)
        self._allowed(credentials, "fetch", writes=False)
        _lost(fault, "fetch")
        past = self._forge.past
        if fault is None or not fault.stale:
            return self._git.place.refs
        shown: Mapping[str, str] = past.at(("refs", self._repo.id), past.now - fault.stale, {})
        return shown

    def receive(
        self, credentials: str, objects: MemoryObjects, updates: Sequence[RefUpdate]
    ) -> Pushed:
        """Take a push: all the refs move, or none.

        Raises:
            GitBusyError: It fails, or nobody with these may push.
            GitRefusedError: A rule forbids it.
        """
        about = tuple(u.ref for u in updates)
        fault = self._befalls("git push", "push", about, writes=True)
        visitor = self._allowed(credentials, "push", writes=True)
        done = self.take(visitor, objects, updates)
        _lost(fault, "push")
        return done

    def take(
        self, visitor: GitCaller, objects: MemoryObjects, updates: Sequence[RefUpdate]
    ) -> Pushed:
        """Take a push of somebody who may push.

        Raises:
            GitRefusedError: A rule forbids it.
        """
        git, state = self._git, self._forge.state
        if len({u.ref for u in updates}) < len(updates):
            raise ValueError(f"git: a ref receives from more than one: {updates}")
        # Git sends nothing for a ref that is where it is wanted already, whatever was expected.
        updates = [u for u in updates if not u.wanted or git.place.refs.get(u.ref) != u.wanted]
        if any(git.place.refs.get(u.ref, "") != u.expected for u in updates):
            return Pushed.MOVED
        # What is refused must not stay: an object that is there can be named by a tag.
        fresh: dict[str, tuple[str, bytes]] = {}
        beside = MemoryObjects(ChainMap(fresh, git.objects.known))
        changes = []
        for update in updates:
            if update.wanted:
                beside.take(objects, update.wanted)
            before, after = update.expected or ZERO, update.wanted or ZERO
            changes.append(RefChange(ref=str(update.ref), before=before, after=after))
        received = Brought(git.beside(MemoryObjects(fresh)))
        for change in changes:
            verdict = visitor.judge(self._repo, change, received)
            if verdict.refused:
                raise GitRefusedError(refusal(_told(change.ref, verdict)))
        git.objects.known.update(fresh)
        if not git.move(changes):
            return Pushed.MOVED
        with self._forge.change():
            state.refs_changed(self._repo, changes, acting(visitor))
        return Pushed.DONE

    def _befalls(
        self, name: str, verb: str, about: tuple[str, ...], *, writes: bool
    ) -> Fault | None:
        service = "receive" if writes else "upload"
        operation = f"POST /{{owner}}/{{repo}}.git/git-{service}-pack"
        call = ForgeCall(self._replica, name, 0, writes, about, operation)
        fault = self._forge.faults(call)
        self._forge.answered(call, fault.status if fault is not None and fault.fails else 200)
        if fault is not None and fault.fails and not fault.done:
            raise GitBusyError(f"the {verb} failed: fatal: {fault.message}")
        return fault

    def _allowed(self, credentials: str, verb: str, *, writes: bool) -> GitCaller:
        try:
            visitor = self._forge.git_access.git_caller(f"Basic {_encoded(credentials)}")
            visitor.allow(self._repo, writes=writes)
        except RefusedError as refused:
            raise GitBusyError(f"the {verb} failed: remote: {refused.message}") from refused
        return visitor


class Brought:
    """What a push brought, beside what was there; implements `pushing.PushedObjects`."""

    def __init__(self, git: MemoryGit) -> None:
        self._git = git

    def unsigned(self, tip: str) -> Sequence[str]:
        git = self._git
        known = history.reachable(git, *(self._peeled(sha) for sha in git.refs().values()))
        fresh = history.ancestors(git, self._peeled(tip), known)
        return [sha for sha in fresh if not git.commit(sha).signed]

    def forced(self, before: str, after: str) -> bool:
        return not history.contains(self._git, after, before)

    def changed(self, before: str | None, after: str, folder: str) -> Sequence[str]:
        tip = self._peeled(after)
        if self._git.kind(tip) != "commit":
            return []
        old = None if before is None else self._peeled(before)
        return [f.path for f in self._git.diff(old, tip) if f.path.startswith(folder)]

    def _peeled(self, sha: str) -> str:
        while self._git.kind(sha) == "tag":
            sha = self._git.tag(sha).target
        return sha


def acting(visitor: GitCaller) -> User:
    """Who pushes, where pushing was allowed."""
    if visitor.user is None:
        raise ValueError("nobody pushes")
    return visitor.user


def _encoded(credentials: str) -> str:
    return b64encode(credentials.encode()).decode()


def _told(ref: str, verdict: PushVerdict) -> str:
    """What `git push --porcelain` writes of a refusal."""
    lines = [f"remote: {line}" for line in verdict.lines]
    return "\n".join([*lines, f"!\t{ref}:{ref}\t[remote rejected] ({verdict.reason})"])


def _lost(fault: Fault | None, verb: str) -> None:
    if fault is not None and fault.fails:
        raise GitBusyError(f"the {verb} failed: fatal: {fault.message}")
