"""`porchbot fn render` on folders."""

from pathlib import Path

import pytest

from tests.cli.fn_folders import ECHO, KPTFILE, THING, data, make, pipeline, run, said, texts

LABELS = "{image: 'set-labels:v0.2', configMap: {l: x}}"
SPACE = "{image: set-namespace, configMap: {namespace: ns}}"


def test_a_package_is_rendered_in_place(tmp_path: Path) -> None:
    """The short-cut: write the Kptfile anew, as kpt does, and leave a status in it."""
    package = make(
        tmp_path / "app", {"Kptfile": pipeline(LABELS), "a.yaml": THING, "README.md": "no\n"}
    )

    result = run("render", package)

    labels = "  labels:\n    l: x\n"
    assert result.exit_code == 0
    assert texts(package) == {
        "Kptfile": pipeline(LABELS).replace("# the app\n", f"# the app\n{labels}"),
        "a.yaml": f"{THING}{labels}",
        "README.md": "no\n",
    }
    assert result.stdout == ""
    assert said(result) == (
        'Package "app":\n'
        '[RUNNING] "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2" on package "app"\n'
        '[PASS] "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2" in 0s\n'
        "  [Results]:\n    [info]: set 2 labels in total\n\n"
        "Successfully executed 1 function(s) in 1 package(s).\n"
    )


def test_a_status_only_when_asked_for(tmp_path: Path) -> None:
    """The short-cut: lose the comments of the Kptfile, or add a second condition each time."""
    package = make(tmp_path / "app", {"Kptfile": pipeline(LABELS), "a.yaml": THING})

    for _ in range(2):
        assert run("render", package, "--write-status").exit_code == 0

    text = (package / "Kptfile").read_text()
    assert text.startswith(KPTFILE)
    assert data(text)["status"] == {
        "conditions": [{"type": "Rendered", "status": "True", "reason": "RenderSuccess"}],
        "renderStatus": {
            "mutationSteps": [
                {
                    "image": "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2",
                    "exitCode": 0,
                    "results": [{"message": "set 2 labels in total", "severity": "info"}],
                }
            ]
        },
    }


def test_commands_need_leave_and_come_after_what_is_inside(tmp_path: Path) -> None:
    """The short-cut: run what a package names."""
    files = {
        "Kptfile": pipeline(f'{{exec: "{ECHO}", selectors: [{{kind: Thing}}]}}'),
        "a.yaml": THING,
        "s/Kptfile": pipeline(SPACE),
    }
    package = make(tmp_path / "app", files)

    refused = run("render", package)
    allowed = run("render", package, "--allow-exec")

    assert refused.exit_code == 1
    assert "Error: must run with `--allow-exec` option to allow running function binaries" in (
        refused.stderr
    )
    assert "[RUNNING]" not in refused.stderr
    assert allowed.exit_code == 0
    assert f'[RUNNING] "{ECHO}" on 1 resource(s) on package "app"\n' in allowed.stderr
    assert "  Stderr:\n    said\n" in allowed.stderr
    assert allowed.stderr.index('Package "app/s":') < allowed.stderr.index('Package "app":')
    assert texts(package) == files


def test_a_command_that_fails_changes_nothing(tmp_path: Path) -> None:
    """The short-cut: write what was done before it."""
    script = make(
        tmp_path, {"f.sh": "cat; for i in 1 2 3 4 5 6; do echo line $i >&2; done; exit 3\n"}
    )
    files = {"Kptfile": pipeline(LABELS, f'{{exec: "sh {script}/f.sh"}}'), "a.yaml": THING}
    package = make(tmp_path / "app", files)

    result = run("render", package, "--allow-exec", "--results-dir", tmp_path / "out")
    whole = run("render", package, "--allow-exec", "--truncate-output=false")

    assert result.exit_code == 1
    assert texts(package) == files
    assert "    line 4\n    ...(3 line(s) truncated" in result.stderr
    assert "    line 6\n" in whole.stderr
    assert "  Exit code: 3\n" in result.stderr
    assert "Error" not in result.stderr
    found = data((tmp_path / "out/results.yaml").read_text())
    items = found["items"]
    assert isinstance(items, list)
    assert [(each["exitCode"], "stderr" in each) for each in items if isinstance(each, dict)] == [
        (0, False),
        (3, True),
    ]
    assert found["exitCode"] == 1


