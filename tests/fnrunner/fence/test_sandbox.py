"""The sandbox: what a program cannot see, do, take or leave behind.

Longer than 400 lines: a program for each thing that one may try.
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from fnrunner.contract.errors import (
    FunctionFailedError,
    FunctionRefusedError,
    FunctionStoppedError,
    FunctionTimeoutError,
    SandboxError,
)
from fnrunner.contract.run import MIB
from fnrunner.fence import seccomp, watch
from fnrunner.fence.sandbox import Ended, Program, Sandbox
from tests.fnrunner import sandboxes
from tests.fnrunner.sandboxes import PATIENT, nothing_left, shell

T = TypeVar("T")
HERE = Path(__file__).parents[3]
# Words in the commands of this process's programs: others may run the same tests meanwhile.
OURS = f"porchbot-test-{os.getpid()}"
LONG = f"54321{os.getpid():09}"  # seconds


@pytest.fixture(scope="module")
def root() -> Iterator[Path]:
    with sandboxes.open_folder() as folder:
        yield sandboxes.root(folder / "busybox")


@pytest.fixture
def folder() -> Iterator[Path]:
    with sandboxes.open_folder() as found:
        yield found


@pytest.fixture(scope="module", params=["control groups", "watcher"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return sandboxes.sandbox(groups=request.param == "control groups")


@pytest.fixture(scope="module")
def watched() -> Sandbox:
    return sandboxes.sandbox(groups=False)


# What it gives


async def test_a_program_reads_and_writes(sandbox: Sandbox, root: Path) -> None:
    """Short-cut: write all of the input, then read all of the output."""
    data = os.urandom(3 * MIB)
    with nothing_left():
        ended = await shell(sandbox, root, "echo words >&2; cat; exit 7", data)

    assert (ended.output, ended.log, ended.status) == (data, "words\n", 7)
    assert ended.used.output_bytes == len(data)


async def test_a_program_gets_its_environment_and_no_more(
    watched: Sandbox, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cut: hand ours down."""
    monkeypatch.setenv("PORCHBOT_SECRET", "of the runner")
    program = Program(
        argv=("/bin/env",), root=root, environment={"A": "b=c\nd", "PATH": "/bin"}, folder="/etc"
    )
    ended = await watched.run("env", program, b"", PATIENT)

    assert sorted(ended.output.decode().splitlines()) == ["A=b=c", "PATH=/bin", "PWD=/etc", "d"]


async def test_input_that_is_not_read_does_no_harm(watched: Sandbox, root: Path) -> None:
    """Short-cut: let the broken pipe through."""
    data = b"x" * 3 * MIB
    ended = await shell(watched, root, "exec <&-; sleep 0.1; echo done", data)
    assert (ended.output, ended.status) == (b"done\n", 0)
    assert (await shell(watched, root, "exit 3", data)).status == 3


async def test_the_status_counts_not_the_end_of_output(watched: Sandbox, root: Path) -> None:
    """Short-cut: take closed pipes for the end."""
    ended = await shell(watched, root, "exec >&- 2>&-; sleep 0.2; exit 5")
    assert ended.status == 5


async def test_a_signal_is_a_status(watched: Sandbox, root: Path) -> None:
    assert (await shell(watched, root, "kill -SEGV $$")).status == 128 + signal.SIGSEGV


async def test_the_log_is_kept_to_its_beginning(watched: Sandbox, root: Path) -> None:
    """Short-cut: stop reading when enough is kept, and let the program hang."""
    bounds = replace(PATIENT, log_bytes=10)
    script = "yes | head -c 1000000 >&2; echo done"
    ended = await shell(watched, root, script, bounds=bounds)
    assert ended.output == b"done\n"
    assert ended.log == "y\ny\ny\ny\ny\n\n[the first 10 of 1000000 bytes]\n"


async def test_output_may_be_as_long_as_allowed(watched: Sandbox, root: Path) -> None:
    bounds = replace(PATIENT, output_bytes=MIB)
    ended = await shell(watched, root, f"head -c {MIB} /dev/zero", bounds=bounds)
    assert len(ended.output) == MIB


async def test_temporary_files_may_be_as_large_as_allowed(watched: Sandbox, root: Path) -> None:
    bounds = replace(PATIENT, temporary_bytes=MIB)
    ended = await shell(watched, root, f"head -c {MIB} /dev/zero >/tmp/a; echo $?", bounds=bounds)
    assert ended.output == b"0\n"


