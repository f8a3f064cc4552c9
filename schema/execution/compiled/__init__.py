"""Compiled execution: turns a validated operation into functions, once for all its requests.

Results and errors are the same as those of graphql-core's executor. Unusual cases are executed by
graphql-core itself. This package uses graphql-core and Strawberry, but nothing of this schema.
"""
