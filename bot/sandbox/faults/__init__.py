"""Fault injection by tests, and the log of calls."""
