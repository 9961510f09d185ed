"""The loop: for each key that is woken, look, decide, perform, until nothing is left."""
