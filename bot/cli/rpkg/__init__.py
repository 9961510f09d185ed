"""`porchbot rpkg`: packages in repositories."""
