"""Tables on a terminal: columns as wide as their widest cell, three blanks between them."""

from collections.abc import Iterator, Sequence

from bot.cli import terminal


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Yield a line for the head, and one for each row.

    Args:
        head: What stands above the columns.
        rows: As many cells as there are columns; texts of others.
    """
    shown = [head, *(tuple(map(terminal.line, row)) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        cells = zip(row, widths, strict=True)
        yield "   ".join(cell.ljust(width) for cell, width in cells).rstrip()
