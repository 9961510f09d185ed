"""ResourceLists read and written item by item, so that what was seen before is not parsed again.

Reading and writing YAML is nearly all that a call costs. A package goes through several
functions, and again after each push, and mostly the same resources come back each time. So
a list is cut into its items by lines, and each item is looked up by its text; what is new
is parsed, by the quick reader where that can. On the way out, items that did not change keep
their text, and what others became is remembered for the next function.

The cut is only a shortcut: where a list is not laid out as ours are, or a piece cannot be
read alone (an alias to an anchor in another item, say), the whole list is read as it is.
"""

import re
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from threading import Lock
from typing import Final, Generic, TypeVar

from cadlib import yaml
from cadlib.errors import PackageError
from cadlib.limits import STREAM
from cadlib.stream import resourcelist
from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Document, Value, quick
from cadlib.yaml.tree import Extent, Seq, SourceText
from fnrunner.builtin import resource
from fnrunner.contract import results
from fnrunner.contract.results import Result

K = TypeVar("K")
V = TypeVar("V")

_HEAD: Final = b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
_NO_ITEMS: Final = re.compile(rb"^items: \[\]\n", re.MULTILINE)
# The items in block style, with their dashes at the margin, end at the next line there.
_ITEMS: Final = re.compile(rb"^items:\n", re.MULTILINE)
_ITEM: Final = re.compile(rb"\n- ")
_END: Final = re.compile(rb"\n(?!- |  |\n)")
_DASH: Final = b"- "
_CONFIG: Final = b"\nfunctionConfig:"
_NOTE: Final = re.compile(
    rb"internal\.config\.kubernetes\.io/(?!path\b|index\b)[\w.-]+|config\.k8s\.io/id"
)
_PLACES: Final = frozenset(
    f"{kind}config.kubernetes.io/{place}"
    for kind in ("internal.", "")
    for place in ("path", "index")
)
# Stands for the items where the rest is read.
_MARK: Final = b"items:\n- items: here\n"
_MARKED: Final[list[Value]] = [{"items": "here"}]
# The fields of an item, which stand two columns in, the first behind its dash.
_FIELD: Final = re.compile(rb"^(?:- |  )(?=[A-Za-z])", re.MULTILINE)
# Perhaps an anchor or an alias: such an item may depend on others and is not remembered.
_ANCHOR: Final = re.compile(rb"[\s\[{,:?][&*][\w-]")


@dataclass(frozen=True, slots=True)
class ParsedResource:
    """A ResourceList, and the text of each of its items when it was cut.

    Attributes:
        resources: The list.
        texts: Text of each item, in order; () when the list was read whole.
    """

    resources: ResourceList
    texts: Sequence[bytes]

    def with_texts(self) -> "ParsedResource":
        """Return the list with the text of each item that can be read alone, to look things up."""
        items = tuple(
            item if _ANCHOR.search(text) else _with_text(item, text)
            for item, text in zip(self.resources.items, self.texts, strict=False)
        )
        if not items:
            return self
        return ParsedResource(replace(self.resources, items=items), self.texts)


class ItemCache:
    """Items by their text, those that came and those that were made; the last used are kept.

    Items are shared between calls: whoever gets one must not change its value.
    """

    def __init__(self, limit_bytes: int = 4 * 1024 * 1024) -> None:
        """Make an empty memory.

        Args:
            limit_bytes: How much text to remember. Parsed, it takes ten to twenty
                times as much; the default holds some five thousand resources.
        """
        self._items: _Recent[bytes, Item] = _Recent(limit_bytes)
        self._limit = limit_bytes
        self._last: Sequence[bytes] = ()  # the items of the last list that was cut

    @property
    def size_bytes(self) -> int:
        """How much text is remembered."""
        return self._items.used

    def decode(self, data: bytes) -> ParsedResource:
        """Read a ResourceList.

        Raises:
            PackageError: It is none; the place counts in the whole text.
        """
        try:
            parsed = self._by_items(data)
        except (PackageError, UnicodeDecodeError):
            parsed = None  # the whole is read below, and says where in it the fault is
        return parsed or ParsedResource(_read(data), ())

    def encode(
        self, parsed: ParsedResource, items: Sequence[Item], found: Iterable[Result]
    ) -> bytes:
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

    def _by_items(self, data: bytes) -> ParsedResource | None:
        before, texts, after = _cut_alike(data, self._last) or _cut(data)
        self._last = texts if len(data) <= self._limit else ()
        if not texts or b"\r" in data or not texts[-1].endswith(b"\n"):
            return None
        frame = _read(b"".join((before, _MARK, after)))
        if [item.value for item in frame.items] != _MARKED:
            return None  # what looked like the items is part of a text in quotes
        items = self._items.find(texts)
        rest = []
        for i, item in enumerate(items):
            if item is None and (found := _quickly(texts[i])):
                items[i] = found
                self._items.keep(texts[i], found, len(texts[i]))  # it has no anchor
            elif item is None:
                rest.append(i)
        if rest:
            # All at once, and in order: a piece that is no item by itself shows in their number.
            read = _read(_HEAD + b"".join(texts[i] for i in rest)).items
            if len(read) != len(rest):
                return None
            for i, item in zip(rest, read, strict=True):
                items[i] = item
                if not _ANCHOR.search(texts[i]):
                    self._items.keep(texts[i], item, len(texts[i]))
        whole = tuple(item for item in items if item is not None)
        return ParsedResource(
            ResourceList(items=whole, config=frame.config, results=frame.results), texts
        )

    def _texts(self, parsed: ParsedResource, items: Sequence[Item]) -> list[bytes]:
        """Return the text of each item; () when they have none that can be told apart."""
        before = parsed.resources.items
        if len(before) != len(items) or len(parsed.texts) != len(items):
            return []
        return [
            text if old is new else self._written(text, old, new)
            for old, new, text in zip(before, items, parsed.texts, strict=True)
        ]

    def _written(self, before: bytes, old: Item, new: Item) -> bytes:
        """Return the text of an item that was changed here, and remember it."""
        text = _rewritten(before, old, new) or _anew(before, new)
        if _comes_back(new.value):
            kept = new if new.document is None else replace(new, document=None)
            self._items.keep(text, kept, len(text))
        return text


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


