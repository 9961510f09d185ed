"""Decides: facts in, actions out; pure, no input or output."""
