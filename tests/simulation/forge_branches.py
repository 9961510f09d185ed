"""People, branches and tags of the simulated forge as the bot has them."""

from collections.abc import Mapping
from datetime import datetime

from bot.forges import releases as titles
from bot.forges.github import people
from bot.forges.github.branches import MOST_MOVES, tag_failure
from bot.forges.github.http import GitHubAnswer
from bot.forges.github.merging import merge_failure
from bot.forges.port import (
    AnnotatedTag,
    ForgeMissingError,
    MergeQueue,
    MergeResult,
    MergeWay,
    PinnedFile,
    QueueEntry,
    Tagged,
    TagOutcome,
    UnsignedCommit,
)
from bot.sandbox.errors import RefusedError, not_found, plain
from bot.sandbox.git import history, trees
from bot.sandbox.git.objects import Ident, TagObject
from bot.sandbox.git.protocol import NewCommit
from bot.sandbox.records.accounts import Role as Level
from bot.sandbox.records.repository import Release
from bot.sandbox.rules import refs, workflows
from bot.sandbox.rules.accounts import Caller
from bot.sayable import sayable
from lifecycle.access import Role
from lifecycle.merges import Move
from lifecycle.names import Sha
from lifecycle.policy import MergeMethod
from tests.simulation import forge_values as values
from tests.simulation.forge_asking import GRAPHQL, PULL, REPO, Asking

_PAGE = 100


