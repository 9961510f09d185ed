"""Three states of a Kptfile: what is merged, what is told, and what stays byte for byte."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadlib.errors import PackageError, Place
from cadlib.kptfile import reader as kptfile
from cadlib.merge.kptfile import merge
from cadlib.merge.policy import ConflictPolicy
from tests.choices import each_of

HEAD = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {}\n"
MUTATORS = "pipeline:\n  mutators:\n"


def merged(
    origin: str | None,
    local: str,
    updated: str,
    *,
    policy: ConflictPolicy = ConflictPolicy.UPSTREAM,
    update_upstream: bool = False,
) -> tuple[str, list[str]]:
    """Merge three bodies below different names; return the body and the conflicts."""
    data, conflicts = merge(
        None if origin is None else (HEAD.format("blueprint") + origin).encode(),
        (HEAD.format("mine") + local).encode(),
        (HEAD.format("blueprint") + updated).encode(),
        update_upstream=update_upstream,
        policy=policy,
    )
    text = data.decode()
    assert text.startswith(HEAD.format("mine"))
    return text.removeprefix(HEAD.format("mine")), [str(each) for each in conflicts]


def test_a_port_and_a_digest_belong_where_they_are() -> None:
    """The short-cut is to cut an image at its first ":", which makes all of a registry one."""
    digest = "@sha256:" + "0" * 64
    before = MUTATORS + f"  - image: localhost:5000/a:v1\n  - image: localhost:5000/b{digest}\n"
    local = (
        MUTATORS + f"  # mine\n  - image: localhost:5000/b{digest} # b\n"
        "  - image: localhost:5000/a:v1 # a\n    configPath: x\n"
    )
    after = (
        MUTATORS + "  - image: localhost:5000/a:v2\n  - image: localhost:5000/b:v2\n"
        "  # the new one\n  - image: localhost:5000/c # c\n    configMap: {a: 'b'}\n"
    )

    text, conflicts = merged(before, local, after)

    assert conflicts == []
    assert text == (
        MUTATORS + "  # mine\n  - image: localhost:5000/b:v2 # b\n"
        "  - image: localhost:5000/a:v2 # a\n    configPath: x\n"
        "  # the new one\n  - image: localhost:5000/c # c\n    configMap: {a: 'b'}\n"
    )


def test_commands_are_told_apart_by_what_they_are() -> None:
    before = MUTATORS + "  - exec: sed -e a\n  - exec: sed -e b\n"
    after = MUTATORS + "  - exec: sed -e a\n  - exec: sed -e b\n    configMap: {c: d}\n"

    text, _ = merged(before, MUTATORS + "  - exec: sed -e b\n", after)

    assert text == MUTATORS + "  - exec: sed -e b\n    configMap: {c: d}\n"


def test_named_functions_with_one_image() -> None:
    """The short-cut is to look at images only: two of one image could not be merged."""
    before = MUTATORS + "  - {image: a, name: x}\n  - {image: a, name: y}\n"
    local = MUTATORS + "  - {image: a, name: z}\n" + before.removeprefix(MUTATORS)
    after = MUTATORS + "  - {image: a, name: x}\n  - {image: a, name: y, configPath: p}\n"

    text, conflicts = merged(before, local, after)

    assert (text, conflicts) == (
        MUTATORS + "  - {image: a, name: z}\n" + after.removeprefix(MUTATORS),
        [],
    )


def test_functions_that_nothing_tells_apart_are_one_value() -> None:
    """As in kpt; the local function that goes is told."""
    before = MUTATORS + "  - image: a\n  - image: a\n    configPath: old\n"
    local = before + "  - image: b\n"
    after = before.replace("old", "new")

    assert merged(before, local, after)[0] == after
    assert merged(before, local, after, policy=ConflictPolicy.LOCAL)[0] == local
    assert len(merged(before, local, after)[1]) == 1
    assert "pipeline.mutators: changed on both sides" in merged(before, local, after)[1][0]


def test_no_function_comes_back_without_its_image() -> None:
    """The short-cut, kpt's, is to merge field by field: half a function would be left."""
    before = MUTATORS + "  - image: a:v1\n    configMap: {x: y}\n  - image: b\n"
    local = MUTATORS + "  - image: b\n"
    after = MUTATORS + "  - image: a:v2\n    configMap: {x: y}\n  - image: b\n"

    text, conflicts = merged(before, local, after)

    assert text == local + "  - image: a:v2\n    configMap: {x: y}\n"
    assert [each.split(" (")[0] for each in conflicts] == [
        "Kptfile:6: kpt.dev/v1/Kptfile/mine: pipeline.mutators[0]:"
        " the element a was removed locally and changed upstream"
    ]
    assert "_kpt-merge_" not in conflicts[0]
    assert merged(before, local, after, policy=ConflictPolicy.LOCAL)[0] == local


def test_no_function_gets_two_configurations() -> None:
    """The short-cut, kpt's, is to merge field by field: kpt then refuses its own file."""
    local = MUTATORS + "  - image: a:v1\n    configMap: {x: y}\n"
    after = MUTATORS + "  - image: a:v2\n    configPath: p\n"

    text, conflicts = merged(MUTATORS + "  - image: a:v1\n", local, after)

    assert text == after
    assert len(conflicts) == 1
    assert "only one of these fields may be there" in conflicts[0]
    assert (
        merged(MUTATORS + "  - image: a:v1\n", local, after, policy=ConflictPolicy.LOCAL)[0]
        == local
    )


ADDRESS = (
    "upstream:\n  type: git\n  git: {repo: r, ref: v1}\n"
    "upstreamLock:\n  type: git\n  git: {repo: r, ref: v1, commit: abc}\n"
)


