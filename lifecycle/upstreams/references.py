"""References to upstreams, as people and variants write them.

Rules:

1. `<owner>/<repository>/<path>@<ref>` is a package in a repository that the bot serves at the same
   forge; `//` between repository and path says where the one ends. Without a repository in front it
   is one in the repository of `upstreams.default`.
2. `<git URL>//<path>@<ref>` is one anywhere else, by https or ssh. kpt's way, with `.git/` between
   the two, is understood.
3. The ref is `v<N>`, `latest`, or any tag, branch or commit; `latest` where there is none.
4. Nothing in a reference can leave the repository, become an option of a command, or carry a
   password.
"""

import posixpath
import re
from dataclasses import dataclass, replace

from cadlib.kptfile.values import GitRef
from lifecycle import names
from lifecycle.messages import upstreams as texts
from lifecycle.upstreams.errors import UpstreamError, UpstreamFault
from lifecycle.upstreams.locations import locate

LATEST = "latest"
"""Stands for the newest revision that may be used."""

MOST_CHARACTERS = 1000
"""Of a reference; the longest path that a file system takes has four times as many."""

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/{2}")
_SCP = re.compile(r"(?:[^/@:]+@)?[^/@:]+\.[^/@:]+:(?!//).+|[^/@:]+@[^/@:]+:.+")
_SCHEMES = ("https", "ssh", "http")
"""That may be written; whether `http` is used is for the operator to say (`bot.upstream`)."""
_KPTS_END = re.compile(r"\.git(?=/|@|$)")


@dataclass(frozen=True, slots=True)
class RevisionReference:
    """A package in a repository that the bot serves.

    Attributes:
        repository: Such as "acme/blueprints"; "" where it may stand in front of `package`.
        package: Path of the package; "" for a package at the root.
        ref: `latest`, `v<N>`, a tag, a branch or a commit.
    """

    repository: str
    package: str
    ref: str

    def __str__(self) -> str:
        place = f"{self.repository}//{self.package}" if self.repository else self.package
        return f"{place.removesuffix('//')}@{self.ref}"


@dataclass(frozen=True, slots=True)
class GitReference:
    """A package in any git repository.

    Attributes:
        repo: Its address.
        directory: Path of the package, no slash at either end; "" for the whole repository.
        ref: As for `RevisionReference`.
    """

    repo: str
    directory: str
    ref: str

    def __str__(self) -> str:
        return f"{self.repo}//{self.directory}".removesuffix("//") + f"@{self.ref}"


Reference = RevisionReference | GitReference


def parse(text: str) -> Reference:
    """Read a reference.

    Args:
        text: As it was written.

    Raises:
        UpstreamError: It is none, or one that is refused.
    """
    written = text.strip()
    if not written or len(written) > MOST_CHARACTERS or not written.isprintable() or " " in written:
        raise _unreadable(texts.no_reference(text))
    scheme = _SCHEME.match(written)
    if scheme and scheme[1].lower() == "oci":
        raise UpstreamError(UpstreamFault.REFUSED, *texts.oci(written))
    if scheme and scheme[1].lower() not in _SCHEMES:
        raise UpstreamError(UpstreamFault.REFUSED, *texts.scheme(scheme[1]))
    if scheme or _SCP.fullmatch(written):
        return _git(written, scheme.end() if scheme else 0)
    place, at, ref = written.partition("@")
    repository, twice, package = place.partition("//")
    if not twice:
        repository, package = "", place
    elif not repository:
        raise _unreadable(texts.no_reference(text))
    folders = [_folder(each, written) for each in (repository, package)]
    return RevisionReference(folders[0], folders[1], _ref(ref, written) if at else LATEST)


