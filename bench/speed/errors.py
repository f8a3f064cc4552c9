"""What keeps a measurement from being made."""


class BenchError(Exception):
    """A measurement cannot be made; the message says in a sentence what is missing."""
