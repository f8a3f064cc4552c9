"""Checks whether a connection of any GraphQL server conforms to Relay's specifications.

Each check sends requests over HTTP, and compares the responses with two specifications: GraphQL
Cursor Connections and Global Object Identification. The package imports nothing else of Marginalia.
"""
