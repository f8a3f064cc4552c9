"""The rebuild of the counters beside running writers."""
