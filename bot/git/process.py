"""Running git: a clean environment, safe configuration, an end in time.

Credentials reach git through its environment alone: never an argument, never a URL. Nothing of what
a repository brings is run: no hook, no filter, no merge driver, no attribute of its own.
"""

import base64
import errno
import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

from bot import tracing
from bot.git.port import GitBusyError

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""The tree without entries, which git knows whether it is stored or not."""

OLDEST = (2, 38)
"""The first version with `git merge-tree --write-tree`."""

SAFE: Mapping[str, str] = {
    "protocol.allow": "never",
    "protocol.https.allow": "always",
    "protocol.http.allow": "always",
    "protocol.version": "2",
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.symlinks": "false",
    "core.compression": "1",
    # What is larger is written as it comes, and compared with nothing: to put six files of 200 MB
    # into one pack took 1.4 GB of memory otherwise. No package has such files.
    "core.bigFileThreshold": "32m",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "fetch.fsckObjects": "false",
    "fetch.writeCommitGraph": "false",
    "credential.helper": "",
    # A bare repository may take attributes from its HEAD: they would choose how files are merged.
    "attr.tree": EMPTY_TREE,
    "core.attributesFile": os.devnull,
    "merge.renames": "true",
    # 50 by 50 files of 900 kB take 2.4 s of a core, ten times longer at 150. Beyond that, a renamed
    # file that the base changed as well conflicts, and people merge the base themselves.
    "merge.renameLimit": "50",
    "merge.directoryRenames": "conflict",
    "http.followRedirects": "false",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "30",
    "advice.fetchShowForcedUpdates": "false",
    "fetch.showForcedUpdates": "false",
}


class GitSlowError(GitBusyError):
    """Git was ended because it took too long."""


class GitVersionError(OSError):
    """Git is missing, or too old for what the bot asks of it."""


@cache
def check_version() -> None:
    """Make sure that git is there and new enough; asked once for each process.

    Raises:
        GitVersionError: It is not.
    """
    wanted = ".".join(map(str, OLDEST))
    try:
        said = run(Path.cwd(), ["--version"]).stdout.strip()
    except OSError as error:
        raise GitVersionError(f"git was not found. Install git {wanted} or newer.") from error
    problem = version_problem(said)
    if problem:
        raise GitVersionError(problem)


def version_problem(said: str) -> str:
    """Tell why a version of git will not do; "" for one that will.

    Args:
        said: What `git --version` printed.
    """
    found = re.search(r"(\d+)\.(\d+)", said)
    wanted = ".".join(map(str, OLDEST))
    if found is None:
        return f"`git --version` printed {said!r}. Install git {wanted} or newer."
    if (int(found[1]), int(found[2])) < OLDEST:
        return (
            f"git {found[0]} is too old: the bot works out merges with `git merge-tree"
            f" --write-tree`. Install git {wanted} or newer."
        )
    return ""


def authorised(url: str, credentials: str) -> dict[str, str]:
    """Return the configuration that sends credentials to this address alone.

    Args:
        url: The address.
        credentials: User and password, with a colon between; "" for none.

    Source:
        https://www.rfc-editor.org/rfc/rfc7617 (Basic authentication)
    """
    if not credentials:
        return {}
    return {f"http.{url}.extraHeader": f"Authorization: {basic(credentials)}"}


def basic(credentials: str) -> str:
    """Spell user and password as they stand in a header."""
    return f"Basic {base64.b64encode(credentials.encode()).decode()}"


AUTHORITY, OTHER_AUTHORITIES = "GIT_SSL_CAINFO", ("SSL_CERT_FILE", "SSL_CERT_DIR")
PROXIES = ("HTTPS_PROXY", "https_proxy", "http_proxy", "ALL_PROXY", "all_proxy")
NO_PROXY = ("NO_PROXY", "no_proxy")
_KEPT = (AUTHORITY, *OTHER_AUTHORITIES, *PROXIES, *NO_PROXY)
"""How the operator's network is reached: all that git is given of our environment."""


