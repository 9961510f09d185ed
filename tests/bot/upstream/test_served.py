"""Packages from repositories that the bot serves, and who gets them.

Longer than 400 lines: who may have what, and what each ref means, on one stage.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from bot.forges.port import ForgeBusyError, ForgeMissingError, ForgeRefusedError, Forges, Repository
from bot.git.port import ObjectTooLargeError, Refs
from bot.look.published import PublishedTags
from bot.upstream.elsewhere import Came
from bot.upstream.fetching import LimitedFetches
from bot.upstream.places import ServedPackage
from bot.upstream.port import FetchedUpstream
from bot.upstream.routes import MOST_REDIRECTS, PUBLIC, Allowed
from bot.upstream.served import ServedUpstreams
from bot.upstream.standing import Homes
from bot.upstream.upstreams import AllUpstreams
from cadlib.kptfile.values import GitRef
from cadlib.package.files import Entry
from lifecycle.access import Person, Role
from lifecycle.identity import GITHUB, RepositoryId
from lifecycle.messages.checks import large_tag
from lifecycle.names import Sha
from lifecycle.policy import Policy, UpstreamPolicy
from lifecycle.upstreams.errors import UpstreamError, UpstreamFault
from lifecycle.upstreams.locations import Location, locate
from lifecycle.upstreams.references import GitReference, RevisionReference, parse
from tests.memory.clock import ManualClock
from tests.memory.git import MemoryMirrors, MemoryRemote
from tests.memory.git_history import MemoryHistory
from tests.memory.store import MemoryStore

AT = datetime(2026, 11, 1, tzinfo=UTC)
KPTFILE = b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: core\n"
ANN, BOB = Person(1, "ann", bot=False), Person(2, "bob", bot=False)
TOKEN = "x-access-token:ghs_1"


async def at_once(work: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
    """Do work that blocks, at once."""
    return work(*args, **named)


def repository(number: int, name: str, **more: object) -> Repository:
    whole = Repository(
        id=RepositoryId(GITHUB, number),
        full_name=name,
        default_branch="main",
        clone_url=f"https://github.com/{name}.git",
        installation=number,
        installed_at=AT,
    )
    return replace(whole, **more)  # type: ignore[arg-type] # fields of it


BLUEPRINTS = repository(1, "acme/blueprints")
CLUSTERS = repository(2, "acme/clusters")
OTHERS = repository(3, "other/packages")
READER = "github.com/acme/clusters"


@dataclass
class _Forge:
    readers: Mapping[str, Role]
    tags: frozenset[str] = frozenset()
    away: Exception | None = None

    async def git_credentials(self) -> str:
        return TOKEN

    async def role(self, login: str, account: int) -> Role:
        assert account
        if self.away:
            raise self.away
        return self.readers.get(login, Role.NONE)

    async def has_tag(self, name: str) -> bool:
        return name in self.tags


@dataclass
class _Forges:
    """A forge with some repositories, and who may read each."""

    known: dict[RepositoryId, Repository]
    readers: dict[RepositoryId, dict[str, Role]] = field(default_factory=dict)
    tags: frozenset[str] = frozenset()
    former: dict[str, RepositoryId] = field(default_factory=dict)
    error: Exception | None = None
    away: dict[tuple[str, RepositoryId], Exception] = field(default_factory=dict)
    """What is raised where somebody asks for a repository ("it"), or a role there ("role")."""
    most_parts: int = 2
    asked: list[str] = field(default_factory=list)

    async def is_installed(self, full_name: str) -> bool:
        self.asked.append(full_name)
        if self.error:
            raise self.error
        named = {each.full_name for each in self.known.values()}
        return full_name in named or full_name in self.former

    async def repository_by_id(self, repository_id: RepositoryId, installation: int) -> Repository:
        if repository_id not in self.known:
            raise ForgeMissingError("read a repository", "not found")
        if error := self.away.get(("it", repository_id)):
            raise error
        return self.known[repository_id]

    def of(self, repository: Repository) -> _Forge:
        away = self.away.get(("role", repository.id))
        return _Forge(self.readers.get(repository.id, {}), self.tags, away)


@dataclass
class _Elsewhere:
    """Remembers what it was asked for."""

    asked: list[tuple[GitReference, str]] = field(default_factory=list)
    spent: list[float] = field(default_factory=list)
    leads_to: list[str] = field(default_factory=list)
    opened: str = ""
    lacks: bool = False
    meanwhile: Callable[[], object] = dict

    def opens(self, at: Location, reader: str) -> bool:
        return bool(reader) and bool(self.opened) and str(at).startswith(self.opened)

    def fetch(
        self, wanted: GitReference, reader: str, allowed: Allowed, spent: float = 0.0
    ) -> Came:
        self.spent.append(spent)
        location = locate(wanted.repo)
        assert location is not None
        allowed(location)
        for each in map(locate, self.leads_to):
            assert each is not None
            allowed(each)
        self.asked.append((wanted, reader))
        self.meanwhile()
        if self.lacks:
            raise UpstreamError(UpstreamFault.MISSING, "there is no such tag", "")
        return Came({"Kptfile": Entry(KPTFILE)}, f"{wanted.directory}/v7", "e" * 40, "t" * 40)


@dataclass(frozen=True)
class _Publications:
    """All was tagged before the bot came."""

    baseline: Mapping[str, str]

    async def of(self, home: RepositoryId, packages: Collection[str]) -> PublishedTags:
        return PublishedTags(home, [b"k" * 32], {each: {} for each in packages}, self.baseline)


class Stage:
    """Three repositories, of which ann may read two, and the way to fetch from them."""

    def __init__(self) -> None:
        self.remotes = {
            each.clone_url: MemoryRemote(TOKEN) for each in (BLUEPRINTS, CLUSTERS, OTHERS)
        }
        self.forges = _Forges(
            {each.id: each for each in (BLUEPRINTS, CLUSTERS, OTHERS)},
            {BLUEPRINTS.id: {"ann": Role.READ}, CLUSTERS.id: {"ann": Role.WRITE}},
        )
        self.elsewhere = _Elsewhere()
        self.files: dict[RepositoryId, dict[str, bytes]] = {}
        self.clock = ManualClock()
        self.baseline: dict[str, str] = {}
        """What was tagged when the bot came, of all repositories; `publish` adds to it."""
        self.store = MemoryStore(self.clock)
        served = ServedUpstreams(
            {GITHUB: cast(Forges, self.forges)},
            MemoryMirrors(self.remotes, self.clock),
            self.store.repositories,
            _Publications(self.baseline),
            self.clock,
            {GITHUB: at_once},
        )
        self.upstreams = AllUpstreams(
            served,
            self.elsewhere,
            LimitedFetches(at_once),
            Homes({GITHUB: cast(Forges, self.forges)}, {GITHUB: "github.com"}, self.clock),
        )

    async def begin(self) -> "Stage":
        for each in self.forges.known.values():
            await self.store.repositories.adopt(each, AT, {})
        for name in ("net/core", "net/edge"):
            self.publish(BLUEPRINTS, name, 1)
        return self

    def commit(
        self, at: Repository, files: Mapping[str, bytes], branch: str = "main", message: str = ""
    ) -> str:
        remote = self.remotes[at.clone_url]
        ref = f"refs/heads/{branch}"
        parents = [remote.refs[ref]] if ref in remote.refs else []
        whole = self.files.setdefault(at.id, {})
        whole |= files
        remote.refs[ref] = remote.objects.commit(dict(whole), *parents, message=message)
        self.clock.seconds += 1
        return remote.refs[ref]

    def publish(
        self, at: Repository, package: str, number: int, message: str = "", **more: bytes
    ) -> str:
        text = KPTFILE + f"# {package} {number}\n".encode()
        commit = self.commit(at, {f"{package}/Kptfile": text, **more}, message=message)
        remote = self.remotes[at.clone_url]
        ref = f"refs/tags/{package}/v{number}"
        remote.refs[ref] = self.baseline[ref] = remote.objects.tag(package, commit)
        return commit

    async def get(
        self,
        text: str | GitRef,
        caller: Person | None = ANN,
        policy: Policy | None = None,
        into: Repository = CLUSTERS,
    ) -> FetchedUpstream:
        reference = text if isinstance(text, GitRef) else parse(text)
        return await self.upstreams.fetch(
            reference, into=into, caller=caller, policy=policy or Policy()
        )

    async def refused(self, text: str, *args: object, **more: object) -> tuple[UpstreamFault, str]:
        with pytest.raises(UpstreamError) as raised:
            await self.get(text, *args, **more)  # type: ignore[arg-type]
        return raised.value.fault, str(raised.value)


@pytest.fixture
async def stage() -> Stage:
    return await Stage().begin()


async def test_a_revision_comes_with_what_is_written_of_it(stage: Stage) -> None:
    """Short-cut refused: the id of the tag in place of the commit behind it."""
    commit = stage.publish(BLUEPRINTS, "net/core", 2)

    found = await stage.get("acme/blueprints/net/core@v2")

    assert found == FetchedUpstream(
        files={"Kptfile": Entry(KPTFILE + b"# net/core 2\n")},
        ref=GitRef(
            repo="https://github.com/acme/blueprints", directory="/net/core", ref="net/core/v2"
        ),
        commit=commit,
        tree=found.tree,
        revision=2,
        served=BLUEPRINTS.id,
        tag=stage.remotes[BLUEPRINTS.clone_url].refs["refs/tags/net/core/v2"],
    )
    assert found.lock == replace(found.ref, commit=commit)


@pytest.mark.parametrize(
    "text",
    [
        "acme/blueprints//net/core@v1",
        "Acme/Blueprints/net/core@v1",
        "https://github.com/acme/blueprints//net/core@v1",
        "git@github.com:acme/blueprints.git//net/core@net/core/v1",
    ],
)
async def test_one_package_however_it_is_written(stage: Stage, text: str) -> None:
    found = await stage.get(text)

    assert (found.served, found.revision) == (BLUEPRINTS.id, 1)
    assert stage.elsewhere.asked == []


@pytest.mark.parametrize(("text", "times"), [("v1", 1), ("latest", 1), ("v1", 9), ("main", 9)])
async def test_what_is_removed_from_its_mirror_meanwhile_is_fetched_again(
    stage: Stage, text: str, times: int
) -> None:
    """Short-cuts refused: it is said to name no commit; the look of the repository that asks fails,
    at each try, as what is known is never fetched again; it is fetched without an end."""
    wanted = f"acme/blueprints/net/core@{text}"
    await stage.get(wanted)
    served, left = stage.upstreams._served, times

    async def removing(work: Callable[..., Any], /, *args: Any) -> Any:
        nonlocal left
        found = work(*args)
        if found is not None and left and work.__name__ in ("_known", "_fresh"):
            left -= 1
            cast(Any, served._mirror(BLUEPRINTS)).empty()
        return found

    served._offloads = {GITHUB: cast(Any, removing)}
    if times == 1:
        assert (await stage.get(wanted)).revision == 1
        return
    with pytest.raises(ForgeBusyError, match="is not in the mirror"):
        await stage.get(wanted)


async def test_a_revision_whose_tag_goes_while_it_is_read_is_not_there(stage: Stage) -> None:
    """The short-cut compares with the tag that was there, and says that it was moved."""
    await stage.get("acme/blueprints/net/core@v1")
    served, ref = stage.upstreams._served, "refs/tags/net/core/v1"

    async def removing(work: Callable[..., Any], /, *args: Any) -> Any:
        found = work(*args)
        if work.__name__ == "_known":  # a look of the other repository fetches it
            stage.remotes[BLUEPRINTS.clone_url].refs.pop(ref, None)
            cast(Any, served._mirror(BLUEPRINTS))._refs.pop(ref, None)
        return found

    served._offloads = {GITHUB: cast(Any, removing)}
    with pytest.raises(UpstreamError, match="has no tag, branch or commit 'v1'"):
        await stage.get("acme/blueprints/net/core@v1")


async def test_what_is_missing_of_another_repository_is_busy_and_no_broken_look(
    stage: Stage,
) -> None:
    """Short-cut refused: the look fails as if something were missing of its own repository."""
    tree = (await stage.get("acme/blueprints/net/core@v1")).tree
    del cast(Any, stage.upstreams._served._mirror(BLUEPRINTS)).objects.known[tree]
    with pytest.raises(ForgeBusyError, match="is not in the mirror"):
        await stage.get("acme/blueprints/net/core@v1")


async def test_who_reads_of_a_slow_forge_waits_in_the_threads_of_that_forge(stage: Stage) -> None:
    """The short-cut reads all forges in the threads that rendering needs."""
    at: list[str] = []

    def threads(forge: str) -> Callable[..., Any]:
        async def there(work: Callable[..., Any], /, *args: Any) -> Any:
            at.append(forge)
            return work(*args)

        return there

    every = {each: cast(Any, threads(each)) for each in ("gitlab", GITHUB)}
    stage.upstreams._served._offloads = every
    await stage.get("acme/blueprints/net/core@v1")
    await stage.refused("acme/blueprints/net/core@v9")
    assert set(at) == {GITHUB}


async def test_a_known_revision_takes_no_network(stage: Stage) -> None:
    """Short-cut refused: a fetch each time, for what never changes."""
    await stage.get("acme/blueprints/net/core@v1")
    remote = stage.remotes[BLUEPRINTS.clone_url]
    remote.failing = True

    assert (await stage.get("acme/blueprints/net/core@v1")).revision == 1


async def test_the_newest_revision_is_the_newest_now(stage: Stage) -> None:
    """Short-cut refused: what the mirror knew of before."""
    await stage.get("acme/blueprints/net/core@latest")
    stage.publish(BLUEPRINTS, "net/core", 2)

    assert (await stage.get("acme/blueprints/net/core")).revision == 2


async def test_the_newest_is_none_that_the_ledger_is_against(stage: Stage) -> None:
    """Short-cut refused: the highest number, withdrawn or not."""
    ledger = b"version: 1\nrevisions: {v2: {state: deprecated, reason: broken}}\n"
    stage.publish(BLUEPRINTS, "net/core", 2)
    stage.commit(
        BLUEPRINTS, {"net/core/Kptfile": KPTFILE, ".porchbot/ledger/net/core.yaml": ledger}
    )

    assert (await stage.get("acme/blueprints/net/core@latest")).revision == 1
    assert (await stage.get("acme/blueprints/net/core@v2")).revision == 2


async def test_what_nobody_published_is_not_the_newest_and_has_no_number(stage: Stage) -> None:
    """Short-cuts refused: the highest number; a tag of before the bot wherever it points now.

    A rule for variants, which somebody approved, gets such a number, and it is said.
    """
    stage.publish(BLUEPRINTS, "net/core", 2)
    good = stage.baseline["refs/tags/net/core/v2"]
    stage.publish(BLUEPRINTS, "net/core", 3)
    stage.publish(BLUEPRINTS, "net/core", 9)
    stage.baseline["refs/tags/net/core/v3"] = good  # it was moved since the bot came
    del stage.baseline["refs/tags/net/core/v9"]

    assert (await stage.get("acme/blueprints/net/core@latest")).revision == 2
    served = stage.upstreams._served
    assert await served.releases(BLUEPRINTS, ["net/core"]) == {"net/core": (1, 2)}
    for text, why in (
        ("acme/blueprints/net/core@v9", "somebody pushed its tag past porchbot"),
        ("acme/blueprints/net/core@v3", "its tag was moved since"),
        ("https://github.com/acme/blueprints//net/core@net/core/v3", "its tag was moved since"),
    ):
        fault, said = await stage.refused(text)
        assert fault is UpstreamFault.MISSING
        assert f"is not what was published: {why}, so no approval is known" in said
    for ref, unpublished in (("v9", True), ("v2", False)):  # as a rule for variants names it
        found = await served.fetch(ServedPackage(BLUEPRINTS, "net/core"), ref)
        assert (found.revision, found.unpublished) == (int(ref[1:]), unpublished)


@pytest.mark.parametrize(
    ("pushed", "asked"),
    [
        ("refs/heads/v9", "v9"),
        ("refs/heads/v9", "refs/heads/v9"),
        ("refs/heads/net/core/v9", "net/core/v9"),
        ("refs/tags/v9", "refs/tags/v9"),
    ],
)
async def test_what_is_named_like_a_revision_is_none(stage: Stage, pushed: str, asked: str) -> None:
    """The short-cut asks of tags of the package alone whether they were published: whoever may push
    makes a branch of that name, and a reviewer reads "net/core v9"."""
    evil = stage.commit(BLUEPRINTS, {"net/core/Kptfile": KPTFILE + b"# evil\n"}, "evil")
    stage.remotes[BLUEPRINTS.clone_url].refs[pushed] = evil
    stage.forges.tags = frozenset({"v9"})

    fault, said = await stage.refused(f"acme/blueprints//net/core@{asked}")

    assert fault is UpstreamFault.MISSING
    assert "is no revision of acme/blueprints//net/core but a branch or another tag" in said


@pytest.mark.parametrize("ref", ["weird", "net/core/v7"])
async def test_a_tag_that_names_no_commit_is_refused(stage: Stage, ref: str) -> None:
    """The short-cut lets git's error through: each look at the proposal whose comment names it
    fails, and nothing of it is answered or published."""
    remote = stage.remotes[BLUEPRINTS.clone_url]
    stage.forges.tags = frozenset({"weird"})
    remote.refs[f"refs/tags/{ref}"] = remote.objects.store("blob", b"a file")

    served = stage.upstreams._served
    with pytest.raises(UpstreamError, match=f"{ref} of acme/blueprints//net/core names no commit"):
        await served.fetch(ServedPackage(BLUEPRINTS, "net/core"), ref)


async def test_a_tag_that_takes_too_much_to_be_fetched_is_told(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts: a branch of that name is read, since the list of tags has no commit of it; or
    git's error goes through, and each look at the proposal whose comment names it fails."""
    stage.commit(BLUEPRINTS, {"net/core/Kptfile": KPTFILE}, "big")
    stage.remotes[BLUEPRINTS.clone_url].refs["refs/tags/net/core/big"] = stage.publish(
        BLUEPRINTS, "net/core", 2
    )
    ref, refs = MemoryHistory.ref, MemoryHistory.refs

    def named(git: MemoryHistory, name: str) -> Sha | None:
        if name == "refs/tags/net/core/big":
            raise ObjectTooLargeError(large_tag())
        return ref(git, name)

    def listed(git: MemoryHistory, *places: str) -> Refs:
        return {
            r: (at, Sha("") if r == "refs/tags/net/core/big" else c)
            for r, (at, c) in refs(git, *places).items()
        }

    monkeypatch.setattr(MemoryHistory, "ref", named)
    monkeypatch.setattr(MemoryHistory, "refs", listed)
    fault, said = await stage.refused("acme/blueprints//net/core@big")
    assert fault is UpstreamFault.TOO_LARGE
    assert "takes too much memory, or too long, to be fetched" in said