async def test_many_run_at_a_time(watched: Sandbox, root: Path) -> None:
    """Short-cut: one user for all, whose processes are counted together."""
    script = "for i in 1 2 3 4 5 6 7 8; do sleep 0.3 & done; wait; cat"
    bounds = replace(PATIENT, processes=12)
    with nothing_left():
        found = await asyncio.gather(
            *(shell(watched, root, script, b"%d" % i, bounds) for i in range(20))
        )

    assert [each.output for each in found] == [b"%d" % i for i in range(20)]


async def test_a_root_without_the_folders_it_needs(watched: Sandbox, folder: Path) -> None:
    """Short-cut: make the folders in the image, or follow a link of that name out of it."""
    root = sandboxes.root(folder / "image")
    for name in ("proc", "dev", "tmp"):
        (root / name).rmdir()
    (root / "tmp").symlink_to("/etc")
    (root / "etc/name").write_text("image")
    (root / "lib").symlink_to("etc")
    before = sorted(root.iterdir())
    script = "cat /lib/name; echo x >/tmp/x; ls /tmp /proc/self/fd/0 /dev/null"
    ended = await shell(watched, root, script)

    assert ended.output.split() == [b"image/dev/null", b"/proc/self/fd/0", b"/tmp:", b"x"]
    assert sorted(root.iterdir()) == before
    assert [each.name for each in (root / "etc").iterdir()] == ["name"]


async def test_a_program_that_is_not_there(sandbox: Sandbox, root: Path) -> None:
    program = Program(argv=("/bin/nothing",), root=root, environment={})
    message = r'function "it": it failed without results: it could not be started: bwrap: execvp'
    with nothing_left(), pytest.raises(FunctionFailedError, match=message):
        await sandbox.run("it", program, b"", PATIENT)


async def test_a_root_that_others_cannot_reach(sandbox: Sandbox, tmp_path: Path) -> None:
    """Short-cut: run it as root, who can."""
    if os.geteuid() != 0:
        pytest.skip("only root becomes another user")
    tmp_path.chmod(0o700)
    root = sandboxes.root(tmp_path / "image")
    message = r"user cannot reach the program: other users cannot enter .*\. Open it to them"
    with nothing_left(), pytest.raises(FunctionRefusedError, match=message):
        await shell(sandbox, root, "true")


@pytest.mark.parametrize(
    "change",
    [
        {"root": Path("/nothing/here")},
        {"folder": "/nothing/here"},
        {"environment": {"a=b": "c"}},
        {"environment": {"a": "b\0--bind\0/\0/"}},
        {"argv": ("/bin/cat\0",)},
    ],
    ids=str,
)
async def test_what_cannot_be_run_is_said(
    sandbox: Sandbox, root: Path, change: dict[str, object]
) -> None:
    """Short-cut: let a zero byte end an option, and what follows be another."""
    program = replace(Program(argv=("/bin/cat",), root=root, environment={}), **change)  # type: ignore[arg-type] # by name
    with nothing_left(), pytest.raises(FunctionFailedError, match="could not be started"):
        await sandbox.run("it", program, b"", PATIENT)


# What it hides and forbids


async def test_it_sees_no_secrets(watched: Sandbox, root: Path) -> None:
    """Short-cut: show the machine's own root."""
    script = "cat /etc/shadow; cat /proc/1/environ; ls /proc | grep -c '^[0-9]'; hostname"
    ended = await shell(watched, root, script)
    few = range(2, 6)  # bubblewrap's process, the shell and those of the pipe
    count, host = ended.output.split()

    assert (int(count) in few, host) == (True, b"function")
    assert ended.log == "cat: can't open '/etc/shadow': No such file or directory\n"


async def test_a_program_of_this_machine_sees_no_secrets(watched: Sandbox) -> None:
    """Short-cut: show the machine's own root."""
    script = "ls -d /etc/* /* | sort; cat /proc/*/environ | tr '\\0' '\\n' | grep -v -e PWD= -e ^_="
    program = Program(argv=("/bin/sh", "-c", script), environment={"PATH": "/usr/bin:/bin"})
    seen = (await watched.run("it", program, b"", PATIENT)).output.decode().split()

    assert {"/bin", "/usr", "/proc", "/tmp", "PATH=/usr/bin:/bin"} <= set(seen)
    assert not {"/etc/shadow", "/etc/passwd", "/home", "/root", "/var", "/run"} & set(seen)
    assert {each for each in seen if "=" in each} == {"PATH=/usr/bin:/bin"}


