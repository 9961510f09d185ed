"""What differs between two states of a package, and what of it may be shown."""
