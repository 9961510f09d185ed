"""Bare repositories on disk: objects and refs read and written.

Objects are read through one `git cat-file --batch` process a repository, refs are written
through one `git update-ref --stdin`, and commits, trees, blobs and tags are written as loose
objects by this module. Only merging with content, diffing and fetching start a process.
"""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from bot.sandbox import refnames
from bot.sandbox.errors import GitError
from bot.sandbox.git import objects
from bot.sandbox.git.diffs import FileDiff, parse
from bot.sandbox.git.disk_refs import DiskRefs
from bot.sandbox.git.protocol import Git
from bot.sandbox.git.stored import StoredObjects
from bot.sandbox.records.refs import RefChange

_CONFIG = """\
# Settings of the sandbox forge's git; nothing of the machine's own is read.
[init]
\tdefaultBranch = main
[safe]
\tdirectory = *
[gc]
\tauto = 0
[receive]
\tautogc = false
\thideRefs = refs/pull
\thideRefs = refs/merge-requests
[http]
\treceivepack = true
[uploadpack]
\tallowFilter = true
\tallowAnySHA1InWant = true
[core]
\thooksPath = /dev/null
"""

_OBJECT_ID = re.compile(r"[0-9a-f]{40}")


def environment(folder: Path) -> dict[str, str]:
    """Environment for every git the forge starts: nothing from the person's own settings."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder),
        "LC_ALL": "C",
        "TZ": "UTC",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": str(folder / "gitconfig"),
        "GIT_TERMINAL_PROMPT": "0",
    }


class BareStore:
    """Bare repositories below a folder, one for each id."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "gitconfig").write_text(_CONFIG)
        self.environment = environment(folder)
        self._open: dict[int, BareGit] = {}

    def path(self, repo_id: int) -> Path:
        """Folder of a repository."""
        return self.folder / f"{repo_id}.git"

    def create(self, repo_id: int, source: Path | None, default_branch: str | None) -> Git:
        """Make a repository; see `GitStore`."""
        path = self.path(repo_id)
        if source is not None and not _is_folder(source):
            self._run("clone", "--quiet", "--mirror", "--", str(source.resolve()), str(path))
            self._drop_other_refs(path)
        else:
            self._run("init", "--quiet", "--bare", str(path))
            if source is not None:
                self._import(path, source.resolve(), default_branch or "main")
        git = self.open(repo_id)
        wanted = default_branch or _likely(git)
        (path / "HEAD").write_text(f"ref: {refnames.branch_ref(wanted)}\n")
        return git

    def fork(self, repo_id: int, parent_id: int) -> Git:
        """Make a repository from another one; see `GitStore`."""
        return self.create(repo_id, self.path(parent_id), None)

    def open(self, repo_id: int) -> BareGit:
        """The repository made under this id."""
        if repo_id not in self._open:
            self._open[repo_id] = BareGit(self.path(repo_id), self.environment)
        return self._open[repo_id]

    def delete(self, repo_id: int) -> None:
        """Forget a repository; its folder stays, as a deleted fork's objects do on GitHub."""
        git = self._open.pop(repo_id, None)
        if git is not None:
            git.close()

    def close(self) -> None:
        """End all processes."""
        for git in self._open.values():
            git.close()
        self._open.clear()

    def _import(self, path: Path, folder: Path, branch: str) -> None:
        """Make one commit of a folder's files."""
        index = {"GIT_DIR": str(path), "GIT_INDEX_FILE": str(path / "import.index")}
        who = {
            f"GIT_{role}_{what}": value
            for role in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", "Sandbox"), ("EMAIL", "sandbox@sandbox.example"))
        }
        env = self.environment | index | who
        _run((f"--work-tree={folder}", "add", "--all", "--force", "."), env=env, cwd=folder)
        tree = _run(("write-tree",), env=env).strip()
        commit = _run(("commit-tree", "-m", "Begin", tree), env=env).strip()
        _run(("update-ref", refnames.branch_ref(branch), commit), env=env)
        (path / "import.index").unlink()

    def _drop_other_refs(self, path: Path) -> None:
        listed = self._run("-C", str(path), "for-each-ref", "--format=%(refname)")
        # Not splitlines(): a ref may hold U+2028 and others, which that takes for a line's end.
        others = [ref for ref in listed.split(b"\n") if ref and not _shown(ref)]
        if others:
            script = b"".join(b"delete %s\n" % ref for ref in others)
            self._run("-C", str(path), "update-ref", "--no-deref", "--stdin", given=script)

    def _run(self, *arguments: str, given: bytes = b"") -> bytes:
        return _run_bytes(arguments, env=self.environment, given=given)