def from_lock(ref: GitRef) -> GitReference:
    """Return the reference that a Kptfile's `upstream` or `upstreamLock` makes.

    Args:
        ref: Of it; its commit counts before its ref, which may have moved since.

    Raises:
        UpstreamError: It lacks something, or is refused.
    """
    folder = posixpath.normpath(ref.directory.strip("/"))  # kpt cleans it as well
    place = f"{ref.repo}//{folder}"
    wanted = ref.commit or ref.ref
    if not ref.repo or not wanted:
        raise _unreadable(texts.incomplete(ref.repo))
    if max(len(ref.repo), len(wanted)) > MOST_CHARACTERS:  # anybody may write a Kptfile
        raise _unreadable(texts.no_reference(f"{place}@{wanted}"))
    if not _SCHEME.match(ref.repo) and not _SCP.fullmatch(ref.repo):
        raise UpstreamError(UpstreamFault.REFUSED, *texts.no_address(ref.repo))
    found = parse(place)
    if not isinstance(found, GitReference):
        raise UpstreamError(UpstreamFault.REFUSED, *texts.no_address(ref.repo))
    return replace(found, ref=_ref(wanted, f"{place}@{wanted}"))


def as_git(address: str, directory: str, ref: str, commit: str = "") -> GitRef:
    """Return an upstream as kpt writes it into a Kptfile.

    Args:
        address: Of the repository; kpt leaves its `.git` out.
        directory: Path of the package.
        ref: The ref that was found, such as "net/core/v3".
        commit: What it was; "" for `upstream`.
    """
    repo = address.rstrip("/").removesuffix(".git")
    return GitRef(repo=repo, directory=f"/{directory.strip('/')}", ref=ref, commit=commit)


def is_commit(ref: str) -> bool:
    """Tell whether a ref is a commit's id in full, which means the same for ever."""
    return _COMMIT.fullmatch(ref) is not None


def candidates(directory: str, ref: str) -> tuple[str, ...]:
    """Return what a ref may mean, in full, first choice first, as kpt looks for it.

    Args:
        directory: Path of the package: a tag of it comes before one of the repository.
        ref: As it was written; not `latest`.
    """
    if ref.startswith("refs/"):
        return (ref,)
    parts = directory.split("/") if directory else []
    scoped = ["/".join([*parts[:end], ref]) for end in range(len(parts), 0, -1)]
    tags = tuple(names.tag_ref(each) for each in (*scoped, ref))
    return (*tags, names.branch_ref(ref))


def _git(text: str, start: int) -> GitReference:
    """An address with a path behind it; `start` is where its scheme ends."""
    end = text.find("//", start)
    inside = _KPTS_END.search(text, start)
    if end >= 0:
        repo, rest = text[:end], text[end + 2 :]
    elif inside:
        repo, rest = text[: inside.start()], text[inside.end() :].removeprefix("/")
    else:
        raise _unreadable(texts.no_end(text))
    directory, at, ref = rest.partition("@")
    user = text[start:end].partition("/")[0].rpartition("@")[0] if end >= 0 else ""
    if ":" in user or (user and text[:start].lower().startswith("http")):
        raise UpstreamError(UpstreamFault.REFUSED, *texts.password())
    if locate(repo) is None:
        raise _unreadable(texts.no_address(repo))
    return GitReference(repo, _folder(directory, text), _ref(ref, text) if at else LATEST)


def _folder(path: str, text: str) -> str:
    """Check a path; returns it without slashes at its ends."""
    found = path.strip("/")
    if found in ("", "."):
        return ""
    parts = found.split("/")
    if ".." in parts:
        raise UpstreamError(UpstreamFault.REFUSED, *texts.outside(found))
    if not all(parts) or "." in parts or "\\" in found or found.startswith("-"):
        raise _unreadable(texts.no_reference(text))
    return found


def _ref(ref: str, text: str) -> str:
    full = ref if ref.startswith("refs/") else names.tag_ref(ref)
    if not ref or ref.startswith("-") or names.fault(full):
        raise _unreadable(texts.no_ref(ref, text))
    return ref


def _unreadable(problem: tuple[str, str]) -> UpstreamError:
    return UpstreamError(UpstreamFault.UNREADABLE, *problem)
