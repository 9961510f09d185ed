"""What goes wrong because tests order it, and the log of every call."""