class BareGit(StoredObjects):
    """A bare repository read and written with few processes."""

    def __init__(self, path: Path, env: Mapping[str, str]) -> None:
        super().__init__()
        self.path = path
        self._env = dict(env) | {"GIT_DIR": str(path)}
        self._disk = DiskRefs(path)
        self._lock = threading.RLock()
        self._reader: subprocess.Popen[bytes] | None = None
        self._writer: subprocess.Popen[bytes] | None = None
        self._merges: dict[tuple[str, str], str | None] = {}
        self._diffs: dict[tuple[str | None, str], tuple[FileDiff, ...]] = {}

    def close(self) -> None:
        """End the processes of this repository."""
        with self._lock:
            for process in (self._reader, self._writer):
                _end(process)
            self._reader = self._writer = None

    def refs(self) -> dict[str, str]:
        """All refs but those of pull requests."""
        return self._disk.all()

    def changes(
        self, known: Mapping[str, str], moved: Iterable[str] | None = None
    ) -> list[RefChange]:
        """How the refs on disk differ from what the forge knows; see `Git`."""
        return self._disk.changes(known, moved)

    def default_branch(self) -> str:
        """The branch that HEAD names."""
        head = (self.path / "HEAD").read_text().strip()
        return refnames.branch_name(head.removeprefix("ref: "))

    def move(self, changes: Sequence[RefChange]) -> bool:
        """Change refs in one transaction; see `Git`."""
        lines = [f"update {c.ref} {c.after} {c.before}" for c in changes]
        self._disk.touched(c.ref for c in changes)
        script = "\n".join(["start", *lines, "prepare", "commit", ""]).encode()
        # A long-lived update-ref may remember folders that are gone; a fresh one decides.
        return self._transact(script) or self._transact(script)

    def _transact(self, script: bytes) -> bool:
        with self._lock:
            if self._writer is None:
                self._writer = self._start("update-ref", "--stdin", "--no-deref")
            stdin, stdout = self._writer.stdin, self._writer.stdout
            if stdin is None or stdout is None:
                raise GitError("git update-ref has no pipes")
            try:
                stdin.write(script)
                stdin.flush()
                answers = [stdout.readline() for _ in range(3)]
            except BrokenPipeError:
                answers = [b""]
            if answers == [b"start: ok\n", b"prepare: ok\n", b"commit: ok\n"]:
                return True
            _end(self._writer)
            self._writer = None
            return False

    def point(self, ref: str, sha: str) -> None:
        """Set a ref whatever it was."""
        if not self._transact(f"start\nupdate {ref} {sha}\nprepare\ncommit\n".encode()):
            raise GitError(f"{ref} could not be set to {sha}")

    def merge_tree(self, ours: str, theirs: str) -> str | None:
        """Tree of a merge, or None for a conflict."""
        key = (ours, theirs)
        if key not in self._merges:
            done = subprocess.run(  # noqa: S603 - git with object ids only
                ["git", "merge-tree", "--write-tree", "--no-messages", ours, theirs],  # noqa: S607 - the person's git, found on PATH
                env=self._env,
                capture_output=True,
                check=False,
            )
            if done.returncode not in (0, 1):
                raise GitError(done.stderr.decode(errors="replace"))
            tree = done.stdout.decode().split("\n", 1)[0]
            self._merges[key] = tree if done.returncode == 0 else None
        return self._merges[key]

    def diff(self, old: str | None, new: str) -> tuple[FileDiff, ...]:
        """Files that differ; see `Git`."""
        key = (old, new)
        if key not in self._diffs:
            start = old or objects.EMPTY_TREE
            arguments = ("--raw", "-z", "--numstat", "-p", "-M", "--full-index", "--no-color")
            raw = _run_bytes(("diff-tree", "-r", *arguments, start, new), env=self._env)
            self._diffs[key] = parse(raw)
        return self._diffs[key]

    def fetch(self, other: Git, sha: str) -> None:
        """Bring a commit over from another bare repository of this store."""
        if not isinstance(other, BareGit):
            raise GitError("only a bare repository can be fetched from")
        if self.kind(sha) is None:
            _run(("fetch", "--quiet", "--no-tags", "--", str(other.path), sha), env=self._env)

    def _read(self, sha: str) -> tuple[str, bytes] | None:
        if not _OBJECT_ID.fullmatch(sha):
            return None  # git would take a name or a line more for a question
        with self._lock:
            if self._reader is None or self._reader.poll() is not None:
                self._reader = self._start("cat-file", "--batch")
            stdin, stdout = self._reader.stdin, self._reader.stdout
            if stdin is None or stdout is None:
                raise GitError("git cat-file has no pipes")
            stdin.write(sha.encode() + b"\n")
            stdin.flush()
            header = stdout.readline().split()
            if len(header) != 3:  # "<what was asked> missing"
                return None
            content = stdout.read(int(header[2]))
            stdout.read(1)
            return header[1].decode(), content

    def _write(self, kind: str, content: bytes) -> str:
        return objects.write_loose(self.path, kind, content)

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - git with fixed arguments
            ["git", *arguments],  # noqa: S607 - the person's git, found on PATH
            env=self._env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )


