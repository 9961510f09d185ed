"""gRPC: the service, its client, and how errors travel between them."""
