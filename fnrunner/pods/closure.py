"""Copies the interpreter and its packages into a folder that runs in any Linux image.

A function's image has a libc of any kind or none, no interpreter, often no shell. So the folder
holds the interpreter with its own loader and libraries, the standard library, and the packages
that fnrunner/pods/server.py imports: `bin/python3` and `lib/`, as an installed Python has them, and
`lib/ld.so`, which is started with it.

Rules
- What is copied is found, not listed: the packages by importing the server, the libraries by
  asking the loader for those of every binary that is copied.
- The folder is complete when `lib/ready` is there, which is written last.

Source: ld.so(8); Python's own search for its library (Modules/getpath.py).
"""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from fnrunner.contract.errors import ClosureError

LOADER: Final = "lib/ld.so"
"""The loader, below the folder."""

PYTHON: Final = "bin/python3"
"""The interpreter, below the folder."""

_READY: Final = "lib/ready"
_SERVER: Final = "fnrunner.pods.server"
# Parts of the standard library that nothing here uses, a third of it.
_UNUSED: Final = frozenset(
    ("test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "pydoc_data")
)
# Where packages are looked for differs: Debian's Python has its own name for it. So what is copied
# stands beside the standard library, which every Python looks through.
_INSTALLED: Final = frozenset(("site-packages", "dist-packages"))
_WINDOWS: Final = "_tkinter.*"  # a binary that needs a dozen libraries
# Imported only because they are installed: by setuptools' own hook, and by gRPC where it is found.
_NOT_NEEDED: Final = frozenset(("_distutils_hack", "grpc_tools"))
_LIBRARY: Final = re.compile(r"^\s*(?P<name>\S+) => (?P<path>/.+?) \(0x[0-9a-f]+\)$", re.MULTILINE)
_MISSING: Final = re.compile(r"^\s*(?P<name>\S+) => not found$", re.MULTILINE)
_LIST: Final = """
import importlib, json, sys
importlib.import_module(sys.argv[1])
found = {}
for name, module in list(sys.modules.items()):
    top = name.partition(".")[0]
    for place in [getattr(module, "__file__", None), *getattr(module, "__path__", ())]:
        if place and top not in sys.stdlib_module_names:
            found.setdefault(top, []).append(place)
print(json.dumps(found))
"""
_SECONDS: Final = 120.0  # for one program that is asked something


def copy(folder: Path) -> None:
    """Fill a folder; files that are there already are written again.

    Args:
        folder: Where to; made if need be.

    Raises:
        ClosureError: This interpreter cannot be copied into pods.
        OSError: It cannot be written, or read.
    """
    loader = _loader(_interpreter())
    library = folder / "lib"
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    library.mkdir(exist_ok=True)
    standard = library / f"python{sys.version_info.major}.{sys.version_info.minor}"
    for name in dict.fromkeys((sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))):
        _copy_tree(Path(name), standard, skipped=_UNUSED | _INSTALLED)
    for package in _packages():
        _copy_package(package, standard)
    shutil.copy2(_interpreter(), folder / PYTHON)
    shutil.copy2(loader, folder / LOADER)
    for path in _libraries(loader, [folder / PYTHON, *_binaries(standard)]):
        shutil.copy2(path, library / path.name)
    (folder / _READY).touch()


def _interpreter() -> Path:
    """Return the interpreter itself, not the link to it in a virtual environment."""
    base = Path(getattr(sys, "_base_executable", "") or sys.executable).resolve()
    if sys.platform != "linux" or not base.is_file():
        raise ClosureError(
            f"{base} on {sys.platform} cannot be copied into pods", "Run it on Linux"
        )
    return base


def _loader(binary: Path) -> Path:
    """Return the loader that a binary names.

    Source: elf(5), PT_INTERP.
    """
    data = binary.read_bytes()
    wide, order = data[4:5] == b"\x02", "little" if data[5:6] == b"\x01" else "big"
    if data[:4] != b"\x7fELF":
        raise ClosureError(
            f"{binary} is not an ELF program", "Use CPython as it is built for Linux"
        )

    def number(start: int, size: int) -> int:
        return int.from_bytes(data[start : start + size], order)  # type: ignore[arg-type] # either

    table = number(32, 8) if wide else number(28, 4)
    size, count = (number(54, 2), number(56, 2)) if wide else (number(42, 2), number(44, 2))
    for place in range(table, table + size * count, size):
        if number(place, 4) == 3:  # PT_INTERP
            start = number(place + 8, 8) if wide else number(place + 4, 4)
            length = number(place + 32, 8) if wide else number(place + 16, 4)
            return Path(data[start : start + length].rstrip(b"\0").decode())
    raise ClosureError(f"{binary} is linked statically", "Use a Python that can load extensions")


def _packages() -> list[Path]:
    """Return the folders and files in which the packages lie that the server imports."""
    said = _asked([sys.executable, "-I", "-c", _LIST, _SERVER])
    found: dict[Path, None] = {}
    for top, places in sorted(json.loads(said).items()):
        for place in map(Path, () if top in _NOT_NEEDED else places):
            if top in place.parts:  # as in …/google/protobuf/message.py: all of …/google
                at = len(place.parts) - 1 - place.parts[::-1].index(top)
                found[Path(*place.parts[: at + 1])] = None
            elif place.stem.partition(".")[0] == top:
                found[place] = None
    return list(found)


def _copy_package(package: Path, into: Path) -> None:
    into.mkdir(parents=True, exist_ok=True)
    if package.is_file():
        shutil.copy2(package, into / package.name)
        return
    _copy_tree(package, into / package.name)
    # Wheels keep libraries of their own beside the package.
    for beside in (f"{package.name}.libs", f"{package.name.lstrip('_')}.libs"):
        if (package.parent / beside).is_dir():
            _copy_tree(package.parent / beside, into / beside)


def _copy_tree(source: Path, into: Path, skipped: Iterable[str] = ()) -> None:
    """Copy files with their times, by which Python knows that what it compiled still holds."""
    ignore = shutil.ignore_patterns(*skipped, _WINDOWS, "*.a") if skipped else None
    shutil.copytree(source, into, ignore=ignore, dirs_exist_ok=True)


def _binaries(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*.so*")):
        with path.open("rb") as file:
            if file.read(4) == b"\x7fELF":
                yield path


def _libraries(loader: Path, binaries: Iterable[Path]) -> list[Path]:
    """Return the libraries that the loader finds for binaries, as files of this machine."""
    found: dict[str, Path] = {}
    for binary in binaries:
        said = _asked([str(loader), "--list", str(binary)])
        lacking = _MISSING.search(said)
        if lacking:
            raise ClosureError(f"{binary} needs {lacking['name']}", "Install that library")
        for each in _LIBRARY.finditer(said):
            found.setdefault(each["name"], Path(each["path"]))
    return [path for name, path in sorted(found.items()) if name != loader.name]


def _asked(words: list[str]) -> str:
    done = subprocess.run(  # noqa: S603 - programs of our own installation
        words, capture_output=True, text=True, timeout=_SECONDS, check=False, env=_environment()
    )
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()
        raise ClosureError(f"{words[0]} fails: {said}", "Repair the installation")
    return done.stdout


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("LD_")}
