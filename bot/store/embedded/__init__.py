"""A PostgreSQL server of our own, for whoever has none."""
