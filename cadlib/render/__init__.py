"""Rendering: which functions are called on which resources, and what is written back."""
