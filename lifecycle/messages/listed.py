"""What is said where somebody fetches a revision that its repository's ledger lists."""

from lifecycle.ledger import ListedState


def warning(shown: str, state: ListedState, reason: str) -> str:
    """A version that can be fetched and should not be used.

    Args:
        shown: The revision, such as "net/core@v5".
        state: What became of it.
        reason: Why, on one line.
    """
    was = "is deprecated" if state is ListedState.DEPRECATED else "was withdrawn"
    return f"warning: {shown} {was}: {reason}. Use another version."


def gone(shown: str, reason: str) -> tuple[str, str]:
    """A version that cannot be fetched as it was withdrawn: what is so, and what to do."""
    return f"{shown} was withdrawn: {reason}", "Use another version"


def unread(shown: str, problem: str) -> str:
    """Nobody can tell whether a version should be used."""
    return f"warning: whether {shown} is deprecated or withdrawn could not be read: {problem}"
