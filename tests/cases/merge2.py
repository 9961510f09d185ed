"""Corpus merge2: strategic merge patches."""

from cadlib.merge2 import directive, merge2
from cadlib.yaml import Document, edit, read
from tests.cases.compare import data_difference, documents_difference
from tests.cases.model import Case, Handler, Verdict, checked, failed, passed


def _only(text: str) -> Document:
    (found,) = [each for each in read(text.encode()).documents if not each.empty]
    return found


def _yaml_merge2(case: Case) -> Verdict:
    options = case.data.get("options") or {}
    patch, text = _only(case.data["patch"]), case.data["dest"]
    stream = read(text.encode())
    position = next(n for n, each in enumerate(stream.documents) if not each.empty)
    merged = merge2(
        patch,
        stream.documents[position],
        prepend=options.get("list_increase_direction") == "prepend",
        infer=bool(options.get("infer_associative_lists")),
    )
    result = edit(
        stream,
        {position: merged.value},
        comments={position: merged.comments},
        like={position: (patch,)},
    ).decode()
    # Whatever the case asks of the text: kyaml's formatter and writer lay it out anew.
    return checked(documents_difference(case.data["expected"], result))


def _smp_directive(case: Case) -> Verdict:
    value = _only(case.data["patch"]).value
    try:
        said, rest = directive(value)
    except ValueError as error:
        wanted = case.data.get("error_contains")
        if wanted is None or wanted not in str(error):
            return failed(f"it failed: {error}")
        return passed()
    if "error_contains" in case.data:
        return failed(f"no error, but {said.value}")
    expected = _only(case.data["expected_without_directive"]).value
    return checked(
        data_difference(case.data["expected_directive"], said.value)
        or data_difference(expected, rest)
    )


KINDS: dict[str, Handler] = {"yaml-merge2": _yaml_merge2, "smp-directive": _smp_directive}
