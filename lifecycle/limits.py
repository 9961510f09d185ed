"""How long texts may be that the bot reads and writes at a forge, in characters."""

COMMENT = 65_536
"""Of a comment that a forge takes (docs/design.md, "GitHub: checks and statuses")."""

OWN_COMMENT = 65_000
"""Of a comment of ours with its record: a little less, for forges that count in another way."""

TEXT = 60_000
"""Of one text for people; what a comment takes beyond it is for hidden marks."""

ANNOTATIONS = 500
"""Findings of one check that stand at their lines: ten requests; the rest is in its text."""

RECORD = 45_000
"""Of the record in the summary comment; the text has the rest."""

FREEZES = 40_000
"""Of the record of what is frozen, on the dashboard issue: some sixty freezes with long reasons."""
