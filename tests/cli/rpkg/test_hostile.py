"""`porchbot rpkg` on clones in which somebody chose names and tags to make it stop or lie."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from bot import config
from tests.cli.rpkg.test_rpkg import BLUEPRINTS, Clone, ran


def test_names_take_one_line(tmp_path: Path) -> None:
    """The short-cut prints them: a folder's name draws packages that are not there."""
    clone = Clone(tmp_path / "x", BLUEPRINTS)
    clone.publish("core", 1)
    clone.publish("made", 1, f"{BLUEPRINTS}//core@core/v1")
    (clone.folder / "made").rename(clone.folder / "a\n└── fake (from core@v9)")
    shutil.copytree(clone.folder / "core", clone.folder / "b\rcore")
    clone.git("add", "--all", ".")
    clone.git("commit", "--quiet", "-m", "x")

    drawn = "a<U+000A>└── fake (from core@v9)"
    assert ran("graph", clones=(clone,)).output == (
        f"b<U+000D>core\ncore\n└── {drawn} (from core/v1)\n"
    )
    assert f'  "core" -> "{drawn}" ' in ran("graph", "-o", "dot", clones=(clone,)).output


@pytest.mark.parametrize("end", ["\u2028", "\u0085"])
def test_a_tag_of_any_name_keeps_nobody_from_reading(tmp_path: Path, end: str) -> None:
    """The short-cut cuts git's list at U+2028: one tag, and no command reads the clone any more."""
    clone = Clone(tmp_path / "x", BLUEPRINTS)
    clone.publish("core", 1)
    clone.git("update-ref", f"refs/tags/a{end}refs/tags/core/v9", "HEAD")

    got = ran("get", "-o", "json", clones=(clone,))

    assert [each["revision"] for each in json.loads(got.output)] == [1]


def test_a_ledger_is_read_once_for_all_revisions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut reads it for each revision: minutes, where there are thousands."""
    clone = Clone(tmp_path / "x", BLUEPRINTS)
    clone.publish("net/core", 1)
    commit = clone.git("rev-parse", "HEAD")
    clone.publish("edge", 1, f"{BLUEPRINTS}//net/core@net/core/v1", lock=commit)
    for number in range(2, 300):
        clone.git("update-ref", f"refs/tags/net/core/v{number}", commit)
    reason = "withdrawn for a reason that takes its place " * 9
    listed = "".join(f"  {n}: {{state: withdrawn, reason: {reason}}}\n" for n in range(250, 300))
    ledger = clone.folder / ".porchbot/ledger/net/core.yaml"
    ledger.parent.mkdir(parents=True)
    ledger.write_text(f"version: 1\nrevisions:\n{listed}")
    assert ledger.stat().st_size > config.MOST_KEPT
    clone.git("add", ".")
    clone.git("commit", "--quiet", "-m", "x")
    read, texts = config._read, list[bytes]()

    def counted(form: Any, data: bytes, path: str) -> Any:
        texts.append(data)
        return read(form, data, path)

    monkeypatch.setattr(config, "_read", counted)
    done = ran("upgrade", "--discover=upstream", clones=(clone,))

    assert "v2, v3, v4, ..., v249 (248 revisions)" in done.output
    assert texts.count(ledger.read_bytes()) == 1
