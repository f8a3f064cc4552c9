"""The schema as a subgraph of Apollo Federation: other subgraphs refer to products and comments.

Items: none.

Composition: ``schema.build`` (root and SDL of the subgraph, keys of types), ``server.settings``
(``--federation``), ``server.services`` (reads the setting).
"""
