"""What a look reads from git: clean merges of the base, release tags and their records.

Longer than 400 lines: one repository, made step by step, and what is read of it.
"""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.config import CONFIG
from bot.git.caches import MirrorCaches
from bot.git.history import DiskHistory
from bot.git.mirror import DiskMirror
from bot.git.port import GitIdentity
from bot.ledger_paths import package_ledger
from bot.look import content
from bot.look.reader import Basis, MirrorReader
from bot.look.tags import Tags
from bot.store.values import Revision
from lifecycle import records
from lifecycle.facts.packages import Touched, Unpublished
from lifecycle.ledger import LedgerEntry, ListedState
from lifecycle.merges import Effect
from lifecycle.names import Sha
from lifecycle.policy import BrokenPolicy
from lifecycle.tags import Foreign, Tagging, TagLoss
from tests.bot.git.server import Remote
from tests.ids import on_github

KEY, OTHER_KEY = b"k" * 32, b"o" * 32
ME = 42
WHO, WHEN = GitIdentity("porchbot[bot]", "bot@forge.example"), datetime(2026, 11, 21, tzinfo=UTC)
CORE: dict[str, bytes | str] = {"net/core/Kptfile": b"kind: Kptfile\n"}


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return Remote(tmp_path / "1.git")


def reader(git: DiskHistory, used: dict[str, dict[int, Revision]] | None = None) -> MirrorReader:
    there = {ref: str(named[0]) for ref, named in git.refs("refs/tags/net/core").items()}
    baseline = {"refs/tags/net/core/v3": there.get("refs/tags/net/core/v3", "")}
    tags = Tags(git, on_github(ME), [KEY], used or {}, baseline)
    return MirrorReader(
        git=git, repository_id=on_github(ME), default_branch="main", keys=[KEY], tags=tags
    )


def opened(remote: Remote) -> DiskHistory:
    return DiskMirror(remote.folder, "").open()


def test_updates_are_clean_merges_of_the_bases_own_line(remote: Remote) -> None:
    """The short-cut believes a merge commit: anything can be changed while merging."""
    root = remote.commit({"a": b"1", "b": b"1"})
    main = remote.commit({"a": b"1", "b": b"2"}, root, ref="refs/heads/main")
    topic = remote.commit({"a": b"2", "b": b"1"}, root)
    side = remote.commit({"a": b"1", "b": b"1", "c": b"1"}, root)
    clean = remote.commit({"a": b"2", "b": b"2"}, topic, main)
    again = remote.commit({"a": b"2", "b": b"2"}, clean, root)
    slipped_in = remote.commit({"a": b"3", "b": b"2"}, topic, main)
    of_another_branch = remote.commit({"a": b"2", "b": b"1", "c": b"1"}, topic, side)
    octopus = remote.commit({"a": b"2", "b": b"2", "c": b"1"}, topic, main, side)
    ours = remote.commit({"a": b"2", "b": b"1"}, topic, main)
    shas = [clean, again, slipped_in, of_another_branch, octopus, ours, topic]

    with opened(remote) as git:
        found = reader(git).updates([Sha(sha) for sha in shas], "main")
        assert found == {clean: topic, again: clean}
        assert reader(git).updates([Sha(clean)], "gone") == {}


def test_a_merge_that_takes_too_long_hides_nothing(remote: Remote) -> None:
    """The short-cut takes a merge that is not known for one that does nothing, or tries each."""
    root = remote.commit({"a": b"1", "b": b"1"})
    main = remote.commit({"a": b"1", "b": b"2"}, root, ref="refs/heads/main")
    topic = remote.commit({"a": b"2", "b": b"1"}, root)
    clean = remote.commit({"a": b"2", "b": b"2"}, topic, main)

    with DiskHistory(
        remote.folder, MirrorCaches(), lambda: None, lambda _: None, merge_seconds=0
    ) as git:
        found = content.read(
            reader(git),
            Sha(topic),
            "main",
            Basis(rules=Sha(main), base=Sha(main)),
            head_ref="topic",
            number=1,
        )
        assert found is not None
        assert (found.content.effect, found.passes) == (Effect(unknown=True), False)
        assert reader(git).updates([Sha(clean)], "main") == {}


