"""What the rules of a repository once wanted: a rule that is there no more is found in its history.

So nothing has to be written down about it anywhere, and what it said last is what counts.
"""

from dataclasses import dataclass

from bot import config
from bot.config import CONFIG
from bot.git.port import History
from bot.look import variant_rules
from lifecycle.names import Sha
from lifecycle.policy import Policy, VariantUse
from lifecycle.variants.values import Downstream, Variant

MOST_WALKED = 500
"""Commits of the default branch that are looked back over: a bot that runs looks at each push."""

MOST_LOOKED = 50
"""Of these, the states of the rules that are read."""


@dataclass(frozen=True, slots=True)
class _State:
    """The rules at a commit: where they are, and ids of what they say."""

    use: VariantUse
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FormerVariant:
    """A rule that wanted a package.

    Attributes:
        variant: The rule.
        file: Where it stood, for people.
        branch: The branch that the package is published from; "" for the default branch.
    """

    variant: Variant
    file: str
    branch: str


def wanted_before(
    git: History, tip: Sha, after: str, repository: str
) -> dict[Downstream, FormerVariant]:
    """Return what rules wanted at earlier commits, by place; of several the newest.

    Args:
        git: The mirror of the rules' repository, opened.
        tip: Its default branch.
        after: The commit up to which it was looked at before; "" for none.
        repository: Its full name.

    Returns:
        Place, with the full name of the repository in small letters, to the rule.
    """
    found: dict[Downstream, FormerVariant] = {}
    newer, looked = _state(git, tip), 0
    for commit in reversed(git.first_parents(tip, after, MOST_WALKED)):
        if not commit.parents or looked >= MOST_LOOKED:
            break
        older = _state(git, commit.parents[0])
        if older is not None and older != newer:
            looked += 1
            book = variant_rules.read(git, commit.parents[0], repository, older.use)
            for each in book.variants:
                place = book.place(each)
                file = f"{repository}:{each.origin.path}"
                found.setdefault(place, FormerVariant(each, file, book.branch(each)))
        newer = older
    return found


def had_rules(git: History, tip: Sha) -> bool:
    """Whether a configuration of the last commits had rules for variants."""
    line = git.first_parents(tip, "", MOST_LOOKED)
    return any(_state(git, commit.sha) is not None for commit in line)


def _state(git: History, commit: str) -> _State | None:
    """The rules at a commit; None where there are none, or they cannot be read."""
    if not git.has(commit):
        return None
    policy = config.read(config.fetch(git.blob, commit, CONFIG))
    if not isinstance(policy, Policy) or policy.observe or not policy.variants.files:
        return None
    use = policy.variants
    own = (each.directory for each in use.objects if not each.repository)
    folders = (*(each.rpartition("/")[0] for each in use.files), *own)
    return _State(use, tuple(git.entry(commit, each) for each in dict.fromkeys(folders)))
