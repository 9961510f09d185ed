"""Rendering: packages rendered and validated, and the verdicts on them."""
