"""Compiled execution: translates a validated operation into Python functions.

An operation is translated once, and later requests call the same functions. The results and errors
are the same as those of graphql-core's executor. Operations that this package does not support are
executed by graphql-core. The package works with any Strawberry schema.
"""
