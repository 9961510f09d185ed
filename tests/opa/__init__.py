"""Policies held against Open Policy Agent itself, which comes with its Go module.

`python -m tests.opa` runs its conformance cases, and the policies of our own tests, through the
engine and says what came out otherwise. It needs Go and the module; the tests need neither.
"""
