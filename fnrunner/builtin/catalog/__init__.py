"""The catalog's functions, a module each, named like the function with "_" for "-"."""
