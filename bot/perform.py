"""Carrying out what was decided: one match, with no `if` about the domain.

Longer than 400 lines: one match, with what stands beside each case.

Each action is conditional on what it names, so it may be repeated and may race with another
replica. When one fails, the rest are dropped and the key is looked at afresh; nothing is resumed
halfway.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from itertools import groupby
from typing import assert_never

import structlog

from bot import keys, merging, metrics, tracing
from bot.clock import SYSTEM, Clock, Offload, in_thread
from bot.forges.budget import more_urgent
from bot.forges.port import (
    AnnotatedTag,
    CheckFullError,
    Forge,
    ForgeBusyError,
    ForgeRefusedError,
    TagOutcome,
    UnsignedCommit,
)
from bot.freezes import Freezes
from bot.git import write
from bot.git.port import GitIdentity, GitRefusedError, History, Mirror, Pushed, RefUpdate
from bot.look.assemble import Looked
from bot.outcomes import DONE, ActionOutcome, ActionResult, Report
from bot.overtaken import holds_its_key
from bot.render.port import Renderer
from bot.signing import tags as signed
from bot.signing.ssh import SigningKey
from bot.store.hints import Hint
from bot.store.port import Store
from bot.store.values import CLAIM, TAGS, MergeRefusal, Revision, StoreError
from bot.tasks import end
from lifecycle import memory, names, records, replay
from lifecycle.actions import (
    Action,
    AskPublish,
    CloseProposal,
    DeleteBranch,
    DeleteTag,
    Dequeue,
    Forget,
    Keep,
    KeepFreezes,
    MakeRelease,
    MarkRelease,
    Merge,
    OpenProposal,
    PushDraft,
    PushRender,
    PushUpdate,
    React,
    RemoveDouble,
    Reply,
    Restore,
    Say,
    SetCheck,
    SetDraft,
    SetLabels,
    SetTitle,
    Suggest,
    Tag,
)
from lifecycle.events import Overridden
from lifecycle.facts.commits import PushRefusal
from lifecycle.facts.conversation import Written
from lifecycle.identity import RepositoryId
from lifecycle.kinds import ActionOrder
from lifecycle.names import Sha

log = structlog.get_logger()


OVER, FROZEN = "the time for it is over", "frozen meanwhile"
LOST = "another look has its key"
FEW_TAGS = 3
"""Most tags that are made through the API: each takes two calls there, and a push of any number two
and the names of all refs. Of more than three in one push GitHub tells nobody."""


class Performer:
    """Carries out actions on one repository.

    Args:
        repository_id: Which one.
        forge: Its forge.
        mirror: Its mirror.
        renderer: What it keeps is forgotten when somebody asks to look again.
        store: The database.
        key: For hidden records.
        who: Whom commits and tags name.
        instance: Name of this bot in its markers.
        freezes: What is frozen in the repository.
        clock: When render commits are made.
        offload: Where git is written and pushed.
        hold: Seconds after which a claim stands anew, while the request that it is for goes on.
        signs: Signs tags and their provenance; None where they are not signed.
    """

    def __init__(
        self,
        repository_id: RepositoryId,
        forge: Forge,
        mirror: Mirror,
        renderer: Renderer,
        store: Store,
        key: bytes,
        who: GitIdentity,
        instance: str,
        freezes: Freezes,
        *,
        clock: Clock = SYSTEM,
        offload: Offload = in_thread,
        hold: float = CLAIM / 3,
        signs: SigningKey | None = None,
    ) -> None:
        self._repository_id = repository_id
        self._forge = forge
        self._mirror = mirror
        self._renderer = renderer
        self._store = store
        self._key = key
        self._who = who
        self._instance = instance
        self._freezes = freezes
        self._clock = clock
        self._offload = offload
        self._hold_seconds = hold
        self._signs = signs

    async def perform(
        self, actions: Sequence[Action], looked: Looked, report: Report, hint: Hint
    ) -> ActionOutcome:
        """Carry out actions in order; those that only report go out at the same time.

        Args:
            actions: What was decided.
            looked: What that was decided on.
            report: Is told what came of each.
            hint: What woke the key, for whom it wakes in turn.

        Raises:
            ForgeBusyError, GitBusyError: Trying again may help.
            ForgeRefusedError, GitRefusedError: An operator must act.
        """
        for order, group in groupby(actions, key=lambda action: action.KIND.order):
            batch = list(group)
            if order is ActionOrder.TOGETHER:
                with metrics.STEP_SECONDS.labels("report").time():
                    outcome = await self._report(batch, looked, report, hint)
            elif order is ActionOrder.ONE_WRITE:
                outcome = await self._tags([a for a in batch if isinstance(a, Tag)], report)
            else:
                outcome = await self._steps(batch, looked, report, hint)
            if outcome is not ActionOutcome.DONE:
                return outcome
        return ActionOutcome.DONE

    async def _report(
        self, actions: Sequence[Action], looked: Looked, report: Report, hint: Hint
    ) -> ActionOutcome:
        """All at once; where checks are statuses, those that pass after those that do not.

        A pipeline that has passing ones alone passes: GitLab would merge what waits for that.
        """
        checks = [each for each in actions if isinstance(each, SetCheck)]
        passing = [each for each in checks if each.passes]
        if len(passing) in {0, len(checks)} or self._forge.checks_hold_text:
            return await self._together(actions, looked, report, hint)
        first = [each for each in actions if each not in passing]
        outcome = await self._together(first, looked, report, hint)
        if outcome is not ActionOutcome.DONE:
            return outcome
        return await self._together(passing, looked, report, hint)

    async def _together(
        self, actions: Sequence[Action], looked: Looked, report: Report, hint: Hint
    ) -> ActionOutcome:
        """All at once; where one breaks the others are waited for, so that it is known how."""
        steps = (self._steps([action], looked, report, hint) for action in actions)
        came = await asyncio.gather(*steps, return_exceptions=True)
        outcome = ActionOutcome.DONE
        for each in came:
            if isinstance(each, BaseException):
                raise each
            outcome = each if outcome is ActionOutcome.DONE else outcome
        return outcome

    async def _steps(
        self, actions: Sequence[Action], looked: Looked, report: Report, hint: Hint
    ) -> ActionOutcome:
        """One after the other: what follows on one that was not done would build on sand."""
        opened = {each.head_ref for each in actions if isinstance(each, OpenProposal)}
        pushed: set[str] = set()
        try:
            for action in actions:
                if not await holds_its_key():
                    return ActionOutcome.WAIT
                with report.breaking([action]):
                    came = await self._one(action, looked, report, hint)
                report.note(action, came)
                if came.outcome is not ActionOutcome.DONE:
                    return came.outcome
                if isinstance(action, PushDraft | PushUpdate):
                    if action.head_ref in opened:  # it is woken once it is opened, or is not
                        pushed.add(action.head_ref)
                    else:
                        await self._wake_other(action.head_ref, looked)
                elif isinstance(action, OpenProposal):
                    pushed.discard(action.head_ref)
        finally:
            for head_ref in sorted(pushed):
                await self._wake_other(head_ref, looked)
        return ActionOutcome.DONE

    async def _tags(self, tags: Sequence[Tag], report: Report) -> ActionOutcome:
        with report.breaking(tags), tracing.span("perform", action="Tag", tags=len(tags)):
            held = await holds_its_key()
            came = await self._tag(tags, report) if held else ActionResult(ActionOutcome.WAIT, LOST)
        report.note_rest(tags, came)
        return came.outcome

    async def _one(
        self, action: Action, looked: Looked, report: Report, hint: Hint
    ) -> ActionResult:
        if action.writes.makes_after is None:
            return await self._act(action, looked, report, hint)
        place = action.writes.claim
        # What somebody claimed since the facts were read is missing in them, however old by now.
        seconds = CLAIM + self._clock.monotonic() - looked.read
        if not await self._store.claims.take(self._repository_id, place, seconds):
            return ActionResult(ActionOutcome.WAIT, "another look has just done it, or is about to")
        holding = asyncio.create_task(self._hold(place))
        try:
            return await self._act(action, looked, report, hint)
        except (ForgeRefusedError, ForgeBusyError) as error:
            if isinstance(error, ForgeRefusedError) or error.after:
                await self._store.claims.give_back(self._repository_id, place)
            raise  # of an answer that was lost nobody knows whether it was done
        finally:
            await end([holding])

    async def _hold(self, place: str) -> None:
        """Keep a claim for as long as the forge takes, or lets us wait, for what it is for.

        In real seconds, as requests take them: a clock that is moved on by who sleeps would run.
        """
        while True:
            await asyncio.sleep(self._hold_seconds)
            with suppress(StoreError):  # without a database it ends, as that of a dead process
                await self._store.claims.hold(self._repository_id, place)

    async def _act(
        self, action: Action, looked: Looked, report: Report, hint: Hint
    ) -> ActionResult:
        with tracing.span("perform", action=action.KIND.name), more_urgent(action.KIND.urgency):
            return await self._carry_out(action, looked, report, hint)

    async def _carry_out(
        self, action: Action, looked: Looked, report: Report, hint: Hint
    ) -> ActionResult:
        match action:
            case (
                SetCheck()
                | React()
                | Suggest()
                | SetDraft()
                | CloseProposal()
                | SetTitle()
                | SetLabels()
                | OpenProposal()
                | MakeRelease()
                | MarkRelease()
            ):
                return await self._ask_forge(action, looked)
            case Say() | Reply() | Restore():
                await self._write(action)
            case RemoveDouble(number, comment):
                # First the database: what it knows of and the forge does not show, people deleted.
                await self._store.proposals.keep(self._repository_id, number, gone=(comment,))
                await self._forge.delete_comment(number, comment)
            case Keep() | KeepFreezes():
                await self._keep(action)
            case PushRender() | PushUpdate():
                return await self._push_commit(action)
            case PushDraft():
                return await self._push_draft(action)
            case Forget(number, trees):
                self._renderer.forget(trees)
                await self._store.proposals.forget_refusal(self._repository_id, number)
                await self._store.proposals.forget_push_refusals(
                    self._repository_id, names.branch_ref(looked.facts.head_ref)
                )
            case AskPublish():
                await self._store.revisions.ask_publish(
                    self._repository_id, action.base_ref, action.number
                )
                base = keys.BaseKey(self._repository_id, action.base_ref)
                await self._store.queue.wake(base, hint)
            case Merge() | Dequeue():
                return await self._merge(action, looked)
            case Tag():
                return await self._tag([action], report)
            case DeleteTag():
                return await self._delete_tag(action)
            case DeleteBranch(head_ref, head):
                return await self._push_branch(head_ref, head, "")
            case _:
                assert_never(action)
        return DONE

    async def _merge(self, action: Merge | Dequeue, looked: Looked) -> ActionResult:
        known, me = self._store.proposals, self._repository_id
        if isinstance(action, Dequeue):
            await self._forge.dequeue(action.number)
            await known.forget_refusal(me, action.number)
            return DONE
        if late := await self._too_late(action):
            return ActionResult(ActionOutcome.LOOK_AGAIN, late)
        said = looked.said.get(action.number, "")
        return await merging.merge(self._forge, known, me, action, said)

    async def _ask_forge(
        self,
        action: SetCheck
        | React
        | Suggest
        | SetDraft
        | CloseProposal
        | SetTitle
        | SetLabels
        | OpenProposal
        | MakeRelease
        | MarkRelease,
        looked: Looked,
    ) -> ActionResult:
        match action:
            case SetCheck():
                return await self._check(action)
            case React(number, comment, reaction):
                await self._forge.react(number, comment, reaction)
            case Suggest():
                await self._forge.suggest(action)
            case SetDraft(number, draft):
                await self._forge.set_draft(number, draft=draft)
            case CloseProposal(number):
                await self._forge.close_proposal(number)
            case SetTitle(number, title):
                await self._forge.set_title(number, title)
            case SetLabels(number, add, remove):
                return await self._label(number, add, remove)
            case OpenProposal():
                number = await self._forge.open_proposal(action)
                await self._wake_other(action.head_ref, looked, number)
            case MakeRelease(tag=tag, title=title, body=body):
                await self._forge.make_release(tag, title, body)
            case MarkRelease(tag=tag, mark=mark, note=note, off=off):
                await self._forge.mark_release(tag, mark, note, off=off)
        return DONE

    async def _wake_other(self, head_ref: str, looked: Looked, *numbers: int) -> None:
        """Wake a branch that the look is not about: what we do ourselves wakes nothing."""
        if head_ref != looked.facts.head_ref:
            me = self._repository_id
            here = keys.ProposalKey(me, me.number, head_ref)
            await self._store.queue.wake(here, Hint(numbers=frozenset(numbers)))

    async def _check(self, check: SetCheck) -> ActionResult:
        """Show it; a commit that others have filled keeps nothing back: our verdict counts."""
        try:
            await self._forge.set_check(check)
        except CheckFullError as error:
            log.warning("a check cannot be shown", check=check.name, reason=error.reason)
            # The next look knows, says so in the summary, and does not try it again.
            await self._store.proposals.refuse_push(
                self._repository_id, check.name, check.head, PushRefusal(error.reason)
            )
            return ActionResult(DONE.outcome, error.reason)
        return DONE

    async def _label(self, number: int, add: Sequence[str], remove: Sequence[str]) -> ActionResult:
        """Labels only show what is so: a forge that refuses them keeps nothing back."""
        try:
            await self._forge.set_labels(number, add=add, remove=remove)
        except ForgeRefusedError as error:
            log.warning("labels refused", number=number, reason=error.reason)
            return ActionResult(ActionOutcome.DONE, error.reason)
        return DONE

    async def _write(self, action: Say | Reply | Restore) -> None:
        """Write, then note the number of what is new: a crash in between leaves that to a look."""
        text = self._signed(action.body, action.record)
        match action:
            case Restore(number, comment):
                await self._forge.edit_comment(number, comment, text)
            case Reply(number, body, record):
                made = {await self._forge.comment(number, text): Written(body, record)}
                for event in memory.events_of(record):
                    if isinstance(event, Overridden):
                        metrics.OVERRIDES.labels(event.gate.partition(" ")[0]).inc()
                await self._store.proposals.keep(self._repository_id, number, written=made)
            case Say(number, None):
                made = {await self._forge.comment(number, self._summary(text)): Written()}
                await self._store.proposals.keep(self._repository_id, number, written=made)
            case Say(number, int(comment)):
                await self._forge.edit_comment(number, comment, self._summary(text))

    def _signed(self, body: str, record: records.Record) -> str:
        return f"{body}\n\n{records.sign(record, self._key)}"

    def _summary(self, text: str) -> str:
        return f"{records.summary_marker(self._instance)}\n{text}"

    async def _push_commit(self, action: PushRender | PushUpdate) -> ActionResult:
        if isinstance(action, PushRender):
            sha = await self._offload(self._write_render, action)
        else:
            sha = await self._offload(self._write_update, action)
        return await self._push_branch(action.head_ref, action.head, sha, action.asked)

    async def _push_draft(self, action: PushDraft) -> ActionResult:
        """Make the branch; what a rule forbids is remembered for the base that it was made on."""
        sha = await self._offload(self._write_draft, action)
        ref = names.branch_ref(action.head_ref)
        try:
            return await self._push([RefUpdate(ref, action.tip, sha)])
        except GitRefusedError as error:
            refusal = PushRefusal(str(error), action.asked)
        if self._forge.asks_to_sign(refusal.reason):
            try:
                if action.tip != action.base:  # the forge commits onto branches that are there
                    await self._push([RefUpdate(ref, action.tip, action.base)])
                return await self._commit_signed(action.head_ref, action.base, sha)
            except (ForgeRefusedError, GitRefusedError) as error:
                refusal = PushRefusal(str(error), action.asked)
        log.warning("push refused", ref=ref, reason=refusal.reason)
        await self._store.proposals.refuse_push(self._repository_id, ref, action.base, refusal)
        return ActionResult(ActionOutcome.LOOK_AGAIN, refusal.reason)

    def _write_draft(self, action: PushDraft) -> Sha:
        with self._mirror.open() as git:
            return git.write_commit(
                action.base,
                action.files,
                self._who,
                self._clock.now(),
                lambda tree: records.mark_message(
                    action.message,
                    self._key,
                    action.base,
                    tree,
                    self._repository_id,
                    action.asker,
                ),
            )

    async def _push_branch(
        self, head_ref: str, head: Sha, wanted: str, asked: int = 0
    ) -> ActionResult:
        """Move or delete a draft branch; what a rule forbids is remembered, and shown."""
        ref = names.branch_ref(head_ref)
        try:
            return await self._push([RefUpdate(ref, head, wanted)])
        except GitRefusedError as error:
            reason = str(error)
        if wanted and self._forge.asks_to_sign(reason):
            try:
                return await self._commit_signed(head_ref, head, Sha(wanted))
            except ForgeRefusedError as error:
                reason = error.reason
        log.warning("push refused", ref=ref, reason=reason)
        refusal = PushRefusal(reason, asked)
        await self._store.proposals.refuse_push(self._repository_id, ref, head, refusal)
        return ActionResult(ActionOutcome.LOOK_AGAIN, refusal.reason)

    async def _commit_signed(self, head_ref: str, head: Sha, ours: Sha) -> ActionResult:
        """Let the forge make a commit that git has written here: what it makes, it signs."""

        def read() -> UnsignedCommit:
            with self._mirror.open() as git:
                commit, base = git.commit(ours), git.commit(head).tree
                return UnsignedCommit(
                    head_ref=head_ref,
                    parents=commit.parents,
                    base_tree=base,
                    tree=commit.tree,
                    files=git.changed(base, commit.tree),
                    message=commit.message,
                )

        made = await self._forge.commit(await self._offload(read))
        return DONE if made else ActionResult(ActionOutcome.LOOK_AGAIN, Pushed.MOVED)

    def _write_render(self, action: PushRender) -> Sha:
        with self._mirror.open() as git:
            return git.write_commit(
                action.head,
                action.changes,
                self._who,
                self._clock.now(),
                lambda tree: records.mark_message(
                    action.message,
                    self._key,
                    action.head,
                    tree,
                    self._repository_id,
                    action.asker,
                ),
            )

    def _write_update(self, action: PushUpdate) -> Sha:
        with self._mirror.open() as git:
            return git.write_merge(
                action.head,
                action.base,
                action.files,
                self._who,
                self._clock.now(),
                lambda tree: records.mark_message(
                    action.message,
                    self._key,
                    f"{action.head} {action.base}",
                    tree,
                    self._repository_id,
                ),
            )

    async def _tag(self, tags: Sequence[Tag], report: Report) -> ActionResult:
        """Make the tags of one proposal, each only if it does not exist.

        A few are made through the API, where nobody has to be told of all the others first; many
        are pushed, all or none. In both cases they are the same objects (ADR 0018).
        """
        if late := await self._too_late(*tags):
            return ActionResult(ActionOutcome.LOOK_AGAIN, late)
        made = await self._offload(self._write_tags, tags)
        left = list(zip(made, tags, strict=True))
        if len(left) <= FEW_TAGS:
            with metrics.STEP_SECONDS.labels("tag").time():
                while left:
                    tagged = await self._forge.make_tag(left[0][0])
                    if tagged.outcome is not TagOutcome.MADE:
                        break
                    await self._was_made([left[0][0]], tags)
                    report.note(left.pop(0)[1], DONE)
            if not left:
                return DONE
            if tagged.outcome is TagOutcome.REFUSED:
                return await self._tags_refused(tags, tagged.reason)
            if tagged.outcome is TagOutcome.TAKEN:
                return ActionResult(ActionOutcome.LOOK_AGAIN, tagged.outcome)
        try:
            came = await self._push([_update(tag) for tag, _ in left])
        except GitRefusedError as error:
            return await self._tags_refused(tags, str(error))
        if came.outcome is ActionOutcome.DONE:
            await self._keep_revisions([tag for tag, _ in left], tags)
        return came

    async def _delete_tag(self, action: DeleteTag) -> ActionResult:
        """Delete the tag of a withdrawn revision; one that names something else stays."""
        if late := await self._too_late(action):
            return ActionResult(ActionOutcome.LOOK_AGAIN, late)
        if action.mark:
            try:
                await self._forge.mark_release(names.tag_name(action.ref), action.mark, action.note)
            except ForgeRefusedError as error:  # it is the tag that has to go
                log.warning("a release cannot be marked", tag=action.ref, reason=str(error))
        try:
            return await self._push([RefUpdate(action.ref, action.object, "")])
        except GitRefusedError as error:
            return await self._tags_refused([action], str(error))

    async def _too_late(self, *publishing: Merge | Tag | DeleteTag) -> str:
        """Why gates of time may say otherwise by now than when it was decided; "" where none may.

        Somebody may have frozen the repository between the look and this (trap 29), and the
        database may have been restored to a day before that: the dashboard is asked as well.
        """
        now = self._clock.now()
        if any(each.until is not None and now >= each.until for each in publishing):
            return OVER
        try:
            known = await self._freezes.recall()
        except ForgeRefusedError as error:
            return str(error)
        frozen = {event.comment for event in replay.freezes(known)}
        return FROZEN if any(frozen - each.freezes for each in publishing) else ""

    async def _keep(self, action: Keep | KeepFreezes) -> None:
        """Tell the database; of what was frozen and thawed then everything in the repository."""
        me = self._repository_id
        if isinstance(action, Keep):
            await self._store.proposals.keep(
                me, action.number, action.log, action.written, action.gone
            )
            return
        await self._freezes.keep(action.log)

    async def _tags_refused(self, tags: Sequence[Tag | DeleteTag], reason: str) -> ActionResult:
        """It is shown where people wait for the tag, and tried again after `/check`."""
        for tag in tags:
            await self._store.proposals.refuse(
                self._repository_id, tag.number, tag.target, TAGS, MergeRefusal(reason)
            )
        return ActionResult(ActionOutcome.LOOK_AGAIN, reason)

    async def _was_made(self, made: Sequence[AnnotatedTag], tags: Sequence[Tag]) -> None:
        await self._offload(self._mirror.take_over, [_update(tag) for tag in made])
        await self._keep_revisions(made, tags)

    async def _keep_revisions(self, made: Sequence[AnnotatedTag], tags: Sequence[Tag]) -> None:
        objects = {names.tag_ref(tag.name): tag.object for tag in made}
        for tag in tags:
            if tag.ref in objects:
                package, number = names.parse_tag(tag.ref) or ("", 0)
                revision = Revision(tag.target, objects[tag.ref], tag.number)
                await self._store.revisions.keep_revision(
                    self._repository_id, package, number, revision
                )

    def _write_tags(self, tags: Sequence[Tag]) -> list[AnnotatedTag]:
        """Write the tags' objects; of one merge result they are always the same."""
        with self._mirror.open() as git:
            return [self._write_tag(git, tag) for tag in tags]

    def _write_tag(self, git: History, tag: Tag) -> AnnotatedTag:
        name, at, text = names.tag_name(tag.ref), tag.at, self._marked(tag)
        if self._signs is not None:
            text = signed.with_provenance(text, tag.provenance, self._signs, name)
            text += self._signs.sign(write.tag(name, tag.target, self._who, at, text))
        return AnnotatedTag(
            name=name,
            target=tag.target,
            message=text,
            tagger=(self._who.name, self._who.email),
            at=at,
            object=git.write_tag(name, tag.target, self._who, at, text),
        )

    def _marked(self, tag: Tag) -> str:
        """The tag's message with the mark that makes it ours."""
        package, revision = names.parse_tag(tag.ref) or ("", 0)
        return records.mark_tag(
            tag.message,
            self._key,
            repository_id=self._repository_id,
            package=package,
            revision=revision,
            commit=tag.target,
            tree=tag.tree,
        )

    async def _push(self, updates: Sequence[RefUpdate]) -> ActionResult:
        credentials = await self._forge.git_credentials()
        if not await holds_its_key():  # writing a commit takes long, and so may all before it
            return ActionResult(ActionOutcome.WAIT, LOST)
        with metrics.STEP_SECONDS.labels("push").time():
            pushed = await self._offload(self._mirror.push, credentials, updates)
        return DONE if pushed is Pushed.DONE else ActionResult(ActionOutcome.LOOK_AGAIN, pushed)


def _update(tag: AnnotatedTag) -> RefUpdate:
    return RefUpdate(names.tag_ref(tag.name), "", tag.object)
