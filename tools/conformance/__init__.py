"""Relay conformance of any GraphQL server's connection, checked from outside.

A check asks the server over HTTP and compares what it answers with two specifications: GraphQL
Cursor Connections, and Global Object Identification. The package imports nothing of ours.
"""
