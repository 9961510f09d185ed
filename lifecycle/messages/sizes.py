"""What is said of packages that are too large to be read."""

SPLIT = (
    "Split it into smaller packages or files, or move files that are not configuration elsewhere"
)


def many_files(most: int) -> str:
    """More files than a package may have."""
    return f"the package holds more than {most} files"


def many_bytes(most: int, path: str, size: int) -> str:
    """More bytes than a package may have.

    Args:
        most: How many it may have.
        path: The file that is too much, which is named where it is most of it.
        size: Its bytes.
    """
    alone = f"; {path} alone has {_mib(size)}" if size > most // 2 else ""
    return f"the package holds more than {_mib(most)}{alone}"


def large_file(size: int) -> str:
    """A file that is too large to be parsed."""
    return f"the file has {_mib(size)}"


def _mib(size: int) -> str:
    return f"{size / 1024**2:.1f} MiB"


def deep(most: int) -> str:
    """Folders in folders."""
    return f"folders are nested more than {most} deep"
