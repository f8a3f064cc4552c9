"""Checks any GraphQL server's connection for conformance with Relay, by its responses.

Each check sends requests over HTTP, and compares the responses with two specifications: GraphQL
Cursor Connections and Global Object Identification. The package imports nothing else of Marginalia.
"""
