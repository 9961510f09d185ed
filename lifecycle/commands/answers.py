"""Commands: what each comment asks for, whether it may have it now, and the answer.

Longer than 400 lines: each command has its function, and all are given one `_Scene`.

`STAGES` is the one table of which command fits which stage; the refusals, the help text and a
completeness test read it. A command is answered once: by a comment of its own where there is
something to say, by the memory in the summary comment otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import assert_never

from lifecycle import access, events, memory, notices
from lifecycle.access import Allowed, Person, Refused, Role, authorise
from lifecycle.actions import Action, Forget, React, Reaction, Reply, SetDraft
from lifecycle.approvals import (
    Fallen,
    judged_before,
    rules_moved,
    shown_unpublished,
    standing,
    too_early,
    unbound,
)
from lifecycle.commands import parse as c
from lifecycle.events import Answered, Approval, Event, Held, Rejected, TakenBack, Unheld
from lifecycle.facts import Comment, Facts, Proposal, Stage
from lifecycle.gates import judge
from lifecycle.identity import RepositoryId
from lifecycle.memory import Memory
from lifecycle.messages import answers as texts
from lifecycle.messages import summary
from lifecycle.policy import BrokenPolicy, Policy, RenderMode, configuring

_OPEN = frozenset({Stage.DRAFT, Stage.PROPOSED})
_UNPUBLISHED = _OPEN | {Stage.MERGED}

STAGES: Mapping[type[c.Command], frozenset[Stage]] = {
    c.Propose: _OPEN,
    c.Approve: frozenset({Stage.PROPOSED, Stage.MERGED}),
    c.Unapprove: _UNPUBLISHED,
    c.Reject: _OPEN,
    c.Render: _OPEN,
    c.Check: _UNPUBLISHED,
    c.Hold: _UNPUBLISHED,
    c.Unhold: _UNPUBLISHED | {Stage.PUBLISHED},  # said before, and answered after a merge by hand
    c.Why: frozenset(Stage),
    c.Help: frozenset(Stage),
}
"""Command to the stages at which it means something (docs/design.md, "Stages")."""


_OVERRULED: Mapping[type[Event], tuple[type[Event], ...]] = {
    Approval: (Approval, TakenBack),
    TakenBack: (Approval, TakenBack),
    Held: (Held,),
    Unheld: (Held, Unheld),
    Rejected: (Rejected,),
}
"""What an event undoes that the same comment caused before."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A proposal after its commands.

    Attributes:
        proposal: As it will stand once the actions were done.
        memory: What is to be remembered then.
        actions: Effects, answers and reactions, in order.
        render_asked: Number of the newest comment by which somebody with the right asked for a
            render commit; 0 for none.
    """

    proposal: Proposal
    memory: Memory
    actions: tuple[Action, ...] = ()
    render_asked: int = 0


@dataclass(frozen=True, slots=True)
class _Turn:
    """One comment being worked through, command by command."""

    proposal: Proposal
    memory: Memory
    effects: tuple[Action, ...] = ()
    texts: tuple[str, ...] = ()
    caused: tuple[Event, ...] = ()
    refused: bool = False
    confused: bool = False
    render_asked: int = 0

    def refuse(self, text: str) -> "_Turn":
        """Go on with a reason why not."""
        return replace(self, texts=(*self.texts, text), refused=True)

    def say(self, text: str) -> "_Turn":
        """Go on with something to tell."""
        return replace(self, texts=(*self.texts, text))

    def cause(self, event: Event) -> "_Turn":
        """Go on after something happened that is to be remembered.

        Within one comment the later command counts: no time and no number tells them apart.
        """
        turn = self
        for before in self.caused:
            if isinstance(before, _OVERRULED.get(type(event), ())):
                turn = turn.without(before)
        return replace(turn, memory=turn.memory.adding(event), caused=(*turn.caused, event))

    def without(self, event: Event) -> "_Turn":
        """Go on as if that had not happened."""
        return replace(
            self,
            memory=self.memory.without(event),
            caused=tuple(e for e in self.caused if e != event),
        )

    @property
    def approval(self) -> Approval | None:
        """What the same comment approved."""
        return next((e for e in self.caused if isinstance(e, Approval)), None)


@dataclass(frozen=True, slots=True)
class _Scene:
    """What stays the same while one comment is worked through."""

    facts: Facts
    comment: Comment
    start: Proposal = field(repr=False)


def pending(proposal: Proposal, remembered: Memory) -> tuple[tuple[Comment, c.Parsed], ...]:
    """Comments that may hold commands and have no answer, oldest first.

    Only comments by people, written since the App was installed (docs/design.md, "Commands"). Where
    no package is touched, `/approve` and the like are meant for somebody else; questions are
    answered.
    """
    known = remembered.answered
    return tuple(
        (comment, parsed)
        for comment in proposal.comments
        if comment.id not in known
        and not comment.author.bot
        and comment.at >= proposal.installed_at
        and (parsed := c.parse(comment.body))
        and (proposal.ours or _asks_only(parsed))
    )


def _asks_only(parsed: c.Parsed) -> bool:
    return bool(parsed.commands) and all(map(_is_question, parsed.commands))


def _is_question(command: c.Command) -> bool:
    return isinstance(command, c.Why | c.Help)


def unbound_since(proposal: Proposal, remembered: Memory) -> datetime | None:
    """When the oldest approval was given that is bound to nothing yet; None without any."""
    said = [
        comment.at
        for comment, parsed in pending(proposal, remembered)
        if any(isinstance(command, c.Approve) for command in parsed.commands)
    ]
    said += [review.at for review in unbound(proposal, remembered)]
    return min(said, default=None)


def answer(facts: Facts, proposal: Proposal, remembered: Memory) -> Outcome:
    """Answer every comment that waits for it."""
    state = Outcome(proposal, remembered)
    for comment, parsed in pending(proposal, remembered):
        state = _answer_one(facts, state, comment, parsed)
    return state


def _answer_one(facts: Facts, state: Outcome, comment: Comment, parsed: c.Parsed) -> Outcome:
    scene = _Scene(facts, comment, state.proposal)
    turn = _Turn(state.proposal, state.memory)
    if comment.edited:
        turn = replace(turn.say(texts.EDITED), confused=True)
    else:
        for command in parsed.commands:
            turn = _obey(scene, turn, command)
        for problem in parsed.problems:
            turn = replace(turn.say(texts.not_understood(problem)), confused=True)
    return _finish(facts, state, comment, turn)


def _finish(facts: Facts, state: Outcome, comment: Comment, turn: _Turn) -> Outcome:
    """Put effects, answer and reaction in order; the answer is the durable record.

    Source: docs/design.md, "Records and events".
    """
    actions: list[Action] = [*turn.effects]
    done = Answered(comment=comment.id)
    remembered = turn.memory.adding(done)
    if turn.texts or turn.approval:
        remembered = turn.memory.telling(done, *turn.caused)
        record = memory.answer_record(
            comment.id, turn.proposal, facts.repository_id, about=turn.caused
        )
        body = texts.answer(comment.author.login, (*_approved(facts, turn), *turn.texts))
        actions.append(Reply(turn.proposal.number, body, record))
    actions.append(React(comment.id, _reaction(turn)))
    return Outcome(
        turn.proposal,
        remembered,
        (*state.actions, *actions),
        max(state.render_asked, turn.render_asked),
    )


def _approved(facts: Facts, turn: _Turn) -> tuple[str, ...]:
    """What is approved, and what is missing all the same once this approval counts."""
    if turn.approval is None:
        return ()
    p = turn.proposal
    judgement = judge(p, turn.memory, draft_branch=facts.is_draft_branch)
    merged = turn.approval.head == p.merge_commit
    blocked = summary.blocked(judgement)
    return (texts.approved(turn.approval, p, merged=merged, blocked=blocked),)


def _reaction(turn: _Turn) -> str:
    if turn.refused:
        return Reaction.REFUSED
    return Reaction.CONFUSED if turn.confused else Reaction.DONE


def _obey(scene: _Scene, turn: _Turn, command: c.Command) -> _Turn:
    stage = turn.proposal.stage
    if stage not in STAGES[type(command)]:
        return turn.refuse(texts.wrong_stage(command, stage))
    refusal = _access(scene, turn, command)
    if refusal:
        return turn.refuse(refusal)
    match command:
        case c.Propose():
            return _set_draft(turn, draft=False)
        case c.Reject(reason):
            return _reject(scene, turn, reason)
        case c.Approve():
            return _approve(scene, turn)
        case c.Unapprove():
            return _unapprove(scene, turn)
        case c.Hold(reason):
            comment = scene.comment
            who = comment.author.login
            return turn.cause(Held(person=who, at=comment.at, comment=comment.id, reason=reason))
        case c.Unhold():
            return _unhold(scene, turn)
        case c.Render():
            return _render(scene, turn)
        case c.Check():
            return _look_again(turn)
        case c.Why(about):
            return turn.say(_why(scene, turn, about))
        case c.Help():
            return turn.say(texts.help_text(_help(scene, turn)))
        case _:
            assert_never(command)


def _help(scene: _Scene, turn: _Turn) -> list[tuple[str, str, str]]:
    """The commands that mean something now: written how, doing what, and what this person lacks."""
    p, author = turn.proposal, scene.comment.author
    rows = []
    for word, entry in c.COMMANDS.items():
        made = entry.make()
        if p.stage not in STAGES[type(made)] or (not p.ours and not _is_question(made)):
            continue
        if isinstance(made, c.Render) and not scene.facts.same_repository:
            continue
        verdict = authorise(
            author,
            entry.asks,
            role=p.roles.get(author.login, Role.NONE),
            is_author=author.login in p.authors,
            policy=p.policy if isinstance(p.policy, Policy) else Policy(),
        )
        usage = f"{word} {entry.arguments}".rstrip()
        rows.append((usage, entry.help, texts.lacking(verdict, p)))
    return rows


def _access(scene: _Scene, turn: _Turn, command: c.Command) -> str:
    """Why this person may not do this here; "" when allowed."""
    proposal = turn.proposal
    policy = proposal.policy
    author = scene.comment.author
    if isinstance(command, c.Approve) and _may_approve_rules(author, proposal):
        return ""
    if isinstance(policy, BrokenPolicy):
        if isinstance(command, c.Approve) and not proposal.configures:
            return texts.approve_unjudged(policy)
        policy = Policy()
    if isinstance(command, c.Approve) and not proposal.touched:
        policy = configuring(proposal.policy)
    own = author.login in turn.proposal.authors
    if isinstance(command, c.Unhold):
        own = _holds(turn, author.login)
    verdict = authorise(
        author,
        c.COMMANDS[c.name(command)].asks,
        role=turn.proposal.roles.get(author.login, Role.NONE),
        is_author=own,
        policy=policy,
    )
    if isinstance(verdict, Refused):
        return texts.access_refused(command, verdict, turn.proposal)
    return ""


def _may_approve_rules(author: Person, proposal: Proposal) -> bool:
    """It changes rules, and this person may approve that, whoever approves the packages."""
    if not proposal.configures:
        return False
    verdict = authorise(
        author,
        access.Action.APPROVE,
        role=proposal.roles.get(author.login, Role.NONE),
        is_author=author.login in proposal.authors,
        policy=configuring(proposal.policy),
    )
    return isinstance(verdict, Allowed)


def _holds(turn: _Turn, login: str) -> bool:
    return any(hold.person == login for hold in turn.memory.holds)


def _unhold(scene: _Scene, turn: _Turn) -> _Turn:
    """Lift every hold with write access, otherwise one's own: an author lifts no maintainer's."""
    comment = scene.comment
    who = comment.author.login
    if turn.proposal.stage is Stage.PUBLISHED and not turn.memory.holds:
        return turn.say(texts.nothing_held())
    every = turn.proposal.roles.get(who, Role.NONE) >= Role.WRITE
    turn = turn.cause(Unheld(person=who, at=comment.at, comment=comment.id, every=every))
    left = turn.memory.holds
    return turn.say(texts.still_held([hold.person for hold in left])) if left else turn


def _set_draft(turn: _Turn, *, draft: bool) -> _Turn:
    if turn.proposal.draft == draft:
        return turn
    return replace(
        turn,
        proposal=replace(turn.proposal, draft=draft),
        effects=(*turn.effects, SetDraft(turn.proposal.number, draft)),
    )


def _reject(scene: _Scene, turn: _Turn, reason: str) -> _Turn:
    """Send it back; whoever does so no longer approves it, so `/propose` publishes nothing."""
    comment = scene.comment
    who = comment.author.login
    turn = turn.cause(Rejected(person=who, at=comment.at, comment=comment.id, reason=reason))
    turn = turn.say(texts.rejected_notice(notices.owners(turn.proposal), who, reason))
    if turn.approval:
        turn = turn.without(turn.approval).say(texts.APPROVED_AND_REJECTED)
    if _approves(scene, turn):
        turn = _take_back(scene, turn)
    return _set_draft(turn, draft=True)


def _approve(scene: _Scene, turn: _Turn) -> _Turn:
    """Bind the approval to what its writer could see; refuse where that is not certain."""
    p, comment = turn.proposal, scene.comment
    after_merge = _after_merge(p, comment, scene.facts.repository_id)
    early = too_early(p, turn.memory, at=comment.at, comment=comment.id)
    if early is not None:
        return turn.refuse(texts.approved_too_early(early))
    if p.unjudged:
        return turn.refuse(texts.APPROVE_UNJUDGED)
    shown = memory.shown_rules_before(p, comment.id, scene.facts.repository_id)
    if rules_moved(p, at=comment.at, shown=shown):
        return turn.refuse(texts.approved_too_early(Fallen.CONFIGURATION))
    if not shown_unpublished(p, turn.memory, at=comment.at, comment=comment.id):
        return turn.refuse(texts.approved_too_early(Fallen.UNPUBLISHED))
    if not after_merge:
        if _will_be_rendered(scene.facts, p):
            return turn.refuse(texts.approve_after_render(p.head))
        if not _saw_head(scene, turn):
            return turn.refuse(texts.head_moved(p.head))
    approval = Approval(
        person=comment.author.login,
        account=comment.author.id,
        head=p.merge_commit if after_merge and p.merge_commit else p.head,
        trees=events.content(p.trees if after_merge else p.head_trees),
        digest=p.digest,
        at=comment.at,
        comment=comment.id,
        beside=p.beside,
        base_ref=p.base_ref,
        unpublished=p.unpublished,
    )
    return turn.cause(approval)


def _after_merge(proposal: Proposal, comment: Comment, repository_id: RepositoryId) -> bool:
    """Its writer could see the merge result, and not only the head that was merged.

    Forges tell times in whole seconds. Within the second of the merge only our report on it, which
    the comment follows, proves the order; otherwise the approval is of the head.
    """
    if proposal.merged_at is None or comment.at < proposal.merged_at:
        return False
    if comment.at > proposal.merged_at:
        return True
    report = memory.report_of(proposal, repository_id)
    return report is not None and report.id < comment.id


def _will_be_rendered(facts: Facts, proposal: Proposal) -> bool:
    """A render commit is about to replace the head; an approval of this one would not last."""
    return (
        isinstance(proposal.policy, Policy)
        and proposal.policy.render is RenderMode.COMMIT
        and facts.is_draft_branch
        and bool(proposal.unrendered)
        and not facts.rendered_by_us
        and not facts.push_refused
    )


def _saw_head(scene: _Scene, turn: _Turn) -> bool:
    """The head stood when the comment was written: nobody swapped it in between (threat 6).

    Forges tell times in whole seconds: a change in an earlier second is earlier. Within one second,
    or where the forge does not tell, our own check or comment proves it, if it was there before.
    """
    p, comment = turn.proposal, scene.comment
    if p.head_at is not None and p.head_at != comment.at:
        return p.head_at < comment.at
    return judged_before(scene.facts, p, comment.at) or memory.shown_head_before(
        p, comment.id, turn.memory, scene.facts.repository_id
    )


def _unapprove(scene: _Scene, turn: _Turn) -> _Turn:
    if not _approves(scene, turn):
        return turn.refuse(texts.NOTHING_TO_UNAPPROVE)
    return _take_back(scene, turn)


def _approves(scene: _Scene, turn: _Turn) -> bool:
    """Its writer has an approval that counts, or may have while no rules can be read."""
    p, policy = turn.proposal, turn.proposal.policy
    if not isinstance(policy, Policy):
        return True
    given = standing(p, policy, turn.memory)
    return scene.comment.author.login in {a.person for a in given.counted}


def _take_back(scene: _Scene, turn: _Turn) -> _Turn:
    comment = scene.comment
    who = comment.author
    return turn.cause(
        TakenBack(person=who.login, account=who.id, at=comment.at, comment=comment.id)
    )


def _render(scene: _Scene, turn: _Turn) -> _Turn:
    if not scene.facts.same_repository:
        return turn.refuse(texts.RENDER_OF_FORK)
    refused, asked = scene.facts.push_refused, scene.comment.id
    if refused and refused.asked >= asked:
        return turn.refuse(texts.render_refused(refused))
    return _look_again(replace(turn, render_asked=asked))


def _look_again(turn: _Turn) -> _Turn:
    """Forget verdicts and the forge's refusal, so that the merge is tried again, once."""
    p = turn.proposal
    trees = tuple(sorted(t.tree for t in p.touched if t.tree))
    return replace(
        turn,
        proposal=replace(p, refusal=""),
        effects=(*turn.effects, Forget(p.number, trees)),
    )


def _why(scene: _Scene, turn: _Turn, about: str) -> str:
    judgement = judge(
        turn.proposal,
        turn.memory,
        draft_branch=scene.facts.is_draft_branch,
        push_refused=scene.facts.push_refused,
    )
    return texts.why(turn.proposal, judgement, about)
