"""Compiled execution: what a validated GraphQL operation does for each request, prepared once.

The results equal those of graphql-core's executor, errors included, and unusual cases are left to
that executor. This package uses graphql-core and Strawberry and knows nothing of this schema.
"""
