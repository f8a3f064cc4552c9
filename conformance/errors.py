"""The error that ends a run with one sentence."""


class ConformanceError(Exception):
    """Something that keeps the checks from running; the message says how to mend it."""
