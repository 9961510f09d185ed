"""Rendering: what is said about bad input, and that nothing is raised."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadlib.limits import PackageLimits
from cadlib.package.files import Entry
from tests.cadlib.render.driving import (
    KPTFILE,
    drive,
    pipeline,
    put,
    resource,
    tree,
)

BOMB = (
    b"a: &a [x,x,x,x,x,x,x,x,x]\n"
    b"b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
    b"c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
    b"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
    b"e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n"
    b"f: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n"
)
BAD: dict[str, tuple[dict[str, Entry], str]] = {
    "no Kptfile": ({"a.yaml": Entry(b"a: b\n")}, "error: Kptfile: the package has no Kptfile."),
    "a Kptfile that is no YAML": (
        {"Kptfile": Entry(b"kind: Kptfile\n  x: [\n")},
        "error: Kptfile:2: the file is not YAML",
    ),
    "a Kptfile that is not UTF-8": (
        {"Kptfile": Entry(KPTFILE.encode() + b"info: {site: \xff}\n")},
        "error: Kptfile:5: byte",
    ),
    "a field that kpt does not know": (
        {"Kptfile": Entry(KPTFILE.encode() + b"pipelines: {}\n")},
        "error: Kptfile:5, pipelines: field pipelines not found in type v1.KptFile.",
    ),
    "an old version": (
        {"Kptfile": Entry(KPTFILE.replace("/v1", "/v1alpha1").encode())},
        'error: Kptfile:1, apiVersion: old resource version "v1alpha1" found in Kptfile.',
    ),
    "a subpackage's Kptfile": (
        tree(Kptfile=KPTFILE, sub__Kptfile="kind: Kptfile\n"),
        'error: sub/Kptfile:1, apiVersion: unknown resource type "/, Kind=Kptfile" found',
    ),
    "a symlink out of the package": (
        {**tree(Kptfile=KPTFILE), "l.yaml": Entry(b"../../secret.yaml", "120000")},
        "error: l.yaml: the symlink points outside the package, at '../../secret.yaml'."
        " Replace the symlink with the file it should point to.",
    ),
    "a path upwards": (
        {**tree(Kptfile=KPTFILE), "a/../../b.yaml": Entry(b"")},
        "error: a/../../b.yaml: the path has a part '.' or '..'.",
    ),
    "an alias bomb": (
        {**tree(Kptfile=KPTFILE), "bomb.yaml": Entry(BOMB)},
        "error: bomb.yaml:5: the aliases of this file expand to more than 10000 nodes.",
    ),
    "20,001 files": (
        {**tree(Kptfile=KPTFILE), **{f"{n}.yaml": Entry(b"") for n in range(20_000)}},
        "error: Kptfile: the package holds 20001 files, more than 20000."
        " Split it into smaller packages, or move what is not configuration elsewhere.",
    ),
    "a folder named like a revision": (
        tree(Kptfile=KPTFILE, v5__Kptfile=KPTFILE),
        "error: v5/Kptfile: a folder named like a revision, 'v5', cannot be a package.",
    ),
    "a duplicate key": (
        tree(Kptfile=KPTFILE, a_yaml=resource("a") + "kind: Other\n"),
        "error: a.yaml:5, kind: the key 'kind' occurs twice in this mapping, first on line 2.",
    ),
    "a file that is not UTF-8": (
        {**tree(Kptfile=KPTFILE), "a.yaml": Entry(resource("a").encode() + b"x: \xe9\n")},
        "error: a.yaml:5: byte",
    ),
    "a file that is no YAML": (
        tree(Kptfile=KPTFILE, a_yaml=resource("a") + "x: [1, 2\n"),
        "error: a.yaml:5: the file is not YAML",
    ),
    "a file that is no YAML and quotes a template": (
        tree(Kptfile=KPTFILE, a_yaml=resource("a") + "b: '{{ .x }}'\nc:\nd: e\nf: [1, 2\ng: h\n"),
        "error: a.yaml:9: the file is not YAML",
    ),
    "too deep": (
        tree(Kptfile=KPTFILE, a_yaml="[" * 65 + "]" * 65),
        "error: a.yaml:1: mappings and lists are nested more than 64 deep.",
    ),
    "a template in the Kptfile": (
        tree(Kptfile=KPTFILE + "info: {{ .x }}\n"),
        "error: Kptfile:1: the Kptfile is a template and not YAML.",
    ),
    "patterns to ignore that cannot be read": (
        {**tree(Kptfile=KPTFILE), ".krmignore": Entry(b"\xff")},
        "error: .krmignore: the patterns cannot be read:",
    ),
    "a configuration that is missing": (
        tree(Kptfile=pipeline("{image: a, configPath: c.yaml}")),
        "error: Kptfile:7, pipeline.mutators[0].configPath:"
        ' failed to open functionConfig from path "c.yaml": open c.yaml: no such file or directory.'
        " Give the path of a file in this package, relative to the Kptfile.",
    ),
    "a configuration in a subpackage": (
        tree(
            Kptfile=pipeline("{image: a, configPath: s/c.yaml}"),
            s__Kptfile=KPTFILE,
            s__c_yaml=resource("c"),
        ),
        "error: Kptfile:7, pipeline.mutators[0].configPath:"
        ' functionConfig resource for mutator "a" is missing from path "s/c.yaml", this also occurs'
        ' if "s/c.yaml" is part of a subpackage. Use a file of this package itself',
    ),
    "two configurations in one file": (
        tree(
            Kptfile=pipeline("{image: a, configPath: c.yaml}"),
            c_yaml=resource("c") + "---\n" + resource("d"),
        ),
        "error: Kptfile:7, pipeline.mutators[0].configPath:"
        ' functionConfig "c.yaml" must not contain more than one config, got 2.',
    ),
    "a configuration without a name": (
        tree(Kptfile=pipeline("{image: a, configPath: c.yaml}"), c_yaml="kind: C\n"),
        "error: Kptfile:7, pipeline.mutators[0].configPath:"
        " resource must have `apiVersion`. Give it apiVersion, kind and metadata.name.",
    ),
    "exec": (
        tree(Kptfile=pipeline("{exec: rm -rf /}")),
        "error: Kptfile:7, pipeline.mutators[0].exec: `exec` of a function is not supported."
        " Use a function that has an image.",
    ),
    "a range of versions": (
        tree(Kptfile=pipeline("{image: a, tag: ~1.2}")),
        "error: Kptfile:7, pipeline.mutators[0].tag: `tag` with a range of versions",
    ),
}
GOES_ON = {
    "an alias bomb",
    "a duplicate key",
    "a file that is not UTF-8",
    "a file that is no YAML",
    "a file that is no YAML and quotes a template",
    "too deep",
    "patterns to ignore that cannot be read",
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str) -> None:
    """The short-cut is to let the parser's exception through."""
    files, text = BAD[name]
    run = drive(files)

    assert [line[: len(text)] for line in run.texts] == [text]
    assert run.rendered.findings[0].fix
    assert run.rendered.changes == {}
    assert run.rendered.failed == (name not in GOES_ON)
    assert run.calls == []


