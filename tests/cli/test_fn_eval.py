"""`porchbot fn eval` on folders and streams."""

from pathlib import Path

import pytest

from tests.cli.fn_folders import KPTFILE, THING, data, make, pipeline, run, said, texts

LABELS = "ghcr.io/kptdev/krm-functions-catalog/set-labels:latest"


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in the package."""
    make(tmp_path / "app", {"Kptfile": KPTFILE, "a.yaml": THING, "s/b.yaml": THING})
    monkeypatch.chdir(tmp_path / "app")


def test_a_function_with_arguments(tmp_path: Path) -> None:
    """The short-cut: take what stands behind `--` for folders."""
    result = run("eval", "-i", "set-labels", "--match-kind", "Thing", "--", "l=x=y")

    assert (result.exit_code, result.stdout) == (0, "")
    assert texts(tmp_path / "app")["s/b.yaml"] == f"{THING}  labels:\n    l: x=y\n"
    assert texts(tmp_path / "app")["Kptfile"] == KPTFILE
    assert said(result) == (
        f'[RUNNING] "{LABELS}" on 2 resource(s)\n[PASS] "{LABELS}" in 0s\n'
        "  [Results]:\n    [info]: set 2 labels in total\n"
    )


def test_selectors(tmp_path: Path) -> None:
    """The short-cut: one label where several are named."""
    make(tmp_path / "app", {"c.yaml": THING.replace("name: a", "name: c")})

    run("eval", "-i", "set-labels", "--exclude-name", "a", "--exclude-kind", "Thing", "--", "l=x")
    run("eval", "-i", "set-labels", "--match-labels", "l=x", "--match-labels", "m=y", "--", "n=z")

    files = texts(tmp_path / "app")
    assert "l: x" not in files["a.yaml"]
    assert "l: x" in files["c.yaml"]
    assert "n: z" not in "".join(files.values())


@pytest.mark.parametrize(("kind", "key"), [("mutator", "mutators"), ("validator", "validators")])
def test_the_function_is_saved(tmp_path: Path, kind: str, key: str) -> None:
    """The short-cut: save before it is known to work, or a second time."""
    args = ["eval", "-s", "-t", kind, "-i", "set-labels", "--match-kind", "Thing", "--"]

    first, second = run(*args, "l=x"), run(*args, "l=y")

    assert f'Added "{LABELS}" as {kind} in the Kptfile.\n' in first.stderr
    assert f'Updated "{LABELS}" as {kind} in the Kptfile.\n' in second.stderr
    saved = (tmp_path / "app/Kptfile").read_text()
    assert saved.startswith(f"{KPTFILE}pipeline:\n")
    function = {
        "image": LABELS,
        "configMap": {"l": "y"},
        "selectors": [{"kind": "Thing"}],
    }
    assert data(saved)["pipeline"] == {key: [function]}
    failed = run("eval", "-s", "-t", kind, "-i", "none")
    assert failed.exit_code == 1
    assert "none" not in (tmp_path / "app/Kptfile").read_text()


def test_a_configuration_from_a_file(tmp_path: Path) -> None:
    """The short-cut: give it to the function among its resources, and label it too."""
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  l: x\n"
    make(tmp_path / "app", {"c.yaml": config})

    result = run("eval", "-i", "set-labels", "--fn-config", "c.yaml", "-s", "-t", "mutator")

    files = texts(tmp_path / "app")
    assert result.exit_code == 0
    assert files["c.yaml"] == config
    assert "l: x" in files["a.yaml"]
    function = {"image": LABELS, "configPath": "c.yaml"}
    assert data(files["Kptfile"])["pipeline"] == {"mutators": [function]}


TAGS = {
    "a tag": (["-i", "set-labels", "--tag", "v0.2"], "v0.2", "set-labels", "v0.2"),
    "a range": (["-i", "set-labels", "--tag", "~0.2.0"], "v0.2.5", "set-labels", "~0.2.0"),
    "in place of the image's": (
        ["-i", "set-labels:v0.1", "--tag", "v0.2"], "v0.2", "set-labels:v0.1", "v0.2"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("args", "runs", "image", "tag"), TAGS.values(), ids=TAGS)
def test_a_tag_is_given_apart(
    tmp_path: Path, args: list[str], runs: str, image: str, tag: str
) -> None:
    """The short-cut: put the tag behind the name, or save what a range meant today."""
    result = run("eval", *args, "-s", "-t", "mutator", "--", "l=x")

    prefix = LABELS.removesuffix("set-labels:latest")
    assert result.exit_code == 0
    assert f'[PASS] "{prefix}set-labels:{runs}"' in result.stderr
    saved = {"image": prefix + image, "configMap": {"l": "x"}, "tag": tag}
    assert data(texts(tmp_path / "app")["Kptfile"])["pipeline"] == {"mutators": [saved]}


@pytest.mark.parametrize(
    ("tag", "problem"),
    [
        (">=9", 'no tag could be found matching the version constraint ">=9"'),
        ("!!", '`function.tag` "!!" must be a valid image tag: must start with'),
    ],
)
def test_a_tag_that_means_nothing_is_refused(tmp_path: Path, tag: str, problem: str) -> None:
    before = texts(tmp_path / "app")

    result = run("eval", "-i", "set-labels", "--tag", tag, "--", "l=x")

    assert result.exit_code == 1
    assert f"error: the command line, tag: {problem}" in result.stderr
    assert texts(tmp_path / "app") == before


CONFIGS = {
    "no name": ("apiVersion: v1\nkind: ConfigMap\n", ": resource must have `metadata.name`"),
    "no kind": ("apiVersion: v1\nmetadata: {name: a}\n", ": resource must have `kind`"),
    "no apiVersion": ("kind: A\nmetadata: {name: a}\n", ": resource must have `apiVersion`"),
    "nothing": ("{}\n", ": resource must have `apiVersion`"),
    "an empty name": ("apiVersion: v1\nkind: A\nmetadata: {name: ''}\n",
                      ": resource must have `metadata.name`"),
    "two": ("a: b\n---\na: b\n", " must not contain more than one config, got 2"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "problem"), CONFIGS.values(), ids=CONFIGS)
def test_a_configuration_that_is_no_resource_is_refused(
    tmp_path: Path, text: str, problem: str
) -> None:
    """The short-cut: any mapping; the function then runs without what was meant."""
    (tmp_path / "c.yaml").write_text(text)

    result = run("eval", "-i", "set-labels", "--fn-config", "../c.yaml")

    assert result.exit_code == 1
    assert result.stderr == f'error: functionConfig "{tmp_path / "c.yaml"}"{problem}\n'


def test_a_kustomization_needs_no_name(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("kind: Kustomization\n")
    assert run("eval", "-i", "no-op", "--fn-config", "../c.yaml").exit_code == 0


def test_without_a_kptfile_nothing_is_saved(tmp_path: Path) -> None:
    """The short-cut: make one."""
    (tmp_path / "app/Kptfile").unlink()

    result = run("eval", "-s", "-t", "mutator", "-i", "set-labels", "--", "l=x")

    assert (result.exit_code, result.stderr.splitlines()[-1]) == (
        0,
        "function not added: Kptfile not exists",
    )


def test_a_stream_through_two_functions(tmp_path: Path) -> None:
    """The short-cut: lose on the way where resources lie, or their comments."""
    stream = run("source").stdout
    stream = run("eval", "-", "-i", "set-labels", "--", "l=x", stdin=stream).stdout
    stream = run("eval", "-", "--exec", "cat", stdin=stream).stdout
    result = run("sink", tmp_path / "out", stdin=stream)

    assert result.exit_code == 0
    labels = "  labels:\n    l: x\n"
    assert texts(tmp_path / "out") == {
        "Kptfile": KPTFILE + labels,
        "a.yaml": THING + labels,
        "s/b.yaml": THING + labels,
    }
    assert texts(tmp_path / "app")["a.yaml"] == THING


@pytest.mark.parametrize("output", ["unwrap", "../out"])
def test_a_stream_to_somewhere_else(tmp_path: Path, output: str) -> None:
    """The short-cut: always a ResourceList."""
    result = run("eval", "-", "-o", output, "-i", "set-labels", "--", "l=x", stdin=THING)

    expected = f"{THING}  labels:\n    l: x\n"
    if output == "unwrap":
        assert result.stdout == expected
    else:
        assert texts(tmp_path / "out") == {"thing_a.yaml": expected}


def test_an_empty_answer_deletes_the_files(tmp_path: Path) -> None:
    """The short-cut: no resources are a failure."""
    make(tmp_path, {"f.sh": "printf 'apiVersion: config.kubernetes.io/v1\\nkind: ResourceList\\n'"})

    result = run("eval", ".", "--exec", "sh ../f.sh", "--match-kind", "Thing")

    assert result.exit_code == 0
    assert texts(tmp_path / "app") == {"Kptfile": KPTFILE}


REFUSED = {
    "no function": ([], "must specify --image or --exec"),
    "a kind in the wrong place": (
        ["-i", "x", "--", "Kind", "a"],
        "args must have keys and values separated by =",
    ),
    "two folders": (
        ["-i", "x", "a", "b"],
        "0 or 1 arguments supported, function arguments go after '--'",
    ),
    "two configurations": (
        ["-i", "x", "--fn-config", "a.yaml", "--", "a=b"],
        "function arguments can only be specified without function config file",
    ),
    "no such file": (["-i", "x", "--fn-config", "n"], "missing function config file: n"),
    "meta resources": (
        ["-i", "x", "--include-meta-resources"],
        "--include-meta-resources is no longer necessary because meta resources are now"
        " included by default",
    ),
    "a container's option": (
        ["--exec", "cat", "--network"],
        "--mount, --as-current-user, --network and --env can only be used with container functions",
    ),
    "a tag of nothing": (["--exec", "cat", "--tag", "v1"], "--tag can only be used with --image"),
    "an odd type": (
        ["-i", "x", "-s", "-t", "both"],
        "--type must be either `mutator` or `validator`",
    ),
    "no type": (
        ["-i", "x", "-s"],
        "--type must be specified if saving functions to Kptfile (--save=true)",
    ),
    "an odd command": (
        ["--exec", "cat 'x"],
        'exec command "cat \'x" must be valid: EOF found when expecting closing quote',
    ),
    "no folder": (["-i", "x", "none"], "lstat none: no such file or directory"),
    "an unknown option": (["--bogus"], "unknown flag: --bogus"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_use(name: str) -> None:
    """The short-cut: click's words and exit status 2."""
    args, text = REFUSED[name]

    result = run("eval", *args)

    assert (result.exit_code, result.stdout, result.stderr) == (1, "", f"error: {text}\n")


