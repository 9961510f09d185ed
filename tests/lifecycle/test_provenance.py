"""What is attested of a revision, as far as no story shows it."""

from dataclasses import replace
from typing import Any

from lifecycle import memory, provenance
from lifecycle.gates import judge
from tests.lifecycle.samples import CORE, FACTS, PROPOSAL


def test_where_a_repository_is() -> None:
    """Short-cut: the name and the host, which is no address where the forge is below a path."""
    name, id_ = FACTS.repository, str(FACTS.repository_id)
    judged = judge(FACTS, PROPOSAL, memory.read(PROPOSAL))
    below: dict[str, Any] = {"host": "git.example", "path": f"gitlab/{name}"}
    for told, said in (
        ({"host": "git.example", "path": name}, {"host": "git.example"}),
        (below, below),
        ({}, {}),
    ):
        attested = provenance.predicate(replace(FACTS, **told), PROPOSAL, CORE, judged)
        assert attested["repository"] == {"name": name, "id": id_, **said}
