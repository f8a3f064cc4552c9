"""Exports the store to files that ``load`` takes as they are: JSONL, CSV or Parquet."""
