"""Holds the sandbox forge to GitHub's own descriptions of its answers and webhooks."""
