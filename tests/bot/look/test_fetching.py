"""What looks ask the forge and the database for: their own branches, tags and revisions."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import cast

import pytest

from bot.forges.port import Forge, Repository
from bot.git.mirror import DiskMirror
from bot.git.port import Scope
from bot.look.fetching import Fetcher
from bot.look.reader import Basis, MirrorReader
from bot.look.tags import Tags
from bot.store.port import Revisions
from bot.store.values import Revision
from lifecycle.names import GROUPS, Sha
from tests.bot.git.server import TOKEN, Remote, serve
from tests.ids import on_github

REPOSITORY = Repository(
    id=on_github(1),
    full_name="acme/blueprints",
    default_branch="main",
    clone_url="",
    installation=3,
    installed_at=datetime(2026, 11, 1, tzinfo=UTC),
)
HEAD = "drafts/net/core/w"


@dataclass
class Ends:
    """The forge's API and the database, with what they were asked for."""

    tags: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    packages: list[list[str]] = field(default_factory=list)
    known: dict[str, dict[int, Revision]] = field(default_factory=dict)
    meanwhile: Callable[[], object] = lambda: None

    async def git_credentials(self) -> str:
        return TOKEN

    async def has_tag(self, name: str) -> bool:
        self.asked.append(name)
        return name in self.tags

    async def revisions(self, _: int, packages: Iterable[str]) -> dict[str, dict[int, Revision]]:
        self.packages.append(sorted(packages))
        self.meanwhile()
        return self.known


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[Remote]:
    with serve(tmp_path / "remote" / "blueprints.git") as served:
        yield served


@pytest.fixture
def ends() -> Ends:
    return Ends()


@pytest.fixture
def mirror(remote: Remote, tmp_path: Path) -> DiskMirror:
    return DiskMirror(tmp_path / "mirrors" / "1.git", remote.url)


@pytest.fixture
def fetcher(ends: Ends, mirror: DiskMirror) -> Fetcher:
    return Fetcher(REPOSITORY, cast(Forge, ends), mirror, cast(Revisions, ends))


def packages(*paths: str) -> dict[str, bytes | str]:
    return {f"{path}/Kptfile": path.encode() for path in paths}


async def look(fetcher: Fetcher, mirror: DiskMirror, base: str = "main") -> Tags:
    """What a look at the head learns."""
    since = monotonic()
    await fetcher.fetch(fetcher.scope(1, HEAD), since)
    with mirror.open(TOKEN, since) as git:
        tags = Tags(git, on_github(1), [], {}, None)
        reader = MirrorReader(
            git=git, repository_id=on_github(1), default_branch="main", keys=[], tags=tags
        )
        tip, head = git.ref(f"refs/heads/{base}"), git.ref(f"refs/heads/{HEAD}")
        basis = Basis(rules=tip or Sha(""), base=tip)
        await fetcher.fetch_related(reader, head or Sha(""), base, basis, since)
        for package in tags.packages:
            tags.tagging(package, None, removed=False, listed={})
    fetcher.saw(1, HEAD, [base], tags.packages)
    return tags


async def test_a_look_asks_for_its_packages_only(
    remote: Remote, ends: Ends, fetcher: Fetcher, mirror: DiskMirror
) -> None:
    """The short-cut loads every tag and revision, and looks for its own among them."""
    main = remote.commit(packages("net/core", "net/edge", "app"), ref="refs/heads/main")
    changed = packages("net/core", "net/edge", "app") | {"net/edge/a": b"1", "app/a": b"1"}
    remote.commit(changed, main, ref=f"refs/heads/{HEAD}")
    wanted = {f"refs/tags/{name}" for name in ("net/edge/v1", "net/edge/v2", "app/v1")}
    for ref in (*wanted, *(f"refs/tags/other-{i}/v1" for i in range(100))):
        remote.git("update-ref", ref, main)

    remote.told.clear()
    await look(fetcher, mirror)
    assert ends.packages == [["app", "net/edge"]]
    assert ends.asked == []  # each of them has a tag
    assert wanted <= set(remote.told) <= wanted | {"refs/heads/main", f"refs/heads/{HEAD}"}
    remote.requests.clear()
    await look(fetcher, mirror)
    assert len(remote.requests) == 1  # one fetch does, though the branch names another package


