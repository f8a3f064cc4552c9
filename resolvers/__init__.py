"""Resolvers check arguments, call repositories and return domain objects."""
