"""GitHub's dialect: REST and GraphQL spell what the rules say, and webhooks tell it."""
