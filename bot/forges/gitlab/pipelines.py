"""In which pipeline a merge request's statuses count, and what they come to. Pure.

GitLab has a pipeline for each ref of a commit, and a merge request looks at one of them: the newest
that was made for itself, else the newest of its branch. A fork's branch has its pipelines in the
fork; a name of a branch there is none here, where another may have it.

Source: `Ci::PipelinesForMergeRequestFinder` of GitLab,
https://docs.gitlab.com/ci/pipelines/merge_request_pipelines/
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bot.forges.gitlab.http import JSONObject
from bot.forges.gitlab.merge_requests import Shown
from lifecycle.facts.checks import CheckState

_STATES = {
    "success": CheckState.SUCCESS,
    "skipped": CheckState.SUCCESS,
    "failed": CheckState.FAILURE,
    "canceled": CheckState.FAILURE,
}
_WORST = (CheckState.FAILURE, CheckState.UNKNOWN, CheckState.PENDING, CheckState.SUCCESS)


@dataclass(frozen=True, slots=True)
class StatusPipeline:
    """A pipeline that statuses of a merge request are put into.

    Attributes:
        number: Of the merge request.
        ref: Of the pipeline, made where there is none.
        pipeline: Its number; 0 where none is known.
    """

    number: int
    ref: str
    pipeline: int

    @property
    def where(self) -> tuple[str, int]:
        """What two merge requests have in common whose statuses are the same."""
        return self.ref, self.pipeline

    def statuses(self, found: Iterable[JSONObject]) -> tuple[JSONObject, ...]:
        """Those that are in it."""
        return tuple(
            data
            for data in found
            if data.get("ref") == self.ref and int(data.get("pipeline_id") or 0) == self.pipeline
        )


@dataclass(frozen=True, slots=True)
class NewestPipeline:
    """The newest pipeline of a ref.

    Attributes:
        pipeline: Its number; 0 where none is known.
        others: It has statuses that are not ours.
        whole: What those come to.
    """

    pipeline: int = 0
    others: bool = False
    whole: CheckState = CheckState.SUCCESS


def by_ref(found: Sequence[JSONObject], ours: Collection[str]) -> dict[str, NewestPipeline]:
    """The newest pipeline of each ref.

    Args:
        found: Statuses of a commit.
        ours: Names of ours, which are left out.
    """
    of: dict[str, list[JSONObject]] = {}
    for data in found:
        of.setdefault(str(data.get("ref")), []).append(data)
    return {ref: _newest_pipeline(every, ours) for ref, every in of.items()}


def _newest_pipeline(every: Sequence[JSONObject], ours: Collection[str]) -> NewestPipeline:
    last = max(int(data.get("pipeline_id") or 0) for data in every)
    inside = [data for data in every if int(data.get("pipeline_id") or 0) == last]
    others = [data for data in inside if data["name"] not in ours]
    return NewestPipeline(last, bool(others), worst(others))


def placed(known: Mapping[str, NewestPipeline], shown: Shown) -> tuple[StatusPipeline, ...]:
    """The pipelines of which one counts for a merge request, the one of its own first.

    Anybody who may put statuses can make a pipeline of either ref, so neither is left to others.

    Args:
        known: The newest pipeline of each ref of its head.
        shown: The merge request.
    """
    own = f"refs/merge-requests/{shown.number}/head"
    refs = (own,) if shown.fork else (own, shown.head_ref)
    found = [
        StatusPipeline(shown.number, ref, known.get(ref, NewestPipeline()).pipeline) for ref in refs
    ]
    return tuple(place for place in found if place.pipeline) or (found[-1],)


def newest(found: Iterable[JSONObject]) -> dict[str, JSONObject]:
    """The newest status of each name."""
    return {str(each["name"]): each for each in sorted(found, key=lambda data: int(data["id"]))}


def worst(found: Iterable[JSONObject]) -> CheckState:
    """What statuses come to together, those left out that may fail."""
    every = newest(found).values()
    return worst_of(state(data) for data in every if not data.get("allow_failure"))


def worst_of(states: Iterable[CheckState]) -> CheckState:
    """The worst of some; success where there is none."""
    there = set(states)
    return next((each for each in _WORST if each in there), CheckState.SUCCESS)


def state(data: JSONObject) -> CheckState:
    """What a status or a pipeline says; one that is not there yet goes on."""
    status = str(data.get("status") or "")
    if status == "manual" and data.get("allow_failure"):
        return CheckState.SUCCESS
    return _STATES.get(status, CheckState.PENDING)