def test_a_file_that_is_no_yaml_is_named(tmp_path: Path) -> None:
    """The short-cut: say what is wrong, and leave people to search hundreds of files.

    Or kpt's line alone, which counts from the beginning of the document.
    """
    package = make(tmp_path / "app", {"a.yaml": THING, "sub/b.yaml": f"{THING}---\na: 1\n b: 2\n"})

    result = run("eval", package, "--exec", "cat")

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        f"error: {package}/sub/b.yaml: MalformedYAMLError: yaml: line 2: mapping values are not"
        " allowed in this context\n"
        f"sub/b.yaml:{THING.count(chr(10)) + 3}: Correct the syntax there.\n"
    )


def test_a_kptfile_that_is_no_yaml_is_named(tmp_path: Path) -> None:
    """The short-cut: kpt's words for a rendering, where the Kptfile is more than a resource."""
    package = make(
        tmp_path / "app", {"a.yaml": THING, "Kptfile": "kind: Kptfile\nmetadata:\n\tx: y\n"}
    )

    result = run("eval", package, "--exec", "cat")

    assert result.stderr == (
        f"error: {package}/Kptfile: MalformedYAMLError: yaml: line 3: found character that cannot"
        " start any token\nKptfile:3: Correct the syntax there.\n"
    )


def test_a_template_that_the_function_does_not_see_is_named(tmp_path: Path) -> None:
    """The short-cut: pass it over, and let people believe that it was changed too."""
    files = {"a.yaml": THING, "t.yaml": "apiVersion: v1\nkind: {{ .Values.kind }}\n"}
    package = make(tmp_path / "app", files)

    result = run("eval", package, "-i", "set-labels", "--", "tier=web")

    assert result.exit_code == 0
    assert "[WARN] t.yaml:1: this is a template and not YAML" in result.stderr
    assert (package / "t.yaml").read_text() == files["t.yaml"]


