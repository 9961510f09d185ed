"""Looking: reads forge and git, and puts together the facts that a decision needs."""
