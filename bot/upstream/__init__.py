"""Fetches packages from upstreams: mirrors of what the bot serves, or one bounded fetch."""
