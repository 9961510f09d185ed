"""A new, empty package: the files that it begins with.

Source: kptdev/kpt, commands/pkg/init; the README's text is kpt's, as people know it.
"""

from collections.abc import Sequence

from cadlib.kptfile.reader import API_VERSION, KIND
from cadlib.package.files import KPTFILE, Entry
from cadlib.render import context
from cadlib.yaml import Value, emit

README = "README.md"
DESCRIPTION = "sample description"
"""What a package is described as when nobody says anything."""

_LOCAL = "config.kubernetes.io/local-config"


def files(
    name: str, *, description: str = "", keywords: Sequence[str] = (), site: str = ""
) -> dict[str, Entry]:
    """Return the files of a new package, in the order in which kpt writes them.

    Args:
        name: The package's name: that of its folder.
        description: What it is, for people; "" for nothing.
        keywords: Words to find it by.
        site: Address of a page about it; "" for none.
    """
    return {
        KPTFILE: Entry(kptfile(name, description=description, keywords=keywords, site=site)),
        README: Entry(_readme(name, description).encode()),
        context.FILE: Entry(emit({**context.resource("example")}).encode()),
    }


def kptfile(
    name: str, *, description: str = "", keywords: Sequence[str] = (), site: str = ""
) -> bytes:
    """Return the Kptfile of a new package; what is empty is left out."""
    info: dict[str, Value] = {
        "site": site,
        "description": description,
        "keywords": list(keywords),
    }
    root: dict[str, Value] = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": name, "annotations": {_LOCAL: "true"}},
        "info": {key: value for key, value in info.items() if value},
    }
    return emit(root).encode()


def _readme(name: str, description: str) -> str:
    return f"""\
# {name}

## Description
{description}

## Usage

### Fetch the package
`kpt pkg get REPO_URI[.git]/PKG_PATH[@VERSION] {name}`
Details: https://kpt.dev/reference/cli/pkg/get/

### View package content
`kpt pkg tree {name}`
Details: https://kpt.dev/reference/cli/pkg/tree/

### Apply the package
```
kpt live init {name}
kpt live apply {name} --reconcile-timeout=2m --output=table
```
Details: https://kpt.dev/reference/cli/live/
"""
