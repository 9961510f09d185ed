"""What GitHub's sentences about a merge that it did not make come to."""

from datetime import UTC, datetime

import pytest

from bot.forges.github.http import GitHubAnswer
from bot.forges.github.merging import merge_failure
from bot.forges.port import (
    ForgeBusyError,
    ForgeDeniedError,
    ForgeMissingError,
    ForgeRefusedError,
    MergeResult,
)
from lifecycle.facts.merging import MergeFailure, MergeObstacle

AT = datetime(2026, 1, 1, tzinfo=UTC)
O = MergeObstacle  # noqa: E741 (a column of the table)

RULES = "Repository rule violations found\n\n{}\n\n"

SENTENCES: dict[str, tuple[int, MergeObstacle]] = {
    "Base branch was modified. Review and try the merge again.": (405, O.BASE_MOVED),
    "Head branch was modified. Review and try the merge again.": (409, O.HEAD_MOVED),
    "Head branch is out of date. Review and try the merge again.": (409, O.BEHIND),
    "Merge already in progress": (405, O.UNDER_WAY),
    "Merge request is in progress.": (409, O.UNDER_WAY),
    "At least 1 approving review is required by reviewers with write access.": (405, O.REVIEW),
    "At least 2 approving reviews are required by reviewers with write access.": (405, O.REVIEW),
    "Waiting on code owner review from acme/owners.": (405, O.REVIEW),
    "Changes requested": (405, O.REVIEW),
    "New changes require approval from someone other than the last pusher.": (405, O.REVIEW),
    'Required status check "scan" is expected.': (405, O.CHECK),
    'Required status check "scan" is failing.': (405, O.CHECK),
    "2 of 3 required status checks are expected.": (405, O.CHECK),
    "A conversation must be resolved before this pull request can be merged.": (
        405,
        O.CONVERSATION,
    ),
    "All comments must be resolved.": (405, O.CONVERSATION),
    "Merge commits are not allowed on this repository.": (405, O.METHOD),
    "Squash merges are not allowed on this repository.": (405, O.METHOD),
    "This branch can't be rebased": (405, O.METHOD),
    "This branch must not contain merge commits.": (405, O.METHOD),
    "Commits must have verified signatures.": (405, O.SIGNATURE),
    "Changes must be made through the merge queue": (405, O.QUEUE),
    "Pull request is in the merge queue.": (409, O.QUEUE),
    "The head branch is not up to date with the base branch.": (405, O.BEHIND),
    "Pull Request is still a draft": (405, O.DRAFT),
    "Merge conflict: the pull request could not be merged.": (409, O.CONFLICT),
    "You're not authorized to push to this branch. Visit the docs for more.": (405, O.PERMISSION),
    "Cannot update this protected ref.": (405, O.RULE),
    "Changes must be made through a pull request.": (405, O.RULE),
    RULES.format("Something new must be so."): (405, O.RULE),
    RULES.format('Required status check "scan" is expected.'): (405, O.CHECK),
    RULES.format("Commits must have verified signatures."): (405, O.SIGNATURE),
    'Validation Failed; Required status check "scan" is expected.': (422, O.CHECK),
    "Conflict": (409, O.HEAD_MOVED),
    # It is said of conflicts, of what is not worked out yet, and of what was closed meanwhile.
    "Pull Request is not mergeable": (405, O.UNKNOWN),
    "Validation Failed": (422, O.UNKNOWN),
    "Unicorns are asleep.": (405, O.UNKNOWN),
}


@pytest.mark.parametrize(("said", "expected"), SENTENCES.items(), ids=SENTENCES)
def test_a_sentence_comes_to_what_ends_it(said: str, expected: tuple[int, MergeObstacle]) -> None:
    status, obstacle = expected
    answer = GitHubAnswer(status, {}, {"message": said}, AT)

    assert merge_failure(answer) == MergeResult(obstacle, said)


@pytest.mark.parametrize(
    "name",
    ["Base branch was modified.", "merge queue", "merge already in progress", "draft"],
)
def test_names_that_people_chose_say_nothing(name: str) -> None:
    """Fails when a sentence is searched for anywhere: a check of that name makes a refusal pass by
    itself, and the bot asks for ever."""
    said = f'Required status check "{name}" is expected.'

    assert merge_failure(GitHubAnswer(405, {}, {"message": said}, AT)).obstacle is O.CHECK


ERRORS: dict[str, tuple[int, str, type[Exception]]] = {
    "a failure of the forge": (502, "Server Error", ForgeBusyError),
    "a limit": (403, "You have exceeded a secondary rate limit.", ForgeBusyError),
    "the older words of a limit": (403, "You have triggered an abuse detection", ForgeBusyError),
    "no leave": (403, "Resource not accessible by integration", ForgeRefusedError),
    "a token that nobody knows yet": (401, "Bad credentials", ForgeDeniedError),
    "not there": (404, "Not Found", ForgeMissingError),
}


@pytest.mark.parametrize(("status", "said", "error"), ERRORS.values(), ids=ERRORS)
def test_what_says_nothing_about_the_merge_is_raised(
    status: int, said: str, error: type[Exception]
) -> None:
    with pytest.raises(error, match=said) as raised:
        merge_failure(GitHubAnswer(status, {}, {"message": said}, AT))

    assert type(raised.value) is error


def test_each_obstacle_ends_in_one_way() -> None:
    passing = {o for o in O if o.failure is MergeFailure.TRANSIENT}

    assert passing == {O.FORGE, O.BASE_MOVED, O.HEAD_MOVED, O.UNDER_WAY}
    assert [o for o in O if o.failure is MergeFailure.UNKNOWN] == [O.UNKNOWN]
