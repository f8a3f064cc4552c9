"""HTTP: GraphQL requests, GraphiQL, limits, middleware, and errors as GraphQL responses."""
