"""Kind write-fn-output of corpus runtime: where `fn eval` writes what a function returned."""

from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from click.testing import CliRunner

from bot.cli.fn.group import fn
from cadlib.stream import resourcelist
from cadlib.stream.resourcelist import Item
from cadlib.yaml import read
from fnrunner.builtin import resource
from tests.cases.compare import data_difference, on_disk
from tests.cases.model import Case, Verdict, checked, failed


def write_fn_output(case: Case) -> Verdict:
    """Hand a stream on as `fn eval` does, by a function that changes nothing."""
    data = case.data
    output = ["--output", data["dest"]] if "dest" in data else []
    with TemporaryDirectory(prefix="case") as base, chdir(base):
        ran = CliRunner().invoke(
            fn, ["eval", "-", "--image", "no-op", *output], input=data["content"].encode()
        )
        files = on_disk(Path(base))
    if ran.exit_code:
        return failed(ran.stderr)
    if "expected_stdout" in data:
        return checked(data_difference(_listed(data["expected_stdout"]), _listed(ran.stdout)))
    wanted = [[each.path, each.value] for each in bare_items(data["expected_package_stream"])]
    found: list[Any] = [
        [path, each.value]
        for path, entry in sorted(files.items())
        for each in read(entry.data).documents
        if not each.empty
    ]
    return checked(data_difference(wanted, found))


def _listed(text: str) -> list[Any]:
    """Return what a stream says: of each resource its place and value, and what wraps them."""
    (first, *_) = (each.value for each in read(text.encode()).documents)
    if resource.kind(first) == resourcelist.KIND:
        listed = resourcelist.decode(text.encode()).items
        return [resourcelist.KIND, *([each.path, each.index, each.value] for each in listed)]
    return [[each.path, each.index, each.value] for each in bare_items(text)]


def bare_items(text: str) -> list[Item]:
    """Return resources with the place that their annotations name, and no other."""
    return [
        resourcelist.bare(each.value, each.comments)
        for each in read(text.encode()).documents
        if not each.empty
    ]
