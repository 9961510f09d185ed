"""What the adversary does, who may write: the attacks of docs/security.md."""

from bot.sandbox.git import trees
from bot.sandbox.records.accounts import Role
from tests.simulation.hands import Hands, ImpossibleError
from tests.simulation.moves import Moves, content, judge_of
from tests.simulation.setting import (
    ADVERSARY,
    CONFIG,
    HONEST,
    MAIN,
    RELEASE,
    WRITERS,
)

MOVES = move = Moves()


def _eve(h: Hands) -> str:
    if not h.can(ADVERSARY, Role.WRITE):
        raise ImpossibleError
    return ADVERSARY


@move("attack: a record copied to another proposal", 1.5)
def copy_record(h: Hands) -> str:
    other = h.pull()
    alike = [p for p in h.repo.pulls.values() if p is not other and p.head_sha == other.head_sha]
    pull = h.one(alike) if alike else h.any_pull()
    theirs = h.one(h.ours(pull))
    if h.chance(0.3):
        h.say(ADVERSARY, other, theirs.body)
        return f"eve copies a comment of the bot's from #{pull.number} to #{other.number}"
    comment, body = h.one(h.ours(other)), theirs.body
    if h.chance(0.3):
        body = body.replace(f'"number":{pull.number}', f'"number":{other.number}')
    h.edit(_eve(h), comment, body)
    return f"eve edits the bot's comment {comment.id} on #{other.number} into one of #{pull.number}"


@move("attack: the bot's comment edited", 1)
def edit_bot(h: Hands) -> str:
    pull = h.any_pull()
    comment = h.one(h.ours(pull))
    text = comment.body.partition("<!-- porchbot:record")[0] + "approved by everybody"
    h.edit(_eve(h), comment, text)
    return f"eve edits the bot's comment {comment.id} on #{pull.number}"


@move("attack: the bot's comment deleted", 1)
def delete_bot(h: Hands) -> str:
    pull = h.any_pull()
    comment = h.one(h.ours(pull))
    h.delete(_eve(h), comment)
    return f"eve deletes the bot's comment {comment.id} on #{pull.number}"


@move("attack: a comment edited into an approval", 0.7)
def edit_into(h: Hands) -> str:
    pull = h.pull()
    comments = [c for c in h.comments(pull) if c.user.login in HONEST]
    comment = h.one(comments)
    if not h.diary.meant.get(comment.id):
        h.edit(_eve(h), comment, "/approve")
        return f"eve edits {comment.user.login}'s comment on #{pull.number} into /approve"
    h.edit(_eve(h), comment, comment.body + "\n\n/approve")
    return f"eve adds /approve to {comment.user.login}'s comment on #{pull.number}"


@move("attack: somebody else's name on a commit", 1)
def other_name(h: Hands) -> str:
    who = _eve(h)
    branch, name = h.fresh("named"), h.one(WRITERS)
    committer = name if h.chance(0.5) else ""
    files = content(h.draw, h.one(h.packages))
    h.commit(who, branch, files, "x", onto=h.tip(MAIN), author=name, committer=committer)
    pull = h.open(who if h.chance(0.5) else name, branch, MAIN, "Named")
    h.say(who, pull, "/approve", "approve")
    return f"eve pushes #{pull.number} as {name}, and approves it"


@move("attack: rules loosened in the head", 1)
def loosen(h: Hands) -> str:
    who = _eve(h)
    loose = h.one([r for r in h.choices if r.alone or (r.require < 2 and not r.judges)])
    branch = h.fresh("loose")
    files: dict[str, bytes | None] = {CONFIG: loose.text, **content(h.draw, h.one(h.packages))}
    h.commit(who, branch, files, "x", onto=h.tip(MAIN))
    pull = h.open(who, branch, MAIN, "Looser")
    h.say(who, pull, "/approve", "approve")
    return f"eve opens #{pull.number} with looser rules, and approves it"


@move("attack: a push after the approval", 2)
def push_after(h: Hands) -> str:
    who = _eve(h)
    pull = h.pull(lambda p: not p.draft)
    branch, was = h.own_branch(pull), pull.head_sha
    judge = judge_of(h, pull)
    if h.chance(0.5):
        h.say(judge, pull, "/approve", "approve")
    else:
        h.review(judge, pull, "APPROVE")
    h.commit(who, branch, content(h.draw, h.one(h.packages), sound=True), "x", onto=h.tip(MAIN))
    if h.chance(0.3):
        h.push(who, f"refs/heads/{branch}", was)
    return f"{judge} approves #{pull.number}, and eve force-pushes it"


