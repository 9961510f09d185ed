"""A new user's way through the guide, in Chromium and a terminal: `python -m tests.walkthrough`."""
