"""Metrics, traces and an access log; all are off by default, and then cost nothing."""