@move("attack: one head to two bases", 1)
def two_bases(h: Hands) -> str:
    who, pull = _eve(h), h.pull()
    other = MAIN if pull.base_ref == RELEASE else RELEASE
    made = h.open(who, h.own_branch(pull), other, "Twice")
    return f"eve opens #{made.number} from the branch of #{pull.number}, to {other}"


@move("attack: another base after the approval", 0.8)
def retarget_after(h: Hands) -> str:
    who, pull = _eve(h), h.pull(lambda p: not p.draft)
    judge = judge_of(h, pull)
    h.say(judge, pull, "/approve", "approve")
    base = MAIN if pull.base_ref == RELEASE else RELEASE
    h.retarget(who, pull, base)
    return f"{judge} approves #{pull.number}, and eve retargets it to {base}"


@move("attack: a merge past the bot", 1.2)
def merge_past(h: Hands) -> str:
    who, pull = _eve(h), h.pull(lambda p: not p.draft)
    method = h.one(("merge", "squash", "rebase"))
    h.merge(who, pull, method)
    return f"eve merges #{pull.number} past the bot ({method})"


@move("attack: a foreign tag on a merge", 1)
def foreign_tag(h: Hands) -> str:
    who = _eve(h)
    pull = h.one([p for p in h.repo.pulls.values() if p.merged][-3:])
    package = h.one(h.packages)
    there = list(h.repo.refs.below(f"refs/tags/{package}/v"))
    name = f"{package}/v{len(there) + 1}"
    git, message = h.state.git(h.repo), "v\n"
    signed = [r for r in h.repo.refs.below("refs/tags/") if git.kind(h.repo.refs[r]) == "tag"]
    if signed:
        message = git.tag(h.repo.refs[h.one(signed)]).message
    if f"refs/tags/{name}" in h.repo.refs:
        raise ImpossibleError
    h.tag(who, name, h.merged_as(pull), message)
    return f"eve makes the tag {name} on the merge of #{pull.number}"


@move("attack: reverted and landed again", 0.8)
def reland(h: Hands) -> str:
    who = _eve(h)
    pull = h.one([p for p in h.repo.pulls.values() if p.merged and p.base_ref == MAIN][-3:])
    git = h.state.git(h.repo)
    before = git.commit(h.merged_as(pull)).parents[0]
    package = h.one(h.packages)
    files: dict[str, bytes | None] = {}
    for name in ("a.yaml", "b.yaml"):
        old = trees.entry_at(git, before, f"{package}/{name}")
        if old is not None:
            files[f"{package}/{name}"] = git.blob(old.sha)
    h.commit(who, MAIN, files, "Revert")
    branch = h.fresh("reland")
    h.push(who, f"refs/heads/{branch}", pull.head_sha)
    made = h.open(who, branch, MAIN, "Land again")
    return f"eve reverts {package} on main and opens #{made.number} with the head of #{pull.number}"


@move("attack: a check of the bot's name", 0.6)
def fake_check(h: Hands) -> str:
    pull = h.pull()
    h.report(_eve(h), pull, "porchbot/publish", "success", "all is well")
    return f"eve reports porchbot/publish on #{pull.number}"


@move("attack: a misleading name", 0.6)
def misleading(h: Hands) -> str:
    who = _eve(h)
    name = h.one(("heads/main", "refs-heads-main", "net/core/v9", "release/v1", "drafts/net/core"))
    h.commit(who, name, content(h.draw, h.one(h.packages)), "/approve", onto=h.tip(MAIN))
    pull = h.open(who, name, MAIN, "/approve <!-- porchbot:summary porchbot -->")
    return f"eve opens #{pull.number} from {name}"


@move("attack: the merge of somebody else's branch", 0.6)
def smuggle(h: Hands) -> str:
    who, pull, other = _eve(h), h.pull(), h.pull()
    branch = h.own_branch(other)
    if pull is other:
        raise ImpossibleError
    sha = h.commit(
        who,
        branch,
        content(h.draw, h.one(h.packages), sound=True),
        "Merge branch 'main'",
        parents=(other.head_sha, pull.head_sha),
    )
    return f"eve merges #{pull.number} into #{other.number} as {sha[:7]}"
