"""Benchmarks: what reading costs, counted on a real engine."""
