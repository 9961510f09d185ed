r"""Resolves field paths that functions report, however spelled, against the resource.

A path as text is ambiguous: `a.b.c` is three keys, or two, or one. Functions write
`spec.containers[0].image`, `spec.containers.0.image`, `/spec/containers/0/image`,
`$.spec['containers'][0]`, `spec.containers[name=web].image`, and keys with dots or slashes
quoted, escaped or bare. So the text is not cut first: at each step the keys that are really
there are tried.

Rules
- The longest key that fits goes first; a way that uses up the whole text goes before one that
  does not, and where several do, the one whose value the function says it found.
- `[*]`, and a list that is passed over, mean the one element that fits; the list if several do.
- Where nothing fits to the end, the field is the deepest that does: the mapping that lacks a key,
  the list that is too short.

Source: RFC 6901 (JSON pointers), RFC 9535 (JSONPath), kustomize's field specs and replacements,
`(root).` of gojsonschema, field.Path of Kubernetes; results of the catalog's functions.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from cadlib.yaml import FieldPath, Value, same
from cadlib.yaml.match import MERGE_KEYS, match

_LONGEST: Final = 1_000
"""Characters of a path; longer than any field of a real resource."""

_MOST_STEPS: Final = 5_000
"""Keys that are tried for one path; a real one takes a few dozen."""

_MOST_ELEMENTS: Final = 200
"""Elements of a list that are looked at where a path does not say which."""

_TEXTS: Final = frozenset({"annotations", "labels", "matchLabels", "nodeSelector", "commonLabels"})
"""Mappings of texts whose keys hold dots: a key of theirs is never gone into."""

_ROOT: Final = re.compile(r"(?:\$|@|#|\(root\)|self|object|input\.review\.object)(?=[./\[]|$)")
_QUOTED: Final = re.compile(
    r"""\[\s*(?:"(?P<json>(?:[^"\\]|\\.)*)"|'(?P<single>(?:[^'\\]|\\.)*)')\s*\]
    |"(?P<bare>(?:[^"\\]|\\.)*)"(?=[./\[]|$) | '(?P<bare1>(?:[^'\\]|\\.)*)'(?=[./\[]|$)
    |`(?P<ticks>[^`]*)`(?=[./\[]|$)""",
    re.VERBOSE,
)
_INDEX: Final = re.compile(r"\[\s*(-?[0-9]{1,9})\s*\]|(-?[0-9]{1,9})(?=[./\[]|$)")
_ANY: Final = re.compile(r"\[\s*[*#]?\s*\]|\*(?=[./\[]|$)")
_BRACKET: Final = re.compile(r"\[([^\[\]]*)\]")
_NAMED: Final = re.compile(r"""([\w./-]+)\s*(?:==?|:)\s*["']?([^"',()\]]*)["']?""")
_ENDS: Final = re.compile(r"[./\[]|$")


@dataclass(frozen=True, slots=True)
class Located:
    """A field.

    Attributes:
        path: The field, or the deepest that is there of those on the way to it.
        whole: It is the field meant, not one on the way to it.
    """

    path: FieldPath
    whole: bool


def locate(text: str, value: Value, current: str | None = None) -> Located:
    """Return the field of a resource that a path means.

    Args:
        text: The path, as a function wrote it.
        value: The resource.
        current: What the function says the field holds; None when it does not say.
    """
    text = text.strip()
    if text.startswith("{") and text.endswith("}"):  # as kubectl's templates have it
        text = text[1:-1].strip()
    if not text or len(text) > _LONGEST:
        return Located((), whole=not text)
    start = _ROOT.match(text)
    if start and not (isinstance(value, dict) and start[0] in value):
        fragment = start[0] == "#"
        text = text[start.end() :]
        text = re.sub("%([0-9A-Fa-f]{2})", _byte, text) if fragment else text
    if not text.strip("./"):
        return Located((), whole=True)
    search = _Search(text, pointer=text.startswith("/"), current=current)
    ways = list(search.ways(value, (), 0, ""))
    fitting = [path for path, leaf in ways if _is(leaf, current)]
    if ways:
        return Located((fitting or [path for path, _ in ways])[0], whole=True)
    return Located(search.deepest, whole=False)


def carried(path: FieldPath, now: Value, before: Value) -> FieldPath:
    """Return the path that a field had before functions changed the resource.

    Args:
        path: The field.
        now: The resource as it is now.
        before: The resource as it was.

    Returns:
        The deepest field on the way that was there before.
    """
    found: list[str | int] = []
    for step in path:
        if isinstance(now, dict) and isinstance(before, dict) and step in before and step in now:
            now, before = now[str(step)], before[str(step)]
            found.append(step)
        elif isinstance(now, list) and isinstance(before, list) and isinstance(step, int):
            position = step if same(now, before) else match(before, now)[step]
            if position is None:
                break
            now, before = now[step], before[position]
            found.append(position)
        else:
            break
    return tuple(found)


@dataclass(slots=True)
class _Search:
    """One path, and how far it was followed.

    Attributes:
        text: The path.
        pointer: It is a JSON pointer: a "/" always ends a key, and two of them enclose one of "".
        current: What the field holds.
        deepest: The field furthest along the text so far.
        reached: How much of the text that takes up.
        steps: Keys tried so far.
    """

    text: str
    pointer: bool
    current: str | None
    deepest: FieldPath = ()
    reached: int = 0
    steps: int = field(default=0)

    def ways(
        self, node: Value, path: FieldPath, at: int, parent: str
    ) -> Iterator[tuple[FieldPath, Value]]:
        """Yield the fields that the rest of the text can mean, each with its value.

        Args:
            node: The value of the field that was reached.
            path: That field.
            at: Where the rest of the text begins.
            parent: The key of the mapping that this field stands in.
        """
        self.steps += 1
        if self.steps > _MOST_STEPS:
            return
        if at >= len(self.text):
            yield path, node
            return
        if at > self.reached and self._stays(node, at, parent):
            self.deepest, self.reached = path, at
        begin = self._skip(at)
        if begin >= len(self.text) and not self.pointer:
            yield path, node
        elif isinstance(node, dict):
            last = path[-1] if path else ""
            for key, end in self._keys(node, begin):
                yield from self.ways(node[key], (*path, key), end, str(last))
        elif isinstance(node, list):
            yield from self._elements(node, path, begin)

    def _stays(self, node: Value, at: int, parent: str) -> bool:
        """Tell whether a field that the text goes on behind may be one on the way.

        `annotations["app"]` is not on the way to the annotation `app.example/x`.
        """
        if isinstance(node, dict | list):
            return True
        return parent not in _TEXTS and (self.pointer or "/" not in self.text[at:])

    def _skip(self, at: int) -> int:
        """Return where the next step begins."""
        if self.pointer:
            return at + 1 if self.text[at] == "/" else at
        while at < len(self.text) and self.text[at] in "./":
            at += 1
        return at

    def _keys(self, node: dict[str, Value], at: int) -> Iterator[tuple[str, int]]:
        """Yield the keys that the text may go on with, and where each ends, longest first."""
        if quoted := _QUOTED.match(self.text, at):
            key = _unquoted(quoted)
            if key in node:
                yield key, quoted.end()
                return
        ends = [found.start() for found in _ENDS.finditer(self.text, at)]
        tried: dict[tuple[str, int], None] = {}
        for end in reversed(ends):
            for key in _spelled(self.text[at:end], pointer=self.pointer):
                self.steps += 1
                if key in node:
                    tried[key, end] = None
        if (bracket := _BRACKET.match(self.text, at)) and bracket[1] in node:
            tried[bracket[1], bracket.end()] = None
        yield from tried
        if "." in self.text[at:]:
            yield from (each for each in self._slashed(node, at) if each not in tried)

    def _slashed(self, node: dict[str, Value], at: int) -> list[tuple[str, int]]:
        """Return keys with a "/" that is a dot in the text, as kubeconform writes them."""
        found = []
        for key in node:
            dotted = key.replace("/", ".")
            end = at + len(dotted)
            if dotted != key and self.text.startswith(dotted, at) and _ENDS.match(self.text, end):
                found.append((key, end))
        return sorted(found, key=lambda each: (-each[1], each[0]))

    def _elements(
        self, node: list[Value], path: FieldPath, at: int
    ) -> Iterator[tuple[FieldPath, Value]]:
        """Yield what the text can mean from a list on."""
        last = path[-1] if path else ""
        chosen, end = self._chosen(node, at)
        if chosen is not None and len(chosen) == 1:
            position = chosen[0]
            yield from self.ways(node[position], (*path, position), end, str(last))
            return
        several = range(min(len(node), _MOST_ELEMENTS)) if chosen is None else chosen
        kept = self.deepest, self.reached
        ways = [
            way
            for position in several
            for way in self.ways(node[position], (*path, position), end, str(last))
        ]
        if len(several) > 1:  # what only some lack, or all, is not one element's
            self.deepest, self.reached = kept
        fitting = [way for way in ways if _is(way[1], self.current)]
        if len(fitting) == 1 or (fitting and len({way[0] for way in fitting}) == 1):
            yield fitting[0]
        elif len(ways) == 1:
            yield ways[0]
        elif ways:
            yield path, node

    def _chosen(self, node: list[Value], at: int) -> tuple[list[int] | None, int]:
        """Return the elements that the next step names, and where it ends; None for any."""
        text = self.text
        if index := _INDEX.match(text, at):
            position = int(index[1] or index[2])
            position += len(node) if position < 0 else 0
            # Past the end: nothing fits, and the list is where it is missing from.
            return ([position] if 0 <= position < len(node) else []), index.end()
        if anything := _ANY.match(text, at):
            return list(range(min(len(node), _MOST_ELEMENTS))), anything.end()
        bracket = _QUOTED.match(text, at) or _BRACKET.match(text, at)
        if bracket is None:
            return None, at
        inner = _unquoted(bracket) if bracket.re is _QUOTED else bracket[1]
        if inner.isdecimal() and len(inner) < 10:
            return ([int(inner)] if int(inner) < len(node) else []), bracket.end()
        wanted = _NAMED.findall(text, at, bracket.end()) if bracket.re is _BRACKET else []
        return [
            position
            for position, each in enumerate(node[:_MOST_ELEMENTS])
            if isinstance(each, dict) and _names(each, wanted, inner)
        ], bracket.end()


def _names(element: dict[str, Value], wanted: list[tuple[str, str]], name: str) -> bool:
    """Tell whether an element of a list is the one called `name`, or has all the wanted values."""
    if wanted:
        return all(
            value == "*" or _plain(element.get(key.removeprefix("."))) == value
            for key, value in wanted
        )
    keys = (key[0] for key in MERGE_KEYS if len(key) == 1)
    return next((_plain(element[key]) == name for key in keys if key in element), False)


def _spelled(text: str, *, pointer: bool) -> Iterator[str]:
    """Yield the keys that a piece of a path can stand for."""
    if pointer and "~" in text:
        yield text.replace("~1", "/").replace("~0", "~")
    yield text
    if "\\" in text:
        yield re.sub(r"\\(.)", r"\1", text)
    elif "~1" in text:
        yield text.replace("~1", "/").replace("~0", "~")


def _unquoted(found: re.Match[str]) -> str:
    groups = found.groupdict()
    written = groups["json"] if groups["json"] is not None else groups["bare"]
    if written is not None:
        try:
            return str(json.loads(f'"{written}"'))
        except ValueError:  # an escape that JSON does not know: taken as it stands
            return written
    if groups["ticks"] is not None:
        return groups["ticks"]
    single = groups["single"] if groups["single"] is not None else groups["bare1"]
    return re.sub(r"\\(.)", r"\1", single or "")


def _byte(found: re.Match[str]) -> str:
    code = int(found[1], 16)
    return chr(code) if code < 128 else found[0]


def _is(value: Value, current: str | None) -> bool:
    return current is not None and not isinstance(value, dict | list) and _plain(value) == current


def _plain(value: Value) -> str:
    """Return a value as findings give the current one."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
