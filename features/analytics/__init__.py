"""Answers questions about all comments with a columnar store, which has a copy of the comments.

A product's trend is its number and mean rating of comments over time, and movers are the products
that changed most. The store is DuckDB in the data directory, or ClickHouse. ``marginalia analytics
refresh`` fills it with an export. The feature has no items in the table.

These modules compose it: ``schema.products`` and ``schema.roots`` (the fields), ``schema.errors``,
``server.services``, ``server.settings``, ``server.checks`` and ``server.cli.main``.
"""
