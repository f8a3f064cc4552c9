"""Benchmarks: the cost of pages, measured on a real engine."""
