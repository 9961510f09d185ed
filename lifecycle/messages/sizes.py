"""What is said of packages that are too large to be read."""

SPLIT = (
    "Split it into smaller packages or files, or move files that are not configuration elsewhere"
)


def many_files(most: int) -> str:
    """More files than a package may have."""
    return f"the package holds more than {most} files"


def many_bytes(most: int) -> str:
    """More bytes than a package may have."""
    return f"the package holds more than {most} bytes"


def large_file(size: int) -> str:
    """A file that is too large to be parsed."""
    return f"the file has {size} bytes"


def deep(most: int) -> str:
    """Folders in folders."""
    return f"folders are nested more than {most} deep"
