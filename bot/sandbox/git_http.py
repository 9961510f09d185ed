"""Git over smart HTTP: git's own http-backend, started as CGI behind a raw ASGI callable.

Bodies are streamed both ways (a push may be chunked and of any size, bodies may be gzipped:
http-backend unpacks those itself, and is left out where none is). What git can do, which is how
each fetch begins, is asked once: protocol 2 names no ref there, so it is the same for all
repositories; which refs there are is answered without git (`bot.sandbox.git.ls_refs`). What a push
changed is made known to the forge before the answer ends, so that whoever pushed finds it there.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from asyncio.subprocess import PIPE, Process
from dataclasses import dataclass, replace
from urllib.parse import parse_qs, unquote

from bot.sandbox import git_hook
from bot.sandbox.asgi import Message, Receive, Scope, Send, headers_of, raw_path, respond
from bot.sandbox.errors import RefusedError
from bot.sandbox.faults.calls import FaultPlan, Faults, LoggedCall
from bot.sandbox.git import ls_refs
from bot.sandbox.git.bare import BareStore, http_backend
from bot.sandbox.records.refs import PushVerdict, RefChange
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules.pushing import GitAccess, GitCaller
from bot.sandbox.rules.state import ForgeState

_PATH = re.compile(
    r"/(?P<owner>[\w.\-\[\]%/]+)/(?P<repo>[\w.\-]+?)(?:\.git)?"
    r"/(?P<rest>info/refs|git-upload-pack|git-receive-pack)"
)
_CHUNK = 65_536  # bytes read from git at a time
_CAPABILITIES: list[Message] = []  # git's answer to how a fetch by protocol 2 begins


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    method: str
    path: str
    rest: str
    service: str
    repo: Repository | None
    caller: GitCaller
    moved: str | None = None

    @property
    def writes(self) -> bool:
        """Whether this is a push, or its first step."""
        return self.service == "git-receive-pack"


def is_git(path: str) -> bool:
    """Whether a path of the web address is one of git's."""
    return _PATH.fullmatch(path) is not None


