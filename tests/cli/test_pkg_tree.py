"""`pkg tree` and `pkg cat`: what they print, and how they end."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.cli.root import main

KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {}\n"
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {}\n"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with a subpackage, folders without resources, and files that are none."""
    root = tmp_path / "one"
    files = {
        "Kptfile": KPTFILE.format("one"),
        "README.md": "text\n",
        "sub/Kptfile": KPTFILE.format("two"),
        "sub/deep/a.yaml": MAP.format("b") + "---\na: b\n---\nkind: Nameless\n---\n- x\n",
        "sub2/x.yml": MAP.format("z") + "  namespace: n\n",
        "x/y/z/c.yaml": "# c\n" + MAP.format("c"),
        "x/y/z/json.json": "{}",
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def _run(*args: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["pkg", *map(str, args)])
    return result.exit_code, result.stdout, result.stderr


def test_the_tree_nests_by_folders(package: Path) -> None:
    """The short-cut: nesting by the beginnings of names puts sub2 below sub."""
    assert _run("tree", package) == (
        0,
        """\
Package "one"
├── [Kptfile]  Kptfile one
├── Package "sub"
│   ├── [Kptfile]  Kptfile two
│   └── deep
│       ├── [a.yaml]  Nameless \n\
│       └── [a.yaml]  ConfigMap b
├── sub2
│   └── [x.yml]  ConfigMap n/z
└── z
    └── [c.yaml]  ConfigMap c
""",
        "",
    )


@pytest.mark.parametrize(
    ("path", "text", "shown"),
    [("values.yaml", "a: b\n", "one\n"), ("in/v.yaml", "{}\n", "one\n"), ("c.yaml", "# c\n", "")],
)
def test_yaml_without_resources_leaves_the_name_of_the_folder(
    tmp_path: Path, path: str, text: str, shown: str
) -> None:
    """The short-cut: no line at all, as for a folder without YAML."""
    file = tmp_path / "one" / path
    file.parent.mkdir(parents=True)
    file.write_text(text)

    assert _run("tree", tmp_path / "one") == (0, shown, "")


def test_a_folder_or_a_file_that_is_no_package_has_a_tree(package: Path) -> None:
    assert _run("tree", package / "sub2")[1] == "sub2\n└── [x.yml]  ConfigMap n/z\n"
    assert _run("tree", package / "sub2/x.yml")[1] == "x.yml\n└── [x.yml]  ConfigMap n/z\n"
    (package / "none").mkdir()
    assert _run("tree", package / "none") == (0, "", "")


def test_what_cannot_be_read_is_said_beside_the_tree(package: Path) -> None:
    (package / "sub2/bad.yaml").write_text("a: [\n")
    status, out, err = _run("tree", package / "sub2")
    assert (status, out) == (0, "sub2\n└── [x.yml]  ConfigMap n/z\n")
    assert err.startswith("[Warn] bad.yaml:")


def test_a_kptfile_that_cannot_be_read_ends_the_tree_with_1(package: Path) -> None:
    """The short-cut warns and ends well: a package is missing, and a script does not see it."""
    (package / "sub/Kptfile").write_text("a: [\n")
    (package / "x/Kptfile").write_text("b: ]\n")
    (package / "sub2/bad.yaml").write_text("a: [\n")

    status, out, err = _run("tree", package)

    assert status == 1
    assert out.startswith('Package "one"\n├── [Kptfile]  Kptfile one\n├── deep\n')
    assert [line.split(": the file is not YAML")[0] for line in err.splitlines()] == [
        "[Warn] sub2/bad.yaml:1",
        "error: sub/Kptfile:1",
        "error: x/Kptfile:1",
    ]


def test_what_is_excluded_is_not_shown(package: Path) -> None:
    (package / ".krmignore").write_text("sub\nx\n")
    assert _run("tree", package)[1] == (
        'Package "one"\n├── [Kptfile]  Kptfile one\n└── sub2\n    └── [x.yml]  ConfigMap n/z\n'
    )


@pytest.mark.parametrize("command", ["tree", "cat"])
def test_wrong_arguments_end_as_in_kpt(command: str) -> None:
    assert _run(command, "nope") == (1, "", "error: lstat nope: no such file or directory\n")
    assert _run(command, "a", "b") == (1, "", "error: accepts at most 1 arg(s), received 2\n")


def test_cat_prints_the_resources_of_each_package_in_order(package: Path) -> None:
    z = MAP.format("z") + "  namespace: n\n"
    c = "# c\n" + MAP.format("c")
    below = MAP.format("b") + "---\na: b\n---\nkind: Nameless\n---\n- x\n"
    assert _run("cat", package)[1] == f"{z}---\n{c}---\n{below}"
    assert _run("cat", "-R=false", package)[1] == f"{z}---\n{c}"


def test_cat_orders_strips_and_annotates(package: Path) -> None:
    file = package / "sub2/x.yml"
    file.write_text('# a\nkind: A # b\ntext: "x # y"\nblock: | # c\n  # d\napiVersion: v1\n# e\n')
    ordered = '# a\nkind: A # b\nblock: | # c\n  # d\ntext: "x # y"\n# e\n'
    assert _run("cat", file)[1] == f"apiVersion: v1\n{ordered}"
    assert _run("cat", "--format=false", file)[1] == file.read_text()
    assert _run("cat", "--strip-comments", file)[1] == (
        'apiVersion: v1\nkind: A\nblock: |\n  # d\ntext: "x # y"\n'
    )
    assert _run("cat", "--style", "FlowStyle", file)[1] == (
        '{apiVersion: v1, kind: A, block: "# d\\n", text: "x # y"}\n'
    )
    assert "config.kubernetes.io/path: x.yml" in _run("cat", "--annotate", file)[1]


def test_cat_refuses_what_holds_no_resources(package: Path) -> None:
    status, out, err = _run("cat", package / "Kptfile")
    assert (status, out) == (1, "")
    assert err.endswith("is a Kptfile package metadata file, not a resource file; no resources"
                        " will be read\n")  # fmt: skip
    assert "is not a YAML/JSON file" in _run("cat", package / "README.md")[2]