async def test_a_branch_is_what_it_is_now(stage: Stage) -> None:
    await stage.get("acme/blueprints/net/core@main")
    stage.publish(BLUEPRINTS, "net/core", 2)

    found = await stage.get("acme/blueprints/net/core@main")

    assert (found.files["Kptfile"].data, found.ref.ref, found.revision) == (
        KPTFILE + b"# net/core 2\n",
        "main",
        None,
    )


async def test_a_tag_that_is_no_release(stage: Stage) -> None:
    remote = stage.remotes[BLUEPRINTS.clone_url]
    remote.refs["refs/tags/v1.2.3"] = remote.refs["refs/heads/main"]
    stage.forges.tags = frozenset({"v1.2.3"})

    found = await stage.get("acme/blueprints/net/edge@v1.2.3")

    assert (found.ref.ref, found.revision) == ("v1.2.3", None)


async def test_a_lock_gives_its_commit(stage: Stage) -> None:
    """Short-cut refused: its ref, which may be another commit by now."""
    first = await stage.get("acme/blueprints/net/core@main")
    stage.publish(BLUEPRINTS, "net/core", 2)

    assert (await stage.get(first.lock)).files == first.files


async def test_a_commit_of_a_strangers_fork_is_not_of_the_repository(stage: Stage) -> None:
    """Short-cut refused: a mirror has it, so it must be one of theirs."""
    await stage.get("acme/blueprints/net/core@v1")
    remote = stage.remotes[BLUEPRINTS.clone_url]
    evil = remote.objects.commit({"net/core/Kptfile": b"evil\n"})
    remote.refs["refs/pull/9/head"] = evil
    mirrors = stage.upstreams._served._mirrors
    mirrors.of(BLUEPRINTS.id, BLUEPRINTS.clone_url).fetch_proposal(TOKEN, "refs/pull/9/head")  # type: ignore[arg-type]

    assert await stage.refused(f"acme/blueprints//net/core@{evil}") == (
        UpstreamFault.MISSING,
        f"acme/blueprints//net/core has no commit {evil[:12]} any more: its branch was rewritten,"
        " or is gone. Name a tag or branch that is there now; if `upstreamLock.git` of a Kptfile"
        " names the commit, upgrade that package with `--strategy` copy-merge or"
        " force-delete-replace.",
    )


