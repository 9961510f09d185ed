"""What people do: each move is one act of one person, on whatever the draw names."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from bot.sandbox.git import trees
from bot.sandbox.records.accounts import Role
from bot.sandbox.records.repository import Pull
from tests.simulation.evidence import login_of
from tests.simulation.hands import Hands, ImpossibleError
from tests.simulation.setting import (
    ADMIN,
    ADVERSARY,
    CONFIG,
    HONEST,
    MAIN,
    OUTSIDER,
    READER,
    RELEASE,
    WRITERS,
    kptfile,
    resource,
)

Act = Callable[[Hands], str]


@dataclass(frozen=True)
class Move:
    """Something that people do.

    Attributes:
        name: As the figures name it.
        weight: How often, beside others.
        act: Does it, and tells what was done.
        attack: It is one of the attacks of docs/security.md.
    """

    name: str
    weight: float
    act: Act
    attack: bool = False


class Moves(list[Move]):
    """The moves of one module."""

    def __call__(self, name: str, weight: float) -> Callable[[Act], Act]:
        """Adds one."""

        def added(act: Act) -> Act:
            self.append(Move(name, weight, act, attack=name.startswith("attack: ")))
            return act

        return added


MOVES = move = Moves()


def content(draw: Random, package: str, *, sound: bool = False) -> dict[str, bytes | None]:
    """A change of one file of a package."""
    name = "ab"[int(draw.random() * 2)]
    value = f"v{int(draw.random() * 1000)}"
    stamped, bad = sound or draw.random() < 0.8, not sound and draw.random() < 0.1
    return {f"{package}/{name}.yaml": resource(name, value, stamped=stamped, bad=bad)}


def _packages(h: Hands) -> list[str]:
    """Mostly one."""
    some = [h.one(h.packages)]
    if h.chance(0.12):
        some.append(h.one(h.packages))
    return sorted(set(some))


def _change(h: Hands) -> dict[str, bytes | None]:
    files: dict[str, bytes | None] = {}
    for package in _packages(h):
        files |= content(h.draw, package)
    return files


def _base(h: Hands) -> str:
    return RELEASE if h.chance(0.12) else MAIN


def writer(h: Hands) -> str:
    """Somebody who may push now."""
    return h.one([w for w in (*WRITERS, ADMIN) if h.can(w, Role.WRITE)])


def judge_of(h: Hands, pull: Pull) -> str:
    """Somebody to approve, mostly one who did not write it."""
    if h.chance(0.15):
        return h.one((*HONEST, READER, OUTSIDER, ADVERSARY))
    git, wrote = h.state.git(h.repo), {pull.user.login}
    for sha in _commits(h, pull):
        wrote.add(login_of(git.commit(sha).author.email))
    return h.one([w for w in HONEST if w not in wrote] or list(HONEST))


def _commits(h: Hands, pull: Pull) -> list[str]:
    git, found, at = h.state.git(h.repo), list[str](), pull.head_sha
    while len(found) < 5 and at != pull.base_sha:
        found.append(at)
        parents = git.commit(at).parents
        if not parents:
            break
        at = parents[0]
    return found


@move("push a draft branch", 4)
def draft(h: Hands) -> str:
    h.begin()
    who, package = writer(h), h.one(h.packages)
    branch = f"drafts/{package}/{h.fresh('w')}"
    h.commit(who, branch, content(h.draw, package), "draft", onto=h.tip(MAIN))
    return f"{who} pushes {branch}"


@move("open a proposal", 7)
def propose(h: Hands) -> str:
    h.begin()
    who, base = writer(h), _base(h)
    files = _change(h)
    package = next(iter(files)).rpartition("/")[0]
    name = h.fresh("w")
    branch = f"drafts/{package}/{name}" if h.chance(0.4) else f"feature-{name}"
    h.commit(who, branch, files, "change", onto=h.tip(base))
    pull = h.open(who, branch, base, f"Change {package}", draft=h.chance(0.1))
    return f"{who} opens #{pull.number} from {branch} to {base}"


@move("open a proposal from a fork", 1)
def from_fork(h: Hands) -> str:
    h.begin()
    pull = h.fork(OUTSIDER, h.fresh("fork"), _change(h))
    return f"{OUTSIDER} opens #{pull.number} from a fork"


@move("push again", 5)
def push(h: Hands) -> str:
    pull = h.pull()
    branch = h.own_branch(pull)
    who = writer(h) if h.chance(0.25) or h.is_bot(pull.user) else pull.user.login
    h.commit(who, branch, _change(h), "more")
    return f"{who} pushes to #{pull.number}"


@move("mend a proposal", 3)
def mend(h: Hands) -> str:
    pull = h.pull()
    branch = h.own_branch(pull)
    who = writer(h) if h.is_bot(pull.user) else pull.user.login
    h.commit(who, branch, content(h.draw, h.one(h.packages), sound=True), "mend")
    return f"{who} mends #{pull.number}"


@move("force-push", 2)
def force_push(h: Hands) -> str:
    pull = h.pull()
    branch = h.own_branch(pull)
    who = writer(h)
    h.commit(who, branch, _change(h), "again", onto=h.tip(pull.base_ref))
    return f"{who} force-pushes #{pull.number}"


@move("take up a removed or new package", 0.6)
def remove(h: Hands) -> str:
    who, package = writer(h), h.one(h.packages)
    files: dict[str, bytes | None] = {
        f"{package}/{n}": None for n in ("Kptfile", "a.yaml", "b.yaml")
    }
    git = h.state.git(h.repo)
    there = trees.entry_at(git, h.tip(MAIN), f"{package}/Kptfile") is not None
    if not there:
        files = {f"{package}/Kptfile": kptfile(package), **content(h.draw, package, sound=True)}
    branch = h.fresh("remove" if there else "again")
    files = {p: d for p, d in files.items() if d or trees.entry_at(git, h.tip(MAIN), p)}
    h.commit(who, branch, files, "remove" if there else "again", onto=h.tip(MAIN))
    pull = h.open(who, branch, MAIN, f"{'Remove' if there else 'Restore'} {package}")
    return f"{who} opens #{pull.number}: {pull.title}"


@move("propose other rules", 1)
def rules_proposal(h: Hands) -> str:
    who, branch = h.one(HONEST), h.fresh("rules")
    files: dict[str, bytes | None] = {CONFIG: h.one(h.choices).text}
    if h.chance(0.3):
        files |= content(h.draw, h.one(h.packages))
    h.commit(who, branch, files, "rules", onto=h.tip(MAIN))
    pull = h.open(who, branch, MAIN, "Other rules")
    return f"{who} opens #{pull.number}: other rules"


@move("push rules to the base branch", 0.8)
def rules_push(h: Hands) -> str:
    rules, branch = h.one(h.choices), _base(h)
    h.commit(ADMIN, branch, {CONFIG: rules.text}, "rules")
    return f"{ADMIN} pushes rules to {branch}: {rules}"


@move("update the branch", 1.5)
def update(h: Hands) -> str:
    pull = h.pull()
    who = writer(h)
    h.update_branch(who, pull)
    return f"{who} updates the branch of #{pull.number}"


@move("to draft or ready", 2.5)
def toggle(h: Hands) -> str:
    pull = h.pull(lambda p: p.draft) if h.chance(0.7) else h.pull()
    who, wanted = writer(h), not pull.draft
    h.set_draft(who, pull, wanted)
    return f"{who} makes #{pull.number} {'a draft' if wanted else 'ready'}"


@move("close or reopen", 1)
def close(h: Hands) -> str:
    pull, who = h.any_pull(), writer(h)
    if pull.merged:
        raise ImpossibleError
    wanted = "closed" if pull.state == "open" else "open"
    h.turn(who, pull, wanted)
    return f"{who} makes #{pull.number} {wanted}"


@move("retarget", 1)
def retarget(h: Hands) -> str:
    pull, who = h.pull(), writer(h)
    base = MAIN if pull.base_ref == RELEASE else RELEASE
    h.retarget(who, pull, base)
    return f"{who} retargets #{pull.number} to {base}"


@move("rename a branch", 0.5)
def rename(h: Hands) -> str:
    pull, who = h.pull(), writer(h)
    old = h.own_branch(pull)
    new, sha = f"{old}-{h.fresh('r')}", h.tip(old)
    h.push(who, f"refs/heads/{new}", sha)
    h.push(who, f"refs/heads/{old}", "")
    again = h.open(who, new, pull.base_ref, pull.title)
    return f"{who} renames {old} to {new}: #{pull.number} becomes #{again.number}"


@move("delete a branch", 0.5)
def delete_branch(h: Hands) -> str:
    pull, who = h.any_pull(), writer(h)
    branch = h.own_branch(pull)
    h.push(who, f"refs/heads/{branch}", "")
    return f"{who} deletes {branch} of #{pull.number}"


@move("merge by hand", 1.2)
def merge(h: Hands) -> str:
    pull, who = h.pull(lambda p: not p.draft), writer(h)
    method = h.one(("merge", "merge", "squash", "rebase"))
    h.merge(who, pull, method)
    return f"{who} merges #{pull.number} by hand ({method})"


@move("push to the base branch", 0.8)
def push_base(h: Hands) -> str:
    who, branch = writer(h), _base(h)
    h.commit(who, branch, content(h.draw, h.one(h.packages)), "straight in")
    return f"{who} pushes to {branch}"


@move("revert in a proposal", 0.7)
def revert(h: Hands) -> str:
    pull = h.one([p for p in h.repo.pulls.values() if p.merged and p.base_ref == MAIN][-4:])
    who, branch, git = writer(h), h.fresh("revert"), h.state.git(h.repo)
    before, files = git.commit(h.merged_as(pull)).parents[0], dict[str, bytes | None]()
    for package in h.packages:
        for name in ("a.yaml", "b.yaml"):
            old = trees.entry_at(git, before, f"{package}/{name}")
            if old is not None:
                files[f"{package}/{name}"] = git.blob(old.sha)
    h.commit(who, branch, files, f"Revert #{pull.number}", onto=h.tip(MAIN))
    made = h.open(who, branch, MAIN, f"Revert #{pull.number}")
    return f"{who} opens #{made.number}: a revert of #{pull.number}"


@move("make a tag", 0.8)
def tag(h: Hands) -> str:
    who, package = writer(h), h.one(h.packages)
    name = f"{package}/v{1 + int(h.draw.random() * 4)}"
    if f"refs/tags/{name}" in h.repo.refs:
        raise ImpossibleError
    h.tag(who, name, h.tip(MAIN), "mine\n")
    return f"{who} makes the tag {name}"


@move("delete or move a tag", 0.6)
def lose_tag(h: Hands) -> str:
    who = writer(h)
    refs = list(h.repo.refs.below("refs/tags/"))
    ref = h.one(refs)
    if h.chance(0.6):
        h.push(who, ref, "")
        return f"{who} deletes {ref}"
    h.tag(who, ref.removeprefix("refs/tags/"), h.tip(MAIN), "moved\n")
    return f"{who} moves {ref}"


@move("change a role", 1)
def role(h: Hands) -> str:
    who = h.one((*WRITERS, READER))
    level = h.one(("read", "write", "write", "admin", "triage"))
    h.role(who, level)
    return f"{ADMIN} makes {who} {level}"