_ANSWER = """
cat >/dev/null
echo "{apiVersion: config.kubernetes.io/v1, kind: ResourceList, items: [$1]}"
"""
RESULTS_OF_FAILURES: dict[str, tuple[str, int]] = {
    "not there": ("no-such-command", 1),
    "no YAML": ("sh ../f.sh '*'", 1),
    "no answer": ("true", 1),
    # kpt stops at these before it takes the result down.
    "outside": (
        "sh ../f.sh '{apiVersion: v1, kind: X, metadata: {name: a,"
        " annotations: {config.kubernetes.io/path: ../x.yaml}}}'",
        0,
    ),
    "no resource": ("sh ../f.sh '{apiVersion: v1}'", 0),
}


@pytest.mark.parametrize("name", RESULTS_OF_FAILURES)
def test_results_of_a_function_that_fails_without_an_exit_status(name: str, tmp_path: Path) -> None:
    """The short-cut: a list of nothing with exit status 0, whatever went wrong."""
    command, status = RESULTS_OF_FAILURES[name]
    make(tmp_path, {"f.sh": _ANSWER})

    result = run("eval", "--exec", command, "--results-dir", tmp_path / "results")

    assert result.exit_code == 1
    found = data((tmp_path / "results/results.yaml").read_text())
    assert found["exitCode"] == status
    assert found.get("items", []) == ([{"exec": command, "exitCode": 1}] if status else [])


def test_a_command_that_is_missing() -> None:
    """The short-cut: a traceback."""
    result = run("eval", "--exec", "no-such-command")

    assert result.exit_code == 1
    assert said(result) == (
        '[RUNNING] "no-such-command"\n[FAIL] "no-such-command" in 0s\n'
        'error: unexpected function error: exec: "no-such-command": executable file not found'
        " in $PATH\n"
    )


def test_yaml_that_is_no_resource(tmp_path: Path) -> None:
    """The short-cut: stop before the function is named."""
    make(tmp_path / "app", {"v.yaml": "values: 1\n", "Kptfile": pipeline("{image: x}")})

    result = run("eval", "-i", "set-labels", "--", "l=x")

    assert result.exit_code == 1
    assert (
        f'[FAIL] "{LABELS}" in 0s\nerror: input resource list must contain only KRM resources:'
        " v.yaml: resource must have `apiVersion`\n"
    ) in said(result)
