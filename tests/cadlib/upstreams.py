"""Packages for tests of get and update: written short, and served without a network."""

from collections.abc import Generator, Mapping
from typing import TypeVar

from cadlib.errors import PackageError, Place
from cadlib.package.files import Entry
from cadlib.update.upstream import (
    Answer,
    Fetch,
    Fetched,
    GoneError,
    ProgressMessage,
    Step,
    resume,
)

T = TypeVar("T")

Versions = Mapping[tuple[str, str], Mapping[str, str]]
"""Trees by repository and ref; a commit is found by the name of its tree's ref, too."""


def files(tree: Mapping[str, str]) -> dict[str, Entry]:
    """Return texts as files."""
    return {path: Entry(text.encode()) for path, text in tree.items()}


def texts(tree: Mapping[str, Entry]) -> dict[str, str]:
    """Return files as texts."""
    return {path: entry.data.decode() for path, entry in tree.items()}


def kptfile(name: str, *, upstream: str = "", lock: str = "", more: str = "") -> str:
    """Return a Kptfile; `upstream` and `lock` are "REPO@REF", `lock` at its commit."""
    text = f"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {name}\n"
    for key, address in (("upstream", upstream), ("upstreamLock", lock)):
        if address:
            repo, _, ref = address.partition("@")
            text += (
                f"{key}:\n  type: git\n  git:\n    repo: {repo}\n    directory: /\n    ref: {ref}\n"
            )
            text += f"    commit: {commit(ref)}\n" if key == "upstreamLock" else ""
            text += "" if key == "upstreamLock" else "  updateStrategy: resource-merge\n"
    return text + more


def commit(ref: str) -> str:
    """Return the commit that a ref names here."""
    return f"c0ffee{ref.encode().hex()}".ljust(40, "f")


def config_map(name: str, **data: str) -> str:
    """Return a ConfigMap."""
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n"
    return text + "".join(f"  {key}: {value}\n" for key, value in data.items())


class Served:
    """Runs a generator of steps with packages from memory.

    Attributes:
        said: What was said on the way.
        asked: What was fetched, in order.
    """

    def __init__(self, versions: Versions) -> None:
        self._versions = versions
        self.said: list[str] = []
        self.asked: list[Fetch] = []

    def run(self, steps: Generator[Step, Answer, T]) -> T:
        """Run to the end; return what the generator returns."""
        answer: Answer | PackageError = None
        while True:
            try:
                step = resume(steps, answer)
            except StopIteration as end:
                result: T = end.value
                return result
            answer = None
            match step:
                case ProgressMessage(text):
                    self.said.append(text)
                case Fetch():
                    self.asked.append(step)
                    answer = self._fetch(step)

    def _fetch(self, wanted: Fetch) -> Fetched | PackageError:
        for (repo, ref), tree in self._versions.items():
            if repo == wanted.repo and wanted.ref in (ref, commit(ref)):
                return Fetched(files(tree), commit(ref), ref)
        return GoneError(Place(), f"no {wanted.ref} in {wanted.repo}", "Correct it")