class Branches(Asking):
    """Implements what `bot.forges.port.Forge` has about them."""

    async def role(self, login: str, account: int) -> Role:
        def read(_: Caller) -> Role:
            user = self._state.user(login)
            roles: Mapping[int, Level] = self._at(("roles", self._number), {})
            level = roles.get(user.id)
            if level is None:
                level = self._state.role(self._repo, user)
            return people.role_of(values.permission(level, user), account)

        operation = f"GET {REPO}/collaborators/{{username}}/permission"
        try:
            return await self._get("role", operation, read, login)
        except ForgeMissingError:
            return Role.NONE

    async def team(self, slug: str) -> frozenset[str]:
        def read(_: Caller) -> frozenset[str]:
            owner = self._repo.owner.login
            team = self._state.organizations.team(owner, slug)
            people = self._state.organizations.find(owner).people(team)
            return frozenset(user.login.lower() for user in people)

        return await self._get("team", "GET /orgs/{org}/teams/{team_slug}/members", read, slug)

    async def pushes(self, head_ref: str, repository_id: int) -> tuple[Move, ...]:
        def read(_: Caller) -> tuple[Move, ...]:
            return self._moves(head_ref, repository_id)[:_PAGE]

        operation = f"GET {REPO}/activity"
        return await self._get("pushes", operation, read, head_ref, number=repository_id)

    async def base_moves(self, base_ref: str, since: datetime) -> tuple[Move, ...]:
        def read(_: Caller) -> tuple[Move, ...]:
            return self._moves(base_ref, self._number)[:MOST_MOVES]

        found: list[Move] = []
        for each in await self._get("base_moves", f"GET {REPO}/activity", read, base_ref):
            found.append(each)
            if each.at < since:
                break
        return tuple(found)

    async def has_release(self, tag: str) -> bool:
        def read(_: Caller) -> bool:
            return any(each.tag == tag and not each.draft for each in self._repo.releases.values())

        return await self._get("has_release", f"GET {REPO}/releases/tags/{{tag}}", read, tag)

    async def make_release(self, tag: str, title: str, body: str) -> None:
        def write(caller: Caller) -> None:
            if any(each.tag == tag for each in self._repo.releases.values()):
                return
            now, number = self._state.now(), self._state.next_id()
            made = Release(
                id=number,
                tag=tag,
                target=self._repo.default_branch,
                name=title,
                body=sayable(body),
                draft=False,
                prerelease=False,
                author=refs.acting(caller),
                created_at=now,
                published_at=now,
            )
            self._repo.releases[made.id] = made

        await self._put("make_release", f"POST {REPO}/releases", write, tag)

    async def is_marked(self, tag: str, mark: str) -> bool | None:
        def read(_: Caller) -> bool | None:
            found = self._release(tag)
            return None if found is None else titles.is_titled(found.name, mark)

        return await self._get("is_marked", f"GET {REPO}/releases/tags/{{tag}}", read, tag)

    async def mark_release(self, tag: str, mark: str, note: str, *, off: bool = False) -> None:
        def write(_: Caller) -> None:
            found = self._release(tag)
            if found is not None and titles.is_titled(found.name, mark) is off:
                told = (found.name or tag, found.body, mark, sayable(note))
                found.name, found.body = titles.retold(*told, off=off)

        await self._put("mark_release", f"PATCH {REPO}/releases/{{release_id}}", write, tag)

    def _release(self, tag: str) -> Release | None:
        listed = self._repo.releases.values()
        return next((each for each in listed if each.tag == tag and not each.draft), None)

    async def has_tag(self, name: str) -> bool:
        def read(_: Caller) -> bool:
            shown: Mapping[str, str] = self._at(("refs", self._number), {})
            if f"refs/tags/{name}" not in shown:
                raise not_found()
            return True

        try:
            return await self._get("has_tag", f"GET {REPO}/git/ref/{{ref}}", read, name)
        except ForgeMissingError:
            return False

    async def pinned_file(self, repository: str, commit: str, path: str, most: int) -> PinnedFile:
        def read(_: Caller) -> PinnedFile:
            repo = self._state.repository(*repository.split("/"))
            git, tip = self._state.git(repo), repo.branch(repo.default_branch)
            if git.kind(commit) != "commit" or tip is None:
                raise not_found()
            if history.merge_base(git, tip, commit) != commit:
                return PinnedFile(repo.default_branch, None)
            entry = trees.entry_at(git, commit, path)
            if entry is None:
                raise not_found()
            data = git.blob(entry.sha) if git.kind(entry.sha) == "blob" else b""
            if len(data) > most or git.kind(entry.sha) != "blob":
                raise RefusedError(403, "it is too large, or no file")
            return PinnedFile(repo.default_branch, data)

        return await self._get("pinned_file", f"GET {REPO}/contents/{{path}}", read, path)

    async def make_tag(self, tag: AnnotatedTag) -> Tagged:
        def write(_: Caller) -> str:
            git = self._state.git(self._repo)
            if git.kind(tag.target) != "commit":
                there = git.kind(tag.target) is not None
                raise plain("type is wrong" if there else "Object does not exist")
            who = Ident(*tag.tagger, tag.at)
            return git.write_tag(
                TagObject(
                    name=tag.name,
                    target=tag.target,
                    kind="commit",
                    tagger=who,
                    message=tag.message,
                )
            )

        def make(caller: Caller) -> None:
            refs.create(self._state, self._repo, f"refs/tags/{tag.name}", tag.object, caller)

        made = await self._put("make_tag", f"POST {REPO}/git/tags", write, tag.name)
        if made != tag.object:
            return Tagged(TagOutcome.OTHERWISE, f"the object is {made}")
        operation = f"POST {REPO}/git/refs"
        answer = await self._answer("make_tag", operation, make, tag.name, step=1)
        if isinstance(answer, GitHubAnswer):
            return tag_failure(answer)
        return Tagged(TagOutcome.MADE)

    def asks_to_sign(self, reason: str) -> bool:
        return "must have verified signatures" in reason

    async def commit(self, wanted: UnsignedCommit) -> Sha | None:
        def make(caller: Caller) -> str | None:
            git, ref = self._state.git(self._repo), f"refs/heads/{wanted.head_ref}"
            tree: str | None = wanted.base_tree
            for path, entry in wanted.files.items():
                put = (entry.mode, git.write_blob(entry.data)) if entry else None
                tree = trees.put(git, tree, path, put)
            assert tree == wanted.tree
            user = refs.acting(caller)
            made = git.write_commit(
                NewCommit(
                    tree=tree,
                    parents=tuple(wanted.parents),
                    message=wanted.message,
                    author=self._state.person(user),
                    committer=self._state.web_flow(),
                )
            )
            if self._repo.refs.get(ref) != wanted.parents[0]:
                return None
            refs.move(self._state, self._repo, ref, made, caller, force=False)
            return made

        operation = f"PATCH {REPO}/git/refs/{{ref}}"
        found = await self._put("commit", operation, make, wanted.head_ref)
        return Sha(found) if found else None

    async def merge_way(self, number: int, base_ref: str) -> MergeWay:
        def read(caller: Caller) -> MergeWay:
            rules, user = self._state.rules, refs.acting(caller)
            if self._pull(number).base_ref != base_ref:
                return MergeWay(elsewhere=True)
            if rules.queue(self._repo, base_ref) is not None:
                return MergeWay(queue=True)
            for each in rules.rulesets(self._repo, f"refs/heads/{base_ref}"):
                if rules.bypass_of(each, self._repo, user) != "never":
                    lacking = rules.blockers(self._pull(number))
                    return MergeWay(bypassed=each.name if lacking else "")
            return MergeWay()

        return await self._get("merge_way", f"GET {REPO}/rules/branches/{{branch}}", read, number)

    async def enqueue(self, number: int, head: Sha) -> MergeResult:
        def put(caller: Caller) -> None:
            queues, pull = self._state.queues, self._pull(number)
            if queues.entry(pull) is None:
                queues.enqueue(pull, refs.acting(caller), head)

        operation = f"PUT {PULL}/merge"
        answer = await self._answer("enqueue", operation, put, number, by=GRAPHQL)
        if isinstance(answer, GitHubAnswer):
            return merge_failure(answer)
        return MergeResult(queued=True)

    async def merge_queue(self, base_ref: str) -> MergeQueue | None:
        def read(_: Caller) -> MergeQueue | None:
            base = self._repo.branch(base_ref)
            if base is None or self._state.rules.queue(self._repo, base_ref) is None:
                return None
            return MergeQueue(
                Sha(base),
                tuple(
                    QueueEntry(
                        number=each.pull.number,
                        open=each.pull.state == "open" and not each.pull.draft,
                        base_ref=each.pull.base_ref,
                        head=Sha(each.pull.head_sha),
                        merge=Sha(each.group.head_sha) if each.group else None,
                    )
                    for each in self._repo.queues.get(base_ref, ())
                ),
            )

        return await self._get("merge_queue", f"GET {REPO}/branches/{{branch}}", read, by=GRAPHQL)

    async def dequeue(self, number: int) -> None:
        def take(caller: Caller) -> None:
            queues, pull = self._state.queues, self._pull(number)
            if queues.entry(pull) is not None:
                queues.dequeue(pull, refs.acting(caller))

        await self._put("dequeue", f"PUT {PULL}/merge", take, number, by=GRAPHQL)

    async def merge(
        self, number: int, head: Sha, method: MergeMethod, title: str, message: str
    ) -> MergeResult:
        def merge(caller: Caller) -> str:
            pull = self._pull(number)
            workflows.check_merge(self._state, pull, caller)
            self._state.pulls.merge(
                pull,
                refs.acting(caller),
                sha=head,
                method=method.value,
                title=sayable(title),
                message=sayable(message),
            )
            return pull.merge_commit_sha or ""

        answer = await self._answer("merge", f"PUT {PULL}/merge", merge, number)
        if isinstance(answer, GitHubAnswer):
            return merge_failure(answer)
        return MergeResult(commit=answer)
