"""Loads rows of files into the table, and exports stored rows to files.

``marginalia load`` reads JSONL, CSV, XML and Parquet, by a mapping of columns or by a preset for
the files of another program. It writes invalid rows to a file of rejects. ``marginalia export``
writes JSONL, CSV or Parquet that ``load`` can read, and feeds of all reviews for Google and Meta.

Items: those of the core and of other features.

Composition: ``dal.composition`` (kinds of files), ``server.cli.main`` (the commands).
"""