async def test_nothing_of_it_can_be_written_but_temporary_files(
    watched: Sandbox, root: Path
) -> None:
    """Short-cut: leave `/dev`, which is in memory, writable."""
    script = "for i in / /bin /etc /dev /proc /proc/sys/kernel; do touch $i/x && echo $i; done"
    ended = await shell(watched, root, f"{script}; touch /tmp/x /dev/shm/x && id -u")
    assert ended.output == b"65534\n"


async def test_it_has_no_privileges(watched: Sandbox, root: Path) -> None:
    """Short-cut: root inside."""
    script = "grep -E '^(Cap...|NoNewPrivs|Groups)' /proc/self/status"
    seen = (await shell(watched, root, script)).output.decode().split("\n")
    values = dict(line.split(":\t", 1) for line in seen if line)

    assert {values[name] for name in values if name.startswith("Cap")} == {"0" * 16}
    assert (values["NoNewPrivs"], values["Groups"].strip()) == ("1", "")


async def test_no_namespaces_are_made_inside(watched: Sandbox, root: Path) -> None:
    """Short-cut: trust in no capabilities; another namespace of users brings all of them."""
    ended = await shell(watched, root, "unshare -r id -u; unshare -n true; echo $?")
    assert ended.output == b"1\n"


async def test_it_is_not_our_user(watched: Sandbox, root: Path) -> None:
    """Short-cut: root stays root, and no limit on processes holds."""
    if os.geteuid() != 0:
        pytest.skip("only root becomes another user")
    run = asyncio.ensure_future(shell(watched, root, f"sleep {LONG}"))
    users = await until(lambda: owners(LONG))
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run

    assert all(each > 65535 or 1000 < each < 65534 for each in users)


@pytest.fixture
def listener() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.sendall(b"reached")

        thread = threading.Thread(target=answer)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.parametrize("network", [False, True])
async def test_the_network_is_there_for_those_who_may(
    watched: Sandbox, root: Path, listener: int, network: bool
) -> None:
    """Short-cut: no network for anybody, and a test that would pass with a broken listener."""
    argv = ("/bin/sh", "-c", f"exec nc -w 20 127.0.0.1 {listener} </dev/null")
    program = Program(argv=argv, root=root, environment={"PATH": "/bin"}, network=network)
    ended = await watched.run("it", program, b"", PATIENT)

    assert ended.output == (b"reached" if network else b"")
    assert (ended.status == 0) is network


