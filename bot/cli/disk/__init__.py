"""Packages on disk and in git repositories: read, edited on two cores, replaced in one step."""
