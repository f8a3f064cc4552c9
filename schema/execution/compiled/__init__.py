"""Compiled execution: translates a validated operation into Python functions.

An operation is translated once, and later requests call the same functions. The results and errors
are the same as those of graphql-core's executor. That executor itself executes unusual operations.
This package uses graphql-core and Strawberry, but no types of this schema.
"""