async def test_what_somebody_may_not_read_is_not_there(stage: Stage) -> None:
    """Short-cut refused: telling a stranger that a private repository exists."""
    stage.publish(OTHERS, "secret/plan", 1)

    hidden = await stage.refused("other/packages//secret/plan@v1")
    gone = await stage.refused("other/nothing//secret/plan@v1")

    assert hidden[0] is UpstreamFault.MISSING
    assert hidden[1].replace("other/packages", "other/nothing") == gone[1]
    stage.forges.readers[OTHERS.id] = {"ann": Role.READ}
    assert (await stage.get("other/packages//secret/plan@v1")).revision == 1


BUSY = ForgeBusyError("read it", "rate limit exceeded for installation 3", after=60)
SUSPENDED = ForgeRefusedError("read it", "This installation has been suspended", "resume it")


@pytest.mark.parametrize("error", [BUSY, SUSPENDED])
@pytest.mark.parametrize("at", ["it", "role"])
@pytest.mark.parametrize("text", ["{}//secret/plan@v1", "https://github.com/{}//secret/plan@v1"])
async def test_a_forge_that_does_not_answer_tells_nobody_what_is_served(
    stage: Stage, text: str, at: str, error: Exception
) -> None:
    """Short-cuts refused: a stranger's command waits for it, with words that nobody gets who names
    what is not there; or the right of whoever may read it is forgotten, and he is refused."""
    stage.publish(OTHERS, "secret/plan", 1)
    stage.elsewhere.lacks = True
    allows = Policy(upstream_use=UpstreamPolicy(allow=("github.com/*",)))
    stage.forges.readers[OTHERS.id] = {"ann": Role.READ}
    hers = Person(ANN.id, "ann", bot=False)
    assert (await stage.get(text.format("other/packages"), hers, allows)).revision == 1
    stage.forges.away[at, OTHERS.id] = error

    hidden = await stage.refused(text.format("other/packages"), BOB, allows)
    gone = await stage.refused(text.format("other/nothing"), BOB, allows)
    assert hidden[0] is gone[0] is UpstreamFault.MISSING
    assert hidden[1].replace("other/packages", "other/nothing") == gone[1]
    with pytest.raises(type(error)):  # she was let read it: the command waits
        await stage.get(text.format("other/packages"), hers, allows)

    stage.forges.away.clear()
    stage.forges.readers[OTHERS.id] = {}
    await stage.refused(text.format("other/packages"), hers, allows)
    stage.forges.away[at, OTHERS.id] = error
    assert await stage.refused(text.format("other/packages"), hers, allows) == hidden


