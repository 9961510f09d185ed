"""Answers to comments with commands: stage and right checked, then the command's handler called.

A comment is answered once: by a comment of its own where there is something to say, by the memory
in the summary comment otherwise.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from lifecycle import authors, memory, rights
from lifecycle.actions import Action, React, Reaction, Reply
from lifecycle.approvals import rules_moved, unbound
from lifecycle.commands.handlers import drafts as handlers_drafts
from lifecycle.commands.handlers.approve import ApproveCommand
from lifecycle.commands.handlers.questions import DiffCommand
from lifecycle.commands.handlers.rebase import RebaseCommand
from lifecycle.commands.handlers.stage import ProposeCommand
from lifecycle.commands.parse import Malformed, ParsedComment, parse
from lifecycle.commands.permission import refusal
from lifecycle.commands.spec import CommandRequest, CommandResponse, Table
from lifecycle.commands.table import TABLE
from lifecycle.events import CommentAnswered
from lifecycle.facts.conversation import Comment
from lifecycle.facts.drafts import DraftRequest
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal
from lifecycle.gates import judge
from lifecycle.memory import Memory
from lifecycle.messages import answers as texts
from lifecycle.messages import summary

YOUNG = timedelta(hours=1)
"""Age of a comment whose writer may still wait for an answer."""


@dataclass(frozen=True, slots=True)
class AfterCommands:
    """The proposal, memory and actions after all its commands.

    Attributes:
        proposal: As it will stand once the actions were done.
        memory: What is to be remembered then.
        actions: Effects, answers and reactions, in order.
        render_asked: Number of the newest comment by which somebody with the right asked for a
            render commit; 0 for none.
        render_asker: Who did, as the commit names them.
        update_asked: The same for a merge of the base branch.
        failed: Comments of which something was refused that their writers had the right to.
        goes_on: Somebody said to go on with boxes after something failed.
    """

    proposal: Proposal
    memory: Memory
    actions: tuple[Action, ...] = ()
    failed: frozenset[int] = frozenset()
    goes_on: bool = False
    render_asked: int = 0
    render_asker: str = ""
    update_asked: int = 0


def pending(
    proposal: Proposal, remembered: Memory, table: Table = TABLE
) -> tuple[tuple[Comment, ParsedComment], ...]:
    """Return the comments with commands that have no answer yet, oldest first; then buttons.

    Only comments by people and by machines that the rules name, written since the App was installed
    (docs/design.md, "Commands"). Where
    no package is touched, `/approve` and the like are meant for somebody else; questions are
    answered. What is a command by the rules alone is none where they may be younger than it.
    """
    return tuple(
        (each.comment, said)
        for each in _heard(proposal, remembered, table)
        if not each.in_trial(proposal)
        and (said := each.plain if each.outdated(proposal) else each.parsed)
    )


def unanswered(proposal: Proposal, remembered: Memory) -> int:
    """Count the comments without an answer, with commands or not: none of them is read for it."""
    said = (*proposal.talk.said, *proposal.talk.pressed)
    return sum(comment.id not in remembered.answered for comment in said)


def oldest(proposal: Proposal, remembered: Memory) -> datetime | None:
    """Return when the oldest comment with commands was written that has no answer yet."""
    found = _heard(proposal, remembered, TABLE)
    return min((each.comment.at for each in found if not each.comment.button), default=None)


@dataclass(frozen=True, slots=True)
class _Heard:
    """A comment without an answer that is one with commands, as things stand.

    Attributes:
        comment: The comment.
        parsed: What it asks for, by the rules of now.
        plain: What it asks for whatever they say; nothing of a machine.
    """

    comment: Comment
    parsed: ParsedComment
    plain: ParsedComment

    @property
    def by_rules(self) -> bool:
        """It asks for something only as the rules give a word its meaning, or name its writer."""
        return self.parsed != self.plain

    def outdated(self, proposal: Proposal) -> bool:
        """Whether they may have been changed since, so that its writer did not mean that."""
        return self.by_rules and rules_moved(proposal, at=self.comment.at)

    def in_trial(self, proposal: Proposal) -> bool:
        """Whether it was written while the bot only observed: that never counts, wherever it is."""
        ended = proposal.rules.observed_until
        return ended is not None and not self.comment.button and self.comment.at <= ended


def _heard(proposal: Proposal, remembered: Memory, table: Table) -> Iterator[_Heard]:
    known = remembered.answered
    # Nobody asks since when the rules are what they are for the dashboard issue.
    aliases = {} if proposal.place.issue else proposal.rules.policy.aliases
    for comment in (*proposal.talk.said, *proposal.talk.pressed):
        machine = comment.author.bot
        if (
            comment.id in known
            or _told_before(remembered, comment)
            or comment.at < proposal.times.installed_at
            or (machine and (proposal.place.issue or not rights.named(proposal, comment.author)))
        ):
            continue
        parsed = _meant(proposal, parse(comment.body, table=table, aliases=aliases), table)
        plain = ParsedComment()
        if not machine:
            plain = _meant(proposal, parse(comment.body, table=table), table)
        if parsed or plain:
            yield _Heard(comment, parsed, plain)


def _told_before(remembered: Memory, comment: Comment) -> bool:
    """Whether an older version told its writer that commands in reviews are ignored, after it."""
    told = remembered.notices.get(f"review {comment.author.id}") if comment.review else None
    return told is not None and comment.at <= told[1]


def _meant(proposal: Proposal, parsed: ParsedComment, table: Table) -> ParsedComment:
    if _is_ours(proposal):
        return parsed
    return _anywhere(parsed, table, drafted=proposal.content.drafted is not None)


def by_rules_since(proposal: Proposal, remembered: Memory) -> datetime | None:
    """Return when the oldest comment was written that is a command by the rules alone."""
    found = _heard(proposal, remembered, TABLE)
    return min((each.comment.at for each in found if each.by_rules), default=None)


def _is_ours(proposal: Proposal) -> bool:
    """Whether every command there is meant for us: it changes packages, or is our own issue."""
    return proposal.content.approvable or proposal.place.issue


def _anywhere(parsed: ParsedComment, table: Table, *, drafted: bool) -> ParsedComment:
    """The part of a comment that means something where no package is touched.

    Args:
        parsed: The comment.
        table: The commands that there are.
        drafted: It is a draft of a package that changes nothing yet.
    """
    commands = tuple(
        each
        for each in parsed.commands
        if table.row(each).anywhere
        or (drafted and isinstance(each, RebaseCommand | ProposeCommand | DiffCommand))
    )
    problems = tuple(
        each
        for each in parsed.problems
        if (row := table.named(each.command if isinstance(each, Malformed) else each.suggestion))
        and (row.of_repository or (commands and row.question))
    )
    return ParsedComment(commands, problems)


def _is_clear(request: CommandRequest, parsed: ParsedComment) -> bool:
    """Whether it is no matter which proposal of the commit is meant, or a box named it."""
    rows = [request.table.row(each) for each in parsed.commands]
    return request.comment.boxed or (bool(rows) and all(row.question for row in rows))


def about_repository(proposal: Proposal, remembered: Memory, table: Table = TABLE) -> bool:
    """Tell whether somebody asks for something that is about the repository as a whole."""
    return any(
        table.row(command).about(proposal) is not None
        or (isinstance(command, RebaseCommand) and command.onto)
        for _, parsed in pending(proposal, remembered, table)
        for command in parsed.commands
    )


def drafts(
    facts: Facts, proposal: Proposal, remembered: Memory, table: Table = TABLE
) -> dict[DraftRequest, datetime]:
    """Return the drafts that somebody with the right asks for, with when he did first.

    Each once for everybody who asks for it.

    What strangers ask for is not worked out: it takes requests to other hosts, and functions.
    """
    found: dict[DraftRequest, datetime] = {}
    for comment, parsed in pending(proposal, remembered, table):
        request = CommandRequest(facts, comment, table)
        response = CommandResponse(proposal, remembered)
        for command in () if comment.edited else parsed.commands:
            wanted = _draft(proposal, command)
            if wanted and wanted.on_draft and not facts.may_push:
                continue
            if wanted and not refusal(request, response, table.row(command), command):
                found.setdefault(replace(wanted, asker=comment.author), comment.at)
    return found


def _draft(proposal: Proposal, command: object) -> DraftRequest | None:
    if isinstance(command, RebaseCommand):
        if not command.onto:
            return None
        return handlers_drafts.rebased(proposal, command.package, command.onto)
    if isinstance(command, handlers_drafts.UpgradeCommand) and (
        command.others and not command.together
    ):
        return None
    if isinstance(command, handlers_drafts.DraftCommand):
        return handlers_drafts.request_of(proposal, command)
    return None


def unbound_since(proposal: Proposal, remembered: Memory) -> datetime | None:
    """Return when the oldest approval was given that is bound to nothing yet; None without any."""
    said = [
        comment.at
        for comment, parsed in pending(proposal, remembered)
        if any(isinstance(command, ApproveCommand) for command in parsed.commands)
    ]
    said += [review.at for review in unbound(proposal, remembered)]
    return min(said, default=None)


def answer(
    facts: Facts, proposal: Proposal, remembered: Memory, table: Table = TABLE
) -> AfterCommands:
    """Answer every comment that waits for it."""
    state = AfterCommands(proposal, remembered)
    heard = [*_heard(proposal, remembered, table)]
    for each in (e for e in heard if e.in_trial(proposal)):
        state = _leave(CommandRequest(facts, each.comment, table), state, texts.WHILE_OBSERVING)
    outdated = [e for e in heard if e.outdated(proposal) and not e.in_trial(proposal)]
    for each in outdated:
        if not each.plain:
            request = CommandRequest(facts, each.comment, table)
            state = _leave(request, state, texts.BEFORE_THE_RULES)
    partly = {each.comment.id for each in outdated}
    for comment, parsed in pending(proposal, remembered, table):
        request = CommandRequest(facts, comment, table)
        state = _answer_one(request, state, parsed, partly=comment.id in partly)
    return state


def seen(facts: Facts) -> list[React]:
    """Return what tells people that their commands were seen, while packages are rendered first."""
    return [
        React(proposal.place.number, comment.id, Reaction.SEEN)
        for proposal in facts.proposals
        for comment, _ in pending(proposal, memory.read(proposal))
        if comment.id > 0
    ]


def pass_over(
    facts: Facts, proposal: Proposal, remembered: Memory, table: Table = TABLE
) -> AfterCommands:
    """Leave every comment that waits for an answer: it was written while the bot only observed.

    Or in the moment after, before the bot saw that this had ended: nobody can tell.
    """
    state = AfterCommands(proposal, remembered)
    for comment, _ in pending(proposal, remembered, table):
        state = _leave(CommandRequest(facts, comment, table), state, texts.WHILE_OBSERVING)
    return state


def _leave(request: CommandRequest, state: AfterCommands, why: str) -> AfterCommands:
    """Leave a comment that was no command when it was written, for good.

    Its writer is told only where it is so young that an answer may be waited for.
    """
    comment, now = request.comment, state.proposal.times.looked_at
    response = CommandResponse(state.proposal, state.memory)
    if comment.author.bot or now is None or now - comment.at > YOUNG:
        return replace(state, memory=state.memory.adding(CommentAnswered(comment=comment.id)))
    response = replace(response.say(why), confused=True)
    return _finish(request, state, response)


def _answer_one(
    request: CommandRequest, state: AfterCommands, parsed: ParsedComment, *, partly: bool
) -> AfterCommands:
    facts, response = request.facts, CommandResponse(state.proposal, state.memory)
    if request.comment.edited:
        response = replace(response.say(texts.EDITED), confused=True)
    elif request.comment.button and len(facts.open) > 1 and not _is_clear(request, parsed):
        response = response.refuse(texts.button_of_several(p.place.number for p in facts.open))
    else:
        for command in parsed.commands:
            response = _obey(request, response, command)
        for problem in parsed.problems:
            row = request.table.named(problem.command if isinstance(problem, Malformed) else "")
            said = texts.not_understood(problem.text(), row.usage if row else "")
            response = replace(response.say(said), confused=True)
        if partly:
            response = replace(response.say(texts.PARTLY_BEFORE_THE_RULES), confused=True)
    if request.comment.review and not response.texts and response.approval is None:
        words = (request.table.row(command).word for command in parsed.commands)
        response = response.say(texts.done_in_review(dict.fromkeys(words)))
    if response.waits:
        # Asked for and not yet done is found again, the other way round is not.
        proposal = response.proposal if response.proposal.place.draft else state.proposal
        remembered = state.memory.adding(*response.restraints)
        actions = (*state.actions, *response.at_once)
        return replace(state, proposal=proposal, memory=remembered, actions=actions)
    return _finish(request, state, response)


def _obey(request: CommandRequest, response: CommandResponse, command: object) -> CommandResponse:
    row = request.table.row(command)
    refused = refusal(request, response, row, command)
    if refused:
        return replace(response.refuse(refused), denied=True)
    return row.handler(request, response, command)


def _finish(
    request: CommandRequest, state: AfterCommands, response: CommandResponse
) -> AfterCommands:
    """Put effects, answer and reaction in order; the answer is the durable record.

    Source: docs/design.md, "Records and events".
    """
    facts, comment = request.facts, request.comment
    actions: list[Action] = [*response.effects]
    done = CommentAnswered(comment=comment.id)
    remembered = response.memory.adding(done)
    if response.texts or response.approval:
        remembered = response.memory.telling(done, *response.caused)
        record = memory.answer_record(
            comment.id, response.proposal, facts.repository_id, about=response.caused
        )
        said = (*_approved(facts, response), *response.texts)
        body = texts.answer(comment.author.login, said)
        actions.append(Reply(response.proposal.place.number, body, record))
    if comment.id > 0:  # nobody can react to a review or to a button
        number = response.proposal.place.number
        actions.append(React(number, comment.id, _reaction(response)))
    asks = response.render_asked >= state.render_asked and response.render_asked > 0
    failed = {comment.id} if response.refused and not response.denied else set()
    return AfterCommands(
        response.proposal,
        remembered,
        (*state.actions, *actions),
        failed=state.failed | failed,
        goes_on=state.goes_on or response.goes_on,
        render_asked=response.render_asked if asks else state.render_asked,
        render_asker=authors.spelled(comment.author) if asks else state.render_asker,
        update_asked=max(state.update_asked, response.update_asked),
    )


def _approved(facts: Facts, response: CommandResponse) -> tuple[str, ...]:
    """What is approved, and what is missing all the same once this approval counts."""
    approval, p = response.approval, response.proposal
    if approval is None:
        return ()
    judgement = judge(facts, p, response.memory)
    merged = approval.head == p.place.merge_commit
    blocked = summary.blocked(judgement)
    return (texts.approved(approval, p, merged=merged, blocked=blocked),)


def _reaction(response: CommandResponse) -> Reaction:
    if response.refused:
        return Reaction.REFUSED
    return Reaction.CONFUSED if response.confused else Reaction.DONE
