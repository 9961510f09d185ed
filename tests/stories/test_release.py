"""Releases: made with notes for each tag where the configuration asks for them, and made once."""

from collections.abc import Mapping
from typing import Any

import pytest

from lifecycle import provenance
from lifecycle.records import JSON
from tests.stories.calls import RELEASE
from tests.stories.github_people import GitHubPerson
from tests.stories.people import wait_for
from tests.stories.world import CONFIG, Staging, World, package, resized, seconds_pass

RELEASING = CONFIG + "publish: {release: true}\n"


def _publishes(play: World, branch: str, files: dict[str, str], tag: str) -> int:
    number = play.proposes(branch, files)
    play.approver.says(number, "/approve")
    play.author.waits_for_tag(tag)
    return number


def _release(play: World, tag: str) -> str:
    """The notes of a tag's release."""

    def find() -> str | None:
        return play.author.releases().get(tag, ("", None))[1]

    return wait_for(f"the release of {tag}", find)


@pytest.mark.both_forges
def test_what_the_notes_of_a_release_say(staged: Staging) -> None:
    """Short-cuts refused: one release for all packages; the last proposal's changes only."""
    with staged(RELEASING) as play:
        play.start_bot()
        play.rests()
        seconds_pass(play.forge, 1)
        _publishes(play, "drafts/net/core/a", package("net/core"), "net/core/v1")
        _release(play, "net/core/v1")
        number = _publishes(play, "drafts/net/core/b", resized("net/core", 5), "net/core/v2")

        notes = _release(play, "net/core/v2")
        play.rests()

        assert notes.startswith(
            f"Published by #{number}, approved by `approver`.\n\n### Changes since v1\n\n- `"
        )
        assert "data.size" in notes
        assert "### 2 functions\n\n- `" in notes
        assert ("porchbot verify net/core@v2" in notes) == play.signs
        assert "data.size" in play.author.summary(number)  # it keeps the list of changes
        titles = {tag: title for tag, (title, _) in play.author.releases().items()}
        assert titles == {"net/core/v1": "net/core v1", "net/core/v2": "net/core v2"}
        assert play.failing() == []


