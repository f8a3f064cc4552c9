"""Trusted documents: GraphQL documents that the operator registers and clients request by id.

The server can refuse all other documents, and shared caches can store the responses to trusted
documents. With automatic persisted queries, clients register documents by the hash of the text.

Items: ``DOCUMENTS`` / ``DOCUMENT#<id>`` and ``DOCUMENTS`` / ``HASH#<SHA-256>``, both with the text.

Composition: ``dal.stores`` (repository), ``dal.composition`` (kind of items), ``server.services``
(documents of manifests and of the table), ``server.app`` (finds documents of requests),
``server.settings`` (``--documents`` and other options), ``server.checks`` (two checks),
``server.run`` (refuses ``--documents-only`` without a document), ``server.cli.main`` (the command).
"""
