"""Full names of branches and tags, made and read back."""

HEADS, TAGS = "refs/heads", "refs/tags"
"""The folders of branches and of tags."""


def branch_ref(name: str) -> str:
    """Return the full name of a branch."""
    return f"{HEADS}/{name}"


def tag_ref(name: str) -> str:
    """Return the full name of a tag."""
    return f"{TAGS}/{name}"


def is_branch(ref: str) -> bool:
    """Tell whether a full name is a branch's."""
    return ref.startswith(f"{HEADS}/")


def is_tag(ref: str) -> bool:
    """Tell whether a full name is a tag's."""
    return ref.startswith(f"{TAGS}/")


def branch_name(ref: str) -> str:
    """Return a branch's own name; any other ref as it is."""
    return ref.removeprefix(f"{HEADS}/")


def tag_name(ref: str) -> str:
    """Return a tag's own name; any other ref as it is."""
    return ref.removeprefix(f"{TAGS}/")
