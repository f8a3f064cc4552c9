"""Compiled execution: turns a validated operation into functions, once for all its requests.

Results and errors equal those of graphql-core's executor, which itself executes unusual cases. This
package uses graphql-core and Strawberry and knows nothing of this schema.
"""
