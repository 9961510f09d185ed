"""Packages on disk: read at once, edited on two cores, and replaced in one step."""