async def test_what_everybody_may_read_is_waited_for(stage: Stage) -> None:
    """Short-cut refused: whoever did not ask for it himself is told that it is not there."""
    stage.forges.known[OTHERS.id] = replace(OTHERS, public=True)
    stage.publish(OTHERS, "net/plan", 1)
    assert (await stage.get("other/packages//net/plan@v1", BOB)).revision == 1
    stage.forges.away["it", OTHERS.id] = BUSY
    with pytest.raises(ForgeBusyError):
        await stage.get("other/packages//net/plan@v1", ANN)


async def test_variants_wait_for_a_forge_that_does_not_answer(stage: Stage) -> None:
    """Short-cut refused: what consents is told of as not there, and not asked for again."""
    stage.forges.away["it", BLUEPRINTS.id] = BUSY
    with pytest.raises(ForgeBusyError):
        await stage.get("acme/blueprints//net/core@v1", None)


async def test_an_address_of_what_somebody_may_not_read_gives_what_the_public_gets(
    stage: Stage,
) -> None:
    """Short-cut refused: the bot's own token, for whoever knows the address."""
    allows = Policy(upstream_use=UpstreamPolicy(allow=("github.com/*",)))

    found = await stage.get("https://github.com/other/packages//secret/plan@v7", ANN, allows)

    assert found.served is None
    assert [(wanted.repo, reader) for wanted, reader in stage.elsewhere.asked] == [
        ("https://github.com/other/packages", PUBLIC)
    ]


