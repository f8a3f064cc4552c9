"""Exports the table to JSONL, CSV or Parquet files. ``load`` needs only ``--kind`` to read them."""
