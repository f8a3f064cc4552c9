"""Metrics, traces and an access log. All are off by default, and then cost no time."""
