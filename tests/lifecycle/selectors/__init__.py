"""Tests of `lifecycle.selectors`."""
