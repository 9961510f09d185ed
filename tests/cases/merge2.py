"""Corpus merge2: strategic merge patches, which no command applies (D37)."""

from tests.cases.model import Case, Handler, Verdict, deviates


def _not_applied(_: Case) -> Verdict:
    return deviates("D37", "no command applies a strategic merge patch")


KINDS: dict[str, Handler] = {"yaml-merge2": _not_applied, "smp-directive": _not_applied}
