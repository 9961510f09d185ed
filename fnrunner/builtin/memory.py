"""ResourceLists read and written item by item, so that what was seen before is not parsed again.

Reading and writing YAML is nearly all that a call costs. A package goes through several
functions, and again after each push, and mostly the same resources come back each time. So
a list is cut into its items by lines, and each item is looked up by its text; what is new
is parsed, all of it at once. On the way out, items that did not change keep their text.

The cut is only a shortcut: where a list is not laid out as ours are, or a piece cannot be
read alone (an alias to an anchor in another item, say), the whole list is read as it is.
"""

import json
import re
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from threading import Lock
from typing import Final, Generic, TypeVar

from cadlib import resourcelist, yaml
from cadlib.errors import PackageError
from cadlib.limits import STREAM
from cadlib.resourcelist import Item, ResourceList
from cadlib.yaml import Value
from fnrunner import results
from fnrunner.builtin import resource
from fnrunner.results import Result

K = TypeVar("K")
V = TypeVar("V")

_HEAD: Final = b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
_NO_ITEMS: Final = re.compile(rb"^items: \[\]\n", re.MULTILINE)
# The items in block style, with their dashes at the margin, end at the next line there.
_ITEMS: Final = re.compile(rb"^items:\n", re.MULTILINE)
_ITEM: Final = re.compile(rb"^- ", re.MULTILINE)
_END: Final = re.compile(rb"^(?!- |  |\n)", re.MULTILINE)
_NOTE: Final = re.compile(
    rb"internal\.config\.kubernetes\.io/(?!path\b|index\b)[\w.-]+|config\.k8s\.io/id"
)
# Perhaps an anchor or an alias: such an item may depend on others and is not remembered.
_ANCHOR: Final = re.compile(rb"[\s\[{,:?][&*][\w-]")


# What became of an item: its text before, and its value, comments and place after.
_Change = tuple[bytes, str, str, str, int | None]


@dataclass(frozen=True, slots=True)
class Parsed:
    """A ResourceList, and the text of each of its items when it was cut.

    Attributes:
        resources: The list.
        texts: Text of each item, in order; () when the list was read whole.
    """

    resources: ResourceList
    texts: Sequence[bytes]


class Memory:
    """Items by their text, and texts of changed items; the ones used last are kept.

    Items are shared between calls: whoever gets one must not change its value.
    """

    def __init__(self, limit_bytes: int = 4 * 1024 * 1024) -> None:
        """Make an empty memory.

        Args:
            limit_bytes: How much text to remember of either. Parsed, it takes ten to twenty
                times as much; the default holds some five thousand resources.
        """
        self._items: _Recent[bytes, Item] = _Recent(limit_bytes)
        self._written: _Recent[_Change, bytes] = _Recent(limit_bytes)

    @property
    def size_bytes(self) -> int:
        """How much text is remembered, of items or of changed ones, whichever is more."""
        return max(self._items.used, self._written.used)

    def decode(self, data: bytes) -> Parsed:
        """Read a ResourceList.

        Raises:
            PackageError: It is none; the place counts in the whole text.
        """
        try:
            parsed = self._by_items(data)
        except PackageError:
            parsed = None  # the whole is read below, and says where in it the fault is
        return parsed or Parsed(_read(data), ())

    def encode(self, parsed: Parsed, items: Sequence[Item], found: Iterable[Result]) -> bytes:
        """Write a ResourceList with the configuration of `parsed`, other items, and results.

        Args:
            parsed: What the items came from; those that are still the same keep their text.
            items: The items, in order.
            found: Entries of `results`, after those that `parsed` had.
        """
        config = parsed.resources.config
        everything = (*parsed.resources.results, *found)
        texts = self._texts(parsed, items)
        frame = resourcelist.encode((), config)
        if not texts or not _NO_ITEMS.search(frame):
            return results.added(resourcelist.encode(items, config), everything)
        before, after = _NO_ITEMS.split(frame, maxsplit=1)
        return results.added(b"".join((before, b"items:\n", *texts, after)), everything)

    def _by_items(self, data: bytes) -> Parsed | None:
        before, texts, after = _cut(data)
        if not texts or b"\r" in data:
            return None
        frame = _read(b"%bitems: []\n%b" % (before, after))
        items = self._items.find(texts)
        new = [i for i, item in enumerate(items) if item is None]
        if new:
            # All at once, and in order: a piece that is no item by itself shows in their number.
            read = _read(_HEAD + b"".join(texts[i] for i in new)).items
            if len(read) != len(new):
                return None
            for i, item in zip(new, read, strict=True):
                items[i] = item
                self._remember(texts[i], item)
        whole = tuple(item for item in items if item is not None)
        return Parsed(ResourceList(items=whole, config=frame.config, results=frame.results), texts)

    def _texts(self, parsed: Parsed, items: Sequence[Item]) -> list[bytes]:
        """Return the text of each item; () when they have none that can be told apart."""
        before = parsed.resources.items
        if len(before) != len(items) or len(parsed.texts) != len(items):
            return []
        texts: list[bytes | None] = [
            text if old is new else None
            for old, new, text in zip(before, items, parsed.texts, strict=True)
        ]
        changed = [i for i, text in enumerate(texts) if text is None]
        keys = [_change(parsed.texts[i], before[i], items[i]) for i in changed]
        written = self._written.find(keys)
        new = [n for n, text in enumerate(written) if text is None]
        if new:
            _, cut, _ = _cut(resourcelist.encode([items[changed[n]] for n in new], None))
            if len(cut) != len(new):
                return []
            for n, text in zip(new, cut, strict=True):
                written[n] = text
                self._written.keep(keys[n], text, 3 * len(text))  # before, value and after
                self._remember(text, items[changed[n]])
        for i, found in zip(changed, written, strict=True):
            texts[i] = found
        return [text for text in texts if text is not None]

    def _remember(self, text: bytes, item: Item) -> None:
        if not _ANCHOR.search(text):
            self._items.keep(text, item, len(text))


