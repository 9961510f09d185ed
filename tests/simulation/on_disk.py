"""A repository of the simulated forge on disk, for mirrors that fetch with git."""

import os
import subprocess
import zlib
from collections.abc import Mapping
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from tests.bot.git.server import Remote
from tests.memory.git_objects import MemoryObjects


def lists_refs(
    folder: Path, said: dict[bytes, bytes], handler: BaseHTTPRequestHandler, body: bytes
) -> bool:
    """Answer a question for refs, without the process that `git http-backend` is beside git's own.

    Most requests are such questions, and that one costs three times what git takes. What git
    answered before is answered again for as long as no ref has moved.

    Args:
        folder: The repository.
        said: What git answered to which question, since a ref moved last.
        handler: Answers.
        body: What was asked.

    Returns:
        False where something else was asked for.
    """
    if b"command=ls-refs" not in body or handler.headers.get("Content-Encoding"):
        if "receive-pack" in handler.path:
            said.clear()
        return False
    if body not in said:
        said[body] = _asked(folder, handler.headers.get("Git-Protocol", ""), body)
    handler.send_response(200)
    handler.send_header("Content-Type", "application/x-git-upload-pack-result")
    handler.send_header("Content-Length", str(len(said[body])))
    handler.end_headers()
    handler.wfile.write(said[body])
    return True


def _asked(folder: Path, protocol: str, body: bytes) -> bytes:
    """What git answers to a question."""
    done = subprocess.run(
        ["git", "upload-pack", "--stateless-rpc", folder],
        input=body,
        capture_output=True,
        check=True,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_PROTOCOL": protocol,
        },
    )
    return done.stdout


class OnDisk:
    """A repository of the simulated forge, copied to disk as far as it has changed."""

    def __init__(self, remote: Remote) -> None:
        self._said: dict[bytes, bytes] = {}
        remote.odd = partial(lists_refs, remote.folder, self._said)
        self.url = remote.url
        self._folder = remote.folder
        self._written: set[str] = set()
        self._refs: dict[str, str] = {}

    def sync(self, objects: MemoryObjects, refs: Mapping[str, str]) -> None:
        """Make it hold these objects, and name exactly these refs."""
        for sha, (kind, data) in objects.known.items():
            if sha not in self._written:
                path = self._folder / "objects" / sha[:2] / sha[2:]
                path.parent.mkdir(exist_ok=True)
                whole = f"{kind} {len(data)}\0".encode() + data
                if not path.exists():
                    path.write_bytes(zlib.compress(whole, 1))
                self._written.add(sha)
        if refs != self._refs:
            self._said.clear()
        for ref in self._refs.keys() - refs.keys():
            path = self._folder / ref
            path.unlink(missing_ok=True)
            for folder in path.parents:
                if folder.name in ("heads", "tags") or (folder.exists() and any(folder.iterdir())):
                    break
                if folder.exists():  # else git has removed it, when it took the deletion
                    folder.rmdir()
        for ref, sha in refs.items():
            if self._refs.get(ref) != sha:
                path = self._folder / ref
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"{sha}\n")
        self._refs = dict(refs)
