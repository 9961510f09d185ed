"""The lifecycle of packages decided: facts in, actions out; pure, no input or output."""
