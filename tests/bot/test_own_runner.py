"""The function runner that the bot starts for itself."""

import sys
from pathlib import Path

import pytest

from bot.serve import _spawn
from fnrunner.client import Client

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")


async def test_it_is_not_given_the_secrets_of_the_bot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cut: start it as any other process, which inherits all."""
    for secret in ("PORCHBOT_WEBHOOK_SECRETS", "PORCHBOT_GITHUB_PRIVATE_KEY", "DATABASE_URL"):
        monkeypatch.setenv(secret, "hunter2")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.corp:3128")
    started = await _spawn(f"unix:{tmp_path}/runner.sock", ())
    try:
        async with Client(f"unix:{tmp_path}/runner.sock") as client:
            assert await client.is_ready(60)
        given = Path(f"/proc/{started.pid}/environ").read_bytes().split(b"\0")
    finally:
        started.kill()
        await started.wait()

    assert b"HTTPS_PROXY=http://proxy.corp:3128" in given  # images are fetched through it
    assert [each for each in given if b"hunter2" in each] == []
