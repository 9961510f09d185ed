"""The sandbox forge: a small GitHub on a loopback address, for the demo and for tests."""
