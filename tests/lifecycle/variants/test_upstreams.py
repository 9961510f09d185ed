"""Which revision of its upstream a variant means, as a table (ADR 52)."""

import pytest

from lifecycle.variants.upstreams import (
    NoUpstream,
    UpstreamRevision,
    UpstreamState,
    chosen,
    locked_number,
)
from lifecycle.variants.values import VariantUpstream
from tests.lifecycle.variants.samples import V1, V2, V3, state

ALL = (V1, V2, V3)
DEPRECATED, WITHDRAWN, HELD = (
    UpstreamState.DEPRECATED,
    UpstreamState.WITHDRAWN,
    UpstreamState.HELD,
)
Row = tuple[VariantUpstream, tuple[UpstreamRevision, ...], bool, int | None, int | str]
MISSING, NO_GOOD = "could not find", "Every revision"


def _of(revision: int = 0, workspace: str = "") -> VariantUpstream:
    return VariantUpstream("base", "net/core", revision, workspace)


CHOICES: dict[str, Row] = {
    "a number is obeyed": (_of(2), ALL, False, 3, 2),
    "whatever workspace is named beside it": (_of(1, "w3"), ALL, False, None, 1),
    "a number that is not there": (_of(4), ALL, False, None, MISSING),
    "a number that was withdrawn": (_of(3), (V1, state(V3, WITHDRAWN)), False, 3, "The upstream"),
    "a number that is deprecated": (_of(3), (V1, state(V3, DEPRECATED)), False, None, 3),
    "a workspace": (_of(0, "w2"), ALL, False, None, 2),
    "a workspace that nothing was published from": (_of(0, "x"), ALL, False, None, MISSING),
    "a workspace, and -1, which Porch forgets": (_of(-1, "w2"), ALL, False, None, 2),
    "main, and -1: the newest": (_of(-1, "main"), ALL, False, None, 3),
    "-1: the newest": (_of(-1), ALL, False, None, 3),
    "main: the newest": (_of(0, "main"), ALL, False, None, 3),
    "nothing: the newest": (_of(), ALL, False, None, 3),
    "nothing, and a package is there: what it has": (_of(), ALL, False, 1, 1),
    "nothing, and what it has was withdrawn: the newest": (
        _of(),
        (state(V1, WITHDRAWN), V2),
        False,
        1,
        2,
    ),
    "nothing is published": (_of(), (), False, None, MISSING),
    "everything was withdrawn": (_of(), (state(V1, WITHDRAWN),), False, None, NO_GOOD),
    "followed from a number on": (_of(1), ALL, True, 1, 3),
    "followed past a deprecated one": (_of(1), (V1, V2, state(V3, DEPRECATED)), True, 1, 2),
    "followed past a held one": (_of(1), (V1, V2, state(V3, HELD)), True, 1, 2),
    "followed past a withdrawn one": (_of(1), (V1, V2, state(V3, WITHDRAWN)), True, 1, 2),
    "never back": (_of(1), (V1, V2, state(V3, DEPRECATED)), True, 3, 3),
    "not back from a held one": (_of(-1), (V1, state(V2, HELD)), True, 2, 2),
    "from a withdrawn one to what is good": (_of(1), (V1, state(V2, WITHDRAWN)), True, 2, 1),
    "not below the number where it begins": (_of(3), (V1, V2, state(V3, HELD)), True, 2, 2),
    "a workspace, followed": (_of(0, "w2"), ALL, True, None, 3),
}


@pytest.mark.parametrize(
    ("upstream", "revisions", "follow", "current", "expected"), CHOICES.values(), ids=CHOICES
)
def test_choices(
    upstream: VariantUpstream,
    revisions: tuple[UpstreamRevision, ...],
    follow: bool,
    current: int | None,
    expected: int | str,
) -> None:
    found = chosen(upstream, revisions, follow=follow, current=current)

    if isinstance(found, NoUpstream):
        assert found.text.startswith(str(expected)), found.text
    else:
        assert found.number == expected


@pytest.mark.parametrize(
    ("ref", "expected"),
    {
        "net/core/v12": 12,
        "v3": 3,
        "net/core/v03": None,
        "net/core/v0": None,
        "drafts/net/core/v3": None,
        "main": None,
        "": None,
        "net/core/v\u0663": None,
    }.items(),
)
def test_a_lock_names_a_revision(ref: str, expected: int | None) -> None:
    """The short-cut takes a draft named v3 for revision 3."""
    assert locked_number(ref) == expected
