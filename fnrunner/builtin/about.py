"""Descriptions of builtin functions: the tags they answer to, and their configuration."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """A builtin function's own description; each module of the catalog has one, `ABOUT`.

    Attributes:
        tags: Tags of the catalog's function that it behaves like, such as "v0.2.5", and ranges
            of versions, such as "~0.2". What moves (no tag, `latest`, `unstable`) always means it.
        summary: What it does, in one line that ends in a full stop.
        doc: How to configure it, in Markdown without headings: kinds of configuration, their
            fields, what it reports, where it differs from the catalog's on purpose.
        example: A configuration that works (YAML of one resource); "" if it needs none.
        written: It looks at how scalars are written: quotes, and the digits of numbers.
        alone: It treats each resource alone (`fnrunner.builtin.alone`).
    """

    tags: tuple[str, ...]
    summary: str
    doc: str
    example: str = ""
    written: bool = False
    alone: bool = False
