"""What a draft is made from elsewhere: its upstream, found and fetched for whoever asks."""

from dataclasses import dataclass, replace

from bot.forges.port import ForgeBusyError, ForgeRefusedError, Repository
from bot.git.port import GitBusyError, GitRefusedError, History
from bot.look import locks
from bot.look.away import AwayError
from bot.look.marks import upstream_of
from bot.upstream.port import FetchedUpstream, Upstreams
from cadlib.errors import PackageError, Place
from cadlib.kptfile import reader as kptfiles
from cadlib.kptfile.values import GitRef, Kptfile
from cadlib.update.upstream import Fetch, Fetched, GoneError
from lifecycle import names
from lifecycle.access import Person
from lifecycle.facts.drafts import DraftKind, DraftRequest
from lifecycle.messages import making as texts
from lifecycle.names import Sha
from lifecycle.policy import Policy
from lifecycle.upstreams import references
from lifecycle.upstreams.errors import UpstreamError, UpstreamFault
from lifecycle.upstreams.locations import locate
from lifecycle.upstreams.references import Reference
from lifecycle.variants import naming

MOST_BYTES = 256 * 1024
"""Of a Kptfile: a hundred times the largest real one."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the files of a draft come from.

    Attributes:
        upstream: Of `CLONE` and `REBASE`, where the package is.
        ref: Of `UPGRADE`, the ref to go to; "" for the one that the Kptfile names.
        version: That for people, such as "v3".
        location: The repository as rules of access name it; "" for nowhere.
    """

    upstream: GitRef | None = None
    ref: str = ""
    version: str = ""
    location: str = ""


NOWHERE = Origin()


class DraftUpstreams:
    """The upstreams of drafts in one repository, for one person or nobody.

    Args:
        upstreams: Where packages come from; None where they come from nowhere.
        into: The repository.
        caller: Who asks, and must be able to read what is taken; None for nobody.
        policy: The rules of the repository.
    """

    def __init__(
        self, upstreams: Upstreams | None, into: Repository, caller: Person | None, policy: Policy
    ) -> None:
        self._upstreams = upstreams
        self._into = into
        self._caller = caller
        self._policy = policy

    async def origin(self, git: History, start: Sha, request: DraftRequest) -> Origin:
        """Find where the files of a draft come from.

        Args:
            git: Where the package is.
            start: The commit that the draft stands on.
            request: What is asked for.

        Raises:
            PackageError: It cannot be had, in words.
            AwayError: Its repository cannot be read now.
        """
        if request.kind in (DraftKind.CLONE, DraftKind.REBASE):
            try:
                wanted = references.parse(request.upstream)
            except UpstreamError as error:
                raise PackageError(Place(), error.problem, error.fix) from error
            came = await self._fetched(wanted)
            return Origin(upstream=came.ref, version=_version(came), location=_location(came.ref))
        if request.kind is DraftKind.UPGRADE:
            return await self._newer(git, start, request)
        return NOWHERE

    async def fetch(self, wanted: Fetch) -> Fetched:
        """Fetch one package, as `bot.render.port.FetchPackage` has it.

        Raises:
            AwayError: Its repository cannot be read now.
        """
        came = await self._fetched(
            GitRef(repo=wanted.repo, directory=wanted.directory, ref=wanted.ref)
        )
        return Fetched(files=came.files, commit=came.commit, ref=came.ref.ref)

    async def _fetched(self, wanted: Reference | GitRef) -> FetchedUpstream:
        if self._upstreams is None:
            raise texts.no_upstream(str(wanted))
        try:
            return await self._upstreams.fetch(
                wanted, into=self._into, caller=self._caller, policy=self._policy
            )
        except UpstreamError as error:
            kind = GoneError if error.fault is UpstreamFault.MISSING else PackageError
            raise kind(Place(), error.problem, error.fix) from error
        except (ForgeBusyError, ForgeRefusedError, GitBusyError, GitRefusedError) as error:
            raise AwayError(str(error)) from error

    async def _newer(self, git: History, start: Sha, request: DraftRequest) -> Origin:
        """The revision to upgrade to; of a branch or commit its newest commit."""
        upstream = _kptfile(git, start, request.package).upstream
        if upstream is None:
            raise texts.not_cloned()
        ref = f"v{request.revision}" if request.revision else references.LATEST
        released = names.parse_tag(names.tag_ref(upstream.ref)) is not None
        if not request.revision and not released:
            return Origin(version=upstream.ref, location=_location(upstream))
        came = await self._fetched(replace(upstream, ref=ref, commit=""))
        return Origin(ref=came.ref.ref, version=_version(came), location=_location(came.ref))


def of_variants(git: History, package: str, ref: str) -> list[str]:
    """Return the branches on which variants bring a package to a ref of its upstream.

    Args:
        git: Where the branches are, as they were fetched last.
        package: Its path.
        ref: The ref, such as "net/base/v2".
    """
    folder = naming.draft_branch(package, "").rstrip("/")
    found = []
    for full, (_, tip) in git.refs(names.branch_ref(folder)).items():
        branch = names.branch_name(full)
        if branch.rpartition("/")[0] == folder and naming.is_variants(branch):
            made = upstream_of(locks.of_package(git, tip, package))
            found += [branch] if made is not None and made.ref == ref else []
    return found


def _kptfile(git: History, commit: Sha, package: str) -> Kptfile:
    path = f"{package}/Kptfile".lstrip("/")
    data = git.blob(commit, path, MOST_BYTES + 1)
    if data is None:
        raise texts.no_package(package)
    if len(data) > MOST_BYTES:
        raise texts.not_cloned()
    return kptfiles.read(data, path=path)


def _version(came: FetchedUpstream) -> str:
    return f"v{came.revision}" if came.revision else came.ref.ref or came.commit[:12]


def _location(upstream: GitRef) -> str:
    return str(locate(upstream.repo) or "")
