"""GitLab's rules of merge requests, notes, statuses and releases; nothing here knows of HTTP."""
