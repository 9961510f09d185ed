"""The `update` hook of pushes: asks the forge whether each ref may move.

The hook writes a line into one named pipe and reads the answer from another one, so that no
process but a shell is started, and the forge judges with what git has received (the objects that
are not yet in the repository).
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

from bot.sandbox.errors import GitError
from bot.sandbox.records.refs import PushVerdict, RefChange

_SCRIPT = """\
#!/bin/sh
# Asks the forge about one ref; the answer is the first line, what to tell people follows.
printf '%s\\t%s\\t%s\\t%s\\n' "$1" "$2" "$3" "$GIT_OBJECT_DIRECTORY" > "$SANDBOX_HOOK/ask"
{
  read -r verdict
  while IFS= read -r line && [ "$line" != . ]; do printf '%s\\n' "$line" >&2; done
} < "$SANDBOX_HOOK/answer"
[ "$verdict" = ok ]
"""
_DECLINED = b"hook declined"


class QuarantinedObjects:
    """Quarantined objects of a push, read by git beside the repository."""

    def __init__(self, repository: Path, objects: str, environment: Mapping[str, str]) -> None:
        self._environment = dict(environment) | {"GIT_DIR": str(repository)}
        if objects:  # a push without a new object has no place of its own
            self._environment |= {
                "GIT_OBJECT_DIRECTORY": objects,
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(repository / "objects"),
            }

    def unsigned(self, tip: str) -> list[str]:
        """Commits that are new and carry no signature, newest first."""
        fresh = self._git("rev-list", tip, "--not", "--branches", "--tags").split()
        return [
            sha
            for sha in fresh
            if "\ngpgsig " not in self._git("cat-file", "commit", sha).partition("\n\n")[0]
        ]

    def forced(self, before: str, after: str) -> bool:
        """Whether the new tip leaves the old one behind."""
        return self._git("merge-base", before, after).strip() != before

    def changed(self, before: str | None, after: str, folder: str) -> list[str]:
        """Files below a folder that differ."""
        if before is None:
            listed = self._git("ls-tree", "-r", "-z", "--name-only", after, "--", folder)
        else:
            listed = self._git("diff-tree", "-r", "-z", "--name-only", before, after, "--", folder)
        return [path for path in listed.split("\0") if path]

    def _git(self, *arguments: str) -> str:
        done = subprocess.run(  # noqa: S603 - object ids that git itself named, and our words
            ["git", *arguments],  # noqa: S607 - the person's git, found on PATH
            env=self._environment,
            capture_output=True,
            check=False,
        )
        if done.returncode not in (0, 1):
            raise GitError(done.stderr.decode(errors="replace"))
        return done.stdout.decode(errors="replace")


RefCheck = Callable[[RefChange, str], PushVerdict]
"""Judges a change of a ref; the text is the folder of objects that git has received."""


class HookServer:
    """Answers the hook while one push runs; an asynchronous context.

    Attributes:
        asked: Refs that git asked about: no other one can have moved.
        refused: Ref to git's short reason, for those that were refused.
    """

    def __init__(self, hooks: Path, judge: RefCheck) -> None:
        self.asked: set[str] = set()
        self.refused: dict[str, str] = {}
        self._hooks = hooks
        self._judge = judge
        self._folder = tempfile.TemporaryDirectory(prefix="sandbox-hook-")
        self._pipes: list[int] = []
        self._waiting: asyncio.Task[None] | None = None
        self._heard: asyncio.Queue[bytes] = asyncio.Queue()

    @property
    def environment(self) -> dict[str, str]:
        """What git must be given so that it runs the hook."""
        return {
            "SANDBOX_HOOK": self._folder.name,
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "core.hooksPath",
            "GIT_CONFIG_VALUE_0": str(self._hooks.absolute()),
        }

    async def __aenter__(self) -> Self:
        for name in ("ask", "answer"):
            path = os.path.join(self._folder.name, name)
            os.mkfifo(path)
            # Opened both ways, a pipe blocks nobody and survives a hook that is killed.
            self._pipes.append(os.open(path, os.O_RDWR | os.O_NONBLOCK))
        asyncio.get_running_loop().add_reader(self._pipes[0], self._hear)
        self._waiting = asyncio.create_task(self._answer())
        return self

    async def __aexit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_reader(self._pipes[0])
        if self._waiting is not None:
            self._waiting.cancel()
        for pipe in self._pipes:
            os.close(pipe)
        self._folder.cleanup()

    def _hear(self) -> None:
        self._heard.put_nowait(os.read(self._pipes[0], 65_536))

    async def _answer(self) -> None:
        text = b""
        while True:
            text += await self._heard.get()
            while b"\n" in text:
                line, _, text = text.partition(b"\n")
                ref, before, after, objects = _text(line).split("\t")
                change = RefChange(ref=ref, before=before, after=after)
                self.asked.add(ref)
                verdict = PushVerdict(["error: the forge could not judge this push."], "failed")
                try:
                    verdict = await asyncio.to_thread(self._judge, change, objects)
                finally:  # a hook without an answer would wait for ever
                    self._tell(ref, verdict)

    def _tell(self, ref: str, verdict: PushVerdict) -> None:
        if verdict.refused:
            self.refused[ref] = verdict.reason
        told = ["no" if verdict.refused else "ok", *verdict.lines[:200], "."]
        answer = "".join(f"{one}\n" for one in told)
        os.write(self._pipes[1], answer.encode(errors="surrogateescape"))


def _text(name: bytes) -> str:
    """The name of a ref as text: each name has its own, UTF-8 or not."""
    return name.decode(errors="surrogateescape")


def install(folder: Path) -> None:
    """Write the hook into a folder of hooks."""
    folder.mkdir(exist_ok=True)
    hook = folder / "update"
    hook.write_text(_SCRIPT)
    hook.chmod(0o755)


def with_reasons(answer: bytes, refused: Mapping[str, str]) -> bytes:
    """Git's answer to a push, with the forge's reasons in place of "hook declined".

    The report of refs is a row of packets, wrapped into packets of side band 1 where the client
    asked for side bands.
    """
    packets = _packets(answer)
    banded = any(packet[:1] in (b"\1", b"\2") for packet in packets if packet)
    if not banded:
        return _report(answer, refused)
    report = b"".join(packet[1:] for packet in packets if packet and packet[:1] == b"\1")
    others = [packet for packet in packets if packet and packet[:1] != b"\1"]
    whole = _report(report, refused)
    pieces = [b"\1" + whole[at : at + 60_000] for at in range(0, len(whole), 60_000)]
    return b"".join(_packet(packet) for packet in (*others, *pieces)) + b"0000"


def _report(report: bytes, refused: Mapping[str, str]) -> bytes:
    lines = []
    for packet in _packets(report):
        if packet is None:
            lines.append(b"0000")
            continue
        word, _, rest = packet.rstrip(b"\n").partition(b" ")
        ref, _, reason = rest.partition(b" ")
        better = refused.get(_text(ref))
        if word == b"ng" and reason == _DECLINED and better:
            packet = b"ng " + ref + b" " + better.encode() + b"\n"
        lines.append(_packet(packet))
    return b"".join(lines)


def _packets(data: bytes) -> list[bytes | None]:
    """Packets of git's protocol; None for a flush."""
    found: list[bytes | None] = []
    at = 0
    while at + 4 <= len(data):
        length = int(data[at : at + 4], 16)
        found.append(data[at + 4 : at + length] if length >= 4 else None)
        at += max(4, length)
    return found


def _packet(content: bytes) -> bytes:
    return f"{len(content) + 4:04x}".encode() + content
