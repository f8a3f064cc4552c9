"""Exports the table to JSONL, CSV or Parquet files, which ``load --kind KIND`` can read."""
