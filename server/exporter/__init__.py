"""Exports the table to JSONL, CSV or Parquet. ``load`` reads the files with only ``--kind``."""
