"""Reads what the commits of a draft say of the variant that it was made for."""

from dataclasses import replace

from bot.look.reader import MirrorReader
from lifecycle.facts.packages import NotByRule
from lifecycle.names import Sha
from lifecycle.variants import naming, trailer
from lifecycle.variants.trailer import Trail

MOST_COMMITS = 100
"""Commits of a draft that are looked at; with more of them people have a part in it."""


_KEPT_BACK = {trailer.CONFLICTS: NotByRule.CONFLICTS, trailer.OUTSIDE: NotByRule.OUTSIDE}


def trail(reader: MirrorReader, tip: Sha, base: Sha) -> Trail:
    """Read the commits of a draft down to where it left the base branch."""
    git = reader.git
    below = git.merge_base(tip, base) or ""
    found, people, ended, asked, sealed = Trail(), False, False, False, False
    commits = git.first_parents(tip, below, MOST_COMMITS + 1)
    for commit in reversed(commits):
        if not reader.made_by_us(commit.sha):
            people = True
            continue
        asked = asked or bool(reader.render_asker(commit.sha))
        if found.recipe is None:
            found = trailer.read(commit.message) or found
            sealed = found.recipe is not None and reader.is_sealed(commit.sha)
            ended = trailer.CLOSED in found.words and not people
    people = people or len(commits) > MOST_COMMITS
    return replace(found, people=people, empty=not commits, ended=ended, asked=asked, sealed=sealed)


def of_variant(reader: MirrorReader, head: Sha, base: Sha, head_ref: str) -> bool:
    """Whether the bot alone made a head for some variant, whatever came of it.

    Args:
        reader: Reads git.
        head: The head.
        base: What it is compared with; "" where the two have no past in common.
        head_ref: Its branch.
    """
    if not base or not naming.is_variants(head_ref):
        return False
    found = trail(reader, head, base)
    return found.recipe is not None and found.sealed and not (found.people or found.asked)


def made_alone(
    reader: MirrorReader, head: Sha, base: Sha, head_ref: str, package: str
) -> Trail | NotByRule | None:
    """What a head says of itself that the bot alone made for a variant, without a conflict.

    Of another one that was made for a variant why it is none: people have a part in it, or objects
    of another repository than the rule's, or it cannot be told whether that is what the bot wrote.
    None for any other head.

    Args:
        reader: Reads git.
        head: The head.
        base: What it is compared with.
        head_ref: Its branch.
        package: The package.
    """
    if not head_ref.startswith(naming.draft_branch(package, naming.WORKSPACE)):
        return None
    found = trail(reader, head, base)
    if found.recipe is None or found.people or found.asked or found.ended:
        return NotByRule.PEOPLE
    if found.recipe.removes:
        return NotByRule.REMOVES
    if not found.sealed:
        return NotByRule.UNSEALED
    kept_back = found.words & _KEPT_BACK.keys()
    return _KEPT_BACK[min(kept_back)] if kept_back else found
