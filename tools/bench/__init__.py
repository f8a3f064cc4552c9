"""Benchmarks: the cost of pages and writes, and their speed, measured on a real storage engine."""