def test_a_package_that_looks_like_another_is_told(remote: Remote) -> None:
    """The short-cut compares what one proposal touches: the other is in the base, untouched.

    And whoever renames a package is not told that it looks like what it was.
    """
    kptfile = CORE["net/core/Kptfile"]
    root = remote.commit({**CORE, "Net/edge/Kptfile": kptfile})
    main = remote.commit({**CORE, "Net/edge/Kptfile": kptfile, "a/b/Kptfile": kptfile}, root)
    named = remote.commit({**CORE, "Net/edge/Kptfile": kptfile, "NET/core/Kptfile": kptfile}, root)
    renamed = remote.commit({**CORE, "net/edge/Kptfile": kptfile, "A/b/Kptfile": kptfile}, root)
    changed = remote.commit({**CORE, "net/core/a": b"1", "Net/Core/Kptfile": kptfile}, root)

    def found(head: str, base: str) -> list[tuple[str, str]]:
        at = Basis(rules=Sha(base), base=Sha(base))
        read = content.read(reader(git), Sha(head), "main", at, head_ref="topic", number=1)
        assert read is not None
        return [(f.place.path, f.severity) for f in read.content.configuration]

    with opened(remote) as git:
        assert found(named, main) == [("NET/core/Kptfile", "error")]
        assert found(renamed, main) == [("A/b/Kptfile", "error")]
        assert found(changed, root) == [
            ("Net/Core/Kptfile", "error"),
            ("net/core/Kptfile", "warning"),
        ]


def test_rules_differ_where_anything_that_judges_does(remote: Remote) -> None:
    """The short-cut compares the configuration file alone."""
    one = remote.commit(CORE)
    same = remote.commit({**CORE, "words.md": b"x"})
    others = [
        remote.commit({**CORE, path: b"x: 1\n"})
        for path in (".porchbot.yaml", ".porchbot/ledger.yaml", ".github/CODEOWNERS")
    ]

    with opened(remote) as git:
        assert not reader(git).rules_differ([Sha(one), Sha(same)])
        assert all(reader(git).rules_differ([Sha(one), Sha(other)]) for other in others)


def configures(remote: Remote, base: str, head: str) -> tuple[bool, tuple[str, ...]]:
    """Whether a proposal counts as one that changes rules, and what it hides."""
    with opened(remote) as git:
        basis = Basis(rules=Sha(base), base=Sha(base))
        found = content.read(reader(git), Sha(head), "main", basis, head_ref="topic", number=1)
        assert found is not None
        return found.content.configures, found.content.effect.files


def ruled(number: int) -> dict[str, bytes | str]:
    text = f"access: {{approve: {{require: {number}}}}}\n"
    return {".porchbot.yaml": text.encode(), "words.md": b"x"}


def test_rules_taken_back_by_a_merge_with_several_merge_bases_are_shown(remote: Remote) -> None:
    """The short-cut compares the head with one merge base: here it has the same old rules."""
    old = remote.commit(ruled(0), at=1_000)
    strict = remote.commit(ruled(2), old, at=2_000)
    words = remote.commit({**ruled(0), "more.md": b"x"}, old, at=9_000)
    main = remote.commit({**ruled(2), "more.md": b"x"}, strict, words, at=9_100)
    evil = remote.commit({**ruled(0), "more.md": b"y"}, words, strict, at=9_200)

    assert configures(remote, main, evil) == (True, (".porchbot.yaml",))


def test_rules_taken_back_by_a_rebase_are_a_change_of_the_rules(remote: Remote) -> None:
    """The short-cut compares two states: of two commits that cancel, a rebase drops the first."""
    old = remote.commit(ruled(0))
    main = remote.commit(ruled(2), old)
    gives = remote.commit(ruled(2), old, message="the same")
    takes = remote.commit({**ruled(0), "more.md": b"x"}, gives)
    honest = remote.commit({**ruled(0), "more.md": b"x"}, old)
    updated = remote.commit({**ruled(2), "more.md": b"x"}, honest, main)

    assert configures(remote, main, takes) == (True, ())
    assert configures(remote, main, honest) == (False, ())
    assert configures(remote, main, updated) == (False, ())


