"""The database goes away under the bot and comes back: nobody has to start or say anything."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import SQL, Identifier

from bot.store.embedded.server import EmbeddedPostgres
from tests.stories.people import wait_for
from tests.stories.real import RealWorld
from tests.stories.world import package

pytestmark = pytest.mark.real_parts


@contextmanager
def no_database(play: RealWorld, postgres: EmbeddedPostgres) -> Iterator[None]:
    """Every connection is ended and no new one let in, as while the server restarts."""
    name = str(conninfo_to_dict(play.environment["DATABASE_URL"])["dbname"])
    allowed = SQL("ALTER DATABASE {} WITH ALLOW_CONNECTIONS {}")
    with psycopg.connect(postgres.url, autocommit=True) as server:
        server.execute(allowed.format(Identifier(name), SQL("false")))
        server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name]
        )
        try:
            yield
        finally:
            server.execute(allowed.format(Identifier(name), SQL("true")))


def test_what_was_refused_while_the_database_was_away_is_fetched_when_it_is_back(
    play: RealWorld, postgres: EmbeddedPostgres
) -> None:
    """Fails when it waits for the next sweep, a quarter of an hour, or for another webhook."""
    number = play.proposes("drafts/net/core/w", package("net/core"))
    told = len(play.forge.hooks.sent())
    with no_database(play, postgres):
        play.author.pushes("drafts/net/other/w", package("net/other"))
        play.approver.says(number, "/approve")
        play.forge.hooks.idle(60)
    refused = play.forge.hooks.sent()[told:]

    assert {sent.status for sent in refused} == {503}
    play.author.waits_for_tag("net/core/v1")
    pull = wait_for("the draft", lambda: play.author.pull_of("drafts/net/other/w") or None)
    assert pull.draft
    play.rests()
    assert len(play.author.answers(number)) == 1
