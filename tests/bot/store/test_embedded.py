"""The first start of the embedded PostgreSQL: its system user, and its data."""

import os
import pwd
import shutil
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bot.store.embedded import place
from bot.store.embedded.place import PostgresError
from bot.store.embedded.server import EmbeddedPostgres


def test_bots_that_start_together_on_a_new_machine_add_one_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cut: trust the lock of `useradd`, which looks the name up before it waits.

    Two of them add the user one after the other, the second under a number of its own, and the
    first bot's server runs as a user who does not exist any more.
    """
    users = tmp_path / "users"
    users.write_text("")
    useradd = tmp_path / "bin" / "useradd"
    useradd.parent.mkdir()
    useradd.write_text(f"""#!/bin/sh
[ -s {users} ] && exit 9
sleep 0.2  # the lock
echo $$ > {users}
""")
    useradd.chmod(0o755)

    def getpwnam(name: str) -> pwd.struct_passwd:
        if not (number := users.read_text().strip()):
            raise KeyError(name)
        return pwd.struct_passwd((name, "x", int(number), 1, "", "/", "/bin/false"))

    monkeypatch.setenv("PATH", f"{useradd.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(pwd, "getpwnam", getpwnam)
    monkeypatch.setattr(place, "STATE", tmp_path / "state")

    with ThreadPoolExecutor(5) as bots:
        found = list(bots.map(lambda _: place.system_user(), range(5)))

    assert {each.uid for each in found} == {int(users.read_text())}
    assert stat.S_IMODE((tmp_path / "state" / "user.lock").stat().st_mode) == 0o600


def test_what_initdb_said_is_in_the_error(tmp_path: Path) -> None:
    """Short-cut: read the line that says that the server has started, and drop any other one."""
    with EmbeddedPostgres(tmp_path / "pg") as server:
        assert server.home is not None
        home = server.home
    (home / "data").rename(home / "other")
    (home / "data.new").write_text("in the way")

    with pytest.raises(PostgresError, match=r"did not start: .*data\.new.*Mend"):
        EmbeddedPostgres(tmp_path / "pg").__enter__()
    shutil.rmtree(home)  # it may stand elsewhere


def test_where_nothing_can_be_written_the_error_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cut: let the error of the lock's file through, which names that file alone."""

    def getpwnam(name: str) -> pwd.struct_passwd:
        raise KeyError(name)

    monkeypatch.setattr(pwd, "getpwnam", getpwnam)
    monkeypatch.setattr(place, "STATE", tmp_path / "file" / "below")
    (tmp_path / "file").write_text("no folder")

    with pytest.raises(PostgresError, match="or do not run as root, or set DATABASE_URL"):
        place.system_user()
