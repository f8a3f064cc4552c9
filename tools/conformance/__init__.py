"""Relay conformance of any GraphQL server's connection, checked from outside.

Each check sends requests over HTTP and compares the responses with two specifications: GraphQL
Cursor Connections and Global Object Identification. The package imports nothing else of Marginalia.
"""
