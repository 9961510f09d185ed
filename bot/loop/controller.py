"""Handles the keys that were woken, a kind each, and sorts what went wrong by who must act.

The only place, beside the gRPC service, where any exception is caught: it becomes "something
broke".
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import structlog

from bot import keys, metrics
from bot.forges.port import ForgeBusyError, ForgeMissingError, ForgeRefusedError, Forges
from bot.git.port import GitBusyError, GitRefusedError, Mirrors, MissingObjectError, TooLargeError
from bot.look.states import of_head
from bot.loop import proposal, trouble
from bot.loop.discovery import Discovery
from bot.loop.hints import Hint, decode, encode
from bot.loop.publishing import Publishing, SomeFailedError
from bot.loop.repository import ServedRepository, head_of
from bot.loop.serving import NotServedError, Serving
from bot.loop.sweep import sweep
from bot.loop.unjudged import Unjudged
from bot.loop.work import Failed, LookAgain, Result, Settled, Work
from bot.render.port import Renderer
from bot.store.port import Store
from bot.store.values import StoreError

log = structlog.get_logger()

GONE_TRIES = 3
"""Looks that must have failed before what is missing counts as gone: about seven seconds."""


class Controller:
    """Handles keys.

    Args:
        forges: The forge that is served.
        mirrors: All mirrors.
        renderer: Renders and validates.
        store: The database.
        record_keys: For hidden records, newest first.
        instance: Name of this bot in its markers.
    """

    def __init__(
        self,
        forges: Forges,
        mirrors: Mirrors,
        renderer: Renderer,
        store: Store,
        record_keys: Sequence[bytes],
        instance: str,
    ) -> None:
        self._store = store
        self._discovery = Discovery(forges, store)
        self._unjudged = Unjudged(store)
        self._serving = Serving(forges, mirrors, renderer, store, record_keys, instance)

    async def work(self, work: Work) -> Result:
        """Bring one key to rest, and sort what went wrong by who must act."""
        try:
            with metrics.LOOK_SECONDS.labels(type(work.key).__name__).time():
                after = await self.handle(work.key, decode(work.hint))
        except NotServedError as error:
            log.info("not looked at", key=str(work.key), reason=str(error))
            return Settled()
        except ForgeBusyError as error:
            metrics.failed(work.key, "busy")
            return Failed(str(error), error.after or None)
        except (GitBusyError, MissingObjectError) as error:
            # A repository that was renamed has another address: it is asked for at the next try.
            self._forget(work.key)
            metrics.failed(work.key, "git")
            return Failed(str(error))
        except (ForgeRefusedError, GitRefusedError, TooLargeError) as error:
            # A fresh token sees nothing for a moment, and names change (trap 14).
            self._forget(work.key)
            if isinstance(error, ForgeMissingError) and await self._is_gone(work):
                return Settled()
            metrics.failed(work.key, "refused")
            return await self._broke("needs an operator", work, error)
        except SomeFailedError as error:
            self._forget(work.key)
            metrics.failed(work.key, "some")
            return await self._broke("some were not published", work, error)
        except StoreError as error:  # it passes: one line, and nothing that people could do
            metrics.failed(work.key, "database")
            return Failed(str(error))
        except Exception as error:  # whatever breaks, other keys go on, and people are told
            metrics.failed(work.key, "broke")
            return await self._broke("look broke", work, error)
        return Settled() if after is None else LookAgain(after)

    async def _broke(self, what: str, work: Work, error: Exception) -> Failed:
        """A look failed for a reason that does not pass: log it, and show it to people."""
        incident = trouble.incident(work.key)
        known = ForgeRefusedError | GitRefusedError | SomeFailedError | TooLargeError
        bug = not isinstance(error, known)
        log.error(what, key=str(work.key), incident=incident, error=str(error), exc_info=bug)
        missing = isinstance(error, ForgeMissingError)
        if work.tries >= trouble.TRIES and not missing:
            try:
                await self._show_trouble(work.key, incident, error)
            except Exception as second:  # what broke the look may break this as well
                log.warning("not shown to people", incident=incident, error=str(second))
        named = f"{type(error).__name__}: {error}" if bug else str(error)
        return Failed(f"{named} ({incident})")

    async def _show_trouble(self, key: keys.Key, incident: str, error: Exception) -> None:
        """Say in the checks of the proposals that a key is about that it fails."""
        if isinstance(key, keys.InstallationsKey | keys.InstallationKey):
            return
        forge = (await self._serving.of(key.repository)).forge
        match key:
            case keys.ProposalKey():
                pulls = of_head(await forge.open_proposals(), head_of(key))
            case keys.PullKey(_, number):
                pulls = (await forge.proposal(number),)
            case keys.BaseKey(repository, branch):
                numbers: Iterable[int] = await self._store.revisions.asked_publish(
                    repository, branch
                )
                if isinstance(error, SomeFailedError):
                    failed = error.failed.items()
                    numbers = [n for n, e in failed if not isinstance(e, trouble.PASSING)]
                pulls = tuple([await forge.proposal(number) for number in numbers])
            case _:
                return  # about no proposal: it is shown to the operator
        said = str(error) if isinstance(error, TooLargeError) else ""
        told = await trouble.show(forge, pulls, incident, datetime.now(UTC), said)
        if told:
            log.info("shown to people", incident=incident, numbers=told)

    async def _is_gone(self, work: Work) -> bool:
        """Whether what a key names is gone: asking for it ends, until something wakes it.

        A repository that cannot be reached is not served until discovery finds it again.
        """
        if work.tries < GONE_TRIES:
            return False
        if isinstance(work.key, keys.InstallationsKey):
            return False
        if not isinstance(work.key, keys.InstallationKey):
            try:
                await self._serving.renewed(work.key.repository)
            except ForgeMissingError:
                await self._store.repositories.lost(work.key.repository)
            except (ForgeBusyError, ForgeRefusedError, GitBusyError, GitRefusedError):
                return False
        log.warning("gone; not asked for again until something wakes it", key=str(work.key))
        return True

    def _forget(self, key: keys.Key) -> None:
        """Ask anew where a repository is, before the next look at anything in it."""
        if not isinstance(key, keys.InstallationsKey | keys.InstallationKey):
            self._serving.forget(key.repository)

    async def handle(self, key: keys.Key, hint: Hint) -> float | None:
        """Bring one key to rest.

        Returns:
            Seconds after which to look again; None when it has settled.
        """
        match key:
            case keys.InstallationsKey():
                await self._discovery.installations()
                return None
            case keys.InstallationKey(number):
                await self._discovery.repositories(number)
                return None
            case keys.RepositoryKey(repository):
                served = await self._serving.renewed(repository, hint.installations)
                await served.calms()
                await sweep(served, self._store)
                return None
            case keys.PullKey(repository, number):
                served = await self._serving.of(repository)
                await self._store.queue.wake(
                    await served.branch_of(number),
                    encode(replace(hint, numbers=hint.numbers | {number})),
                )
                return None
            case keys.CommitKey(repository, sha):
                await self._wake_heads(await self._serving.of(repository), sha, hint)
                return None
            case keys.ProposalKey(repository):
                served = await self._serving.of(repository)
                async with served.lock(head_of(key)):
                    return await proposal.settle(served, self._store, self._unjudged, key, hint)
            case keys.BaseKey(repository, branch):
                served = await self._serving.of(repository)
                with served.publishes(branch):
                    return await Publishing(served, self._store).publish(branch)

    async def runner_is_back(self) -> None:
        """Look at once at what a function could not be run on."""
        await self._unjudged.runner_is_back()

    async def _wake_heads(self, served: ServedRepository, sha: str, hint: Hint) -> None:
        await self._store.queue.wake_all(
            {
                keys.ProposalKey(served.id, p.head_repository, p.head_ref): encode(hint)
                for p in await served.forge.open_proposals()
                if p.head == sha and p.head_repository is not None
            }
        )
