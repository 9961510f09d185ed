"""A repository with a signed revision, and keys that may be lost: nothing here is a secret."""

import os
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from bot.git import write
from bot.git.port import GitIdentity
from bot.signing import allowed, tags
from bot.signing.ssh import SigningKey

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
WHO = GitIdentity("porchbot[bot]", "bot@forge.example")


def key_text(seed: int = 1) -> str:
    """A private key as `ssh-keygen` writes it."""
    key = Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
    return key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()


KEY, OTHER = SigningKey.read(key_text(1)), SigningKey.read(key_text(2))


@dataclass(frozen=True)
class SignedRepository:
    """A repository on disk with the package net/core, and another one beside it."""

    folder: Path
    commit: str
    tree: str
    other_tree: str

    def predicate(self, **changes: Any) -> dict[str, Any]:
        """What is attested of net/core@v5."""
        return {
            "repository": {"name": "acme/blueprints", "id": "github:42", "host": "forge.example"},
            "package": "net/core",
            "revision": 5,
            "proposal": 7,
            "commit": self.commit,
            "tree": self.tree,
            "base": {"ref": "main", "commit": "b" * 40},
            "approvers": [{"login": "ann", "head": "a" * 40, "at": AT.isoformat()}],
            "functions": [{"image": "set-labels:v0.2", "asked": "pipeline", "digest": "sha256:1"}],
            "gates": [{"name": "approved", "holds": True, "wanted": "1 from role:write",
                       "actual": "1 of 1"}],
            **changes,
        }  # fmt: skip

    def data(
        self,
        *,
        name: str = "net/core/v5",
        key: SigningKey | None = KEY,
        states: SigningKey = KEY,
        seconds: str = "",
        **changes: Any,
    ) -> bytes:
        """A tag object: by whom it is signed, and by whom what it states; at another time."""
        text = tags.with_provenance("net/core v5\n", self.predicate(**changes), states, name)
        unsigned = write.tag(name, self.commit, WHO, AT, text)
        if seconds:
            at = str(int(AT.timestamp())).encode()
            unsigned = unsigned.replace(at, seconds.encode(), 1)
        return unsigned + (key.sign(unsigned).encode() if key else b"")

    def tag(self, data: bytes, name: str = "net/core/v5") -> None:
        """Make the tag."""
        sha = self.git("hash-object", "-t", "tag", "-w", "--stdin", "--literally", data=data)
        self.git("update-ref", f"refs/tags/{name}", sha)

    def git(self, *arguments: str, data: bytes = b"") -> str:
        """Run git; returns what it says on both ends."""
        return run(self.folder, *arguments, data=data)

    def signers(self, *keys: SigningKey) -> Path:
        """A file of allowed signers."""
        file = self.folder / "signers"
        file.write_text(allowed.write("porchbot", [key.public for key in keys or (KEY,)]))
        return file


def run(folder: Path, *arguments: str, data: bytes = b"") -> str:
    """Run git in a folder, by nobody's configuration."""
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": f"{what}@example" for who in ("AUTHOR", "COMMITTER")
           for what in ("NAME", "EMAIL")},
    }  # fmt: skip
    done = subprocess.run(
        ["git", *arguments], cwd=folder, input=data, capture_output=True, check=True, env=env
    )
    return (done.stdout + done.stderr).decode().strip()


def repository(folder: Path) -> SignedRepository:
    """Make a repository; it has no tag yet."""
    folder.mkdir()
    run(folder, "init", "--quiet", "--initial-branch=main", ".")
    for package in ("net/core", "net/edge"):
        (folder / package).mkdir(parents=True)
        (folder / package / "Kptfile").write_text(f"# {package}\n")
    run(folder, "remote", "add", "origin", "https://forge.example/acme/blueprints.git")
    run(folder, "add", ".")
    run(folder, "commit", "--quiet", "-m", "packages")
    commit, tree, other = (
        run(folder, "rev-parse", name) for name in ("HEAD", "HEAD:net/core", "HEAD:net/edge")
    )
    return SignedRepository(folder, commit, tree, other)
