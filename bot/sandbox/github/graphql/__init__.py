"""GitHub's GraphQL over `schema.graphql`: which query means what, and what each field holds."""
