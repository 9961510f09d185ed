"""Commands, as a shell runs them."""
