"""Exports the store to JSONL, CSV or Parquet files that ``load`` reads without further options."""