def _is_folder(source: Path) -> bool:
    """Whether a source is a plain folder: no repository, bare or not, and no bundle."""
    bare = (source / "HEAD").is_file() and (source / "objects").is_dir()
    return source.is_dir() and not bare and not (source / ".git").exists()


def _likely(git: BareGit) -> str:
    """The default branch of a source: its HEAD's, or what is usual, or any that is there."""
    refs, head = git.refs(), git.default_branch()
    branches = [refnames.branch_name(r) for r in refs if refnames.is_branch(r)]
    return next((b for b in (head, "main", "master", *branches) if b in branches), "main")


def _shown(ref: bytes) -> bool:
    """Whether the forge shows a ref: a branch or tag whose name JSON can hold."""
    try:
        name = ref.decode()
    except UnicodeDecodeError:
        return False
    return refnames.is_branch(name) or refnames.is_tag(name)


@cache
def http_backend() -> str:
    """Path of the program that answers over HTTP: `git http-backend` is one more process."""
    found = _run(["--exec-path"], env={"PATH": os.environ.get("PATH", os.defpath)})
    return str(Path(found.strip()) / "git-http-backend")


def _run(
    arguments: Sequence[str],
    *,
    env: Mapping[str, str],
    given: bytes = b"",
    cwd: Path | None = None,
) -> str:
    return _run_bytes(arguments, env=env, given=given, cwd=cwd).decode()


def _run_bytes(
    arguments: Sequence[str],
    *,
    env: Mapping[str, str],
    given: bytes = b"",
    cwd: Path | None = None,
) -> bytes:
    done = subprocess.run(  # noqa: S603 - arguments are ours or checked object ids and refs
        ["git", *arguments],  # noqa: S607 - the person's git, found on PATH
        env=env,
        capture_output=True,
        check=False,
        input=given,
        cwd=cwd,
    )
    if done.returncode != 0:
        raise GitError(f"git {arguments[0]}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def _end(process: subprocess.Popen[bytes] | None) -> None:
    if process is None:
        return
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except BrokenPipeError:
                continue  # it is gone already, which is what we want
    process.kill()
    process.wait()