# --- which packages are touched ---

NET: dict[str, bytes | str] = {"net/Kptfile": b"kind: Kptfile\n", "net/a.yaml": b"a: 1\n"}
EDGE: dict[str, bytes | str] = {"net/edge/Kptfile": b"kind: Kptfile\n"}
DEEP: dict[str, bytes | str] = {
    "net/far/off/Kptfile": b"kind: Kptfile\n",
    "net/far/off/in/Kptfile": b"kind: Kptfile\n",
}
ALL: dict[str, bytes | str] = {**NET, **CORE, **EDGE, **DEEP}
CORE_CHANGED: dict[str, bytes | str] = {**CORE, "net/core/a.yaml": b"a: 1\n"}


def without(files: dict[str, bytes | str], *under: str) -> dict[str, bytes | str]:
    return {path: data for path, data in files.items() if not path.startswith(under)}


KPTFILE_GONE = without(ALL, "net/Kptfile")
BECOME_UNITS = {"net": "gone", "net/core": "same", "net/edge": "same", "net/far/off": "same"}

TOUCHED: dict[str, tuple[dict[str, bytes | str], dict[str, bytes | str], dict[str, str]]] = {
    "a package around others is one unit with them": (
        ALL,
        {**ALL, **CORE_CHANGED},
        {"net": "changed"},
    ),
    "without its Kptfile it is removed, and those in it are units": (
        ALL,
        KPTFILE_GONE,
        BECOME_UNITS,
    ),
    "one of those may be changed with it": (
        ALL,
        {**KPTFILE_GONE, **CORE_CHANGED},
        {**BECOME_UNITS, "net/core": "changed"},
    ),
    "or go with it": (
        ALL,
        without(KPTFILE_GONE, "net/core/", "net/far/"),
        {"net": "gone", "net/edge": "same"},
    ),
    "a folder that goes takes all in it with it": (
        {**ALL, "x/Kptfile": b"kind: Kptfile\n"},
        {"x/Kptfile": b"kind: Kptfile\n"},
        {"net": "gone"},
    ),
    "what is in a package that stays is no unit of its own": (
        {**ALL, "net/core/in/Kptfile": b"kind: Kptfile\n"},
        {**without(ALL, "net/core/Kptfile"), "net/core/in/Kptfile": b"kind: Kptfile\n"},
        {"net": "changed"},
    ),
    "a Kptfile in a folder of files makes a new package": (
        KPTFILE_GONE,
        ALL,
        {"net": "new"},
    ),
    "the package at the root may end so too": (
        {"Kptfile": b"kind: Kptfile\n", **ALL},
        ALL,
        {"": "gone", "net": "same"},
    ),
}


@pytest.mark.parametrize(("before", "after", "expected"), TOUCHED.values(), ids=TOUCHED)
def test_which_packages_are_touched(
    remote: Remote,
    before: dict[str, bytes | str],
    after: dict[str, bytes | str],
    expected: dict[str, str],
) -> None:
    """The short-cut takes a folder that is still there for a package that is still there."""
    base = remote.commit(before)
    head = remote.commit(after, base)
    merge = remote.commit(after, base, head)

    with opened(remote) as git:
        for basis in (
            Basis(rules=Sha(base), base=Sha(base)),
            Basis(rules=Sha(base), base=Sha(base), merge=Sha(merge)),
        ):
            found = content.read(reader(git), Sha(head), "main", basis, head_ref="topic", number=1)
            assert found is not None
            assert {t.package: became(t) for t in found.content.touched} == expected
            assert found.content.effect.clean
            assert not any(t.outdated or t.outside for t in found.content.touched)