async def test_a_tag_that_another_replica_made_meanwhile_is_not_gone(
    remote: Remote, ends: Ends, fetcher: Fetcher, mirror: DiskMirror
) -> None:
    """The short-cut compares an index of now with tags of a moment ago: published, and "gone"."""
    main = remote.commit({"a": b"1"}, ref="refs/heads/main")
    remote.commit(packages("net/core"), main, ref=f"refs/heads/{HEAD}")
    await look(fetcher, mirror)

    def tagged() -> None:
        remote.git("update-ref", "refs/tags/net/core/v1", main)
        ends.known = {"net/core": {1: Revision(main, main)}}

    ends.meanwhile = tagged
    tags = await look(fetcher, mirror)
    assert tags.tagging("net/core", None, removed=False, listed={}).missing == ()
    remote.requests.clear()
    await look(fetcher, mirror)
    assert len(remote.requests) == 1  # what is there is fetched once

    remote.git("update-ref", "-d", "refs/tags/net/core/v1")
    ends.meanwhile = lambda: None
    tags = await look(fetcher, mirror)
    assert tags.tagging("net/core", None, removed=False, listed={}).missing == ("net/core/v1",)


async def test_a_tag_where_a_folder_must_be_is_asked_for_once(
    remote: Remote, ends: Ends, fetcher: Fetcher, mirror: DiskMirror
) -> None:
    """The short-cut fetches what is below the package: a tag `net` is found when it is too late."""
    main = remote.commit({"a": b"1"}, ref="refs/heads/main")
    remote.commit(packages("net/core"), main, ref=f"refs/heads/{HEAD}")
    remote.git("update-ref", "refs/tags/net", main)
    ends.tags = {"net"}

    tags = await look(fetcher, mirror)
    assert tags.tagging("net/core", None, removed=False, listed={}).clash == "refs/tags/net"
    assert ends.asked == ["net", "net/core"]
    ends.tags = set()
    await look(fetcher, mirror)
    assert ends.asked == ["net", "net/core", "net"]  # what was there may be gone
    await look(fetcher, mirror)
    assert len(ends.asked) == 3  # a look that changes nothing asks nobody
    fetcher.forget()
    await look(fetcher, mirror)
    assert len(ends.asked) == 5


async def test_what_is_about_to_be_made_is_asked_about_in_one_request(
    remote: Remote, ends: Ends, fetcher: Fetcher, mirror: DiskMirror
) -> None:
    """Short-cuts refused: a request for each; a tag in the way is taken for a free name."""
    main = remote.commit({"a": b"1"}, ref="refs/heads/main")
    remote.commit(packages("net/core"), main, ref=f"refs/heads/{HEAD}")
    remote.git("update-ref", "refs/tags/net/edge", main)
    remote.requests.clear()

    await fetcher.foresee(["net/core", "net/edge", "net/p1"])
    assert len(remote.requests) <= 2  # what it can do is asked first
    await look(fetcher, mirror)
    assert ends.asked == ["net"]

    ends.tags = {"net/edge"}
    remote.commit(packages("net/edge"), main, ref=f"refs/heads/{HEAD}")
    tags = await look(fetcher, mirror)
    assert tags.tagging("net/edge", None, removed=False, listed={}).clash == "refs/tags/net/edge"
    assert ends.asked == ["net", "net/edge"]


async def test_where_else_a_head_counts_is_fetched_too(
    remote: Remote, ends: Ends, fetcher: Fetcher, mirror: DiskMirror
) -> None:
    """The short-cut fetches the base and the default branch: another release branch looks gone."""
    rules = b"version: 1\npackages: [{branch: main}, {branch: release}]\n"
    files: dict[str, bytes | str] = {".porchbot.yaml": rules, **packages("net/core")}
    main = remote.commit(files, ref="refs/heads/main")
    remote.commit({**files, "net/core/b": b"1"}, main, ref="refs/heads/release")
    topic = remote.commit({**files, "c": b"1"}, main, ref="refs/heads/topic")
    remote.commit({**files, "net/edge/Kptfile": b"1"}, topic, ref=f"refs/heads/{HEAD}")

    tags = await look(fetcher, mirror, base="topic")
    assert "net/edge" in tags.packages
    known = set(remote.told)
    assert {"refs/heads/main", "refs/heads/release", "refs/heads/topic"} <= known


@pytest.mark.parametrize(
    ("at", "branch", "expected"),
    [
        (1, HEAD, Scope(frozenset({"main", HEAD}), frozenset({"net/core"}))),
        (1, "drafts/w", Scope(frozenset({"main", "drafts/w"}))),
        (2, HEAD, Scope(frozenset({"main", GROUPS}), frozenset({"net/core"}))),
        (None, "topic", Scope(frozenset({"main", GROUPS}))),
    ],
)
def test_what_a_look_is_likely_to_be_about(
    fetcher: Fetcher, at: int | None, branch: str, expected: Scope
) -> None:
    """The short-cut takes a draft's folder for its package: of `drafts/w` that is all tags."""
    assert fetcher.scope(at, branch) == expected
