"""Functions in pods of a Kubernetes cluster."""
