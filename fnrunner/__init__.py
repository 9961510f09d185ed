"""Runs one KRM function on one ResourceList, over gRPC."""