MOST_MEMORY: Final = 512 * 1024**2
"""Bytes of data of a git that reads what strangers send: a pack of one megabyte may hold files of
gigabytes, each written as what differs from another."""

ONE_AT_A_TIME: Final = {"pack.threads": "1"}
"""Its configuration: each thread holds a file and what it differs from."""


def run(
    folder: Path,
    arguments: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    text: str = "",
    timeout: float = 60,
    objects: Path | None = None,
    file_bytes: int | None = None,
    memory_bytes: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run git with a clean environment.

    Args:
        folder: The repository.
        arguments: For git.
        env: More configuration.
        text: Its input.
        timeout: Seconds until it is ended.
        objects: Where new objects go; None for the repository.
        file_bytes: Of one file that it, or what it starts, may write; None for any.
        memory_bytes: Of data that it may have, and each process that it starts; None for any, or
            for `MOST_MEMORY` where files are bounded.

    Raises:
        GitSlowError: It took longer.
    """
    settings = environment(folder, env)
    if objects is not None:
        settings["GIT_OBJECT_DIRECTORY"] = str(objects)
        settings["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = str(folder / "objects")
    return execute(
        arguments,
        folder,
        settings,
        text=text,
        timeout=timeout,
        file_bytes=file_bytes,
        memory_bytes=memory_bytes,
    )


def environment(folder: Path, env: Mapping[str, str] | None = None) -> dict[str, str]:
    """The bot's environment for git, with nothing in it that a user or a repository chose.

    Args:
        folder: The repository.
        env: More configuration.
    """
    configuration = {**SAFE, **(env or {})}
    settings = {
        "GIT_LITERAL_PATHSPECS": "1",  # a file may be called ":(exclude)x"
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "GIT_DIR": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "true",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_CONFIG_COUNT": str(len(configuration)),
    }
    settings |= {name: os.environ[name] for name in _KEPT if name in os.environ}
    for index, (key, value) in enumerate(configuration.items()):
        settings[f"GIT_CONFIG_KEY_{index}"] = key
        settings[f"GIT_CONFIG_VALUE_{index}"] = value
    return settings


_MISLEADING = re.compile(
    r"GIT_(?:DIR|WORK_TREE|INDEX_FILE|COMMON_DIR|NAMESPACE|OBJECT_DIRECTORY"
    r"|ALTERNATE_OBJECT_DIRECTORIES|PREFIX|QUARANTINE_PATH|TRACE.*)\Z"
)


def users_environment(*, named: bool = False) -> dict[str, str]:
    """The user's own environment for git, without what would lead it elsewhere.

    The command line runs git with it: the user's configuration has the way to private repositories.
    That of a folder does not count which looks like a bare repository and is part of somebody's
    clone: it may name programs.

    Args:
        named: The repository itself was named, or is ours, and may be bare.
    """
    kept = {name: text for name, text in os.environ.items() if not _MISLEADING.match(name)}
    kept |= {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
    if named:
        return kept
    said = kept.get("GIT_CONFIG_COUNT", "")
    number = int(said) if said.isdecimal() else 0
    return kept | {
        "GIT_CONFIG_COUNT": str(number + 1),
        f"GIT_CONFIG_KEY_{number}": "safe.bareRepository",
        f"GIT_CONFIG_VALUE_{number}": "explicit",
    }


def execute(
    arguments: Sequence[str],
    folder: Path,
    env: Mapping[str, str],
    *,
    text: str = "",
    timeout: float | None = None,
    errors: str = "replace",
    show: Callable[[str], None] | None = None,
    file_bytes: int | None = None,
    memory_bytes: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run git to its end.

    Args:
        arguments: For git.
        folder: Where it runs.
        env: All of its environment.
        text: Its input.
        timeout: Seconds until it is ended; None to wait.
        errors: What becomes of bytes that are not UTF-8.
        show: Given what it writes to standard error as it comes.
        file_bytes: As for `run`; Linux alone keeps it.
        memory_bytes: Likewise.

    Raises:
        GitSlowError: It took longer.
        FileNotFoundError: There is no git.
    """
    words = ["git", *arguments]
    if file_bytes is not None or memory_bytes is not None:
        words = bounded(arguments, env, file_bytes, memory_bytes or MOST_MEMORY)
    with (
        tracing.span("git", command=_command(arguments)),
        subprocess.Popen(  # noqa: S603 (arguments are a list, after "--" where others' text)
            words,
            cwd=folder,
            env=env,
            stdin=subprocess.PIPE if text else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process,
    ):
        try:
            said = _shown(process, show) if show else b""
            given = text.encode("utf-8", "surrogateescape") if text else None
            out, rest = process.communicate(given, timeout)
        except subprocess.TimeoutExpired as error:
            process.kill()
            raise GitSlowError(f"git {arguments[0]} took longer than {timeout} s") from error
        except BaseException:
            process.kill()
            raise
    told = [each.decode("utf-8", errors) for each in (out, said + rest)]
    return subprocess.CompletedProcess([*arguments], process.returncode, *told)


def bounded(
    arguments: Sequence[str],
    env: Mapping[str, str],
    file_bytes: int | None,
    memory_bytes: int = MOST_MEMORY,
) -> list[str]:
    """Return the words that run a git which reads what others send; Linux alone can bound it.

    It is bound before it begins, and with it all that it starts: to bound a process that runs is
    too late for what it has started by then.

    Args:
        arguments: For git.
        env: All of its environment.
        file_bytes: Of each file that it writes; None where it writes none, or any.
        memory_bytes: Of data that it may have, and each process that it starts.

    Raises:
        FileNotFoundError: There is no git.
    """
    if shutil.which("git", path=env.get("PATH")) is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "git")
    if sys.platform != "linux":
        return ["git", *arguments]
    limits = f"ulimit -d {memory_bytes // 1024}"
    if file_bytes is not None:
        limits += f"; ulimit -f {-(-file_bytes // 512)}"
    return ["sh", "-c", f'{limits}; exec git "$@"', "sh", *arguments]


def took_too_much_memory(said: str) -> bool:
    """Tell whether git ended because it got no more memory; what the other end says is not read."""
    lines = (each for each in said.split("\n") if not each.startswith("remote:"))
    return any("out of memory" in each.lower() for each in lines)


def _command(arguments: Sequence[str]) -> str:
    """The word that says what git is to do: what follows may be anything."""
    return next((each for each in arguments if not each.startswith("-")), "")


def _shown(process: subprocess.Popen[bytes], show: Callable[[str], None]) -> bytes:
    said = b""
    while process.stderr and (part := os.read(process.stderr.fileno(), 4096)):
        show(part.decode(errors="replace"))
        said += part
    return said


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a file's lock, among processes; the file is made.

    Threads of one process need another lock.
    """
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


_REJECTED = re.compile(r"\[remote rejected\] \((.*)\)")
_SHA = re.compile(r"\b[0-9a-f]{40,64}\b")


def refusal(text: str) -> str:
    """The forge's words about a push that it refused; the same rule gives the same words.

    Args:
        text: What `git push --porcelain` wrote. GitHub lists the rules that were broken, with what
            broke them, behind `remote:`; commits are left out, since each push has others.
    """
    remote = [line[7:].strip() for line in text.split("\n") if line.startswith("remote:")]
    rules = [line.removeprefix("- ") for line in remote if line.startswith("- ")]
    errors = [line.removeprefix("error: ") for line in remote if line.startswith("error: ")]
    other = [line for line in remote if line][:2] or _REJECTED.findall(text)[:1]
    said = rules or errors[:1] or other or ["no reason given"]
    return " ".join(_SHA.sub("", "; ".join(dict.fromkeys(said))).split())


def reason(text: str) -> str:
    """The line of git's output that says why; it never holds credentials, since no URL does."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    telling = [
        line
        for line in lines
        if "!" in line[:2] or line.startswith(("fatal:", "error:", "remote:"))
    ]
    return "; ".join((telling or lines)[:3])
