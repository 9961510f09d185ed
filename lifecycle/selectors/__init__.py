"""What is chosen, and by what: one meaning of selectors for all that selects (ADR 60)."""
