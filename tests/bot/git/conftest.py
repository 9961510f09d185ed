"""What tests of git have in common: no proxies and authorities of this machine, and a clock."""

import pytest

from bot.git.process import AUTHORITY, NO_PROXY, OTHER_AUTHORITIES, PROXIES
from tests.memory.clock import ManualClock


@pytest.fixture(autouse=True)
def plain_network(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*PROXIES, *NO_PROXY, AUTHORITY, *OTHER_AUTHORITIES):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()
