"""What each command does: its class, which holds its arguments, and its function."""
