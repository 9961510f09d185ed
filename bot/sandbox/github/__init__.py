"""GitHub's REST API, GraphQL API and webhooks."""
