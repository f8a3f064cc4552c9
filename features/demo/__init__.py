"""Demo data: products, comments in six languages, votes, reports, orders and tickets.

``marginalia serve --demo`` loads the data once, except the files of deleted features. ``marginalia
table workbench`` prints some of it with a data model of the table.

Items: those of the core, and the mark ``demo`` of a complete load.

Composition: ``server.run`` (loads the data while the server answers), ``server.cli.main`` (the
command).
"""
