"""A name in the settings stays with its instance, in one database."""

import pytest

from bot.store import addresses
from bot.store.values import StoreError

OLD, NEW = "https://old.example", "https://new.example"


async def test_a_name_is_not_given_to_another_instance(database_url: str) -> None:
    """The short-cut takes any: project 42 of the one is then taken for that of the other."""
    await addresses.settle(database_url, {"gitlab": OLD}, {})

    with pytest.raises(StoreError, match=r"in the database gitlab is https://old\.example\. Give"):
        await addresses.settle(database_url, {"gitlab": NEW}, {NEW: ""})
    with pytest.raises(
        StoreError, match=r"the database knows it as gitlab\. Call it gitlab in the"
    ):
        await addresses.settle(database_url, {"corp": OLD}, {})

    await addresses.settle(database_url, {"gitlab": OLD, "corp": NEW}, {})


async def test_an_instance_that_moved_keeps_its_name(database_url: str) -> None:
    await addresses.settle(database_url, {"gitlab": OLD}, {})

    await addresses.settle(database_url, {"gitlab": NEW}, {NEW: OLD})
    await addresses.settle(database_url, {"gitlab": NEW}, {NEW: OLD})

    with pytest.raises(StoreError, match="Give the new server another name"):
        await addresses.settle(database_url, {"gitlab": OLD}, {OLD: ""})