def test_many_small_bombs_are_one_large_one() -> None:
    """The short-cut is a limit for each file: 20,000 of them fill the memory."""
    small = b"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b]\n"
    limits = PackageLimits(nodes=1_000, package_nodes=2_000)
    files = tree(Kptfile=KPTFILE) | {f"{n}.yaml": Entry(small) for n in range(8)}

    assert drive(files, limits=limits).texts == [
        f"error: {n}.yaml: the aliases of the package's files, up to this one, expand to more"
        " than 2000 nodes. Write the values out, or use fewer aliases."
        for n in (5, 6, 7)
    ]


def test_the_bomb_is_the_one_that_was_meant() -> None:
    assert len(BOMB) < 442


HELM = {
    "a block": "{{- if .Values.on }}\napiVersion: v1\nkind: A\nmetadata:\n  name: a\n{{- end }}\n",
    "a value": "apiVersion: v1\nkind: A\nmetadata:\n  name: {{ .Values.name }}\n",
    "a value with more": "apiVersion: v1\nkind: A\nmetadata:\n  name: {{ .name }}-x\n  b: c\n",
    "an include": 'kind: A\nmetadata:\n  labels:\n    {{- include "a.b" . | nindent 4 }}\nx: y\n',
    "a range": "kind: A\nx:\n{{- range .Values.y }}\n- a: {{ . }}\n{{- end }}\n",
}


@pytest.mark.parametrize("text", HELM.values(), ids=HELM)
def test_templates_pass_untouched_with_a_warning(text: str) -> None:
    """The short-cut is an error, as kpt has it, for every package that wraps a chart."""
    run = drive(
        tree(Kptfile=pipeline("l"), chart__t_yaml=text, a_yaml=resource("a")),
        {"l": put("metadata", "labels", value={"a": "b"})},
    )

    assert [each.split(":")[0:2] for each in run.texts] == [["warning", " chart/t.yaml"]]
    assert sorted(run.rendered.changes) == ["Kptfile", "a.yaml"]
    assert not run.rendered.failed