async def test_without_a_person_a_repository_must_consent(stage: Stage) -> None:
    """Short-cut refused: the bot may read it, so its variants may."""
    said = await stage.refused("acme/blueprints//net/core@v1", None)
    assert said == (
        UpstreamFault.MISSING,
        "acme/blueprints with the package net/core is not known here: porchbot does not serve it,"
        " or its forge does not say now that the person who asks may read it. Check the name,"
        " install porchbot there, or write the address of the repository with // before the path;"
        " for a variant, that repository"
        " must list yours in `upstreams.share`, by its number if another repository had that"
        " name before.",
    )

    shares = b"version: 1\nupstreams: {share: ['acme/*']}\n"
    stage.commit(BLUEPRINTS, {"net/core/Kptfile": KPTFILE, ".porchbot.yaml": shares})

    assert (await stage.get("acme/blueprints//net/core@v1", None)).revision == 1


async def test_a_name_that_a_repository_had_before_opens_it_no_more_than_its_own(
    stage: Stage,
) -> None:
    """Short-cuts refused: the forge leads on from the old name, which nobody knows to be served, by
    the operator's credentials; what was pushed past the bot counts as published by the old name."""
    allows = Policy(upstream_use=UpstreamPolicy(allow=("github.com/*",)))
    stage.elsewhere.leads_to = ["https://github.com/other/packages"]
    old = "https://github.com/other/former//secret/plan@v7"

    await stage.get(old, ANN, allows)
    stage.publish(OTHERS, "secret/plan", 7)
    stage.forges.readers[OTHERS.id] = {"ann": Role.READ}
    found = await stage.get(old, ANN, allows)
    assert (found.served, found.ref.repo) == (OTHERS.id, "https://github.com/other/packages")
    assert [reader for _, reader in stage.elsewhere.asked] == [PUBLIC]
    del stage.baseline["refs/tags/secret/plan/v7"]
    assert "is not what was published" in (await stage.refused(old, ANN, allows))[1]

    stage.elsewhere.leads_to = [f"https://github.com/endless/{n}" for n in range(9)]
    assert (await stage.refused(old, ANN, allows))[0] is UpstreamFault.REFUSED


