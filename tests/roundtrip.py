"""What a round trip does to real files, ours beside kpt's: `python -m tests.roundtrip`.

Every YAML file of the real packages that are beside this checkout is read and written without a
change; then its package is rendered with a function that gives every resource one label, and that
writes JSON, without comments and in another order. Counted are the files whose bytes changed, and
the lines, beside those that had to change. kpt is given each package as a folder
(`fn eval --exec`), and file by file where it refuses the whole.
"""

import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.cli.disk import folder
from cadlib.package.files import KPTFILE, Entry
from cadlib.yaml import edit, read
from tests.cadlib.real import whole_packages
from tests.cadlib.rewriting import labelled
from tests.cadlib.yaml.test_real import changed_lines, files
from tests.differential.tools import KPT, kpt

FUNCTION = """\
#!{python}
import json, sys, yaml
given = yaml.load(sys.stdin, yaml.CSafeLoader)
for each in given["items"]:
    metadata = each.get("metadata") or {{}}
    metadata["labels"] = {{**(metadata.get("labels") or {{}}), "porch.example/tested": "yes"}}
    each["metadata"] = metadata
json.dump(given, sys.stdout, sort_keys=True, default=str)
"""


@dataclass(slots=True)
class Counts:
    """Of one tool and one kind of round trip.

    Attributes:
        files: How many it was given.
        refused: How many it cannot read.
        changed: How many have other bytes now.
        lines: How many lines were changed, added or removed.
    """

    files: int = 0
    refused: int = 0
    changed: int = 0
    lines: int = 0

    def add(self, old: bytes, new: bytes | None) -> None:
        """Count a file; None for one that was refused."""
        self.files += 1
        if new is None:
            self.refused += 1
        elif new != old:
            self.changed += 1
            self.lines += changed_lines(old, new)

    def __str__(self) -> str:
        return f"{self.files:>7}{self.refused:>9}{self.changed:>9}{self.lines:>9}"


def main() -> int:
    """Print the counts; 1 if our round trip changes a byte, or a label more than its lines."""
    same, label, needed = Counts(), Counts(), 0
    for _, path, data in files(whole_packages()):
        stream = read(data, path=path)
        same.add(data, edit(stream, {n: each.value for n, each in enumerate(stream.documents)}))
    for package in whole_packages().values():
        after, necessary = labelled(package)
        needed += necessary
        for path, entry in _readable(package):
            label.add(entry.data, after[path].data if path in after else None)
    print(f"{'':22}  files  refused  changed    lines")
    print(f"{'porchbot, no change':22}{same}")
    if KPT is not None:
        print(f"{'kpt, no change':22}{_by_kpt('cat')}")
    print(f"{'porchbot, one label':22}{label}   {needed} had to change")
    if KPT is not None:
        with tempfile.TemporaryDirectory() as place:
            print(f"{'kpt, one label':22}{_by_kpt(_function(Path(place)))}")
    return int(same.changed + same.refused + label.refused > 0 or label.lines != needed)


def _by_kpt(function: str) -> Counts:
    counts = Counts()
    for each in whole_packages().values():
        given = dict(_readable(each))
        done = _evaluated(given, function)
        for path, entry in given.items():
            if done is not None:
                counts.add(entry.data, done[path].data)
                continue
            alone = _evaluated({path: entry}, function)
            counts.add(entry.data, alone[path].data if alone else None)
    return counts


def _readable(entries: Mapping[str, Entry]) -> Iterator[tuple[str, Entry]]:
    for path, entry in entries.items():
        if path.endswith((".yaml", ".yml", KPTFILE)) and entry.mode != "120000":
            yield path, entry


def _evaluated(given: Mapping[str, Entry], function: str) -> Mapping[str, Entry] | None:
    """Return files as kpt leaves them; None if it refuses them."""
    with tempfile.TemporaryDirectory() as place:
        folder.write(Path(place) / "pkg", given)
        done = kpt(Path(place), "fn", "eval", "pkg", "--exec", function)
        after = folder.read(Path(place) / "pkg")
    return after if done.code == 0 and after.keys() >= given.keys() else None


def _function(place: Path) -> str:
    script = place / "label"
    script.write_text(FUNCTION.format(python=sys.executable))
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return str(script)


if __name__ == "__main__":
    sys.exit(main())
