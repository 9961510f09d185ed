"""Proposals, by forks, of the very commit that a merge queue is about to merge."""

from collections.abc import Iterable

from lifecycle import memory, names
from lifecycle.actions import Action, CloseProposal, Reply
from lifecycle.facts.head import Facts
from lifecycle.messages import groups as texts


def close(numbers: Iterable[int], branch: str, facts: Facts) -> list[Action]:
    """Return what closes proposals, by forks, of the commit that a queue is about to merge.

    A check belongs to a commit: the group's would be green for them as well (trap 1), and what
    they show would hold up the queue. First they are closed: nothing else may come between.

    Args:
        numbers: The proposals.
        branch: Of the merge group.
        facts: The commit and its repository.
    """
    named = names.group_of(branch)
    told = texts.closed(named[0] if named else branch)
    records = {n: memory.closed_record(n, str(facts.head), facts.repository_id) for n in numbers}
    return [
        *(CloseProposal(number) for number in records),
        *(Reply(number, told, record) for number, record in records.items()),
    ]