async def test_what_an_address_leads_to_has_the_time_that_is_left(stage: Stage) -> None:
    """The short-cut has the whole time at each address: one that leads on holds a thread longer."""
    allows = Policy(upstream_use=UpstreamPolicy(allow=("github.com/*",)))
    stage.elsewhere.leads_to = [f"https://github.com/endless/{n}" for n in range(9)]

    await stage.refused("https://github.com/vendor/x//net/core@v7", ANN, allows)

    assert stage.elsewhere.spent[0] == 0
    assert len({*stage.elsewhere.spent}) == len(stage.elsewhere.spent) > MOST_REDIRECTS
    assert stage.elsewhere.spent == sorted(stage.elsewhere.spent)


@pytest.mark.parametrize(
    ("address", "leads_to", "asks"),
    [
        pytest.param("https://github.com/other/packages", [], PUBLIC, id="the name before"),
        pytest.param("https://github.com/other/now", [], PUBLIC, id="a name nobody heard of yet"),
        pytest.param("git@github.com:other/packages", [], PUBLIC, id="the name before, by ssh"),
        pytest.param("ssh://git@ssh.github.com:443/other/now", [], PUBLIC, id="another host of it"),
        pytest.param("https://GitHub.com/Other/Now.git", [], PUBLIC, id="spelled otherwise"),
        pytest.param("https://github.com:443/other/now/", [], PUBLIC, id="with its port"),
        pytest.param("https://github.com/other/first", [], PUBLIC, id="renamed twice"),
        pytest.param(
            "https://github.com/vendor/x", ["https://github.com/other/now"], PUBLIC, id="led on"
        ),
        pytest.param(
            "https://github.com/" + "a/" * 30 + "x", [], PUBLIC, id="a path that is not looked at"
        ),
        pytest.param("https://github.com/vendor/x", [], "acme", id="another's"),
        pytest.param("https://git.corp/other/now", [], "acme", id="the name at another host"),
    ],
)
async def test_the_operators_credentials_open_nothing_that_was_renamed(
    stage: Stage, address: str, leads_to: list[str], asks: str
) -> None:
    """The short-cut asks the database alone, which knows the name from before a rename until it is
    told: neither name counts as served, and the operator's own credentials open it.
    """
    allows = Policy(
        upstream_use=UpstreamPolicy(allow=("github.com/*", "ssh.github.com/*", "git.corp/*"))
    )
    stage.forges.known[OTHERS.id] = replace(
        OTHERS, full_name="other/now", clone_url="https://github.com/other/now.git"
    )
    stage.forges.former = dict.fromkeys(("other/first", "other/packages"), OTHERS.id)
    stage.elsewhere.opened, stage.elsewhere.leads_to = "", leads_to
    await stage.get(f"{address}//secret/plan@v7", ANN, allows)
    assert stage.forges.asked == []  # nothing is opened

    stage.elsewhere.opened = str(locate(address)).partition("/")[0]
    await stage.get(f"{address}//secret/plan@v7", ANN, allows)

    last = stage.elsewhere.asked[-1][1]
    assert last == (asks and "github.com/acme/clusters")


