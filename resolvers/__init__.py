"""Resolvers check arguments, call one store and return domain objects."""
