"""Resources as streams: ResourceLists, and files of resources taken apart and put together."""
