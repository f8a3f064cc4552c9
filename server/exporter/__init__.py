"""Exports the table to JSONL, CSV or Parquet files, which ``load`` can read without options."""