async def test_where_the_forge_does_not_say_no_credentials_are_used(stage: Stage) -> None:
    """Short-cuts take an outage, or a redirect that is not followed, for a repository elsewhere."""
    allows = Policy(upstream_use=UpstreamPolicy(allow=("github.com/*",)))
    stage.elsewhere.opened = "github.com"
    stage.forges.error = ForgeRefusedError("read a project", "301")

    await stage.get("https://github.com/vendor/x//net@v7", ANN, allows)

    assert stage.elsewhere.asked[-1][1] == PUBLIC
    stage.clock.seconds += 60
    stage.forges.error = ForgeBusyError("read a project", "503")
    with pytest.raises(ForgeBusyError):
        await stage.get("https://github.com/vendor/x//net@v7", ANN, allows)


@pytest.mark.parametrize(("most", "expected"), [(2, ["g/h"]), (4, ["e/f/g/h", "f/g/h", "g/h"])])
async def test_a_forge_is_asked_after_each_use_and_for_names_that_it_can_have(
    stage: Stage, most: int, expected: list[str]
) -> None:
    """Short-cuts refused: each part of a path costs a request; that the bot is out is believed for
    a while, or from before its credentials were used, and whoever is let in meanwhile is opened.
    """
    allows = Policy(upstream_use=UpstreamPolicy(allow=("github.com/*",)))
    stage.elsewhere.opened, stage.forges.most_parts = "github.com", most
    upstream = "https://github.com/a/b/c/d/e/f/g/h//net@v7"
    await stage.get(upstream, ANN, allows)
    assert stage.forges.asked == expected
    assert stage.elsewhere.asked[-1][1] != PUBLIC

    stage.elsewhere.meanwhile = lambda: stage.forges.former.update({"g/h": OTHERS.id})
    await stage.get(upstream, ANN, allows)
    assert stage.forges.asked == 2 * expected
    assert [reader for _, reader in stage.elsewhere.asked[-2:]] == [READER, PUBLIC]


async def test_what_the_operators_credentials_find_missing_is_told_to_nobody(stage: Stage) -> None:
    """The short-cut asks about what came alone: who tries names of tags learns which there are."""
    allows = Policy(upstream_use=UpstreamPolicy(allow=("github.com/*",)))
    stage.elsewhere.opened, stage.forges.former = "github.com", {"other/now": OTHERS.id}
    stage.elsewhere.lacks = True
    await stage.refused("https://github.com/other/now//net@v7", ANN, allows)
    assert [reader for _, reader in stage.elsewhere.asked] == [READER, PUBLIC]

    await stage.refused("https://github.com/vendor/x//net@v7", ANN, allows)
    assert [reader for _, reader in stage.elsewhere.asked[2:]] == [READER]


async def test_nothing_is_opened_for_a_minute_where_the_bot_may_be_in(stage: Stage) -> None:
    """Short-cuts refused: the forge is asked at each look; or what it said counts for ever."""
    allows = Policy(upstream_use=UpstreamPolicy(allow=("github.com/*",)))
    stage.elsewhere.opened, stage.forges.former = "github.com", {"vendor/x": OTHERS.id}
    for _ in range(4):
        await stage.get("https://github.com/vendor/x//net@v7", ANN, allows)
        stage.clock.seconds += 19
    assert stage.forges.asked == ["vendor/x"]
    stage.clock.seconds += 5
    stage.forges.former = {}
    await stage.get("https://github.com/vendor/x//net@v7", ANN, allows)
    assert stage.elsewhere.asked[-1][1] == READER


async def test_no_forge_is_asked_about_an_address_that_is_not_allowed(stage: Stage) -> None:
    """The short-cut asks first: each part of a path that a stranger wrote costs a request."""
    stage.elsewhere.opened = "github.com"
    deep = "/".join("abcdefgh")

    refused = await stage.refused(f"https://github.com/{deep}//net/core@v1")

    assert refused[0] is UpstreamFault.NOT_ALLOWED
    assert stage.forges.asked == []


async def test_consent_stays_with_the_repository_that_it_was_given_to(stage: Stage) -> None:
    """Short-cuts refused: a name that was given up carries consent to whoever takes it; what the
    database calls a repository counts, which was renamed since."""
    shares = b"version: 1\nupstreams: {share: ['acme/clusters']}\n"
    stage.commit(BLUEPRINTS, {"net/core/Kptfile": KPTFILE, ".porchbot.yaml": shares})
    upstream = "acme/blueprints//net/core@v1"
    assert (await stage.get(upstream, None)).revision == 1

    stage.forges.known[CLUSTERS.id] = replace(CLUSTERS, full_name="evil/clusters")
    assert (await stage.refused(upstream, None))[0] is UpstreamFault.MISSING

    taken = replace(CLUSTERS, id=RepositoryId(GITHUB, 99))
    stage.forges.known[taken.id] = taken
    assert (await stage.refused(upstream, None, into=taken))[0] is UpstreamFault.MISSING

    numbered = shares.replace(b"acme/clusters", b"acme/clusters#99")
    stage.commit(BLUEPRINTS, {"net/core/Kptfile": KPTFILE, ".porchbot.yaml": numbered})
    assert (await stage.get(upstream, None, into=taken)).revision == 1
    stage.forges.known[CLUSTERS.id] = CLUSTERS
    assert (await stage.refused(upstream, None))[0] is UpstreamFault.MISSING


