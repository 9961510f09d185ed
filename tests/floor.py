"""Hold what the tests ran of cadlib and lifecycle against a floor: `python -m tests.floor FILE`.

The file is slipcover's, as `make test` has it written. Nothing is printed while the floor holds, so
that the last line is that of the tests.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

FLOORS = {"cadlib": 96, "lifecycle": 97}
"""Least share of the lines, in percent: what was measured, rounded down. It only ever rises."""


def below(measured: Mapping[str, Mapping[str, list[int]]]) -> list[str]:
    """Say which folders lie below their floor, with the files that lack most.

    Args:
        measured: By path from the root: numbers of "executed_lines" and "missing_lines".
    """
    said = []
    for folder, floor in FLOORS.items():
        files = {path: found for path, found in measured.items() if path.startswith(f"{folder}/")}
        missing = sum(len(found["missing_lines"]) for found in files.values())
        lines = missing + sum(len(found["executed_lines"]) for found in files.values())
        share = 100 * (lines - missing) / lines if lines else 0.0
        if share < floor:
            worst = sorted(files, key=lambda path: -len(files[path]["missing_lines"]))[:5]
            said.append(f"{folder}: tests run {share:.1f} % of the lines, of {floor} % wanted.")
            said += [f"  {path}: {files[path]['missing_lines'][:20]} …" for path in worst]
    return said


def main() -> int:
    """Print what lies below; the exit status is 1 then."""
    said = below(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["files"])
    print("\n".join(said), end="\n" if said else "")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
