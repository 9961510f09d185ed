"""gen-pkg-context: one context, at the top of the package."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.cli.fn.group import fn
from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value
from fnrunner.builtin import lookup
from fnrunner.builtin.catalog import gen_pkg_context
from fnrunner.contract.errors import FunctionNotFoundError
from tests.fnrunner.calls import config_map, values

KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: shop}"
CONTEXT: Value = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {
        "name": "kptfile.kpt.dev",
        "annotations": {"config.kubernetes.io/local-config": "true"},
    },
    "data": {"name": "shop"},
}


def test_the_root_gets_one_and_others_go() -> None:
    """Short-cut: add a context, and leave those of subpackages beside it."""
    older = Item({**CONTEXT, "data": {"name": "x"}}, path="db/package-context.yaml", index=0)  # type: ignore[dict-item] # a mapping
    inner = Item(values(KPTFILE.replace("shop", "db"))[0], path="db/Kptfile", index=0)
    root = Item(values(KPTFILE)[0], path="Kptfile", index=0)
    verdict = gen_pkg_context.run(ResourceList((inner, older, root)))
    assert verdict.items == (inner, root, Item(CONTEXT, path="package-context.yaml"))
    assert verdict.results == (
        {
            "message": "generated package context",
            "severity": "info",
            "file": {"path": "package-context.yaml"},
        },
    )


def test_the_path_comes_from_the_configuration() -> None:
    config = values(config_map(**{"package-path": "net/shop"}))[0]
    root = Item(values(KPTFILE)[0], path="Kptfile", index=0)
    made = gen_pkg_context.run(ResourceList((root,), config)).items[-1].value
    assert isinstance(made, dict)
    assert made["data"] == {"name": "shop", "package-path": "net/shop"}


@pytest.mark.parametrize("image", ["builtins/gen-pkg-context", "builtins/gen-pkg-context:latest"])
def test_kpts_own_name_means_it(image: str) -> None:
    """Short-cut: take all that begins so for functions of ours."""
    assert lookup.find(image).name == "gen-pkg-context"
    with pytest.raises(FunctionNotFoundError, match="builtins/set-labels"):
        lookup.find("builtins/set-labels")


def test_on_a_folder(tmp_path: Path) -> None:
    (tmp_path / "Kptfile").write_text(KPTFILE)
    for _ in range(2):
        ran = CliRunner().invoke(fn, ["eval", str(tmp_path), "--image", "gen-pkg-context"])
        assert ran.exit_code == 0, ran.stderr
    (made,) = values((tmp_path / "package-context.yaml").read_text())
    assert made == CONTEXT
