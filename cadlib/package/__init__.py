"""A package as a tree of files: where packages are, what belongs to one, what is read of it."""
