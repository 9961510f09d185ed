"""Where the forges of this database are: a name in the settings stays with its instance.

Keys, records and rows begin with the name and a number. Under the name of another instance, project
42 would be another project.
"""

from collections.abc import Mapping

import psycopg

from bot import places
from bot.store.migrations import unreachable
from bot.store.values import StoreError


async def settle(url: str, forges: Mapping[str, str], moved: Mapping[str, str]) -> None:
    """Remember where each forge is; refuse a name that was of another address.

    Args:
        url: The database.
        forges: Name to address, in the one spelling.
        moved: Address to the one that the same instance had before.

    Raises:
        StoreError: A name or an address is another forge's; or the database cannot be reached.
    """
    try:
        async with await psycopg.AsyncConnection.connect(url) as connection:
            await connection.execute("LOCK TABLE forge_address")
            cursor = await connection.execute("SELECT forge, address FROM forge_address")
            rows = await cursor.fetchall()
            known = {str(forge): places.github_api(str(address)) for forge, address in rows}
            for name, address in sorted(forges.items()):
                _check(name, address, known, moved.get(address, ""))
                await connection.execute(
                    "INSERT INTO forge_address VALUES (%s, %s)"
                    " ON CONFLICT (forge) DO UPDATE SET address = EXCLUDED.address",
                    [name, address],
                )
    except psycopg.OperationalError as error:
        raise unreachable(error) from error


def _check(name: str, address: str, known: Mapping[str, str], before: str) -> None:
    others = sorted(other for other, at in known.items() if at == address and other != name)
    if others:
        raise StoreError(
            f"The settings call {address} {name}, but the database knows it as {others[0]}. Call it"
            f" {others[0]} in the settings too, because its stored data has that name."
        )
    had = known.get(name, address)
    if had not in (address, before):
        raise StoreError(
            f"The settings call {address} {name}, but in the database {name} is {had}. Give the new"
            " server another name; if it is the same server at a new address, set its"
            f" MOVED_FROM to {had}."
        )
