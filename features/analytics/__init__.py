"""Answers questions about all comments with a columnar store, which has a copy of the comments.

A product's trend is its number and mean rating of comments over time, and movers are the products
that changed most. The store is DuckDB in the data directory, or ClickHouse. ``marginalia analytics
refresh`` fills it with an export.

Items: none.

Composition: ``schema.products`` (``Product.trend``), ``schema.roots`` (``movers``),
``schema.errors`` (codes of its errors), ``server.services`` (opens the store), ``server.settings``
(``--analytics-url``), ``server.checks`` (a check of the store), ``server.cli.main`` (the command).
"""
