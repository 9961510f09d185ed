"""What a look reads of entries of the ledger: as the base branch stands once they are merged."""

from pathlib import Path
from typing import Any

import pytest

from bot import config
from bot.ledger_paths import package_ledger
from bot.look import content
from bot.look.reader import Basis
from lifecycle.facts.packages import Content
from lifecycle.names import Sha
from tests.bot.git.server import Remote
from tests.bot.look.test_content import CORE, opened, reader

LEDGER = package_ledger("net/core")
WITHDRAWN = b"revisions: {5: {state: withdrawn, reason: broken}}\n"
USER = b"""\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata: {name: mine}
upstream:
  type: git
  git: {repo: https://forge.example/acme/blueprints, directory: /net/core, ref: net/core/v5}
"""
ADDRESS = "https://forge.example/acme/blueprints"


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return Remote(tmp_path / "1.git")


def judged(remote: Remote, head: str, basis: Basis) -> Content:
    with opened(remote) as git:
        at = reader(git)
        at = type(at)(
            git=git,
            repository_id=at.repository_id,
            default_branch="main",
            keys=at.keys,
            tags=at.tags,
            address=ADDRESS,
        )
        found = content.read(at, Sha(head), "main", basis, head_ref="topic", number=1)
        assert found is not None
        return found.content


def test_a_number_whose_tag_went_was_given(remote: Remote) -> None:
    """The short-cut counts tags: once the tag of somebody else's v5 is deleted there was no v5."""
    base = remote.commit(CORE, ref="refs/heads/main")
    head = remote.commit({**CORE, LEDGER: WITHDRAWN}, base)
    before = judged(remote, head, Basis(rules=Sha(base), base=Sha(base)))
    assert [each.known for each in before.ledger] == [False]
    assert before.configuration

    merge = remote.commit({**CORE, LEDGER: WITHDRAWN}, base, head, ref="refs/heads/main")
    after = judged(remote, head, Basis(rules=Sha(base), base=Sha(base), merge=Sha(merge)))
    assert [each.known for each in after.ledger] == [True]
    assert not after.configuration


@pytest.mark.parametrize("removes", [False, True])
def test_who_used_it_may_move_on_after_the_merge(remote: Remote, removes: bool) -> None:
    """The short-cut asks the merge commit: what uses it there does so for ever."""
    users = {"net/mine/Kptfile": USER}
    base = remote.commit({**CORE, **users}, ref="refs/heads/main")
    left = {LEDGER: WITHDRAWN} if not removes else {}
    files = {**(CORE if not removes else {}), **left, **users}
    head = remote.commit(files, base)
    merge = remote.commit(files, base, head, ref="refs/heads/main")
    basis = Basis(rules=Sha(base), base=Sha(base), merge=Sha(merge))

    def used() -> list[tuple[str, ...]]:
        found = judged(remote, head, basis)
        return [t.used_by for t in found.touched if t.removed] + [
            each.used_by for each in found.withdrawals
        ]

    assert used() == [("net/mine",)]
    remote.commit(
        {path: files[path] for path in files if path not in users}, merge, ref="refs/heads/main"
    )
    assert used() == [()]
    remote.commit({**files, **CORE}, merge, ref="refs/heads/main")
    assert used() == [() if removes else ("net/mine",)]


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("count", [2, 600])
def test_one_text_is_read_once(monkeypatch: pytest.MonkeyPatch, whole: bool, count: int) -> None:
    """The short-cut reads it each time: of 1 MiB a second, for each package, and for each release
    of one that is held."""
    rows = "".join(f"{n}: {{state: withdrawn, reason: it was {n}}}, " for n in range(1, count + 1))
    table = f"{{net/core: {{{rows}}}}}" if whole else f"{{{rows}}}"
    text = f"# {whole} {count}\nrevisions: {table}\n".encode()
    assert (len(text) > config.MOST_KEPT) == (count > 2)
    read, texts = config._read, list[bytes]()

    def counted(form: Any, data: bytes, path: str) -> Any:
        texts.append(data)
        return read(form, data, path)

    monkeypatch.setattr(config, "_read", counted)
    for _ in range(3):
        if whole:
            entries = config.read_ledger(bytes(bytearray(text)))
            assert isinstance(entries, dict)
            assert len(entries["net/core"]) == count
        else:
            numbers = config.read_package_ledger(bytes(bytearray(text)), "ledger")
            assert isinstance(numbers, dict)
            assert len(numbers) == count
    assert len(texts) == 1
