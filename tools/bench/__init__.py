"""Benchmarks: the cost of pages and writes, measured on a real engine."""
