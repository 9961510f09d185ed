"""Packages from elsewhere: begun, fetched, and brought up to a newer version."""