async def test_it_cannot_touch_other_processes(watched: Sandbox, root: Path) -> None:
    """Short-cut: share the machine's processes."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as victim:
        ended = await shell(
            watched, root, f"kill -9 {victim.pid} 1 {os.getpid()}; cat /proc/1/mem; kill -9 -1"
        )
        alive = victim.poll() is None
        victim.communicate(b"\n")

    assert (alive, ended.output) == (True, b"")


# By number, in the order of the names; the families are those of vsock and of ciphers.
CALLS = {
    "ptrace": ("101, 0, 0, 0, 0", "117, 0, 0, 0, 0", 1),
    "unshare": ("272, 0x10000000", "97, 0x10000000", 1),
    "clone": ("56, 0x10000011, 0, 0, 0, 0", "220, 0x10000011, 0, 0, 0, 0", 1),
    "clone3": ("435, 0, 0", "435, 0, 0", 38),
    "keyctl": ("250, 0, -3, 1", "219, 0, -3, 1", 1),
    "memfd_create": ("319, $name, 0", "279, $name, 0", 1),
    "vmsplice": ("278, 1, 0, 0, 0", "75, 1, 0, 0, 0", 1),
    "a mapping that is shared, of no file": (
        "9, 0, 4096, 3, 0x21, -1, 0",
        "222, 0, 4096, 3, 0x21, -1, 0",
        1,
    ),
    "the same by its other name": ("9, 0, 4096, 3, 0x23, -1, 0", "222, 0, 4096, 3, 0x23, -1, 0", 1),
    "the same in large pages": (
        "9, 0, 1 << 21, 3, 0x40021, -1, 0",
        "222, 0, 1 << 21, 3, 0x40021, -1, 0",
        1,
    ),
    "semget": ("64, 0, 9, 0x380", "190, 0, 9, 0x380", 1),
    "msgget": ("68, 0, 0x380", "186, 0, 0x380", 1),
    "a socket to the host of this machine": ("41, 40, 1, 0", "198, 40, 1, 0", 1),
    "a socket to the kernel's ciphers": ("41, 38, 5, 0", "198, 38, 5, 0", 1),
}


@pytest.mark.parametrize("name", CALLS)
async def test_it_may_not_make_calls_that_no_function_needs(watched: Sandbox, name: str) -> None:
    """Short-cut: rely on the capabilities that it does not have: these need none."""
    machines = ["x86_64", "aarch64"]
    if not Path("/usr/bin/perl").exists() or os.uname().machine not in machines:
        pytest.skip("it takes perl to make a system call by number")
    *calls, expected = CALLS[name]
    call = calls[machines.index(os.uname().machine)]
    script = f"my $name = 'x'; my $r = syscall({call}); print $r == -1 ? $! + 0 : 'allowed'"
    program = Program(argv=("/usr/bin/perl", "-e", script), environment={})
    ended = await watched.run("it", program, b"", PATIENT)

    assert ended.output == str(expected).encode()


# Memory that the kernel takes for a program, and that none of its processes shows as its own
KERNEL = {
    "sockets": """
        while (socketpair(my $a, my $b, 1, 1, 0)) { # AF_UNIX, SOCK_STREAM
            for my $each ($a, $b) {
                setsockopt($each, 1, 7, pack('i', 1 << 20)); # SOL_SOCKET, SO_SNDBUF
                $each->blocking(0);
                1 while syswrite($each, 'x' x 4096);
                push @held, $each;
            }
        }
        """,
    "tables of pages": """
        my $begin = syscall($mmap, 0, 1 << 37, 1, 0x4022, -1, 0); # what is read only, and no room
        for (my $at = 0; $at < 1 << 37; $at += 1 << 21) { unpack('P1', pack('J', $begin + $at)) }
        """,
}


@pytest.mark.parametrize("name", KERNEL)
async def test_memory_of_the_kernel_counts(sandbox: Sandbox, name: str) -> None:
    """Short-cut: count what processes hold themselves."""
    machines = {"x86_64": 9, "aarch64": 222}
    if not Path("/usr/bin/perl").exists() or os.uname().machine not in machines:
        pytest.skip("it takes perl to make a system call by number")
    script = f"use IO::Handle; my $mmap = {machines[os.uname().machine]}; {KERNEL[name]}; sleep 99"
    program = Program(argv=("/usr/bin/perl", "-e", script), environment={})
    bounds = replace(PATIENT, memory_bytes=40 * MIB)
    with nothing_left(), pytest.raises(FunctionStoppedError) as caught:
        await sandbox.run("it", program, b"", bounds)

    assert caught.value.limit == "memory"


async def test_buffers_of_connections_count(watched: Sandbox) -> None:
    """Short-cut: count all sockets alike. Those of TCP grow; ten processes took 2 GiB."""
    if not Path("/usr/bin/perl").exists():
        pytest.skip("it takes perl to open a socket")
    script = """
        use Socket;
        socket(my $all, AF_INET, SOCK_STREAM, 0) or die;
        bind($all, pack_sockaddr_in(0, INADDR_LOOPBACK)) && listen($all, 99) or die;
        for my $each (0 .. 19) {
            socket($from[$each], AF_INET, SOCK_STREAM, 0) or die;
            connect($from[$each], getsockname($all)) && accept($to[$each], $all) or die;
        }
        sleep 99;
        """
    program = Program(argv=("/usr/bin/perl", "-e", script), environment={})
    bounds = replace(PATIENT, memory_bytes=100 * MIB)
    with nothing_left(), pytest.raises(FunctionStoppedError) as caught:
        await watched.run("it", program, b"", bounds)

    assert caught.value.limit == "memory"


async def test_buffers_of_sockets_keep_their_size(watched: Sandbox) -> None:
    """Short-cut: count sockets, and let each hold what it likes."""
    if not Path("/usr/bin/perl").exists():
        pytest.skip("it takes perl to open a socket")
    script = """
        socketpair(my $a, my $b, 1, 1, 0) or die;
        for my $option (7, 8, 9) { # SO_SNDBUF, SO_RCVBUF, SO_KEEPALIVE
            my $before = getsockopt($a, 1, $option);
            setsockopt($a, 1, $option, pack('i', 70000)) or die;
            print getsockopt($a, 1, $option) eq $before ? 'kept ' : 'set ';
        }
        """
    program = Program(argv=("/usr/bin/perl", "-e", script), environment={})
    ended = await watched.run("it", program, b"", PATIENT)

    assert ended.output == b"kept kept set "


MAPPED = """
    my ($mmap, $open, @at) = @MACHINE;
    open(my $zero, '+<', '/dev/zero') or die "open: $!";
    my $read;
    read($zero, $read, 9) == 9 && $read eq chr(0) x 9 or die "read";
    my $a = syscall($mmap, 0, 4096, 3, 1, fileno($zero), 0); # MAP_SHARED
    my $b = syscall($mmap, 0, 4096, 3, 0x21, -1, 0); # MAP_SHARED | MAP_ANONYMOUS
    my $c = syscall($mmap, 0, 4096, 3, 0x22, -1, 0); # MAP_PRIVATE | MAP_ANONYMOUS
    open(my $file, '+>', '/tmp/x') or die "open: $!";
    truncate($file, 4096) or die "truncate: $!";
    my $d = syscall($mmap, 0, 4096, 3, 1, fileno($file), 0); # counted, as a file
    print join(' ', map { $_ == -1 ? 'no' : 'yes' } $a, $b, $c, $d);
    """


@pytest.mark.parametrize(
    ("uncounted", "mapped"), [(False, b"no no yes yes"), (True, b"yes yes yes yes")]
)
async def test_memory_of_no_process_is_had_only_where_it_is_counted_or_wanted(
    uncounted: bool, mapped: bytes
) -> None:
    """Short-cut: refuse it by the flags of the call, and leave `/dev/zero` as it is."""
    machines = {"x86_64": 9, "aarch64": 222}
    if not Path("/usr/bin/perl").exists() or os.uname().machine not in machines:
        pytest.skip("it takes perl to make a system call by number")
    sandboxes.sandbox(groups=False)
    where = Sandbox.here(groups=False, uncounted=uncounted)
    script = MAPPED.replace("@MACHINE", f"({machines[os.uname().machine]})")
    program = Program(argv=("/usr/bin/perl", "-e", script), environment={})
    ended = await where.run("it", program, b"", PATIENT)
    assert (ended.output, ended.log) == (mapped, "")


# Writes a program over what the sandbox's first process does next, which then maps 256 MB, and
# has it go on: it waits for the processes that others leave behind.
WRITER = r"""
    my $call = '';
    while ($call !~ /^61 /) { # wait4()
        open(my $calls, '<', '/proc/1/syscall') or die "syscall: $!";
        $call = <$calls>;
    }
    my $next = hex((split ' ', $call)[-1]);
    open(my $memory, '+<', '/proc/1/mem') or die "mem: $!";
    sysseek($memory, $next, 0) or die "seek: $!";
    my $code = join '', map { pack 'H*', $_ } (
        '31ff', 'be00000010', 'ba03000000', '41ba22800000', # mmap(0, 1 << 28, 3, 0x8022
        '49c7c0ffffffff', '4531c9', 'b809000000', '0f05', # -1, 0)
        'b822000000', '0f05', 'ebf7', # pause(), for ever
    );
    syswrite($memory, $code) or die "write: $!";
    unless (fork) { fork or exit; exit }
    sleep 99;
    """


async def test_the_first_process_counts(watched: Sandbox) -> None:
    """Short-cut: leave out the sandbox's own process: whoever writes into it has its memory."""
    if not Path("/usr/bin/perl").exists() or os.uname().machine != "x86_64":
        pytest.skip("it takes perl, and the words of this processor")
    program = Program(argv=("/usr/bin/perl", "-e", WRITER), environment={})
    bounds = replace(PATIENT, memory_bytes=40 * MIB, seconds=20)
    (found,) = await asyncio.gather(watched.run("it", program, b"", bounds), return_exceptions=True)
    if isinstance(found, Ended) and found.log.startswith(("syscall: ", "mem: ")):
        pytest.skip(f"this kernel lets nobody write there: {found.log}")
    assert isinstance(found, FunctionStoppedError), found
    assert found.limit == "memory"