def test_what_a_failure_leaves_when_the_package_asks_for_it(tmp_path: Path) -> None:
    """The short-cut: save all or nothing."""
    save = '  annotations: {kpt.dev/save-on-render-failure: "true"}\npipeline'
    kptfile = pipeline(LABELS, "{image: localhost:1/nobody/has-this}").replace("pipeline", save)
    package = make(tmp_path / "app", {"Kptfile": kptfile, "a.yaml": THING})

    result = run("render", package)

    assert result.exit_code == 1
    assert "l: x" in (package / "a.yaml").read_text()
    assert "Partially executed 1 function(s) in 1 package(s).\n" in result.stderr
    assert 'nobody/has-this:latest": its image cannot be pulled:' in result.stderr


@pytest.mark.parametrize("output", ["stdout", "unwrap", "out/deep"])
def test_another_place_to_write_to(
    tmp_path: Path, output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut: change the package as well."""
    monkeypatch.chdir(tmp_path)
    config = THING.replace("Thing", "ConfigMap")
    files = {"Kptfile": pipeline(SPACE), "a.yaml": config, "README.md": "no\n"}
    package = make(tmp_path / "app", files)

    result = run("render", "app", "-o", output)

    assert result.exit_code == 0
    assert texts(package) == files
    rendered = f"{config}  namespace: ns\n"
    match output:
        case "stdout":
            assert result.stdout.startswith("apiVersion: config.kubernetes.io/v1\nkind: Resource")
            assert "    namespace: ns\n" in result.stdout
        case "unwrap":
            assert result.stdout == f"{pipeline(SPACE)}---\n{rendered}"
        case _:
            assert texts(tmp_path / output) == {"Kptfile": pipeline(SPACE), "a.yaml": rendered}
            again = run("render", "app", "-o", output)
            assert again.exit_code == 1
            assert f'directory "{output}" already exists, please delete' in again.stderr


REFUSED = {
    "no Kptfile": ({"a.yaml": THING}, "Error: No Kptfile found at "),
    "an old Kptfile": (
        {"Kptfile": KPTFILE.replace("v1", "v1alpha1")},
        'has an old version ("v1alpha1") of the Kptfile schema',
    ),
    "an unknown field": (
        {"Kptfile": KPTFILE + "pipline: {}\n"},
        "field pipline not found in type v1.KptFile",
    ),
    "a missing configuration": (
        {"Kptfile": pipeline("{image: set-labels, configPath: c.yaml}")},
        'Kptfile is invalid:\nField: `pipeline.mutators[0].configPath`\nValue: "c.yaml"\n'
        'Reason: failed to open functionConfig from path "c.yaml": open ',
    ),
    "other YAML": (
        {"Kptfile": pipeline(SPACE), "v.yaml": "values: 1\n"},
        "Error: input resource list must contain only KRM resources: v.yaml: resource must have"
        " `apiVersion`",
    ),
    "no YAML": (
        {"Kptfile": pipeline(SPACE), "v.yaml": "a: [\n"},
        "v.yaml: MalformedYAMLError: yaml: line 1: did not find expected node content\n"
        "v.yaml:1: Correct the syntax there.",
    ),
    "no tag in a range": (
        {"Kptfile": pipeline("{image: set-labels, tag: ^9}")},
        'Error: no tag could be found matching the version constraint "^9"',
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(tmp_path: Path, name: str) -> None:
    """The short-cut: a message without a way out, or exit status 2."""
    files, text = REFUSED[name]
    package = make(tmp_path / "app", files)

    result = run("render", package)

    assert result.exit_code == 1
    assert text in result.stderr
    assert "Successfully" not in result.stderr
    assert texts(package) == files


def test_a_template_is_left_alone_and_named(tmp_path: Path) -> None:
    """The short-cut: take it for a broken resource, which it is only after a template engine."""
    files = {"Kptfile": KPTFILE, "t.yaml": "a: {{ .Values.x }}\n"}
    package = make(tmp_path / "app", files)

    result = run("render", package)

    assert result.exit_code == 0
    assert "[WARN] t.yaml:1: this is a template" in result.stderr
    assert texts(package) == files


def test_a_range_of_versions_means_what_is_builtin(tmp_path: Path) -> None:
    """The short-cut: take the range for a tag."""
    package = make(tmp_path / "app", {"Kptfile": pipeline("{image: set-labels, tag: ~0.2}")})

    assert '/set-labels:v0.2.5" on package' in run("render", package).stderr


def test_where_there_is_nothing(tmp_path: Path) -> None:
    """The short-cut: make an empty package of what is missing."""
    result = run("render", tmp_path / "none")

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"error: lstat {tmp_path}/none: no such file or directory\n"
