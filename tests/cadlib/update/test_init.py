"""The files that a new package begins with."""

from hypothesis import given
from hypothesis import strategies as st

from cadlib.kptfile import reader as kptfile
from cadlib.kptfile.reader import Kptfile
from cadlib.update import init
from cadlib.yaml import read


def test_the_files_in_their_order() -> None:
    files = init.files("app", description="An app", keywords=["a", "b"], site="https://e.com")

    assert list(files) == ["Kptfile", "README.md", "package-context.yaml"]
    assert files["Kptfile"].data.decode() == (
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n  annotations:\n"
        '    config.kubernetes.io/local-config: "true"\n'
        "info:\n  site: https://e.com\n  description: An app\n  keywords:\n  - a\n  - b\n"
    )
    assert files["package-context.yaml"].data.decode() == (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\n  annotations:\n"
        '    config.kubernetes.io/local-config: "true"\ndata:\n  name: example\n'
    )
    readme = files["README.md"].data.decode()
    assert readme.startswith("# app\n\n## Description\nAn app\n\n## Usage\n")
    assert readme.endswith("\n")
    assert "kpt live apply app --reconcile-timeout=2m" in readme


def test_what_is_empty_is_left_out() -> None:
    """kpt leaves an empty `info`, which says where things go."""
    assert init.kptfile("app").decode().endswith("info: {}\n")


@given(st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Z", "S"]), min_size=1))
def test_any_name_and_description_are_read_back(text: str) -> None:
    """The short-cut is a template with the values put in: `a: b` and `123` would break it."""
    found = kptfile.read(init.kptfile(text, description=text, keywords=[text]))

    assert found == Kptfile(
        name=text,
        description=text,
        annotations={"config.kubernetes.io/local-config": "true"},
    )


def test_names_that_would_not_be_text() -> None:
    data = init.kptfile("0755", keywords=["yes", "1e3", "~"])

    value = read(data).documents[0].value
    assert isinstance(value, dict)
    assert value["info"] == {"keywords": ["yes", "1e3", "~"]}
    assert b'name: "0755"' in data
