"""Resolvers check arguments, call one repository and return domain objects."""
