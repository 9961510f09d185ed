"""Rego as Open Policy Agent reads it: parsed, rewritten and written again for the engine."""
