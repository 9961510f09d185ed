"""Whose requests go first where the forge grants fewer than are wanted, by what woke a key."""

from bot import keys
from bot.store.hints import BOX, Hint
from lifecycle.kinds import Urgency


def urgency_of(key: keys.Key, hint: Hint) -> Urgency:
    """Return who waits for a look: publishing and whoever wrote something go first, sweeps last."""
    if isinstance(key, keys.DashboardKey) and hint.pressed and not hint.comments:
        return Urgency.LATER  # what one person ticks delays nobody's answer, and no merge
    if BOX in hint.by and not (hint.comments or hint.reviews or hint.rerun):
        return Urgency.NORMAL  # one of many that somebody ticked; what is merged then goes first
    woken = hint.comments or hint.reviews or hint.rerun or hint.pressed
    if isinstance(key, keys.BaseKey | keys.GroupKey) or woken:
        return Urgency.FIRST
    if isinstance(key, keys.ProposalKey | keys.PullKey | keys.CommitKey) and not hint.by:
        return Urgency.NORMAL
    return Urgency.NORMAL if hint.heads else Urgency.LATER