@pytest.mark.both_forges
@pytest.mark.simulated_time("what is attested is looked at before it is signed")
def test_what_is_attested_names_the_forge(staged: Staging, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short-cut: the name alone, which a repository of another forge may have as well."""
    attested: list[Mapping[str, JSON]] = []
    paths: list[str] = []
    made = provenance.predicate

    def told(*args: Any) -> Mapping[str, JSON]:
        paths.append(args[0].path)
        attested.append(made(*args))
        return attested[-1]

    monkeypatch.setattr(provenance, "predicate", told)
    with staged(CONFIG) as play:
        play.start_bot()
        play.rests()
        _publishes(play, "drafts/net/core/a", package("net/core"), "net/core/v1")
        of = {
            "name": play.repository.full_name,
            "id": f"{play.name}:{play.repository.id}",
            "host": "forge.example",
        }
        assert attested
        assert [each["repository"] for each in attested] == [of] * len(attested)
        assert set(paths) == {play.repository.full_name}


def test_a_release_that_was_not_made_is_made_later_and_one_that_is_deleted_is_not(
    staged: Staging,
) -> None:
    """Short-cuts refused: a try beside the tag, once; a release for each look that finds none."""
    with staged(RELEASING) as play:
        play.start_bot()
        play.rests()
        seconds_pass(play.forge, 1)
        made = play.call(RELEASE)
        play.forge.faults.fail(made, 502, {"message": "Server Error"}, times=1)
        number = _publishes(play, "drafts/net/core/a", package("net/core"), "net/core/v1")

        _release(play, "net/core/v1")
        play.rests()
        play.repository.releases.clear()
        play.stop_bot()
        play.loses_database()
        play.start_bot()
        play.author.says(number, "/why")
        play.rests()

        assert play.repository.releases == {}
        assert len(play.statuses_of(RELEASE)) == 2


@pytest.mark.real_parts
@pytest.mark.only_github("a latest release that somebody chose")
def test_a_release_that_people_made_stays_the_latest(staged: Staging) -> None:
    """Short-cut refused: a release as the forge makes one, where the newest is the latest.

    Whoever installs "the latest release" of a repository then gets one package of many.
    """
    with staged(RELEASING) as play:
        play.start_bot()
        play.rests()
        assert isinstance(play.owner, GitHubPerson)
        theirs = play.owner.repository
        theirs.create_git_release("all-1", "The catalog", "All of it", target_commitish="main")
        _publishes(play, "drafts/net/core/a", package("net/core"), "net/core/v1")
        _release(play, "net/core/v1")

        assert theirs.get_latest_release().tag_name == "all-1"


@pytest.mark.parametrize("text", [CONFIG, CONFIG + "publish: {release: false}\n"])
def test_no_release_where_nobody_asks_for_one(staged: Staging, text: str) -> None:
    """The short-cut makes or looks for one at each publish."""
    with staged(text) as play:
        play.start_bot()
        play.rests()
        seconds_pass(play.forge, 1)
        _publishes(play, "drafts/net/core/a", package("net/core"), "net/core/v1")
        play.rests()

        assert play.repository.releases == {}
        calls = play.forge.faults.calls(play.caller)
        assert [c.name for c in calls if "/releases" in c.name] == []


def test_releases_of_what_nobody_should_use_say_so(staged: Staging) -> None:
    """Short-cuts refused: the release is left as it was; it is looked for once its tag is gone.

    Without its tag GitHub makes a draft of a release, which only writers see, by its number.
    """
    with staged(RELEASING) as play:
        play.start_bot()
        play.rests()
        seconds_pass(play.forge, 1)
        _publishes(play, "drafts/net/core/a", package("net/core"), "net/core/v1")
        _release(play, "net/core/v1")
        _publishes(play, "drafts/net/core/b", resized("net/core", 5), "net/core/v2")
        _release(play, "net/core/v2")
        number = play.proposes("drafts/net/edge/w", resized("net/edge", 3))

        play.owner.says(number, "/deprecate net/core@v2 use `v3` instead")
        pull = play.author.pull_of("porchbot/deprecate/net/core/v2")
        play.rests()
        play.approver.says(pull.number, "/approve")
        notes = wait_for("the mark", lambda: _marked(play, "net/core/v2", "deprecated"))
        play.approver.says(number, "/delete net/core@v1 it was broken")
        pull = play.author.pull_of("deletionProposed/net/core/v1")
        play.rests()
        play.owner.says(pull.number, "/approve")
        wait_for("the tag's end", lambda: "net/core/v1" not in play.author.tags() or None)
        play.rests()

        assert notes.startswith(
            "**Deprecated:** use `v3` instead\n\nUse another version.\n\nPublished by "
        )
        assert play.failing() == []
        gone = _marked(play, "net/core/v1", "withdrawn")
        assert gone is not None
        assert gone.startswith("**Withdrawn:** it was broken\n\nUse another version.\n\nPublished")
        if not play.releases_are_drafts:
            return
        found = {each.tag: each for each in play.repository.releases.values()}
        assert {tag: (each.draft, each.prerelease) for tag, each in found.items()} == {
            "net/core/v1": (True, False),
            "net/core/v2": (False, False),
        }


@pytest.mark.both_forges
def test_a_release_says_no_more_that_it_is_deprecated_once_that_is_taken_back(
    staged: Staging,
) -> None:
    """Short-cut refused: the mark stays for ever, on a revision that everybody may use again."""
    with staged(RELEASING) as play:
        play.start_bot()
        play.rests()
        seconds_pass(play.forge, 1)
        _publishes(play, "drafts/net/core/a", package("net/core"), "net/core/v1")
        _release(play, "net/core/v1")
        before = _release_of(play, "net/core/v1")
        number = play.proposes("drafts/net/edge/w", resized("net/edge", 3))
        play.owner.says(number, "/deprecate net/core@v1 it leaks")
        pull = play.author.pull_of("porchbot/deprecate/net/core/v1")
        play.rests()
        play.approver.says(pull.number, "/approve")
        wait_for("the mark", lambda: _marked(play, "net/core/v1", "deprecated"))
        play.rests()

        play.author.pushes("again", {".porchbot/ledger/net/core.yaml": None})
        again = play.author.opens("again", "It does not leak after all")
        play.rests()
        play.approver.says(again.number, "/approve")
        wait_for("the mark's end", lambda: _release_of(play, "net/core/v1") == before or None)
        play.rests()
        assert play.failing() == []


def _release_of(play: World, tag: str) -> tuple[str | None, str | None, bool]:
    found = {each.tag: each for each in play.repository.releases.values()}[tag]
    return found.name, found.body, found.prerelease


def _marked(play: World, tag: str, mark: str) -> str | None:
    """The notes of a tag's release, once its title says so."""
    found = {each.tag: each for each in play.repository.releases.values()}[tag]
    title = f"{tag.replace('/v', ' v')} ({mark})"
    return str(found.body) if found.name == title else None
