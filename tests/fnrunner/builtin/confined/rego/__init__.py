"""Modules of Rego made ready for the engine."""
