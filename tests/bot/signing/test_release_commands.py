"""The commands in the notes of a release, pasted into a shell."""

import base64
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bot.signing import allowed, tags
from lifecycle import names
from lifecycle.facts.releases import ReleaseNotes
from lifecycle.messages import release as texts
from tests.bot.git.server import TOKEN, serve
from tests.bot.signing.signed import KEY, SignedRepository, run

BLOCK = re.compile(r"```shell\n(.*?)\n```", re.DOTALL)


@pytest.mark.parametrize("package", ["", "it's/$HOME"])
def test_the_commands_in_the_notes_of_a_release_verify_it(tmp_path: Path, package: str) -> None:
    """Short-cuts refused: texts that nobody runs. The root package was spelled `.@v3`, which is no
    revision; no file of keys was named; and the tag was not fetched.
    """
    with serve(tmp_path / "blueprints.git") as remote:
        path = f"{package}/Kptfile" if package else "Kptfile"
        commit = remote.commit({path: b"# one\n"}, ref="refs/heads/main")
        root = remote.git("rev-parse", f"{commit}^{{tree}}")
        tree = remote.git("rev-parse", f"{commit}:{package}") if package else root
        made = SignedRepository(remote.folder, commit, tree, tree)
        clone = _clone(tmp_path / "clone", remote.url)
        tag = names.spelled(package, 5)
        data = made.data(name=tag, package=package)
        made.tag(data, tag)
        notes = _notes(package, tag, data.decode().partition("\n\n")[2])
        commands = BLOCK.findall(notes)
        assert len(commands) == 1, notes
        signers = allowed.write("porchbot", [KEY.public])
        (clone / texts.KEYS).write_text(signers)

        done = subprocess.run(
            ["sh", "-ec", commands[0]],
            cwd=clone,
            env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
        )

        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(
            f"{names.shown(package, 5)} is verified: porchbot published it in acme/blueprints"
            " (github:42) at forge.example.\n"
        )


def test_notes_of_a_tag_that_is_not_signed_tell_nobody_to_verify_it() -> None:
    """The short-cut always names a command that always fails: no key is the default."""
    assert "verify" not in _notes("net/core", "net/core/v5", "net/core v5\n")
    unsigned = f"net/core v5\n\n{tags.BEGIN}\n{{}}\n{tags.END}\n"
    assert "verify" not in _notes("net/core", "net/core/v5", unsigned)


def _notes(package: str, tag: str, message: str) -> str:
    release = ReleaseNotes(tag=tag, package=package, revision=5, there=False, message=message)
    return texts.notes(7, replace(release, signed=tags.verifiable(message)))


def _clone(folder: Path, url: str) -> Path:
    """A clone from before the release."""
    folder.mkdir()
    header = f"Authorization: Basic {base64.b64encode(TOKEN.encode()).decode()}"
    run(folder, "init", "--quiet", "--initial-branch=main", ".")
    run(folder, "config", "http.extraHeader", header)
    known = "https://forge.example/acme/blueprints"
    run(folder, "remote", "add", "origin", known)
    run(folder, "config", f"url.{url}.insteadOf", known)
    run(folder, "fetch", "--quiet", "--no-tags", "origin")
    run(folder, "checkout", "--quiet", "main")
    return folder
