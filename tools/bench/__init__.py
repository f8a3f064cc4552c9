"""Benchmarks: what pages cost, measured on a real engine."""
