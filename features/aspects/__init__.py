"""Aspects: customers also rate properties of a product, such as fit, quality and value.

The shop names up to six aspects. Clients get their labels in the languages of its customers.

Items: none. The ratings of aspects are a field of the comment, and their counts are in the
statistics items. The core stores both.

Composition: ``schema.roots`` (``aspects``), ``server.services`` (passes the names to reads and
writes of comments), ``server.settings`` (``--aspects``).
"""
