"""Tests of `porchbot rpkg`."""
