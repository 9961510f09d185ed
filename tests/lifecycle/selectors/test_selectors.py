"""What selectors choose, as a table, and what is said of those that cannot be read."""

from dataclasses import replace

import pytest

from lifecycle.selectors.grammar import SelectorError, parse
from lifecycle.selectors.marks import PURPOSE, PackageMarks

CORE = PackageMarks(
    repository="acme/clusters",
    path="net/core",
    labels={"team": "net", "porchbot.dev/tier": "gold", "path": "north"},
    annotations={"owner": "a@b"},
    context={"site": "edge-1"},
    attributes={"team": "platform", "region": "eu"},
    upstream="github.com/acme/blueprints/net/base",
    upstream_ref="v3",
    revision=4,
)
ROOT = PackageMarks(repository="acme/clusters", path="", held=2)

RULES: dict[str, tuple[PackageMarks, str, bool]] = {
    "blank chooses everything": (CORE, "  ", True),
    "a label equals": (CORE, "team=net", True),
    "== is =": (CORE, "team == net", True),
    "a label of its own overrules that of the repository": (CORE, "team=platform", False),
    "a label of the repository": (CORE, "region=eu", True),
    "a key with a slash and dots": (CORE, "porchbot.dev/tier=gold", True),
    "!= chooses what has no such label": (CORE, "colour!=red", True),
    "!= of the value": (CORE, "team!=net", False),
    "in": (CORE, "team in (core, net)", True),
    "in without a blank": (CORE, "team in(core,net)", True),
    "notin": (CORE, "team notin (core,net)", False),
    "notin chooses what has none": (CORE, "colour notin (red)", True),
    "there is one": (CORE, "team", True),
    "there is none": (CORE, "!team", False),
    "there is none, with a blank": (CORE, "! colour", True),
    "all have to hold": (CORE, "team=net,colour=red", False),
    "commas in a list are no ends": (CORE, "team in (a,net),region=eu", True),
    "capitals count in labels": (CORE, "team=Net", False),
    "an annotation": (CORE, "annotation:owner=a@b", True),
    "an annotation is no label": (CORE, "owner", False),
    "the context": (CORE, "context:site=edge-1", True),
    "a label called like a field is reached with its prefix": (CORE, "label:path=north", True),
    "and a field is no label": (CORE, "path=north", False),
    "the whole path": (CORE, "path=net/core", True),
    "a part of the path is not it": (CORE, "path=core", False),
    "a star is one folder": (CORE, "path=net/*", True),
    "a star is not two": (replace(CORE, path="net/a/b"), "path=net/*", False),
    "two stars are folders": (replace(CORE, path="net/a/b"), "path=net/**/*", True),
    "slashes at the end": (CORE, "path=./net/core/", True),
    "the top of the repository": (ROOT, "path=.", True),
    "the upstream by its last folder": (CORE, "upstream=base", True),
    "by the whole of it": (CORE, "upstream=github.com/acme/blueprints//net/base@v3", True),
    "as clone takes it": (CORE, "upstream=acme/blueprints/net/base@v3", True),
    "at another revision": (CORE, "upstream=base@v30", False),
    "a part of a folder's name is not it": (CORE, "upstream=ase", False),
    "made from anything": (CORE, "upstream", True),
    "made from nothing": (ROOT, "!upstream", True),
    "not made from that": (CORE, "upstream!=base@v2", True),
    "the revision": (CORE, "revision=v4", True),
    "none published": (ROOT, "!revision", True),
    "held": (ROOT, "held", True),
    "held there": (ROOT, "held=v2", True),
    "not held": (CORE, "!held", True),
    "the repository": (CORE, "repository=clusters", True),
    "another repository": (CORE, "repository=acme/blueprints", False),
    "nothing said of the purpose": (CORE, "purpose=blueprint", True),
    "a purpose": (replace(CORE, labels={PURPOSE: "base"}), "purpose=base", True),
    "a clone that is deployed does not inherit its upstream's": (
        replace(CORE, labels={PURPOSE: "base"}, deployed=True),
        "purpose in (deployment)",
        True,
    ),
}


@pytest.mark.parametrize(("package", "text", "chosen"), RULES.values(), ids=RULES)
def test_what_a_selector_chooses(package: PackageMarks, text: str, chosen: bool) -> None:
    """Short-cuts refused: substrings of paths; a missing key that differs from nothing."""
    assert parse(text).matches(package) is chosen


UNREADABLE = {
    "a value alone": "=net",
    "two requirements without a comma": "a=b c=d",
    "a list that is not closed": "a in (b",
    "an empty list": "a in ()",
    "not, and equal": "!a=b",
    "not a word of the grammar": "a within (b)",
    "a list in a list": "a in (b,(c))",
    "behind one that can be read": "team=net,tier gold",
}


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE)
def test_what_is_no_selector_is_quoted(text: str) -> None:
    """The short-cut reads as much as it can: what is left out would choose more."""
    with pytest.raises(SelectorError, match="in the selector cannot be read") as caught:
        parse(text)
    assert str(caught.value).startswith(repr(text.removeprefix("team=net,")))


def test_other_texts_about_selectors() -> None:
    for text, said in {
        "a,": "the selector ends with a comma, or has two in a row. Leave one out",
        "laebl:x=y": "'laebl:x' in the selector is not a key. Write a label, label:, annotation:,"
        " context: followed by a key, or one of purpose, path, repository, upstream, revision,"
        " held",
        "a" * 1001: "the selector has more than 1000 characters. Write a shorter one",
    }.items():
        with pytest.raises(SelectorError) as caught:
            parse(text)
        assert str(caught.value) == said
