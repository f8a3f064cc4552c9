"""Compiled execution: translates a validated operation into Python functions.

An operation is translated once, and all its later requests call the same functions. The results and
errors are those of graphql-core's executor, which itself executes unusual cases. This package uses
graphql-core and Strawberry, but no types of this schema.
"""
