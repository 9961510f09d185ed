"""Rules about the moment, of the moment: windows, and the checks of others that are waited for."""

from dataclasses import replace

from bot.look.content import PullContent
from bot.look.reader import MirrorReader
from lifecycle import names
from lifecycle.policy import BrokenPolicy, Policy


def timed_now(reader: MirrorReader, base_ref: str, read: PullContent) -> Policy | BrokenPolicy:
    """The rules that judge a merged proposal, with windows and checks as its base has them now.

    Who had to approve, and what had to be valid, is said by the rules of before its merge; when it
    is published by those that hold when it is. Where the proposal itself changed the rules, those
    of before count as well: nobody opens a window for himself.

    Args:
        reader: Reads git.
        base_ref: Its base branch.
        read: What git tells of it.
    """
    then, tip = read.policy, reader.git.ref(names.branch_ref(base_ref))
    if tip is None or not isinstance(then, Policy):
        return then
    now = reader.rules(tip, base_ref).policy
    if not isinstance(now, Policy):
        return then
    calendars, checks = now.calendars, now.checks
    if read.content.configuration_changed:
        calendars = tuple(dict.fromkeys((*then.calendars, *calendars)))
        checks = tuple(dict.fromkeys((*then.checks, *checks)))
    return replace(then, calendars=calendars, checks=checks)
