"""Provenance of a revision: what was published, out of what, and why it was allowed.

The predicate of an in-toto statement (docs/reference/provenance.md). It says what the tag's message
says in words, and the evidence of every gate: what was wanted, and what was so. It is plain JSON;
who signs it is the bot's affair.
"""

from collections.abc import Mapping, Sequence

from lifecycle.facts.head import Facts
from lifecycle.facts.packages import Touched
from lifecycle.facts.proposal import Proposal
from lifecycle.facts.verdicts import FunctionVersion, Verdict
from lifecycle.judgement import Gate, GateState, Judgement
from lifecycle.messages import evidence
from lifecycle.messages.markdown import one_line
from lifecycle.needs import Need
from lifecycle.records import JSON

PREDICATE = "https://github.com/porchbot/porchbot/provenance/v1"
"""The type of our predicate."""

MOST_TEXT = 500
"""Characters of one text of the evidence: a gate may quote what people wrote."""

MOST_FUNCTIONS = 100
"""Functions that are listed; of a package with more it is said how many are left out."""


def predicate(
    facts: Facts, proposal: Proposal, touched: Touched, judged: Judgement
) -> Mapping[str, JSON]:
    """Return what is attested of one revision that is about to be tagged.

    Args:
        facts: Of the head branch.
        proposal: The merged proposal.
        touched: The package.
        judged: The gates as they stood for the merge result.
    """
    place = proposal.place
    verdict = next((v for v in proposal.verdicts if v.package == touched.package), None)
    approvals = judged.approvals.counted if judged.approvals else ()
    needs = judged.approvals.needs if judged.approvals else ()
    return {
        "repository": {
            "name": facts.repository,
            "id": str(facts.repository_id),
            **({"host": facts.host} if facts.host else {}),
            **({"path": facts.path} if facts.path not in ("", facts.repository) else {}),
        },
        "package": touched.package,
        "revision": touched.revision,
        "proposal": place.number,
        "head": str(place.head),
        "commit": str(place.merge_commit),
        "tree": touched.tree,
        "base": {"ref": place.base_ref, "commit": str(place.base)},
        "configuration": {"digest": proposal.rules.digest},
        "approvers": [
            {"login": a.person, "head": str(a.head), "at": a.at.isoformat()} for a in approvals
        ],
        **_functions(verdict),
        "gates": [_evidence(gate, needs) for gate in judged.gates],
    }


def _functions(verdict: Verdict | None) -> dict[str, JSON]:
    versions: Mapping[str, FunctionVersion] = verdict.versions if verdict else {}
    listed: list[JSON] = [
        {"image": _clipped(image), "asked": ran.asked, "digest": ran.digest}
        for image, ran in sorted(versions.items())[:MOST_FUNCTIONS]
    ]
    left = len(versions) - len(listed)
    return {"functions": listed} | ({"functionsLeftOut": left} if left else {})


def _evidence(gate: Gate, needs: Sequence[Need]) -> JSON:
    return {
        "name": one_line(gate.name),
        "holds": gate.state is GateState.HOLDS,
        "wanted": _clipped(gate.wanted or evidence.wanted(gate.name, needs)),
        "actual": _clipped(gate.actual),
    }


def _clipped(text: str) -> str:
    said = one_line(text)
    return said if len(said) <= MOST_TEXT else f"{said[: MOST_TEXT - 1]}…"
