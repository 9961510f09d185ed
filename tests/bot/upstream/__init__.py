"""Tests of `bot.upstream`."""
