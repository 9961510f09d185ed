"""The items that functions are given of resources, made once for those that did not change.

Most functions change nothing, or not every resource; and of a push most files are as they were.
What is made of a resource as it was read is kept with its file; what a function was given is given
to the next one as it is, where no resource became another object in between.
"""

from collections.abc import Mapping, Sequence

from cadlib.package import files as packages
from cadlib.package.source import ParsedPackage, Resource, resources_read
from cadlib.render.calls import GivenItems
from cadlib.stream.resourcelist import Item
from cadlib.yaml import Stream


class Given:
    """Makes what functions of one rendering are given, and keeps what the last one was."""

    def __init__(self) -> None:
        self._package = ""
        self._resources: Sequence[Resource] = ()
        self._made = GivenItems(())

    def of(self, source: ParsedPackage, package: str, resources: Sequence[Resource]) -> GivenItems:
        """Return the items of resources.

        Args:
            source: The package that is rendered.
            package: The package whose pipeline is run; paths are relative to it.
            resources: The resources, in order.
        """
        now = tuple(resources)  # resources are equal where they are the same object
        if package != self._package or now != self._resources:
            items = [_item(source, package, each) for each in now]
            self._package, self._resources, self._made = package, now, GivenItems(items)
        return self._made


def _item(source: ParsedPackage, package: str, resource: Resource) -> Item:
    if not package and resource.origin is not None:
        known = source.streams[resource.origin[0]].once(_items).get(id(resource))
        if known is not None:
            return known
    return Item(
        value=resource.value,
        comments=source.comments(resource),
        path=packages.relative(package, resource.path),
        index=resource.index,
        document=source.document(resource),
    )


def _items(stream: Stream) -> Mapping[int, Item]:
    """The items of a file's resources as it was read, by their identity: it keeps them, too."""
    found = {}
    for each in stream.once(resources_read):
        document = stream.documents[each.origin[1]] if each.origin else None
        comments = document.noted if document else {}
        found[id(each)] = Item(each.value, comments, each.path, each.index, document)
    return found