def test_memory_of_the_first_process_and_of_large_pages_is_added_up(tmp_path: Path) -> None:
    """Short-cut: leave out the sandbox's own process, or pages that are no resident ones."""
    for pid, threads in (("1", 1), ("2", 3)):
        (tmp_path / pid).mkdir()
        (tmp_path / pid / "status").write_text(
            f"Name:\tx\nVmRSS:\t  1000 kB\nHugetlbPages:\t 2048 kB\nThreads:\t{threads}\n"
        )
    proc = os.open(tmp_path, os.O_RDONLY)
    try:
        assert watch.look(proc, MIB * 100) == watch.ResourceUsage(2 * 3048 * 1024, 3)
    finally:
        os.close(proc)


async def test_a_run_leaves_no_trace_for_the_next(watched: Sandbox, root: Path) -> None:
    """Short-cut: show the image as it is mounted, and let the kernel note what is read."""
    file = root / "etc/data"
    file.write_text("x")
    os.utime(file, (1, 2))
    script = "cat /etc/data; ls /tmp /dev/shm; echo x >/tmp/left; echo x >/dev/shm/left"
    for _ in range(2):
        assert (await shell(watched, root, script)).output == b"x/dev/shm:\n\n/tmp:\n"
    assert file.stat().st_atime == 1


