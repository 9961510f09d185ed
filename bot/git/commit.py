"""A commit, read from its object."""

import re
from itertools import takewhile

from bot.git.port import Commit
from lifecycle.names import Sha

_COMMITTED = re.compile(r"committer .*> ([0-9]{1,11}) [+-][0-9]{4}$")
# Eleven digits reach the year 5138: no more is a time.


def parse(sha: Sha, data: bytes, *, cut: bool) -> Commit:
    """Read a commit; what is no text in it is replaced, and `cut` says that its text goes on."""
    head, _, message = data.decode("utf-8", "replace").partition("\n\n")
    lines = head.split("\n")
    # Parents follow the tree at once; git takes no line further down for one.
    parents = tuple(Sha(p[7:]) for p in takewhile(lambda x: x.startswith("parent "), lines[1:]))
    author = next((line[7:] for line in lines if line.startswith("author ")), "")
    committed = next(
        (_COMMITTED.match(line) for line in lines if line.startswith("committer ")), None
    )
    seconds = int(committed[1]) if committed else 0
    return Commit(sha, lines[0].removeprefix("tree "), parents, message, author, seconds, cut)
