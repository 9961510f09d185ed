"""Finds out that a fork proposes the very commit that a merge queue is about to merge.

The checks of such a commit are those of the merge group (`bot/look/groups.py`).
"""

from dataclasses import replace

from bot.clock import Offload
from bot.forges.port import Forge
from bot.git.port import History
from lifecycle import names
from lifecycle.facts.head import Facts


async def told(forge: Forge, offload: Offload, git: History, facts: Facts) -> Facts:
    """Return the facts of a head branch, with the merge group whose commit a fork proposes.

    The forge is asked where a branch at the commit is named like that of a group, and only then:
    whoever may push can make one of that name.

    Args:
        forge: The forge.
        offload: Where git is read.
        git: The mirror, with the branches in the folder `names.GROUPS` fetched.
        facts: What else was found out.
    """
    if facts.same_repository or facts.head is None or not facts.open:
        return facts
    refs = await offload(git.refs, names.branch_ref(names.GROUPS))
    for branch in sorted(
        names.branch_name(ref) for ref, (_, at) in refs.items() if at == facts.head
    ):
        named = names.group_of(branch)
        queue = await forge.merge_queue(named[0]) if named else None
        if queue is not None and facts.head in {entry.merge for entry in queue.entries}:
            return replace(facts, queued=branch)
    return facts
