"""GitLab as a forge that the bot serves: its API by python-gitlab, and its webhooks."""