class GitHttp:
    """The ASGI app of git over smart HTTP."""

    def __init__(
        self, state: ForgeState, store: BareStore, access: GitAccess, faults: Faults, web: str
    ) -> None:
        self._state = state
        self._web = web
        self._store = store
        self._access = access
        self._faults = faults
        self._pushing: dict[int, asyncio.Lock] = {}
        self._refs: dict[int, ls_refs.RefList] = {}
        self._hooks = store.folder / "hooks"
        git_hook.install(self._hooks)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one of git's requests."""
        began = time.monotonic()
        asked, refused = self._enter(scope)
        plan = self._faults.plan(asked.method, _template(asked), asked.path, asked.caller.name)
        if plan.delay:
            await asyncio.sleep(plan.delay)
        counted = _Counted(send)
        await self._act(asked, refused, plan, scope, receive, counted)
        self._faults.record(
            LoggedCall(
                caller=asked.caller.name,
                kind="git",
                method=asked.method,
                template=_template(asked),
                path=asked.path,
                status=counted.status,
                began=began,
                seconds=time.monotonic() - began,
            )
        )

    async def _act(
        self,
        asked: _Asked,
        refused: RefusedError | None,
        plan: FaultPlan,
        scope: Scope,
        receive: Receive,
        send: _Counted,
    ) -> None:
        for callback in plan.before:
            await asyncio.to_thread(callback)
        if plan.failure is not None:
            body = str(plan.failure.body or "Server Error").encode()
            await respond(send, plan.failure.status, list(plan.failure.headers.items()), body)
        elif asked.moved is not None and refused is None:
            await respond(send, 301, [("Location", asked.moved)])
        elif refused is not None or asked.repo is None:
            await self._refuse(send, refused or RefusedError(404, "Not Found"))
        elif asked.writes and asked.rest == "git-receive-pack":
            async with self._pushing.setdefault(asked.repo.id, asyncio.Lock()):
                await self._push(asked, asked.repo, plan, scope, receive, send)
        elif asked.rest == "info/refs" and not asked.writes and _protocol(scope) == "version=2":
            await self._capabilities(asked, asked.repo, plan, scope, receive, send)
        elif asked.rest == "git-upload-pack" and _protocol(scope) == "version=2":
            await self._upload(asked, asked.repo, plan, scope, receive, send)
        else:
            await self._backend(asked, asked.repo, plan, scope, receive, send, None)

    async def _refuse(self, send: Send, refused: RefusedError) -> None:
        headers = [("Content-Type", "text/plain; charset=utf-8")]
        if refused.status == 401:
            headers.append(("WWW-Authenticate", f'Basic realm="{self._access.realm}"'))
        await respond(send, refused.status, headers, f"remote: {refused.message}\n".encode())

    async def _capabilities(
        self,
        asked: _Asked,
        repo: Repository,
        plan: FaultPlan,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """Answer how a fetch begins as git did the first time."""
        if not _CAPABILITIES:
            said: list[Message] = []

            async def keep(message: Message) -> None:
                said.append(message)

            await self._backend(asked, repo, replace(plan, after=[]), scope, receive, keep, None)
            if said[0]["status"] != 200:
                await self._pass_on(said, plan, send)
                return
            _CAPABILITIES[:] = said
        await self._pass_on(_CAPABILITIES, plan, send)

    async def _upload(
        self,
        asked: _Asked,
        repo: Repository,
        plan: FaultPlan,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """Answer which refs there are without git, where that can be told; git does the rest."""
        first = await receive()
        plain = not first.get("more_body") and "content-encoding" not in headers_of(scope)
        question = ls_refs.read(first.get("body", b"")) if plain else None
        answer: bytes | None = None
        if question is not None:
            answer = await asyncio.to_thread(self._refs_of(repo).answer, question)
        if answer is None:
            given = iter([first])

            async def again() -> Message:
                return next(given, None) or await receive()

            await self._backend(asked, repo, plan, scope, again, send, None)
            return
        start = {"type": "http.response.start", "status": 200, "headers": [*ls_refs.HEADERS]}
        await self._pass_on([start, {"type": "http.response.body", "body": answer}], plan, send)

    def _refs_of(self, repo: Repository) -> ls_refs.RefList:
        if repo.id not in self._refs:
            git = self._store.open(repo.id)
            self._refs[repo.id] = ls_refs.RefList(git.path, git.peeled)
        return self._refs[repo.id]

    async def _pass_on(self, answer: list[Message], plan: FaultPlan, send: Send) -> None:
        for message in answer[:-1]:
            await send(message)
        for callback in plan.after:
            await asyncio.to_thread(callback)
        await send(answer[-1])

    def _enter(self, scope: Scope) -> tuple[_Asked, RefusedError | None]:
        path, headers = raw_path(scope), headers_of(scope)
        match = _PATH.fullmatch(path)
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        rest = match["rest"] if match else ""
        service = query.get("service", [""])[0] if rest == "info/refs" else rest
        caller = self._access.git_caller(None)
        repo, moved = None, None
        refused: RefusedError | None = None
        with self._state.lock:
            try:
                caller = self._access.git_caller(headers.get("authorization"))
                if match is not None:
                    owner, name = unquote(match["owner"]), match["repo"]
                    former = self._state.moved(owner, name)
                    repo = former or self._state.repository(owner, name)
                    writes = service == "git-receive-pack"
                    caller.allow(repo, writes=writes)
                    if former is not None:
                        query = scope.get("query_string", b"").decode("latin-1")
                        moved = f"{self._web}/{former.full_name}.git/{rest}?{query}".rstrip("?")
            except RefusedError as no:
                # Without a name, a forge asks for one before it says what is not there.
                refused = no if caller.user is not None else RefusedError(401, "No account given")
        asked = _Asked(
            method=scope["method"],
            path=path,
            rest=rest,
            service=service,
            repo=repo,
            caller=caller,
            moved=moved,
        )
        return asked, refused

    async def _push(
        self,
        asked: _Asked,
        repo: Repository,
        plan: FaultPlan,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        judge = PushCheck(self._state, self._store, repo, asked.caller)
        async with git_hook.HookServer(self._hooks, judge) as hook:
            await self._backend(asked, repo, plan, scope, receive, send, hook)

    async def _backend(
        self,
        asked: _Asked,
        repo: Repository,
        plan: FaultPlan,
        scope: Scope,
        receive: Receive,
        send: Send,
        hook: git_hook.HookServer | None,
    ) -> None:
        # A plain request for objects takes no more than its program: half of the processor time.
        plain = asked.rest == "git-upload-pack" and "content-encoding" not in headers_of(scope)
        path = str(self._store.path(repo.id))
        program = ["git", "upload-pack", "--stateless-rpc", path] if plain else [http_backend()]
        process = await asyncio.create_subprocess_exec(
            *program,
            env=self._environment(asked, repo, scope) | (hook.environment if hook else {}),
            stdin=PIPE,
            stdout=PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        feeding = asyncio.create_task(_feed(process, receive))
        try:
            last = await _relay(process, send, plain=plain, whole=hook is not None)
            await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
            feeding.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await feeding
            if asked.writes and asked.rest == "git-receive-pack":
                await asyncio.to_thread(self._notice, asked, repo, hook.asked if hook else None)
        if hook is not None and hook.refused:
            last = git_hook.with_reasons(last, hook.refused)
        for callback in plan.after:
            await asyncio.to_thread(callback)
        await send({"type": "http.response.body", "body": last})

    def _notice(self, asked: _Asked, repo: Repository, moved: set[str] | None) -> None:
        if asked.caller.user is None:
            return
        with self._state.lock:
            self._state.sync_refs(repo, asked.caller.user, moved)
            self._faults.remember()

    def _environment(self, asked: _Asked, repo: Repository, scope: Scope) -> dict[str, str]:
        headers = headers_of(scope)
        made = self._store.environment | {
            "GIT_PROJECT_ROOT": str(self._store.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": asked.method,
            "PATH_INFO": f"/{self._store.path(repo.id).name}/{asked.rest}",
            "QUERY_STRING": scope.get("query_string", b"").decode("latin-1"),
            "CONTENT_TYPE": headers.get("content-type", ""),
            "REMOTE_USER": asked.caller.name,
            "REMOTE_ADDR": "127.0.0.1",
            "SERVER_PROTOCOL": "HTTP/1.1",
        }
        for header, variable in (
            ("content-length", "CONTENT_LENGTH"),
            ("content-encoding", "HTTP_CONTENT_ENCODING"),
            ("git-protocol", "GIT_PROTOCOL"),
        ):
            # A GET has no body: git would wait for the one that a header promises.
            if header in headers and (asked.method == "POST" or header == "git-protocol"):
                made[variable] = headers[header]
        return made


class PushCheck:
    """Checks whether a pushed ref may move, with what git has received."""

    def __init__(
        self, state: ForgeState, store: BareStore, repo: Repository, caller: GitCaller
    ) -> None:
        self._state = state
        self._store = store
        self._repo = repo
        self._caller = caller

    def __call__(self, change: RefChange, objects: str) -> PushVerdict:
        """Judge one ref with the objects that git has received."""
        path = self._store.path(self._repo.id)
        received = git_hook.QuarantinedObjects(path, objects, self._store.environment)
        with self._state.lock:
            return self._caller.judge(self._repo, change, received)


class _Counted:
    """Passes messages on and remembers the status."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        await self._send(message)


def _protocol(scope: Scope) -> str:
    return headers_of(scope).get("git-protocol", "")


def _template(asked: _Asked) -> str:
    return f"/{{owner}}/{{repo}}.git/{asked.rest}"


async def _feed(process: Process, receive: Receive) -> None:
    """Give git the request's body as it comes."""
    stdin = process.stdin
    if stdin is None:
        return
    try:
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                break
            stdin.write(message.get("body", b""))
            await stdin.drain()
            if not message.get("more_body"):
                break
    except (BrokenPipeError, ConnectionResetError):
        return  # git has read all it wants
    finally:
        stdin.close()


async def _relay(process: Process, send: Send, *, plain: bool, whole: bool) -> bytes:
    """Send git's answer as it comes, all but its last piece, which is returned.

    Where `whole` is asked for, the last piece is all of it; a plain one has no headers first.
    """
    stdout = process.stdout
    if stdout is None:
        return b""
    status, headers = 200, [*ls_refs.HEADERS] if plain else []
    while not plain and (line := (await stdout.readline()).strip()) != b"":
        name, _, value = line.partition(b":")
        if name.lower() == b"status":
            status = int(value.split()[0])
        else:
            headers.append((name.strip().lower(), value.strip()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    last = b""
    while piece := await stdout.read(_CHUNK):
        if whole:
            last += piece
            continue
        if last:
            await send({"type": "http.response.body", "body": last, "more_body": True})
        last = piece
    return last
