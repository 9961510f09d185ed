"""What is wrong with the upstreams that Kptfiles name: what blocks, and what is only told."""

from collections.abc import Callable

import pytest

from cadlib.package.files import Entry
from lifecycle.upstreams.faults import findings
from tests.counting import assert_seconds_in_proportion

COMMIT = "0123456789012345678901234567890123456789"
HEAD = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: core\n"
REPO = "https://github.com/acme/blueprints"


def kptfile(key: str, **git: str) -> str:
    """A Kptfile with one of the two; its first line below `git` is line 8."""
    lines = "".join(f"    {name}: {text}\n" for name, text in git.items())
    return f"{HEAD}{key}:\n  type: git\n  git:\n{lines}"


def told(*texts: str) -> list[str]:
    places = ("Kptfile", "sub/Kptfile")
    files = {
        path: Entry(text.encode(), "100644") for path, text in zip(places, texts, strict=False)
    }
    return [f"{each.severity} {each}" for each in findings(files)]


def upstream(**git: str) -> str:
    return kptfile("upstream", **({"repo": REPO, "directory": "/net", "ref": "net/v1"} | git))


def lock(**git: str) -> str:
    whole = {"repo": REPO, "directory": "/net", "ref": "net/v1", "commit": COMMIT} | git
    return kptfile("upstreamLock", **{name: text for name, text in whole.items() if text})


OUTSIDE = (
    " leads out of the repository. Write the path from the top of the repository, without parent"
    " folders."
)
PASSWORD = (
    "the address contains a user or a password, which everybody who can read the package would see."
    " Leave it out; credentials for a host are set by the operator of the bot."
)
INCOMPLETE = (
    ". Write repo, directory and ref into `upstream.git`, and the commit into `upstreamLock.git`."
)

WRONG: dict[str, tuple[str, str]] = {
    "a folder outside of the repository": (
        upstream(directory="../net"),
        f"error Kptfile:9, upstream.git.directory: the path '../net'{OUTSIDE}",
    ),
    "one behind a slash, as kpt writes folders": (
        lock(directory="/../net"),
        f"error Kptfile:9, upstreamLock.git.directory: the path '/../net'{OUTSIDE}",
    ),
    "one that leaves by way of a folder": (
        upstream(directory="net/../../etc"),
        f"error Kptfile:9, upstream.git.directory: the path 'net/../../etc'{OUTSIDE}",
    ),
    "no repository": (
        upstream(repo='""'),
        "error Kptfile:8, upstream.git.repo: the upstream in the Kptfile lacks a repository"
        f"{INCOMPLETE}",
    ),
    "no `git` at all": (
        f"{HEAD}upstreamLock:\n  type: git\n",
        "error Kptfile:5, upstreamLock.git.repo: the upstream in the Kptfile lacks a repository"
        f"{INCOMPLETE}",
    ),
    "a password": (
        upstream(repo="https://me:hunter2@git.corp/x"),
        f"error Kptfile:8, upstream.git.repo: {PASSWORD}",
    ),
    "a password with characters that no address has": (
        lock(repo="ssh://me:hun ter2@git.corp/x"),
        f"error Kptfile:8, upstreamLock.git.repo: {PASSWORD}",
    ),
    "a user, as some forges write addresses": (
        upstream(repo="https://acme@dev.azure.com/acme/x/_git/y"),
        f"warning Kptfile:7, upstream.git: {PASSWORD}",
    ),
    "a file, which kpt reads on one machine": (
        upstream(repo="file:///home/me/blueprints"),
        "warning Kptfile:7, upstream.git: addresses that begin with file:// are not used."
        " Write an https or ssh address.",
    ),
    "no ref": (
        upstream(ref='""'),
        "warning Kptfile:7, upstream.git: the upstream in the Kptfile lacks a commit or a ref"
        f"{INCOMPLETE}",
    ),
    "a branch without a commit": (
        lock(ref="main", commit=""),
        "warning Kptfile:7, upstreamLock.git.commit: the lock names main and no commit, so nobody"
        " can tell what the package was made from. Write the commit that it was made from into"
        " `upstreamLock`.",
    ),
}

WRONG["a strategy that no update knows"] = (
    upstream() + "  updateStrategy: merge\n",
    "warning Kptfile:11, upstream.updateStrategy: unrecognized update strategy merge. Write one of"
    " resource-merge, fast-forward, force-delete-replace, copy-merge.",
)

RIGHT: dict[str, str] = {
    "an upstream": upstream(),
    "a strategy": upstream() + "  updateStrategy: copy-merge\n",
    "a lock": lock(),
    "a lock that a revision's tag tells": lock(commit=""),
    "by ssh": upstream(repo="git@github.com:acme/blueprints.git"),
    "with the user of ssh": upstream(repo="ssh://git@git.corp:7999/acme/x"),
    "the whole repository": upstream(directory="/"),
    "its top folder, not named": upstream(directory='""'),
    "a folder of the same folder": upstream(directory="./net"),
    "a folder by way of another, which kpt finds": upstream(directory="net/../core"),
    "a store that is not git": f"{HEAD}upstreamLock:\n  generic: {{storeID: DB}}\n",
    "none": HEAD,
    "none, spelled out": f"{HEAD}upstream: {{}}\nupstreamLock: null\n",
    "no Kptfile that can be read, which is told elsewhere": "upstream: {git: {repo: a: b",
}


@pytest.mark.parametrize(("text", "said"), WRONG.values(), ids=WRONG)
def test_what_is_wrong(text: str, said: str) -> None:
    """Short-cuts refused: whatever cannot be used blocks, also what only this bot cannot reach; and
    `..` anywhere in a path."""
    assert told(text) == [said]


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT)
def test_what_kpt_can_use_is_not_told(text: str) -> None:
    """Short-cut refused: each path with two dots in it is taken to lead out."""
    assert told(text) == []


def test_a_password_is_not_repeated() -> None:
    """Short-cut refused: every finding quotes what was written."""
    assert "hun" not in str(told(WRONG["a password with characters that no address has"][0]))


def test_packages_inside_have_upstreams_of_their_own() -> None:
    """Short-cut refused: to look at the Kptfile at the top alone."""
    inside = upstream(directory="../net")

    assert told(HEAD, inside) == [
        f"error sub/Kptfile:9, upstream.git.directory: the path '../net'{OUTSIDE}"
    ]


LONG = 100_000
HOSTILE: dict[str, Callable[[int], str]] = {
    "points in a repository": lambda size: upstream(repo=f'"{"." * size}"'),
    "colons, as before a password": lambda size: upstream(repo=f'"//{":" * size}"'),
    "users": lambda size: upstream(repo=f'"{"a@" * size}"'),
    "a scheme": lambda size: upstream(repo=f"{'a' * size}://x/y"),
    "a folder": lambda size: upstream(directory="a/" * size),
    "a ref": lambda size: upstream(ref="r" * size),
    "a commit": lambda size: lock(commit="c" * size),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_long_address_is_refused_in_little_time(text: Callable[[int], str]) -> None:
    """Short-cut refused: an expression that begins again at each point took 12 s for this, and a
    hundred times as long for ten times as much."""

    def telling(size: int) -> Callable[[], object]:
        written = text(size)
        return lambda: told(written)

    assert_seconds_in_proportion(telling, 1_600, rounds=3)
    assert len(told(text(LONG))) == 1