def test_a_broken_ledger_of_a_package_does_not_end_the_observing(remote: Remote) -> None:
    """Short-cut refused: what is broken takes the place of the rules, and of their mode."""
    files = {**CORE, CONFIG: b"mode: observe\n", str(package_ledger("net/core")): b"a: [\n"}
    tip = remote.commit(files, ref="refs/heads/main")
    made = remote.commit({**files, "net/core/a": b"x"}, tip)

    with opened(remote) as git:
        read = content.read(reader(git), Sha(made), "main", Basis(rules=Sha(tip), base=Sha(tip)))
    assert read is not None
    assert isinstance(read.policy, BrokenPolicy)
    assert read.policy.observe


@pytest.mark.parametrize("rules", [b"version: 1\n", b"a: [\n"], ids=["rules", "broken rules"])
def test_a_bot_that_only_observes_does_so_for_the_whole_repository(
    remote: Remote, rules: bytes
) -> None:
    """Short-cut: the mode is asked of proposals; the dashboard issue is answered all the same."""
    remote.commit({**CORE, CONFIG: rules}, ref="refs/heads/main")

    with opened(remote) as git:
        assert not reader(git).whole().policy.observe
        assert replace(reader(git), observes=True).whole().policy.observe


PROD = b"access: {paths: [{directory: net/prod, approve: {require: 2}}, {directory: net}]}\n"
AROUND: dict[str, bytes | str] = {".porchbot.yaml": PROD, "net/prod/a/cm.yaml": b"a"}
WHOLE: dict[str, bytes | str] = {**AROUND, "net/Kptfile": b"kind: Kptfile\n"}
INSIDE: dict[str, tuple[dict[str, bytes | str], dict[str, bytes | str], tuple[str, ...]]] = {
    "a Kptfile around it": (AROUND, WHOLE, ("net/prod",)),
    "a file in it": (WHOLE, {**WHOLE, "net/prod/a/cm.yaml": b"b"}, ("net/prod",)),
    "a package in it": (
        WHOLE, {**WHOLE, "net/prod/new/Kptfile": b"kind: Kptfile\n"}, ("net/prod",)
    ),
    "all of it gone": (
        WHOLE,
        {path: data for path, data in WHOLE.items() if "prod" not in path},
        ("net/prod",),
    ),
    "the package gone, and its files not": (WHOLE, AROUND, ("net/prod",)),
    "a file beside it": (WHOLE, {**WHOLE, "net/production/x": b"x"}, ()),
}  # fmt: skip


@pytest.mark.parametrize(("base", "head", "inside"), INSIDE.values(), ids=INSIDE)
def test_folders_with_rules_that_a_package_reaches_into_are_told(
    remote: Remote,
    base: dict[str, bytes | str],
    head: dict[str, bytes | str],
    inside: tuple[str, ...],
) -> None:
    """Short-cut refused: the rules of the folders around a package are all that it is held to."""
    tip = remote.commit(base, ref="refs/heads/main")
    made = remote.commit(head, tip)
    merged = remote.commit({**head, "beside": b"1"}, tip, made)

    with opened(remote) as git:
        known = replace(reader(git), baseline={"main": tip})
        for merge in (None, Sha(merged)):
            basis = Basis(rules=Sha(tip), base=Sha(tip), merge=merge)
            read = content.read(known, Sha(made), "main", basis)
            assert read is not None
            assert read.content.places == ("net", *inside)


def test_what_the_base_holds_unpublished_is_held_to_the_rules_of_its_folders(
    remote: Remote,
) -> None:
    """Short-cut refused: what was pushed past the bot goes out with a change of something else."""
    tip = remote.commit(WHOLE, ref="refs/heads/main")
    pushed = remote.commit({**WHOLE, "net/prod/b": b"x"}, tip, ref="refs/heads/main")
    made = remote.commit({**WHOLE, "net/prod/b": b"x", "net/c": b"x"}, pushed)

    with opened(remote) as git:
        known = replace(reader(git), baseline={"main": tip})
        read = content.read(known, Sha(made), "main", Basis(rules=Sha(pushed), base=Sha(pushed)))
    assert read is not None
    assert read.content.touched[0].inside == ()
    assert read.content.places == ("net", "net/prod")


