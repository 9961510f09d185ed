"""What the loop reads of a repository's branches in its mirror; each call reads the disk."""

from collections.abc import Iterable, Mapping

from bot import config
from bot.git.port import Mirror
from lifecycle import names
from lifecycle.policy import Policy


def tip(mirror: Mirror, branch: str) -> str | None:
    """Where a branch is."""
    with mirror.open() as git:
        return git.ref(names.branch_ref(branch))


def has_all(mirror: Mirror, commits: Iterable[str]) -> bool:
    """Tell whether a mirror has all of some commits."""
    with mirror.open() as git:
        return all(git.has(commit) for commit in commits)


def first_parent_order(mirror: Mirror, branch: str) -> Mapping[str, int]:
    """Commit to its place on the first-parent line of a branch, oldest lowest."""
    with mirror.open() as git:
        tip = git.ref(names.branch_ref(branch))
        line = git.first_parents(tip, "", limit=500) if tip else ()
    return {str(commit.sha): place for place, commit in enumerate(line)}


def published_from(mirror: Mirror, default: str) -> set[str]:
    """The branches that packages are published from, as the default branch configures them."""
    with mirror.open() as git:
        tip = git.ref(names.branch_ref(default))
        policy = config.read(config.fetch(git.blob, tip, config.CONFIG)) if tip else None
    return {default, *(policy.branches if isinstance(policy, Policy) else ())}


def observes(mirror: Mirror, default: str) -> bool:
    """Whether the default branch says that the bot only observes."""
    with mirror.open() as git:
        tip = git.ref(names.branch_ref(default))
        return tip is not None and config.read(config.fetch(git.blob, tip, config.CONFIG)).observe


def publish_heads(mirror: Mirror, default: str) -> Mapping[str, str]:
    """Where the branches are that packages are published from."""
    branches = published_from(mirror, default)
    with mirror.open() as git:
        tips = {branch: git.ref(names.branch_ref(branch)) for branch in branches}
    return {branch: str(sha) for branch, sha in tips.items() if sha}


def drafts(mirror: Mirror) -> Mapping[str, str]:
    """Draft branches and where they are."""
    with mirror.open() as git:
        return {
            names.branch_name(ref): str(sha)
            for ref, (sha, _) in git.refs(names.branch_ref(names.DRAFTS.rstrip("/"))).items()
        }


def merge_groups(mirror: Mirror) -> list[str]:
    """Branches of merge queues: what they are about to merge."""
    with mirror.open() as git:
        there = map(names.branch_name, git.refs(names.branch_ref(names.GROUPS)))
        return [branch for branch in there if names.group_of(branch) is not None]
