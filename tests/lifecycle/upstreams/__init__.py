"""Tests of `lifecycle.upstreams`."""
