"""Commands in the text of a native review: obeyed once, like those of a comment."""

import pytest

from bot.sandbox.records.repository import Review
from tests.stories.github_people import at_github
from tests.stories.people import Person, wait_for
from tests.stories.world import CONFIG, World, package, seconds_pass

pytestmark = pytest.mark.only_github("reviews that hold remarks")


def review(play: World, person: Person, number: int, words: str, event: str = "COMMENT") -> int:
    """Submit a review, in a second in which nothing else was done, and return its number."""
    seconds_pass(play.forge, 2)
    return at_github(person).get_pull(number).create_review(body=words, event=event).id


def edit(play: World, number: int, wanted: int, words: str, by: str) -> None:
    """Change what a review says, on the forge's page: its API description has no such request."""
    state = play.forge.state
    with state.lock:
        made = _review(play, number, wanted)
        state.reviews.edit(made, state.user(by), words)


def _review(play: World, number: int, wanted: int) -> Review:
    (repo,) = (r for r in play.forge.state.data.repositories.values() if number in r.pulls)
    return next(each for each in repo.pulls[number].reviews if each.id == wanted)


def test_a_hold_in_a_review_holds_once_and_says_so(play: World) -> None:
    """Fails when commands are read in comments alone, and when the answer is a reaction only.

    A review takes none. What stands in backticks is talk about a command, there as anywhere.
    """
    number = play.proposes("drafts/net/core/w", package("net/core"))
    play.author.waits_for_check(number, "porchbot/validate", "success")
    review(play, play.author, number, "A hold? I `/hold` nothing.")
    review(play, play.approver, number, "Looks odd.\n\n/hold wait for me")

    play.author.waits_for_answer(number, "@approver Done: `/hold`.")
    play.author.waits_for_summary(number, "wait for me")
    play.approver.says(number, "/unhold")
    wait_for("no hold", lambda: "wait for me" not in play.author.summary(number) or None)
    play.sweep()
    play.rests()

    assert "wait for me" not in play.author.summary(number)
    said = [text for text in play.author.answers(number) if "/hold" in text]
    assert len(said) == 1


def test_an_approval_in_the_text_of_a_review_publishes(play: World) -> None:
    """Fails when `/approve` in a review is bound to nothing, as its number is no comment's."""
    number = play.proposes("drafts/net/core/w", package("net/core"))
    play.author.waits_for_check(number, "porchbot/validate", "success")

    review(play, play.approver, number, "/approve")

    play.author.waits_for_answer(number, "@approver Approved.")
    play.author.waits_for_tag("net/core/v1")
    play.rests()
    assert len([t for t in play.author.answers(number) if "Approved" in t]) == 1


def test_all_is_remembered_after_the_database_is_lost(play: World) -> None:
    """Fails when what was answered in reviews stands in the database alone: it would run again."""
    number = play.proposes("drafts/net/core/w", package("net/core"))
    play.author.waits_for_check(number, "porchbot/validate", "success")
    review(play, play.approver, number, "/hold wait for me")
    play.author.waits_for_answer(number, "Done: `/hold`")
    play.approver.says(number, "/unhold")
    wait_for("no hold", lambda: "wait for me" not in play.author.summary(number) or None)
    play.rests()

    play.stop_bot()
    play.loses_database()
    play.start_bot()
    play.sweep()
    play.rests()

    assert "wait for me" not in play.author.summary(number)
    assert len([text for text in play.author.answers(number) if "/hold" in text]) == 1


def test_an_edited_review_is_never_obeyed(play: World) -> None:
    """Fails when the text of now is taken for what its writer submitted: who may write edits it."""
    number = play.proposes("drafts/net/core/w", package("net/core"))
    play.author.waits_for_check(number, "porchbot/validate", "success")
    made = review(play, play.approver, number, "Looks fine to me.")
    play.rests()

    edit(play, number, made, "/approve", by="owner")

    play.author.waits_for_answer(number, "@approver Commands in edited comments and reviews are")
    play.rests()
    assert play.author.pull(number).merged is False
    assert "v1" not in play.author.tags()


def test_an_approval_falls_when_its_review_is_edited(play: World) -> None:
    """Fails when only edited comments let an approval fall."""
    play.author.pushes("main", {".porchbot.yaml": CONFIG.replace("require: 1", "require: 2")})
    number = play.proposes("drafts/net/core/w", package("net/core"))
    play.author.waits_for_check(number, "porchbot/validate", "success")
    made = review(play, play.approver, number, "/approve")
    play.author.waits_for_answer(number, "@approver Approved.")

    edit(play, number, made, "I never said that.", by="approver")

    play.author.waits_for_summary(number, "edited")


def test_an_approval_ends_with_the_review_that_says_it(play: World) -> None:
    """Fails when `/approve` in an approving review outlives its dismissal."""
    play.author.pushes("main", {".porchbot.yaml": CONFIG.replace("require: 1", "require: 2")})
    number = play.proposes("drafts/net/core/w", package("net/core"))
    play.author.waits_for_check(number, "porchbot/validate", "success")
    made = review(play, play.approver, number, "/approve", event="APPROVE")
    play.author.waits_for_answer(number, "@approver Approved.")
    play.author.waits_for_summary(number, "1 of 2 (`approver`)")

    at_github(play.owner).get_pull(number).get_review(made).dismiss("Not so fast.")

    play.author.waits_for_summary(number, "0 of 2")


def test_who_requests_changes_does_not_approve_in_the_same_breath(play: World) -> None:
    """Fails when the text of a review overrules its verdict."""
    number = play.proposes("drafts/net/core/w", package("net/core"))
    play.author.waits_for_check(number, "porchbot/validate", "success")

    review(play, play.approver, number, "/approve", event="REQUEST_CHANGES")

    answer = play.author.waits_for_answer(number, "@approver `/approve` refused")
    assert answer.startswith(
        "@approver `/approve` refused: the review that contains it requests changes. Submit a"
        " review"
        " that approves, or comment `/approve`."
    )
    play.rests()
    assert play.author.pull(number).merged is False


def test_an_approval_of_an_older_commit_is_refused(play: World) -> None:
    """Fails when a review's own commit is not asked for: it names what its writer looked at."""
    number = play.proposes("drafts/net/core/w", package("net/core"))
    play.author.waits_for_check(number, "porchbot/validate", "success")
    older = play.author.commits_of(number)[-1]
    play.author.pushes("drafts/net/core/w", {"net/core/more.yaml": "# more\n"})
    play.author.waits_for_check(number, "porchbot/validate", "success")

    repository = at_github(play.approver)
    repository.get_pull(number).create_review(
        commit=repository.get_commit(older), body="/approve", event="COMMENT"
    )

    play.author.waits_for_answer(number, "@approver The branch moved to")
    play.rests()
    assert play.author.pull(number).merged is False
