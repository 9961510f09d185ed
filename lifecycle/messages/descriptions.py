"""What descriptions of pull requests say that the bot opened: they are written once."""

from lifecycle.messages.markdown import number


def conflicted(count: int, made: str) -> str:
    """Return how many conflicts there were at first, and where those are that are left.

    A text is written once, and stays true whatever is decided since: it lists none of them.

    Args:
        count: How many.
        made: What was done then, such as "draft was made".
    """
    return (
        f"**{number(count, 'conflict')} when this {made}.** Both sides changed the same field, and"
        " the value of one of them was taken. The summary in the conversation lists what nobody has"
        " decided yet, with the number of each."
    )
