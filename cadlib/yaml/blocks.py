"""Lines of each entry of a block collection, and reordering entries.

Rules:
- An entry owns the comment lines right above it in its own column (its head), its own
  lines, and the comment lines below it that are indented deeper than it is (its foot).
  Those right below it in its column, with a blank line between them and the next entry,
  move along, and new entries come behind them; they stay where it is removed.
- Blank lines between entries belong to nobody. Where every two elements of a list are kept
  apart by blank lines, a new one is too, and a removed one takes one gap along.
- Of entries that are put in another order, as many as possible stay where they are; the
  others move with all their lines.
- An entry that comes to stand right behind a dash (`- a: 1`) leaves its head above the dash.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from cadlib.yaml.layout import key_start
from cadlib.yaml.match import rising
from cadlib.yaml.patch import Patch, foot, head
from cadlib.yaml.tree import Map, Seq, content_start

Plan = Sequence["int | str"]
"""The entries wanted, in order: the position of an old one, or the lines of a new one."""


@dataclass(frozen=True, slots=True)
class Block:
    """The lines of one entry.

    Attributes:
        begin: Where its head begins; `start` if something stands before it on its line.
        start: Its dash or key.
        end: Where the line behind it and its foot begins.
        below: Where the line behind the comments begins that move along; `end` without them.
        shared: Something stands before it on its line: the dash of an outer list.
    """

    begin: int
    start: int
    end: int
    below: int
    shared: bool


def blocks(patch: Patch, node: Map | Seq, at: int, *, licence: bool) -> list[Block]:
    """Return the lines of each entry of a block collection.

    Args:
        patch: The text.
        node: The collection.
        at: Column of its keys or dashes.
        licence: Comments above the first entry are about the whole file, not about it.
    """
    found: list[Block] = []
    floor = 0
    entries = _entries(patch.text, node, at)
    starts = [start for start, _ in entries]
    for (start, end), following in zip(entries, [*starts[1:], 0], strict=True):
        line = patch.line_start(start)
        shared = bool(patch.text[line:start].strip())
        begin = start if shared else line if licence and not found else head(patch, line, floor)
        floor = foot(patch, patch.after(max(start + 1, end)), at)
        end = floor
        floor = _below(patch, end, following, at)
        found.append(Block(begin, start, end, floor, shared))
    return found


def _below(patch: Patch, end: int, following: int, at: int) -> int:
    """Return where the comments end that a blank line keeps apart from the next entry."""
    position = end
    while position < following and patch.text[position : position + at + 1].strip(" ") == "#":
        position = patch.after(position + 1)
    blank = position < following and not patch.text[position : patch.line_end(position)].strip()
    return position if blank else end


def _entries(text: str, node: Map | Seq, at: int) -> list[tuple[int, int]]:
    """Return where each key or dash stands, and where its value ends."""
    if isinstance(node, Map):
        return [
            (key_start(text, key), max(key.end, value.end))
            for key, value in zip(node.keys, node.values, strict=True)
        ]
    found: list[tuple[int, int]] = []
    position = content_start(text, node)
    for item in node.items:
        start = _dash(text, position, at)
        position = max(item.end, start + 1)
        found.append((start, position))
    return found


def _dash(text: str, position: int, at: int) -> int:
    """Return the next dash: at the position itself, or in its column behind blanks only."""
    if text[position : position + 1] == "-" and text[position - 1 : position] in " \n":
        return position
    # A scalar that keeps its blank lines ends where the next line begins.
    line = position if text[position - 1 : position] == "\n" else text.index("\n", position) + 1
    while text[line : line + at + 1].strip(" ") != "-":
        line = text.index("\n", line) + 1
    return line + at


def arrange(
    patch: Patch,
    found: list[Block],
    plan: Plan,
    *,
    change: Callable[[int], None],
    moved: Callable[[int], str],
    spread: bool,
) -> None:
    """Put the entries of a block collection into another order, new ones among them.

    Args:
        patch: Takes the edits.
        found: The entries there are, one at least.
        plan: The entries wanted, one at least.
        change: Edits an entry that stays, within its own lines.
        moved: Returns the lines of an entry that moves.
        spread: Keep new entries apart by blank lines if those there are.
    """
    stays = set(rising([each for each in plan if isinstance(each, int)]))
    first = min(stays, default=len(found))
    gap = _gap(patch, found) if spread else ""
    waiting: list[str] = []
    last: int | None = None
    for place, each in enumerate(plan, 1):
        if isinstance(each, int) and each in stays:
            _put(patch, found, waiting, last=last, first=first, gap=gap)
            change(each)
            last, waiting = each, []
        else:
            text = each if isinstance(each, str) else moved(each)
            if isinstance(each, int) and not gap and place < len(plan):
                text += _apart(found[each])
            waiting.append(text)
    covered = 0
    _put(patch, found, waiting, last=last, first=first, gap=gap)
    if found[0].shared and first > 0:
        covered = first if isinstance(plan[0], int) and plan[0] == first else 1
    for index in range(covered, len(found)):
        if index not in stays:
            moves = index in plan
            patch.delete(*_removed(found, index, first, spaced=bool(gap), moves=moves))


def _apart(block: Block) -> str:
    """Return the blank line without which comments below an entry were the next one's."""
    return "\n" if block.below != block.end else ""


