"""What is kept of git: in one room, by bytes, and what was used longest ago goes first."""

from bot.git.caches import MirrorCaches, ObjectCache, Room


def test_all_that_is_kept_is_bounded_by_bytes() -> None:
    """The short-cut counts values: a few large ones are more than all the others."""
    room = Room(10_000)
    known: ObjectCache[str] = ObjectCache(len, most=5_000, room=room)
    for n in range(100):
        assert known.get_or(str(n), lambda: "x" * 2_000) == "x" * 2_000
        assert room.bytes <= 10_000
    before = room.bytes
    assert known.get_or("large", lambda: "x" * 5_000) == "x" * 5_000
    assert (known.get("large"), room.bytes) == (None, before)
    known.keep("99", "y")
    assert (known.get("99"), room.bytes) == ("y", before - 1_999)


def test_what_was_used_longest_ago_goes_first() -> None:
    """Short-cuts refused: all goes at once, also what every look asks for; or what came first."""
    made: list[str] = []
    room = Room(10_000)
    known: ObjectCache[str] = ObjectCache(len, most=5_000, room=room)

    def made_of(key: str) -> str:
        made.append(key)
        return "x" * 1_000

    for n in range(50):
        known.get_or("base", lambda: made_of("base"))
        known.get_or(str(n), lambda: made_of("head"))

    assert (made.count("base"), made.count("head")) == (1, 50)
    assert known.get("48") is not None


def test_all_mirrors_share_one_room() -> None:
    """The short-cut gives each of a thousand repositories megabytes of its own."""
    room = Room(100_000)
    mirrors = [MirrorCaches(room) for _ in range(100)]
    for at, mirror in enumerate(mirrors):
        for n in range(20):
            mirror.bases.keep(f"{at} {n}", ("a" * 40,))
            mirror.held.keep(f"{at} {n}", False)
            assert mirror.held.get(f"{at} {n}") is False
    assert room.bytes <= 100_000
    assert mirrors[0].bases.get("0 0") is None
    assert mirrors[-1].bases.get("99 19") == ("a" * 40,)
    assert mirrors[-1].bases.get("98 19") is None, "what is kept of one mirror is not another's"
