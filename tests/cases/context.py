"""Kind package-context of corpus render: the generator of package contexts."""

from cadlib.render.context import added, generated
from cadlib.stream import resourcelist
from tests.cases.compare import data_difference, differences, entries, listed
from tests.cases.model import Case, Verdict, checked


def package_context(case: Case) -> Verdict:
    """Make the context of a package given as a ResourceList, or as a tree of files."""
    path = case.data.get("package_path", "")
    if "input_resource_list" not in case.data:
        files = entries(case.data["input"])
        for changed, entry in added(files, path).items():
            if entry is None:
                del files[changed]
            else:
                files[changed] = entry
        found = differences(entries(case.data["expected"]), files, other="documents")
        return checked(listed(found))
    given = resourcelist.decode(case.data["input_resource_list"].encode())
    items, results = generated(given.items, path)
    wanted = resourcelist.decode(case.data["expected_resource_list"].encode())
    return checked(
        data_difference(
            [_shown(each) for each in wanted.items] + [dict(each) for each in wanted.results],
            [_shown(each) for each in items] + [dict(each) for each in results],
        )
    )


def _shown(item: resourcelist.Item) -> dict[str, object]:
    return {"path": item.path, "value": item.value}