def test_an_address_is_taken_only_when_asked_for() -> None:
    local = ADDRESS.replace("v1", "v0")

    assert merged("", local, ADDRESS)[0] == local
    assert merged("", local, ADDRESS, update_upstream=True)[0] == ADDRESS
    assert merged("", local, "", update_upstream=True)[0] == local
    assert merged("", "", ADDRESS, update_upstream=True)[0] == ADDRESS


def test_what_rendering_left_upstream_stays_there() -> None:
    """The short-cut, kpt's, is to merge `status` whole: a new clone would count as rendered."""
    ready = 'status:\n  conditions:\n    - type: Ready\n      status: "True"\n'
    rendered = (
        "status:\n  conditions:\n  - type: Rendered\n    status: 'True'\n"
        "  - type: Ready\n    status: 'True'\n  renderStatus:\n    errorSummary: x\n"
    )

    assert merged(None, "", rendered)[0] == ready
    assert merged("", rendered, "")[0] == rendered
    assert merged(rendered, "", rendered)[0] == ""


def test_new_sections_stand_in_kpts_order_with_their_comments() -> None:
    updated = (
        "# About it.\ninfo:\n  site: a # site\n  keywords: [a, 'b']\n"
        "pipeline:\n  # Be strict.\n  validators:\n  - image: k # strict\n"
    )
    local = MUTATORS + "  - image: b\n"

    assert merged("", local, updated) == (
        "# About it.\ninfo:\n  site: a # site\n  keywords: [a, 'b']\n"
        + local
        + "  # Be strict.\n  validators:\n  - image: k # strict\n",
        [],
    )


def test_a_comment_that_came_upstream_arrives() -> None:
    """The short-cut is to compare values: a new setter would never arrive."""
    local = "info:\n  site: a\n  man: mine # mine\n"

    text, _ = merged("info:\n  site: a\n", local, "info:\n  site: a # kpt-set: ${site}\n")

    assert text == "info:\n  site: a # kpt-set: ${site}\n  man: mine # mine\n"


def test_what_is_left_of_a_section_whose_last_field_goes() -> None:
    text, _ = merged("info:\n  site: a\n", "info:\n  site: a\n", "")

    assert text == "info: {}\n"


def test_names_stay_and_labels_are_merged() -> None:
    data, _ = merge(
        b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: a, labels: {x: y}}\n",
        b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: c\n  labels: {x: y, m: n}\n",
        b"apiVersion: kpt.dev/v1\nkind: Kptfile\n"
        b"metadata: {name: b, namespace: n, labels: {x: z}, annotations: {k: v}}\n",
        update_upstream=False,
    )

    assert data == (
        b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: c\n"
        b"  labels: {x: z, m: n}\n  annotations:\n    k: v\n"
    )


def test_kptfiles_without_metadata() -> None:
    """kpt reads them; so does a package that was never named."""
    bare = b"apiVersion: kpt.dev/v1\nkind: Kptfile\n"

    assert merge(bare, bare, bare + b"info: {site: a}\n", update_upstream=False) == (
        bare + b"info: {site: a}\n",
        (),
    )


@pytest.mark.parametrize("side", ["origin", "local", "updated"])
def test_what_is_no_kptfile_is_refused_and_named(side: str) -> None:
    good = HEAD.format("a").encode()
    sides = {"origin": good, "local": good, "updated": good, side: good + b"pipline: {}\n"}

    with pytest.raises(PackageError, match="field pipline not found") as caught:
        merge(sides["origin"], sides["local"], sides["updated"], update_upstream=False)

    names = {"origin": "Kptfile (before)", "local": "Kptfile", "updated": "Kptfile (upstream)"}
    assert caught.value.place.path == names[side]


_NAMES = "abcd"
_NONE: list[dict[str, str]] = [{}] * len(_NAMES)
_FUNCTION = each_of(
    [{"image": f"{name}:v{version}"} for name in _NAMES for version in (1, 2, 3)],
    [*_NONE, *({"tag": name} for name in _NAMES)],
    [
        *_NONE,
        *({"configPath": name} for name in _NAMES),
        *({"configMap": f"{{k: {name}}}"} for name in _NAMES),
    ],
).map(lambda parts: parts[0] | parts[1] | parts[2])
_PIPELINE = st.lists(_FUNCTION, max_size=4, unique_by=lambda each: each["image"][0]).map(
    lambda functions: "".join(
        "".join(f"  {'-' if not n else ' '} {key}: {value}\n" for n, (key, value) in pairs)
        for pairs in (list(enumerate(each.items())) for each in functions)
    )
)


def _body(functions: str) -> str:
    return MUTATORS + functions if functions else ""


@given(_PIPELINE, _PIPELINE)
def test_a_change_on_one_side_only_is_that_side(one: str, other: str) -> None:
    left, right = _body(one), _body(other)

    assert merged(left, right, left) == (right, [])
    assert merged(right, right, right) == (right, [])
    text, conflicts = merged(left, left, right)
    found = [
        [replace(each, place=Place()) for each in kptfile.read(data).mutators]
        for data in ((HEAD.format("a") + text).encode(), (HEAD.format("a") + right).encode())
    ]
    assert conflicts == []
    assert sorted(found[0], key=str) == sorted(found[1], key=str)


@given(_PIPELINE, _PIPELINE, _PIPELINE, st.sampled_from(ConflictPolicy))
def test_the_result_is_a_kptfile(one: str, two: str, three: str, policy: ConflictPolicy) -> None:
    """Every function has its image or command: `read` refuses half a function."""
    text, _ = merged(_body(one), _body(two), _body(three), policy=policy)

    kptfile.read((HEAD.format("a") + text).encode())