def _quickly(text: bytes) -> Item | None:
    """Read one item, or leave it to the other reader.

    Raises:
        PackageError: It is no item; whatever else it may be shows when the whole is read.
        UnicodeDecodeError: It is no text; the same.
    """
    value, comments = quick.read(text.decode()) or (None, {})
    if not isinstance(value, list) or len(value) != 1:
        return None
    raw = value[0]
    item = resourcelist.bare(raw, {path[1:]: note for path, note in comments.items()})
    return _with_notes(item, raw)


def _with_text(item: Item, text: bytes) -> Item:
    """Return an item with its text, the one element of a list; it is read when asked for."""

    def near() -> Extent:
        found = yaml.read(text, limits=STREAM).documents[0].near
        return found._replace(root=found.root.items[0]) if isinstance(found.root, Seq) else found

    document = Document(item.value, False, False, None, SourceText.of("", text), near)
    return Item(item.value, item.comments, item.path, item.index, document)


def _rewritten(before: bytes, old: Item, new: Item) -> bytes:
    """Return the text of a changed item, in which fields that are the same keep their lines.

    Returns:
        Nothing where it cannot be told which lines are whose.
    """
    value = resourcelist.placed(new)
    known = old.value
    if new.comments is not old.comments or b"&" in before or b"*" in before:
        return b""
    if not isinstance(value, dict) or not isinstance(known, dict):
        return b""
    starts = [field.start() for field in _FIELD.finditer(before)]
    texts = [before[a + 2 : b] for a, b in pairwise([*starts, len(before)])]
    raw = [text.partition(b":")[0].decode() for text in texts]
    lines = dict(zip(raw, texts, strict=True))
    # What looks like a field but is none, in quotes over several lines say, is not among them.
    if starts[:1] != [0] or lines.keys() != known.keys() or len(lines) != len(raw):
        return b""
    same = {key for key, each in value.items() if key in lines and known[key] is each}
    if new.comments and any(
        resourcelist.has_quotes(lines[key].decode()) for key in lines.keys() - same
    ):
        return b""
    fields = [
        lines[key] if key in same else resourcelist.lines(key, each, new.comments)
        for key, each in value.items()
    ]
    return b"- " + b"  ".join(fields)


def _anew(before: bytes, new: Item) -> bytes:
    """Return the text of a changed item, all of it written here."""
    known = new.document is not None or _ANCHOR.search(before)
    return resourcelist.entry(new if known else _with_text(new, before))


def _comes_back(value: Value) -> bool:
    """Tell whether a resource round-trips: empty annotations go with its path and index."""
    metadata = resource.field(value, "metadata")
    inner = resource.mapping(metadata)
    return bool(inner) and ("annotations" not in inner or bool(inner["annotations"]))


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
        if key not in _PLACES and _NOTE.fullmatch(key.encode()):
            value = resource.with_field(value, ("metadata", "annotations", key), note)
    return item if value is item.value else replace(item, value=value)


def _cut_alike(data: bytes, known: Sequence[bytes]) -> tuple[bytes, list[bytes], bytes] | None:
    """Do as `_cut` where most items are those of another list, which are told by comparing.

    That takes a quarter of the time: nothing is searched through, and the texts are the very
    objects that were looked up before.

    Returns:
        None where `_cut` has to tell.
    """
    match = _ITEMS.search(data)
    if match is None or not known:
        return None
    position = match.end()
    tail = data.rfind(_CONFIG) + 1
    end = rest = tail or len(data)
    first = 0
    while first < len(known) and data.startswith(known[first], position, end):
        position += len(known[first])
        first += 1
    if first and position < end and not data.startswith(_DASH, position):
        first -= 1  # it goes on
        position -= len(known[first])
    last = len(known)
    while last > first and rest - len(known[last - 1]) >= position:
        text = known[last - 1]
        if not data.endswith(text, position, rest):
            break
        rest -= len(text)
        last -= 1
    between = data[position:rest]
    whole = not between or (between.startswith(_DASH) and between.endswith(b"\n"))
    if not whole or not (first or last < len(known)) or _END.search(between, 0, len(between) - 1):
        return None
    starts = [position + item.start() + 1 for item in _ITEM.finditer(between)]
    cuts = [position, *starts, rest] if between else []
    texts = [data[start:stop] for start, stop in pairwise(cuts)]
    return data[: match.start()], [*known[:first], *texts, *known[last:]], data[end:]


def _cut(data: bytes) -> tuple[bytes, list[bytes], bytes]:
    """Return what stands before the items, the items with their line breaks, and what follows.

    There are no items when they are not in block style at the margin.
    """
    match = _ITEMS.search(data)
    if match is None or not data.startswith(b"- ", match.end()):
        return data, [], b""
    begin = match.end()
    after = _END.search(data, begin - 1)
    end = after.end() if after else len(data)
    starts = [item.start() + 1 for item in _ITEM.finditer(data, begin - 1, end)]
    return (
        data[: match.start()],
        [data[start:stop] for start, stop in pairwise([*starts, end])],
        data[end:],
    )
