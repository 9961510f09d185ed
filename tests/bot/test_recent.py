"""What a process remembers is bounded."""

from bot.loop.echoes import MOST_DONE, Echoes
from bot.recent import Recent
from lifecycle.actions import Reply


def test_what_was_used_longest_ago_goes_first() -> None:
    """Fails when all is forgotten at once, or what is in use goes because it came first."""
    kept: Recent[str, int] = Recent(2)
    kept.put("a", 1)
    kept.put("b", 2)
    assert kept.get("a") == 1
    kept.put("c", 3)

    assert (kept.get("a"), kept.get("b"), kept.get("c")) == (1, None, 3)
    kept.drop("a")
    kept.drop("a")
    assert kept.keys() == ("c",)


def test_echoes_do_not_grow_with_what_was_done() -> None:
    """Fails when each reply ever made stays in memory until the bot ends."""
    echoes = Echoes()
    replies = [Reply(number, "", {}) for number in range(MOST_DONE + 1)]
    echoes.did(replies)

    assert not echoes.is_stale(replies[:1])
    assert echoes.is_stale(replies[1:2])
    assert echoes.is_stale(replies[-1:])


def test_what_is_old_goes_from_the_oldest_on() -> None:
    kept: Recent[str, int] = Recent(5)
    for name, number in (("a", 1), ("b", 2), ("c", 9), ("d", 1)):
        kept.put(name, number)

    kept.drop_oldest(lambda number: number < 5)

    assert len(kept) == 2
    assert (kept.get("c"), kept.get("d"), kept.get("a")) == (9, 1, None)
