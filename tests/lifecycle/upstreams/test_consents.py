"""Which repositories a list lets in."""

import pytest

from lifecycle.identity import RepositoryId
from lifecycle.upstreams.consents import Consent, consent, name_of

NONE, NAMED, GIVEN = Consent
TABLE = [
    ([], "acme/clusters", NONE),
    (["acme/*"], "Acme/clusters", GIVEN),
    (["other/edge"], "Other/Edge", NAMED),
    (["Other/Edge"], "other/edge", NAMED),
    (["other/edge"], "other/edge2", NONE),
    (["other/edge"], "other/edge/sub", NONE),  # a group that took the name of a repository
    (["other/edge#9", "other/edge/*#9"], "other/edge/sub", NONE),
    (["other/edge/*"], "other/edge/sub", GIVEN),
    (["other"], "other/edge/sub", GIVEN),
    (["other"], "others/edge", NONE),
    (["acme/*"], "acme-evil/x", NONE),
    (["acme/net#9"], "acme/net", GIVEN),
    (["acme/net#8"], "acme/net", NONE),
    (["acme/net#9"], "acme/other", NONE),
    (["acme/net#8", "acme/net"], "acme/net", NAMED),
    (["acme/net", "acme/net#9"], "acme/net", GIVEN),
]


@pytest.mark.parametrize(("entries", "name", "wanted"), TABLE)
def test_whom_a_list_lets_in(entries: list[str], name: str, wanted: Consent) -> None:
    """Short-cuts refused: who says nothing consents; a number counts whatever name it has."""
    assert consent(entries, name, RepositoryId("github", 9)) is wanted


def test_the_name_of_an_entry() -> None:
    assert [name_of(each) for each in ("Acme/Net#9", "acme/*")] == ["acme/net", "acme/*"]