def test_any_template_in_the_folder_of_a_chart_is_one() -> None:
    text = "a: '{{ .x }}'\n\n\nb: {\nc: d\n"
    run = drive(tree(Kptfile=KPTFILE, c__templates__t_yaml=text, t_yaml=text))

    assert [each.split(",")[0] for each in run.texts] == [
        "warning: c/templates/t.yaml:5: this is a template and not YAML",
        "error: t.yaml:5: the file is not YAML: while parsing a flow mapping",
    ]


def test_what_is_no_resource_passes_untouched() -> None:
    run = drive(
        {
            **tree(
                Kptfile=pipeline("l"),
                values_yaml="replicas: 3\n",
                kustomization_yaml="resources: [a.yaml]\n",
                list_yaml="- a\n- b\n",
                comments_yaml="# nothing\n---\n# here\n",
                empty_yaml="",
                nameless_yaml="apiVersion: v1\nkind: A\n",
            ),
            "picture.png": Entry(b"\x89PNG\r\n\xff\x00"),
            "package.json": Entry(b'{"name": "x"}'),
            "tool": Entry(b"\x7fELF", "100755"),
            "link.yaml": Entry(b"values.yaml", "120000"),
        },
        {"l": put("metadata", "labels", value={"a": "b"})},
    )

    assert run.seen == [("l", "", "mutators[0]", ["Kptfile/0"])]
    assert sorted(run.rendered.changes) == ["Kptfile"]
    assert run.texts == [
        "info: nameless.yaml:1: A without metadata.name: no function sees it."
        " Give it a name if it is a resource."
    ]


NAMES: dict[str, tuple[str, str]] = {
    # What is written, and what is said of it.
    "nothing": ("", "empty"),
    "an empty text": ("''", "empty"),
    "null": ("null", "empty"),
    "a number": ("5", "a number"),
    "a number with a point": ("1.5", "a number"),
    "a truth value": ("true", "true or false"),
    "a list": ("[a]", "a list"),
    "a mapping": ("{a: b}", "a mapping"),
}


@pytest.mark.parametrize("case", NAMES)
def test_a_name_that_is_written_and_is_none_is_told(case: str) -> None:
    """The short-cuts: to pass over it as something that is no resource; to refuse what has no name
    at all, as files of other tools."""
    written, what = NAMES[case]
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  labels: {{a: b}}\n  name: {written}\n"
    kustomization = f"apiVersion: kustomize.config.k8s.io/v1\nkind: Kustomization\n{text[31:]}"
    run = drive(tree(Kptfile=pipeline("l"), a_yaml=text, k_yaml=kustomization))

    mend = "Put it in quotes" if what in ("a number", "true or false") else "Give it a name"
    assert run.texts == [
        f"warning: a.yaml:5, metadata.name: the name of this ConfigMap is {what}, and not a text:"
        f" no function sees it, and `kubectl apply` refuses it. {mend}.",
        "info: k.yaml:1: Kustomization without metadata.name: no function sees it."
        " Give it a name if it is a resource.",
    ]


def test_all_that_is_wrong_is_said_at_once() -> None:
    run = drive(
        tree(
            Kptfile=pipeline("{exec: a}", "{image: b, configPath: c.yaml}"),
            bad_yaml="{",
            s__Kptfile="kind: x\n",
        )
    )

    assert [each.place.path for each in run.rendered.findings] == [
        "Kptfile",
        "Kptfile",
        "bad.yaml",
        "s/Kptfile",
    ]
    assert run.calls == []


@given(
    st.dictionaries(
        st.sampled_from(["a.yaml", "b/Kptfile", ".krmignore", "b/.krmignore", "c.json", "d.yml"]),
        st.binary(max_size=60)
        | st.text(alphabet="ab:-{}[]&*!|>'\"#%@,? \n\t\r\u2028\ufeff", max_size=60).map(str.encode),
    )
)
def test_nothing_is_raised_whatever_the_files_hold(files: dict[str, bytes]) -> None:
    whole = {"Kptfile": Entry(pipeline("a").encode())} | {
        path: Entry(data) for path, data in files.items()
    }

    assert drive(whole).rendered.changes == {}
