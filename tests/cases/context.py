"""Kind package-context of corpus render: the generator of package contexts."""

from cadlib.stream import resourcelist
from tests.cases import commands
from tests.cases.compare import data_difference
from tests.cases.model import Case, Verdict, checked, failed


def package_context(case: Case) -> Verdict:
    """Make the context of a package given as a ResourceList, by kpt's own name of the function."""
    path = case.data.get("package_path", "")
    config = ["--", f"package-path={path}"] if path else []
    ran = commands.run(
        ["eval", "-", "--image", "builtins/gen-pkg-context", *config],
        stdin=case.data["input_resource_list"],
    )
    if ran.status:
        return failed(ran.errors)
    wanted = resourcelist.decode(case.data["expected_resource_list"].encode())
    found = resourcelist.decode(ran.output.encode()).items
    return checked(
        data_difference(
            [_shown(each) for each in wanted.items] + [dict(each) for each in wanted.results],
            [_shown(each) for each in found] + ran.results,
        )
    )


def _shown(item: resourcelist.Item) -> dict[str, object]:
    return {"path": item.path, "value": item.value}