async def test_there_are_no_terminals(sandbox: Sandbox, root: Path) -> None:
    """Short-cut: show the usual `/dev`. Each terminal has buffers that nobody counts."""
    script = "ls /dev; (: <>/dev/ptmx) || (: <>/dev/pts/ptmx) || echo none"
    ended = await shell(sandbox, root, script)
    assert ended.output.split() == [
        *b"fd full null random shm stderr stdin stdout urandom zero".split(), b"none"
    ]  # fmt: skip


def test_where_nobody_counts_and_nothing_refuses_there_is_no_sandbox(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Short-cut: leave the filter out where it is not known, and count what can be seen."""
    sandboxes.sandbox(groups=False)
    here = os.uname()
    other = os.uname_result((here.sysname, here.nodename, here.release, here.version, "riscv64"))
    monkeypatch.setattr(os, "uname", lambda: other)
    with pytest.raises(SandboxError) as caught:
        Sandbox.here(groups=False)
    assert str(caught.value) == (
        "sandbox: control groups are not writable here, and no other way to limit memory is not"
        " known for riscv64. Let this user write control groups (memory and pids), or set"
        " `sandbox: {uncounted: true}` in the runner's configuration."
    )


def test_an_unknown_machine_has_no_filter() -> None:
    assert seccomp.program(unseen=True, machine="riscv64") == b""
    assert len(seccomp.program(unseen=True, machine="aarch64")) % 8 == 0


async def test_it_inherits_nothing(watched: Sandbox, root: Path, tmp_path: Path) -> None:
    """Short-cut: leave open what the runner has open."""
    secret = tmp_path / "secret"
    secret.write_text("of the runner")
    with secret.open() as file:
        os.set_inheritable(file.fileno(), True)
        ended = await shell(watched, root, "ls -l /proc/self/fd /proc/1/fd")

    assert b"pipe:" in ended.output
    assert b"secret" not in ended.output


# What it takes: each abuse is stopped, its limit named, and what it took said beside it

ABUSE = {
    "forks for ever": ("while :; do sleep 60 & done", {"processes": 30}, "processes", "30"),
    "forks forks": (
        # The first one stays: else all end with it, should it be refused one more too early.
        "f() { f & f; }; f & exec sleep 60", {"processes": 30}, "processes", "30"
    ),
    "writes for ever": (f"exec yes {OURS}", {"output_bytes": 2 * MIB}, "output", "2 MiB"),
    "eats memory": (
        "x=0123456789; while :; do x=$x$x; done", {"memory_bytes": 40 * MIB}, "memory", "40 MiB"
    ),
    "eats memory together": (
        "x=0123456789abcdef; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do x=$x$x; done;"
        " for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20;"
        f" do sh -c 'read x; sleep 60' <<EOF & \n$x\nEOF\ndone; yes {OURS}$x >/dev/null &"
        f" yes {OURS}$x$x$x$x$x$x$x$x >/dev/null & sleep 60",
        {"memory_bytes": 20 * MIB}, "memory", "20 MiB",
    ),
    "eats memory in files": (
        "exec head -c 60000000 /dev/zero >/tmp/x",
        {"memory_bytes": 20 * MIB, "temporary_bytes": 64 * MIB}, "memory", "20 MiB",
    ),
    "makes files without end": (
        "i=0; while :; do : >/tmp/$i; i=$((i + 1)); done",
        {"memory_bytes": 20 * MIB}, "memory", "20 MiB",
    ),
    "fills its files": (
        f"while :; do yes {OURS} >>/tmp/x; done",
        {"temporary_bytes": 5 * MIB}, "temporary files", "5 MiB",
    ),
    "fills its files and ends": (
        "exec head -c 9999999 /dev/zero >/tmp/x",
        {"temporary_bytes": MIB}, "temporary files", "1 MiB",
    ),
    "makes a file larger than all may be": (
        "exec dd if=/dev/zero of=/tmp/x bs=1 count=1 seek=99999999",
        {"temporary_bytes": MIB}, "temporary files", "1 MiB",
    ),
    "sleeps": ("sleep 1000", {"seconds": 0.3}, "time", "0.3 seconds"),
    "works for ever": ("while :; do :; done", {"seconds": 0.3}, "time", "0.3 seconds"),
    "talks for ever": (f"exec yes {OURS} >&2", {"seconds": 0.5}, "time", "0.5 seconds"),
    "hears no signal": (
        "trap '' TERM INT HUP; while :; do sleep 1; done", {"seconds": 0.3}, "time", "0.3 seconds"
    ),
    "leaves a daemon that talks": (
        f"(setsid sh -c 'trap \"\" HUP; exec yes {OURS}' &) ; sleep 60",
        {"output_bytes": MIB}, "output", "1 MiB",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ABUSE)
async def test_abuse_is_stopped(sandbox: Sandbox, root: Path, name: str) -> None:
    """Short-cut: kill it and call that a failure, whatever it was killed for."""
    script, bounds, limit, allowed = ABUSE[name]
    with nothing_left(), pytest.raises(FunctionStoppedError) as caught:
        await shell(sandbox, root, script, bounds=replace(PATIENT, **bounds))  # type: ignore[arg-type] # by name

    error = caught.value
    print(f"{sandbox.counted_by}: {name}: {error}")
    assert (error.limit, error.allowed) == (limit, allowed)
    assert f"{allowed}, it took" in str(error) or f"{allowed} allowed, it took" in str(error)
    for figure in ("of output", " s"):
        assert figure in error.taken
    assert isinstance(error, FunctionTimeoutError) is (limit == "time")
    assert owners(OURS) == set()


def test_what_ends_while_it_is_looked_at_counts(tmp_path: Path) -> None:
    """Short-cut: count what could be read, and miss what a refused fork has just ended."""
    for name in ("1", "2", "3", "self"):
        (tmp_path / name).mkdir()
    proc = os.open(tmp_path, os.O_RDONLY)
    try:
        assert watch.look(proc, 0).processes == 2
    finally:
        os.close(proc)


async def test_too_many_open_files_are_refused(sandbox: Sandbox) -> None:
    if not Path("/usr/bin/perl").exists():
        pytest.skip("it takes perl to open files until there are no more")
    script = "for (0..999) { open($x[$_], '<', '/dev/null') or do { print $_; exit 4 } }"
    program = Program(argv=("/usr/bin/perl", "-e", script), environment={})
    ended = await sandbox.run("it", program, b"", replace(PATIENT, open_files=100))

    assert ended.status == 4
    assert 50 < int(ended.output) < 100


# What it leaves


async def test_a_daemon_ends_with_its_function(sandbox: Sandbox, root: Path) -> None:
    """Short-cut: wait for the program, not for what it left."""
    with nothing_left():
        script = f"setsid sleep {LONG} </dev/null >/dev/null 2>&1 & exit 0"
        ended = await shell(sandbox, root, script)
        assert owners(LONG) == set()

    assert ended.status == 0


async def test_cancelling_ends_it(sandbox: Sandbox, root: Path) -> None:
    """Short-cut: leave the thread and the processes to themselves."""
    threads = set(threading.enumerate())
    with nothing_left():
        run = asyncio.ensure_future(shell(sandbox, root, f"sleep {LONG}"))
        await until(lambda: owners(LONG))
        run.cancel()
        await asyncio.sleep(0)
        run.cancel()  # impatient callers must not leave the program behind
        with pytest.raises(asyncio.CancelledError):
            await run
        assert owners(LONG) == set()

    await until(lambda: set(threading.enumerate()) <= threads)


async def test_cancelling_at_once_ends_it(sandbox: Sandbox, root: Path) -> None:
    for pause in (0.0, 0.001, 0.003, 0.006):
        with nothing_left():
            run = asyncio.ensure_future(shell(sandbox, root, f"sleep {LONG}"))
            await asyncio.sleep(pause)
            run.cancel()
            with pytest.raises(asyncio.CancelledError):
                await run
            assert owners(LONG) == set()


RUNNER = """
import asyncio, os, sys
from pathlib import Path
from typing import TypeVar
from fnrunner.contract.run import ResourceLimits
from fnrunner.fence.sandbox import Ended, Program, Sandbox

program = Program(argv=tuple(sys.argv[3:]), root=Path(sys.argv[2]), environment={"PATH": "/bin"})
sandbox = Sandbox.here(groups=sys.argv[1] == "control groups")
print(sandbox.counted_by, flush=True)
try:
    ended = asyncio.run(sandbox.run("it", program, b"", ResourceLimits(seconds=60.0, processes=20)))
    print(ended.output.decode(), ended.status)
except Exception as error:
    print(type(error).__name__, error)
"""


async def test_a_killed_runner_leaves_nothing(sandbox: Sandbox, root: Path) -> None:
    """Short-cut: clean up in `finally`, which a killed process never reaches."""
    command = [sys.executable, "-c", RUNNER, sandbox.counted_by, str(root), "/bin/sleep", LONG]
    with subprocess.Popen(command, cwd=HERE, stdout=subprocess.PIPE) as runner:
        await until(lambda: owners(LONG))
        runner.kill()
    await until(lambda: not owners(LONG))

    sandboxes.sandbox(groups=sandbox.counted_by == "control groups")  # the next one sweeps
    assert [each for each in sandboxes.groups() if f"-{runner.pid}-" in each.name] == []


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("id -u; ulimit -n", "65534"),
        ("sleep 60 & sleep 60 & while :; do sleep 60 & done", "limit of processes: 20 allowed"),
    ],
)
def test_an_ordinary_user_has_a_sandbox(folder: Path, script: str, said: str) -> None:
    """Short-cut: count all that the user runs on this machine as the function's."""
    if os.geteuid() != 0:
        pytest.skip("all the other tests have run as an ordinary user")
    root = sandboxes.root(folder / "root")
    user = ["setpriv", "--reuid=4711", "--regid=4711", "--clear-groups"]
    check = [*user, sys.executable, "-c", "import fnrunner.fence.sandbox"]
    if subprocess.run(check, cwd=HERE, capture_output=True, timeout=60).returncode:
        pytest.skip("another user cannot read this checkout")
    command = [*user, sys.executable, "-c", RUNNER, "watcher", str(root), "/bin/sh", "-c", script]
    ran = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=120)

    assert ran.stderr == ""
    assert said in ran.stdout


