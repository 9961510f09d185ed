"""Comments of list elements that were replaced: they go, since they described another value.

Rules:
- A scalar element with another value was replaced. So was a mapping or a list that has nothing
  in common with what it was; of a mapping with another merge key that is otherwise alike, the
  comments of the key and those above the element go, the others still say what they said.
- An element owns the comments on its lines, right above it and deeper below it.
- `# kpt-set:` says where a value comes from, whatever it is, and stays with all beside it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from cadlib.yaml.blocks import Block, blocks
from cadlib.yaml.fields import FieldPath
from cadlib.yaml.match import MergeKey, identity, match, merge_key
from cadlib.yaml.patch import Patch
from cadlib.yaml.tree import Map, Node, Scalar, Seq, Value, is_block, same

SETTER: Final = "kpt-set:"
"""What the comment of a setter holds, such as `# kpt-set: ${name}`."""
_REMARK: Final = re.compile(r"(?:^|[ \t])#", re.MULTILINE)
_BEHIND: Final = re.compile(r"(?:[ \t]*,)?[ \t]++(#[^\r\n]*)")
_NESTED: Final = 50  # levels that are compared; what is alike further down is not looked for

Span = tuple[int, int]


@dataclass(slots=True)
class Outdated:
    """Comments to drop from a list.

    Attributes:
        spans: Comments to delete, by the position of their element, which is edited in place.
        gone: Positions of elements that are written anew instead, without their comments.
    """

    spans: dict[int, list[Span]] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)


def outdated(
    patch: Patch, node: Seq, at: int, wanted: Sequence[Value], found: Sequence[int | None]
) -> Outdated:
    """Return the comments to drop from a list whose elements are replaced.

    Args:
        patch: The text.
        node: The list.
        at: Column of its dashes.
        wanted: Its new elements.
        found: Which of its elements each new one is, as from `match`.
    """
    pairs = [(i, wanted[n]) for n, i in enumerate(found) if i is not None]
    changed = [(i, new) for i, new in pairs if not same(node.value[i], new)]
    result = Outdated()
    if not changed:
        return result
    key = leading_key(node.value, wanted)
    others = [(i, new) for i, new in changed if _is_other(node.value[i], new, key)]
    if not others or "#" not in patch.text:
        return result
    bounds = list(_bounds(patch, node, at))
    for index, new in others:
        text = patch.text[bounds[index].begin : bounds[index].end]
        if not _REMARK.search(text) or SETTER in text:
            continue
        values = _in_place(node.items[index], new, key)
        if values is not None:
            whole = isinstance(node.items[index], Scalar)
            result.spans[index] = list(_spans(patch, bounds[index], values, whole=whole))
        elif "&" not in text:  # what an alias stands for is changed where it is
            result.gone.add(index)
    return result


def leading_key(*lists: Sequence[Value]) -> MergeKey | None:
    """Return the first field of the merge key: a port of another protocol is still that port."""
    key = merge_key(*lists)
    return key[:1] if key else None


def replaced(old: Value, new: Value, depth: int = _NESTED) -> bool:
    """Tell whether a value was replaced entirely."""
    if isinstance(old, dict) and isinstance(new, dict):
        return not depth or not any(
            key in new and not replaced(each, new[key], depth - 1) for key, each in old.items()
        )
    if isinstance(old, list) and isinstance(new, list):
        return not any(same(one, other) for one, other in zip(old, new, strict=False)) and not any(
            same(one, other) for one in old[:_NESTED] for other in new[:_NESTED]
        )
    return not same(old, new)


def _is_other(old: Value, new: Value, key: MergeKey | None) -> bool:
    if key and isinstance(old, dict) and isinstance(new, dict):
        return identity(old, key) != identity(new, key)
    return replaced(old, new)


def _bounds(patch: Patch, node: Seq, at: int) -> Iterator[Block]:
    """Yield the lines of each element, or the text up to the next one inside brackets."""
    if not node.flow:
        yield from blocks(patch, node, at, licence=False)
        return
    ends = [*(item.start for item in node.items[1:]), node.end]
    for item, end in zip(node.items, ends, strict=True):
        yield Block(item.start, item.start, end, end, shared=True)


def _in_place(item: Node, new: Value, key: MergeKey | None) -> list[Node] | None:
    """Return the scalars whose comments go where an element is edited in place; None if it is not.

    An element that was text in quotes keeps them, one that got another key all its other fields.
    """
    if isinstance(item, Scalar):
        lines = isinstance(new, str) and "\n" in new
        plain = not isinstance(new, dict | list) and not lines and item.style not in ("|", ">")
        return [item] if plain else None
    if key and isinstance(item, Map) and isinstance(new, dict) and not replaced(item.value, new):
        found = [entry[1] for name in key if (entry := item.at(name))]
        plain = all(isinstance(each, Scalar) and each.style not in ("|", ">") for each in found)
        return found if plain and is_block(item) else None
    return None


def _spans(patch: Patch, block: Block, values: Sequence[Node], *, whole: bool) -> Iterator[Span]:
    """Yield the comments above an element and behind these values; if they are all, below too."""
    line = patch.line_start(block.start)
    if not block.shared and block.begin < line:
        yield block.begin, line
    for value in values:
        comment = _BEHIND.match(patch.text, value.end)
        if comment and comment.end() <= block.end:
            yield len(patch.text[: comment.start(1)].rstrip(" \t")), comment.end(1)
    if whole and not block.shared and (below := patch.after(values[0].end)) < block.end:
        yield below, block.end


def fitting(
    old: Value, new: Value, before: Mapping[FieldPath, str], comments: Mapping[FieldPath, str]
) -> dict[FieldPath, str]:
    """Return comments without those that were kept beside elements that were replaced.

    Args:
        old: A document's value before.
        new: Its value now.
        before: Its line comments before.
        comments: Its line comments now, as somebody returned them.
    """
    stale = dict(_swapped(old, new, (), ()))
    return {
        path: text
        for path, text in comments.items()
        if SETTER in text or path not in stale or before.get(stale[path]) != text
    }


def _swapped(
    old: Value, new: Value, was: FieldPath, now: FieldPath
) -> Iterator[tuple[FieldPath, FieldPath]]:
    """Yield the scalars of replaced elements: where they are, and where those before stood."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old.keys() & new.keys():
            yield from _swapped(old[key], new[key], (*was, key), (*now, key))
    elif isinstance(old, list) and isinstance(new, list) and not same(old, new):
        known = leading_key(old, new)
        for place, index in enumerate(match(old, new)):
            if index is None:
                continue
            one, other, at = old[index], new[place], ((*was, index), (*now, place))
            if not _is_other(one, other, known):
                yield from _swapped(one, other, *at)
            elif isinstance(one, dict) and isinstance(other, dict):
                named = known if known and not replaced(one, other) else one.keys() & other.keys()
                yield from (((*at[1], name), (*at[0], name)) for name in named)
            else:
                yield at[1], at[0]
