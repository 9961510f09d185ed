"""Persistence: the work queue, deliveries, an index of the forge, sweeps, the audit trail."""