# Where there is none


def test_without_bubblewrap_nothing_is_run(tmp_path: Path) -> None:
    """Short-cut: run it unfenced."""
    for name in ("prlimit", "setpriv"):
        (tmp_path / name).symlink_to(f"/usr/bin/{name}")
    with pytest.raises(SandboxError) as caught:
        Sandbox.here(path=str(tmp_path))
    assert str(caught.value) == ("sandbox: the program bwrap is not installed. Install bubblewrap.")


@pytest.mark.parametrize(
    ("does", "said"),
    [
        (
            "echo --size >&2",
            r"is too old: it does not know --args, --block-fd, .*Install bubblewrap",
        ),
        (
            "case $1 in --help) exec /usr/bin/bwrap --help;; esac;"
            ' echo "bwrap: No permissions" >&2; exit 1',
            r"cannot create a sandbox here: .*bwrap: No permissions.* Let this"
            r" user make user namespaces",
        ),
    ],
)
def test_a_bubblewrap_that_cannot_is_not_used(folder: Path, does: str, said: str) -> None:
    """Short-cut: believe that a program that is there works."""
    if not Path("/usr/bin/bwrap").exists():
        pytest.skip("there is no bubblewrap")
    for name in ("prlimit", "setpriv"):
        (folder / name).symlink_to(f"/usr/bin/{name}")
    (folder / "bwrap").write_text(f"#!/bin/sh\n{does}\n")
    (folder / "bwrap").chmod(0o755)
    with nothing_left(), pytest.raises(SandboxError, match=said):
        Sandbox.here(path=str(folder))


# Helpers


def owners(word: str) -> set[int]:
    """Users of the processes with a word in their command, zombies left out."""
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
                if any(word.encode() in each for each in words[:4]) and b"-c" not in words:
                    found.add(folder.stat().st_uid)
            except OSError:  # it ended meanwhile
                continue
    return found


async def until(what: Callable[[], T]) -> T:
    """Wait until something is so."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if found := what():
            return found
        await asyncio.sleep(0.02)
    raise AssertionError("it did not come")