class _Recent(Generic[K, V]):
    """A mapping that forgets what was used longest ago; safe to use from several threads."""

    def __init__(self, limit: int) -> None:
        self.used = 0
        self._limit = limit
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = Lock()

    def find(self, keys: Iterable[K]) -> list[V | None]:
        with self._lock:
            return [self._find(key) for key in keys]

    def _find(self, key: K) -> V | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def keep(self, key: K, value: V, size: int) -> None:
        with self._lock:
            if key in self._entries:
                return
            self._entries[key] = value, size
            self.used += size
            while self.used > self._limit:
                _, (_, gone) = self._entries.popitem(last=False)
                self.used -= gone


def _read(data: bytes) -> ResourceList:
    """Read a ResourceList whose items keep what kpt notes in their annotations.

    A function must hand back kpt's notes (package-path, id, indentation of lists), by which
    kpt knows where a resource belongs. Only path and index have a place in an `Item`.
    """
    listed = resourcelist.decode(data)
    if not _NOTE.search(data):
        return listed
    whole = next(doc for doc in yaml.read(data, limits=STREAM).documents if not doc.empty)
    raw = resource.items(resource.field(whole.value, "items"))
    items = (_with_notes(item, value) for item, value in zip(listed.items, raw, strict=True))
    return replace(listed, items=tuple(items))


def _with_notes(item: Item, raw: Value) -> Item:
    annotations = resource.mapping(resource.field(raw, "metadata", "annotations"))
    value = item.value
    for key, note in annotations.items():
        if _NOTE.fullmatch(key.encode()):
            value = resource.with_field(value, ("metadata", "annotations", key), note)
    return item if value is item.value else replace(item, value=value)


def _change(text: bytes, old: Item, new: Item) -> _Change:
    comments = "" if new.comments is old.comments else repr(sorted(new.comments.items(), key=repr))
    return text, json.dumps(new.value), comments, new.path, new.index


def _cut(data: bytes) -> tuple[bytes, list[bytes], bytes]:
    """Return what stands before the items, the items with their line breaks, and what follows.

    There are no items when they are not in block style at the margin.
    """
    match = _ITEMS.search(data)
    if match is None:
        return data, [], b""
    begin = match.end()
    after = _END.search(data, begin)
    end = after.start() if after else len(data)
    starts = [item.start() for item in _ITEM.finditer(data, begin, end)]
    return (
        data[: match.start()],
        [data[start:stop] for start, stop in pairwise([*starts, end])],
        data[end:],
    )
