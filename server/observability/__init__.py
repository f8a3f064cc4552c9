"""Metrics, traces and an access log. All are off by default, and then take no time."""