def became(touched: Touched) -> str:
    """What became of a package."""
    assert touched.tree == touched.head_tree
    if not touched.tree or not touched.origin:
        return "new" if touched.tree else "gone"
    return "same" if touched.tree == touched.origin else "changed"


def test_a_package_that_was_a_unit_already_is_not_published_again(remote: Remote) -> None:
    """The short-cut takes whatever was inside a removed package for new."""
    base = remote.commit(ALL)
    head = remote.commit(KPTFILE_GONE, base)
    remote.git("update-ref", "refs/tags/net/core/v1", base)

    with opened(remote) as git:
        basis = Basis(rules=Sha(base), base=Sha(base))
        found = content.read(reader(git), Sha(head), "main", basis, head_ref="topic", number=1)
    assert found is not None
    assert [t.package for t in found.content.touched] == ["net", "net/edge", "net/far/off"]


def test_the_files_of_a_folder_that_is_no_package_any_more_are_approved(remote: Remote) -> None:
    """The short-cut binds an approval to the removed package alone: its files could be anything."""
    base = remote.commit({**NET, "x": b"x"})
    stay, other = {"net/a.yaml": b"a: 1\n", "x": b"x"}, {"net/a.yaml": b"a: 2\n", "x": b"x"}
    heads = [remote.commit(files, base) for files in (stay, other, {"x": b"x"})]  # type: ignore[arg-type] # each is bytes

    with opened(remote) as git:
        basis = Basis(rules=Sha(base), base=Sha(base))
        found = [
            content.read(reader(git), Sha(head), "main", basis, head_ref="topic", number=1)
            for head in heads
        ]

    assert [[t.tree for t in each.content.touched] for each in found if each] == [[""], [""], [""]]
    assert len({each.content.beside for each in found if each}) == 3
    assert [each.content.beside for each in found if each][2] == "", (
        "a folder that is gone hides nothing"
    )
    assert all(each.content.effect.clean for each in found if each)


# --- what other branches would ask ---

ROOTS = b"packages:\n- directory: net\n- {directory: x, branch: release}\n"
WORDS: dict[str, bytes | str] = {".porchbot.yaml": ROOTS, "words.md": b"x"}

ELSEWHERE: dict[str, tuple[dict[str, bytes | str], tuple[str, ...]]] = {
    "words": ({**WORDS, "words.md": b"y"}, ()),
    "a package of the default branch": ({**WORDS, **CORE}, ("main",)),
    "a package of another branch": (
        {**WORDS, "x/y/Kptfile": b"kind: Kptfile\n"},
        ("release",),
    ),
    "rules": ({"words.md": b"x"}, ("main", "release")),
    "broken rules": ({**WORDS, ".porchbot.yaml": b"{"}, ("main", "release")),
}


