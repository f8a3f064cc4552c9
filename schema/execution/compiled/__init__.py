"""Compiled execution: a validated GraphQL operation becomes once what is done for each request.

It answers as graphql-core's executor does, errors included, and leaves to that executor what is out
of the ordinary. It knows graphql-core and Strawberry, and nothing of what is asked for.
"""
