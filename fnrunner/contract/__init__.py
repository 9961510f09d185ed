"""What it means to run a function: the protocol, its outcome and limits, its errors, the rules."""
