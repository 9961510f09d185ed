"""The contract of a function runner: protocol, outcome, limits, errors, the operator's rules."""
