"""Persistence: the work queue, deliveries, the index of repositories and proposals, the audit."""