@pytest.mark.parametrize(("files", "expected"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_what_a_head_needs_elsewhere_is_told(
    remote: Remote, files: dict[str, bytes | str], expected: tuple[str, ...]
) -> None:
    """The short-cut asks nothing where nothing is published: the check is the same everywhere."""
    main = remote.commit(WORDS, ref="refs/heads/main")
    remote.git("update-ref", "refs/heads/release", main)
    topic = remote.commit({**WORDS, "topic.md": b"x"}, main, ref="refs/heads/topic")
    head = remote.commit({**files, "topic.md": b"x"}, topic)

    with opened(remote) as git:
        found = content.read(
            reader(git),
            Sha(head),
            "topic",
            Basis(rules=Sha(topic), base=Sha(topic)),
            head_ref="more",
            number=1,
        )
    assert found is not None
    assert not found.content.touched
    assert found.content.elsewhere == expected


# --- tags ---


def tag(remote: Remote, number: int, target: str, key: bytes = KEY, **about: object) -> str:
    """Make an annotated tag of net/core with a record, which may be about something else."""
    with opened(remote) as git:
        said = {
            "repository_id": on_github(ME),
            "package": "net/core",
            "revision": number,
            "commit": target,
            "tree": git.tree(target, "net/core"),
            **about,
        }
        text = records.mark_tag("net/core", key, **said)  # type: ignore[arg-type] # one is wrong
        made = git.write_tag(f"net/core/v{number}", target, WHO, WHEN, text)
    remote.git("update-ref", f"refs/tags/net/core/v{number}", made)
    return made


def tagging(remote: Remote, merge: str, **used: Revision) -> Tagging:
    """How net/core stands; `used` are revisions that the index knows, such as `v5`."""
    known = {int(name[1:]): revision for name, revision in used.items()}
    with opened(remote) as git:
        tags = reader(git, {"net/core": known}).tags
        tags.above |= {f"refs/tags/{f}" for f in ("net", "net/core") if git.ref(f"refs/tags/{f}")}
        merged = Sha(merge) if merge else None
        return tags.tagging("net/core", merged, removed=False, listed={})


def test_only_a_tag_with_our_record_for_exactly_this_revision_is_ours(remote: Remote) -> None:
    """The short-cut takes any tag of the right name on the merge result for ours."""
    merge = remote.commit(CORE)
    other = remote.commit({"net/core/Kptfile": b"kind: Other\n"})
    wrong: dict[str, tuple[bytes, dict[str, object]]] = {
        "another key": (OTHER_KEY, {}),
        "another repository": (KEY, {"repository_id": on_github(43)}),
        "another package": (KEY, {"package": "net/edge"}),
        "another revision": (KEY, {"revision": 4}),
        "another commit": (KEY, {"commit": other}),
        "another tree": (KEY, {"tree": "1" * 40}),
    }
    tagged = {}
    for name, (key, about) in wrong.items():
        tag(remote, 5, merge, key, **about)
        tagged[name] = tagging(remote, merge).revision
    remote.git("tag", "--force", "net/core/v5", merge)
    tagged["no annotation"] = tagging(remote, merge).revision
    assert tagged == dict.fromkeys(tagged, 6)  # every one uses up its number

    tag(remote, 5, merge)
    found = tagging(remote, merge)
    assert found.tagged is True
    assert found.revision == 5


def test_a_tag_of_ours_on_another_object_is_not_ours(remote: Remote) -> None:
    """The short-cut reads the record and not what the ref names: tags can be tagged."""
    merge = remote.commit(CORE)
    made = tag(remote, 5, merge)
    with opened(remote) as git:
        text = git.tag_message(made, merge) or ""
        around = git.write_tag("net/core/v5", made, WHO, WHEN, text)
    remote.git("update-ref", "refs/tags/net/core/v5", around)

    assert tagging(remote, merge).tagged is False


def test_what_became_of_a_tag_that_we_made(remote: Remote) -> None:
    """The short-cut trusts the index: a tag that is gone is then "Published" for ever."""
    merge = remote.commit(CORE)
    elsewhere = remote.commit(CORE, merge)
    made = tag(remote, 5, merge)
    index = {"v5": Revision(merge, made, 7)}
    states = {"standing": tagging(remote, merge, **index)}
    remote.git("tag", "--force", "net/core/v5", elsewhere)
    states["moved"] = tagging(remote, merge, **index)
    remote.git("tag", "--force", "net/core/v5", merge)
    states["lightweight"] = tagging(remote, merge, **index)
    remote.git("tag", "--delete", "net/core/v5")
    states["gone"] = tagging(remote, merge, **index)

    assert {name: found.lost for name, found in states.items()} == {
        "standing": None,
        "moved": TagLoss.REPLACED,
        "lightweight": TagLoss.REPLACED,
        "gone": TagLoss.GONE,
    }
    assert {found.revision for found in states.values()} == {5}
    following = tagging(remote, "", **index)
    assert following.missing == ("net/core/v5",)
    assert following.revision == 6


def test_a_revision_that_was_withdrawn_misses_no_tag(remote: Remote) -> None:
    """Fails when a tag that the ledger lets go is reported for ever."""
    gone = {5: LedgerEntry(ListedState.WITHDRAWN, "broken")}
    merge = remote.commit(CORE)
    with opened(remote) as git:
        tags = reader(git, {"net/core": {5: Revision(merge, "t", 7)}}).tags
        found = tags.tagging("net/core", Sha(merge), removed=False, listed=gone)
        following = tags.tagging("net/core", None, removed=False, listed=gone)

    assert (found.tagged, found.withdrawn, found.lost) == (True, True, None)
    assert following.missing == ()


def test_the_newest_tag_is_told_when_it_is_not_ours(remote: Remote) -> None:
    merge = remote.commit(CORE)
    for number in (2, 3):
        remote.git("tag", f"net/core/v{number}", merge)
    before = tagging(remote, "")
    remote.git("tag", "net/core/v9", merge)
    foreign = tagging(remote, "")
    tag(remote, 10, merge)
    ours = tagging(remote, "")

    assert [found.foreign for found in (before, foreign, ours)] == [
        (Foreign("net/core/v3", before=True),),
        (Foreign("net/core/v9", before=False),),
        (),
    ]


def test_a_tag_of_before_the_bot_is_one_while_it_stands_as_it_was(remote: Remote) -> None:
    """Short-cuts refused: its name says it, wherever it points now; it is told as one that was
    published before, or as one of nobody; after a lost database all that stands is older than the
    bot, though ours has a lower number; the baseline's word goes before the index's.
    """
    merge = remote.commit(CORE)
    mine = remote.commit(CORE, merge)
    for number in (2, 3):
        remote.git("tag", f"net/core/v{number}", merge)
    ours = tag(remote, 5, merge)
    remote.git("tag", "net/core/v9", mine)
    then = {"refs/tags/net/core/v2": merge, "refs/tags/net/core/v3": mine, "refs/tags/x": mine}
    lost = {f"refs/tags/net/core/v{n}": at for n, at in ((3, merge), (5, ours), (9, mine))}
    again = Revision(mine, "", 7)

    def found(
        baseline: dict[str, str], used: dict[int, Revision]
    ) -> tuple[set[int], set[int], tuple[str, ...], list[bool]]:
        with opened(remote) as git:
            tags = Tags(git, on_github(ME), [KEY], {"net/core": used}, baseline)
            found = tags.tagging("net/core", None, removed=False, listed={})
            were, moved = tags.were_published("net/core"), tags.replaced("net/core")
            return {*were}, {*moved}, found.missing, [each.before for each in found.foreign]

    assert found(then, {}) == ({2, 5}, {3}, ("net/core/v3",), [False])
    assert found(lost, {}) == ({3, 5}, set(), (), [False])
    assert found(lost, {3: again})[:2] == ({5}, {3})
    assert found({"refs/tags/net/core/v9": merge}, {}) == ({5}, {9}, ("net/core/v9",), [])
    assert found({"refs/tags/net/core/v9": ""}, {5: Revision(merge, ours)})[1] == {9}


def test_a_tag_of_another_bot_on_the_merge_is_told_from_one_that_people_made(
    remote: Remote,
) -> None:
    """Short-cut refused: a tag without our record only uses up its number, and the merge that the
    other bot published as v1 becomes v2 as well.
    """
    merge = remote.commit(CORE)
    remote.git("tag", "--annotate", "-m", "by hand", "net/core/v1", merge)
    theirs = records.mark_tag(
        "net/core v2\n",
        records.key_of(KEY, "staging"),
        repository_id=on_github(ME),
        package="net/core",
        revision=2,
        commit=merge,
        tree="t",
    )
    remote.git("tag", "--annotate", "-m", theirs, "net/core/v2", merge)
    with opened(remote) as git:
        found = reader(git).tags.tagging("net/core", Sha(merge), removed=False, listed={})

    assert not found.tagged
    assert {each.name: each.marked for each in found.foreign} == {
        "net/core/v1": False,
        "net/core/v2": True,
    }


@pytest.mark.parametrize("blocking", ["net", "net/core", "net/core/v1/rc1"])
def test_a_tag_that_git_cannot_hold_is_told(remote: Remote, blocking: str) -> None:
    """The short-cut pushes and sees: git refuses again and again, and nobody is told why."""
    merge = remote.commit(CORE)
    remote.git("tag", blocking, merge)

    assert tagging(remote, merge).clash == f"refs/tags/{blocking}"
    remote.git("tag", "--delete", blocking)
    assert tagging(remote, merge).clash == ""


# --- what stands in the base and was never published ---

V1, V2, V3 = ({"net/core/Kptfile": b"kind: Kptfile\n# %d\n" % n} for n in range(3))


def unpublished(
    remote: Remote, base: str, *, baseline: str = "", tagged: str = ""
) -> Unpublished | None:
    """What a change of net/core publishes beside itself, on this base."""
    head = remote.commit({"net/core/Kptfile": b"kind: Kptfile\n# new\n"}, base)
    if tagged:
        tag(remote, 1, tagged)
    with opened(remote) as git:
        looks = replace(reader(git), baseline={"main": baseline} if baseline else {})
        found = content.read(looks, Sha(head), "main", Basis(rules=Sha(base), base=Sha(base)))
    assert found is not None
    (touched,) = found.content.touched
    return touched.unpublished


def test_what_no_revision_holds_is_told_with_what_brought_it_in(remote: Remote) -> None:
    """The short-cut compares with the merge base: what stands there was approved by nobody."""
    came = remote.commit(V1)  # type: ignore[arg-type] # each is bytes
    by_hand = remote.commit(V2, came)  # type: ignore[arg-type] # each is bytes
    more = remote.commit({**V3, "x": b"1"}, by_hand)

    first = unpublished(remote, more)
    assert first is not None
    assert (first.revision, first.published, first.adopted) == (0, "", False)
    assert set(first.sources) == {came[:10], by_hand[:10], more[:10]}
    since = unpublished(remote, more, baseline=came)
    assert since is not None
    assert set(since.sources) == {by_hand[:10], more[:10]}
    known = unpublished(remote, more, baseline=more)
    assert known is not None
    assert (known.adopted, known.files) == (True, 1)

    after = unpublished(remote, more, baseline=more, tagged=by_hand)
    assert after is not None
    assert (after.revision, after.adopted, after.sources) == (1, False, (more[:10],))
    assert unpublished(remote, by_hand) is None
    assert unpublished(remote, remote.commit({**V2, "x": b"2"}, more)) is None


def test_a_revision_of_another_line_is_not_what_stands_here(remote: Remote) -> None:
    """The short-cut takes the highest number: what it holds may never have been here."""
    came = remote.commit(V1)  # type: ignore[arg-type] # each is bytes
    elsewhere, here = remote.commit(V2, came), remote.commit(V3, came)  # type: ignore[arg-type] # each is bytes

    found = unpublished(remote, here, baseline=came, tagged=elsewhere)
    assert found is not None
    assert (found.revision, found.sources) == (0, (here[:10],))


def test_a_merge_that_a_later_revision_holds_is_published_with_it(remote: Remote) -> None:
    """The short-cut gives it the next number: older content would be the newest revision."""
    merge = remote.commit(V1)  # type: ignore[arg-type] # each is bytes
    later = remote.commit(V2, merge)  # type: ignore[arg-type] # each is bytes
    beside = remote.commit(V2)  # type: ignore[arg-type] # each is bytes

    made = Revision(later, "", proposal=9)
    assert tagging(remote, merge, v2=made) == Tagging(2, tagged=True, within="#9")
    assert tagging(remote, merge, v2=made, v3=replace(made, proposal=None)).revision == 2
    assert tagging(remote, merge, v2=replace(made, target=beside)).revision == 3
    tag(remote, 2, later)
    assert tagging(remote, merge) == Tagging(2, tagged=True, within="")
