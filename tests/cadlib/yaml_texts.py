"""YAML as people write it: the same value in many layouts, and random changes to a value.

The writer shares nothing with the one under test, and notes which lines belong to what.
"""

import copy
import random
from collections.abc import Callable, Iterator

from cadlib.yaml import FieldPath, Value

WORDS = ["web", "a b", "x:y", "é", "nginx:1.25", "10.0.0.1", "v1.2", "~/x", "-c"]
ODD = [
    "yes",
    "0755",
    "1e3",
    "null",
    "",
    "2024-01-01",
    "# no",
    "a: b",
    "- x",
    "'",
    '"',
    "\ttab",
    "a #b",
]
KEYS = ["a", "name", "app.kubernetes.io/name", "b c", "yes", "80", "é"]


def scalar(rng: random.Random) -> Value:
    """A value without children."""
    kinds: list[list[Value]] = [
        [*WORDS],
        [*WORDS],
        [*ODD],
        ["one\ntwo\n", "one\n\n  two", "x\n"],
        [rng.randint(-5, 99)],
        [True, False, None, 1.5],
    ]
    return rng.choice(rng.choice(kinds))


def value(rng: random.Random, depth: int) -> Value:
    """A value, up to `depth` collections deep."""
    kind = rng.random()
    if depth == 0 or kind < 0.45:
        return scalar(rng)
    if kind < 0.8:
        return mapping(rng, depth)
    return [value(rng, depth - 1) for _ in range(rng.randint(0, 3))]


def mapping(rng: random.Random, depth: int, least: int = 0) -> dict[str, Value]:
    keys = rng.sample(KEYS, rng.randint(least, 4))
    return {key: value(rng, depth - 1) for key in keys}


class Layout:
    """Writes a value in one of the ways people do; every choice is the generator's."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.step = rng.choice([2, 2, 4])
        self.noise = rng.choice([0.0, 0.2])

    def document(self, found: Value) -> str:
        lines = list(self.block(found, 0))
        if self.noise and self.rng.random() < 0.5:
            lines = ["# licence", "", *lines]
        if self.rng.random() < 0.3:
            lines.append("# the end")
        return "\n".join(lines) + "\n"

    def block(self, found: Value, indent: int) -> Iterator[str]:
        pad = " " * indent
        if isinstance(found, dict) and found:
            for key, inner in found.items():
                yield from self._between(pad)
                yield from self._node(f"{pad}{self._key(key)}:", inner, indent, key=True)
        elif isinstance(found, list) and found:
            for inner in found:
                yield from self._between(pad)
                yield from self._node(f"{pad}-", inner, indent, key=False)
        else:
            yield pad + self._flow(found)

    def _between(self, pad: str) -> Iterator[str]:
        if self.rng.random() < self.noise:
            yield self.rng.choice(["", f"{pad}# note", f"{pad}#\ttab"])

    def _node(self, lead: str, found: Value, indent: int, *, key: bool) -> Iterator[str]:
        if not isinstance(found, dict | list) or not found or self.rng.random() < 0.15:
            yield from self._scalar(lead, found, indent)
            return
        if not key and self.rng.random() < 0.8:
            first, *rest = self._hanging(found, indent + 2)
            yield f"{lead} {first.strip(' ')}"
            yield from rest
            return
        yield lead + self._comment()
        wide = isinstance(found, dict) or not key or self.rng.random() < 0.5
        yield from self.block(found, indent + (self.step if wide else 0))

    def _hanging(self, found: Value, indent: int) -> list[str]:
        noise, self.noise = self.noise, 0.0
        lines = list(self.block(found, indent))
        self.noise = noise
        return lines

    def _scalar(self, lead: str, found: Value, indent: int) -> Iterator[str]:
        if found is None and self.rng.random() < 0.5:
            yield lead + self._comment()
        elif isinstance(found, str) and "\n" in found and self.rng.random() < 0.7:
            chomp = "" if found.endswith("\n") else "-"
            yield f"{lead} |{chomp}" + self._comment()
            for line in found.removesuffix("\n").split("\n"):
                yield " " * (indent + self.step) + line if line else ""
            if self.rng.random() < 0.3:
                yield ""
        else:
            yield f"{lead} {self._flow(found)}" + self._comment()

    def _comment(self) -> str:
        return self.rng.choice([" # c", "  # {x}: y"]) if self.rng.random() < self.noise else ""

    def _key(self, key: str) -> str:
        if key in ("yes", "80"):
            return f'"{key}"'
        return self.rng.choice([key, key, f'"{key}"', f"'{key}'"])

    def _flow(self, found: Value) -> str:
        gap = self.rng.choice(["", " "])
        if isinstance(found, dict):
            inner = ", ".join(f"{self._key(k)}: {self._flow(v)}" for k, v in found.items())
            return "{" + gap + inner + gap + "}"
        if isinstance(found, list):
            return "[" + gap + ", ".join(map(self._flow, found)) + gap + "]"
        if isinstance(found, bool) or found is None:
            return {True: "true", False: "false", None: "null"}[found]
        if isinstance(found, str):
            return self._text(found)
        return str(found)

    def _text(self, text: str) -> str:
        double = '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
        ways = [double.replace("\t", "\\t")]
        if "\n" not in text:
            ways.append("'" + text.replace("'", "''") + "'")
        if text in ("web", "é", "10.0.0.1", "v1.2", "a b"):
            ways += [text, text]
        return self.rng.choice(ways)


def changed(rng: random.Random, old: Value) -> Value:
    """The value with one to three changes of the kinds that can be written."""
    new = copy.deepcopy(old)
    for _ in range(rng.randint(1, 3)):
        paths = [(), *_paths(new, ())]
        new = _set(new, rng.choice(paths), lambda found: _change(rng, found))
    return new


def _change(rng: random.Random, found: Value) -> Value:
    if isinstance(found, dict):
        kind = rng.random()
        if kind < 0.5 or not found:
            key = rng.choice([*KEYS, "new", "new.io/x"])
            return {**found, key: value(rng, 2)}
        if kind < 0.8:
            gone = rng.choice(sorted(found))
            return {key: inner for key, inner in found.items() if key != gone}
    if isinstance(found, list) and rng.random() < 0.8:
        return _change_list(rng, list(found))
    return scalar(rng) if rng.random() < 0.7 else value(rng, 2)


def _change_list(rng: random.Random, items: list[Value]) -> list[Value]:
    """The list with one element more, one less, or in another order."""
    kind = rng.random()
    if kind < 0.5 or not items:
        items.insert(rng.randint(0, len(items)), value(rng, 2))
    elif kind < 0.75:
        del items[rng.randrange(len(items))]
    else:
        rng.shuffle(items)
    return items


def _paths(found: Value, path: FieldPath) -> Iterator[FieldPath]:
    if path:
        yield path
    if isinstance(found, dict):
        for key, inner in found.items():
            yield from _paths(inner, (*path, key))
    elif isinstance(found, list):
        for index, inner in enumerate(found):
            yield from _paths(inner, (*path, index))


def _set(found: Value, path: FieldPath, change: Callable[[Value], Value]) -> Value:
    if not path:
        return change(found)
    step, *rest = path
    if isinstance(found, dict):
        assert isinstance(step, str)
        return {**found, step: _set(found[step], tuple(rest), change)}
    assert isinstance(found, list)
    assert isinstance(step, int)
    return [
        _set(inner, tuple(rest), change) if index == step else inner
        for index, inner in enumerate(found)
    ]