async def test_what_is_public_needs_no_consent(stage: Stage) -> None:
    stage.forges.known[BLUEPRINTS.id] = replace(BLUEPRINTS, public=True)

    assert (await stage.get("acme/blueprints//net/core@v1", None)).revision == 1
    assert (await stage.get("acme/blueprints//net/core@v1", BOB)).revision == 1


async def test_the_configuration_decides_what_may_be_used(stage: Stage) -> None:
    nothing = Policy(upstream_use=UpstreamPolicy(allow=()))

    assert await stage.refused("acme/blueprints//net/core@v1", ANN, nothing) == (
        UpstreamFault.NOT_ALLOWED,
        "`upstreams` in .porchbot.yaml of the base branch does not allow"
        " github.com/acme/blueprints. Add it to `upstreams.allow`, or take the package from one"
        " that is allowed.",
    )
    assert (await stage.refused("https://git.corp/x//net/core@v1"))[0] is UpstreamFault.NOT_ALLOWED
    assert stage.elsewhere.asked == []


async def test_who_may_not_read_it_is_told_what_would_help_and_not_whether_it_is_there(
    stage: Stage,
) -> None:
    """Short-cuts refused: to add it to `upstreams.allow`, which opens nothing of what is served;
    advice that only such a repository gets; the same where a list alone decides."""
    said = [
        (await stage.refused(f"https://github.com/{name}//net/core@v1", BOB))[1]
        for name in ("acme/blueprints", "acme/nothing")
    ]
    assert said[0].replace("acme/blueprints", "acme/nothing") == said[1]
    assert said[1].endswith(
        "A repository that porchbot serves needs no entry: the person who asks must be able to"
        " read it; for a variant, it must list this one in `upstreams.share`."
    )
    listed = Policy(upstream_use=UpstreamPolicy(allow=("git.example/*",)))
    for policy in (listed, replace(Policy(), above=listed)):
        text = (await stage.refused("https://github.com/acme/x//net@v1", BOB, policy))[1]
        assert "needs no entry" not in text


async def test_where_no_repository_is_named(stage: Stage) -> None:
    """Short-cut refused: the first two words are a repository, whatever they are."""
    default = Policy(upstream_use=UpstreamPolicy(default="acme/blueprints"))
    stage.publish(CLUSTERS, "net/core", 4)

    assert (await stage.get("net/core@latest")).revision == 4
    assert (await stage.get("net/core@latest", ANN, default)).revision == 1


async def test_a_name_that_is_anothers_by_now(stage: Stage) -> None:
    """Short-cut refused: the name as it was when the repository was last reached."""
    stage.forges.known[BLUEPRINTS.id] = replace(BLUEPRINTS, full_name="acme/renamed")

    assert (await stage.refused("acme/blueprints//net/core@v1"))[0] is UpstreamFault.MISSING


async def test_what_is_not_there(stage: Stage) -> None:
    assert await stage.refused("acme/blueprints//net/core@v9") == (
        UpstreamFault.MISSING,
        "acme/blueprints//net/core has no tag, branch or commit 'v9'."
        " Check the path and the version; it may have been deleted or renamed. A repository that"
        " porchbot does not serve, or that the person who asks may not read, is taken for a"
        " folder.",
    )
    assert await stage.refused("acme/blueprints//net/cor@main") == (
        UpstreamFault.MISSING,
        "acme/blueprints has no folder 'net/cor' at main. Check the path of the package.",
    )
    assert (await stage.refused("acme/blueprints//net/cor@latest"))[1] == (
        "acme/blueprints//net/cor has no revision that is published and may be used."
        " Name a tag, branch or commit after the @."
    )


async def test_elsewhere_is_told_for_whom(stage: Stage) -> None:
    """The short-cut gives a bare name, which a repository at another forge has as well."""
    allows = Policy(upstream_use=UpstreamPolicy(allow=("git.corp/*",)))

    found = await stage.get("https://git.corp/x//net/core@v7", ANN, allows)

    assert stage.elsewhere.asked == [
        (GitReference("https://git.corp/x", "net/core", "v7"), "github.com/acme/clusters")
    ]
    assert (found.revision, found.ref.ref, found.lock.commit) == (7, "net/core/v7", "e" * 40)


def test_a_reference_is_told_as_it_is_written() -> None:
    assert str(RevisionReference("acme/x", "", "v1")) == "acme/x@v1"
    assert str(RevisionReference("acme/x", "net", "v1")) == "acme/x//net@v1"
