"""All that a decision may know, as frozen values read from forge and git before each decision.

What follows from facts is a property, never a stored field; a stage is worked out, never kept.
Nothing here says why we were woken.
"""
