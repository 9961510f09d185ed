"""A repository of the simulated forge on disk, for mirrors that fetch with git."""

import os
import re
import subprocess
import zlib
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from itertools import islice

from bot.git.remote import FLUSH, packet, packets
from tests.bot.git.server import Remote
from tests.memory.git_objects import MemoryObjects

_RESULT = "application/x-git-upload-pack-result"
_ADVERTISED = "application/x-git-upload-pack-advertisement"
_LISTING = b"command=ls-refs\n"
_DELIMITER = b"0001"
_SAID = re.compile(
    rb"(command=ls-refs|agent=[!-~]*|object-format=sha1|peel|symrefs|ref-prefix refs/[^\n]+)\n?"
)
"""What is said where no more than branches and tags are asked for."""
_BEGINNING = b"ref-prefix "


class OnDisk:
    """A repository of the simulated forge, copied to disk as far as it has changed.

    It answers what fetches ask without the process of `git http-backend`, which costs as much as
    git's own: refs by what they are, and what git can do by what git said of that before. Pushes go
    to git as they are.
    """

    def __init__(self, remote: Remote) -> None:
        remote.odd = self._answers
        self.url = remote.url
        self._folder = remote.folder
        self._objects = MemoryObjects()
        self._written = 0
        self._refs: dict[str, str] = {}
        self._known = False
        self._can: dict[str, bytes] = {}

    def sync(self, objects: MemoryObjects, refs: Mapping[str, str]) -> None:
        """Make it hold these objects, to which others only came, and name exactly these refs."""
        for sha, (kind, data) in islice(objects.known.items(), self._written, None):
            path = self._folder / "objects" / sha[:2] / sha[2:]
            path.parent.mkdir(exist_ok=True)
            whole = f"{kind} {len(data)}\0".encode() + data
            if not path.exists():
                path.write_bytes(zlib.compress(whole, 1))
        self._objects, self._written = objects, len(objects.known)
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
        self._refs, self._known = dict(refs), True

    def _answers(self, handler: BaseHTTPRequestHandler, body: bytes) -> bool:
        """Answer a request; False where git has to."""
        protocol = handler.headers.get("Git-Protocol", "")
        if "git-receive-pack" in handler.path:
            self._known = False
        elif "version=2" in protocol and not handler.headers.get("Content-Encoding"):
            if handler.command == "GET":
                if protocol not in self._can:
                    self._can[protocol] = self._git(protocol, b"", "--advertise-refs")
                _send(handler, _ADVERTISED, self._can[protocol])
            else:
                answer = self._listed(body) if self._known else None
                _send(handler, _RESULT, answer or self._git(protocol, body))
            return True
        return False

    def _listed(self, body: bytes) -> bytes | None:
        """The answer to a question for refs; None for any other."""
        if _LISTING not in body:
            return None
        said = packets(body.replace(_DELIMITER, b"", 1))
        if not all(map(_SAID.fullmatch, said)):
            return None
        words = [line.rstrip(b"\n") for line in said]
        begins = tuple(w.removeprefix(_BEGINNING) for w in words if w.startswith(_BEGINNING))
        if not begins:
            return None  # HEAD as well
        lines = self._lines(begins, peel=b"peel" in words)
        return b"".join(map(packet, lines)) + FLUSH

    def _lines(self, begins: tuple[bytes, ...], *, peel: bool) -> Iterator[bytes]:
        named = {ref.encode(errors="surrogateescape"): sha for ref, sha in self._refs.items()}
        for ref, sha in sorted(named.items()):
            if ref.startswith(begins):
                behind = self._behind(sha) if peel else sha
                peeled = b" peeled:" + behind.encode() if behind != sha else b""
                yield sha.encode() + b" " + ref + peeled + b"\n"

    def _behind(self, sha: str) -> str:
        """What an annotated tag names; another object itself."""
        kind, data = self._objects.known.get(sha, ("", b""))
        return self._behind(data[7:47].decode()) if kind == "tag" else sha

    def _git(self, protocol: str, body: bytes, *options: str) -> bytes:
        """What git answers."""
        done = subprocess.run(
            ["git", "upload-pack", "--stateless-rpc", *options, self._folder],
            input=body,
            capture_output=True,
            check=True,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self._folder),
                "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_PROTOCOL": protocol,
            },
        )
        return done.stdout


def _send(handler: BaseHTTPRequestHandler, kind: str, body: bytes) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)
