"""GraphQL over HTTP, GraphiQL, static files, and failures in GraphQL's shape."""