def _gap(patch: Patch, found: list[Block]) -> str:
    """Return the blank lines that keep every two entries apart, as many as the first two have."""
    gaps = [patch.text[one.below : other.begin] for one, other in pairwise(found)]
    spaced = all(gap and not gap.strip() for gap in gaps)
    return "\n" * gaps[0].count("\n") if gaps and spaced else ""


def _removed(
    found: list[Block], index: int, first: int, *, spaced: bool, moves: bool
) -> tuple[int, int]:
    """Return the span of an entry that goes, with one of the gaps beside it."""
    block = found[index]
    end = block.below if moves else block.end
    if not spaced or end != block.below:
        return block.begin, end
    if index < first:
        return block.begin, found[index + 1].begin if index + 1 < len(found) else end
    return found[index - 1].below, end


def _put(
    patch: Patch, found: list[Block], texts: list[str], *, last: int | None, first: int, gap: str
) -> None:
    """Put entries in behind the last one that stays, or in front of all."""
    if last is not None:
        place, kept = found[last].below, gap or _apart(found[last])
        patch.replace(place, place, "".join([kept, gap.join(texts)]) if texts else "")
    elif found[0].shared:
        _put_behind_dash(patch, found, texts, first)
    elif texts:
        place = found[first].begin if first < len(found) else found[0].begin
        between = gap if first < len(found) else ""
        patch.replace(place, place, gap.join(texts) + between)


def _put_behind_dash(patch: Patch, found: list[Block], texts: list[str], first: int) -> None:
    """Make other entries the first ones of a collection that begins behind a dash."""
    old = found[0]
    if texts:
        heads, body = _beheaded(texts[0])
        text = body.lstrip(" ") + "".join(texts[1:])
        if first == 0:
            patch.replace(old.start, old.start, text + " " * patch.column(old.start))
        else:
            patch.replace(old.start, old.end, text)
    elif first > 0:
        heads, _ = _beheaded(patch.text[found[first].begin : found[first].end])
        patch.delete(old.start, found[first].start)
    else:
        return
    line = patch.line_start(old.start)
    margin = " " * (len(patch.text[line:]) - len(patch.text[line:].lstrip(" ")))
    patch.insert_lines(line, [margin + comment.strip() for comment in heads])


def _beheaded(text: str) -> tuple[list[str], str]:
    """Return the comment lines above an entry, and the rest of its lines."""
    lines = text.split("\n")
    count = next(n for n, line in enumerate(lines) if not line.lstrip(" ").startswith("#"))
    return lines[:count], "\n".join(lines[count:])
