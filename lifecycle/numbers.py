"""Numbers of what people say: comments, and texts of reviews, which have a space of their own.

Forges number reviews and comments each for itself: in one space, the text of review 7 would pass
for answered once comment 7 is. All that is remembered of what somebody said goes by such a number.
"""

_IN_REVIEWS = -(2**60)
"""Texts of reviews lie below; buttons, which are negative too, have 48 bits."""


def in_review(review: int) -> int:
    """Return the number under which the text of a review is known among comments.

    Args:
        review: The forge's number of the review, at least 1.
    """
    return _IN_REVIEWS - review


def review_of(comment: int) -> int:
    """Return the number of the review whose text a comment's number means; 0 for a comment."""
    return max(_IN_REVIEWS - comment, 0)
