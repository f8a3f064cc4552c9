"""What a serving process has to do."""

from typing import NamedTuple, Protocol


class Load(NamedTuple):
    """What a process has to do now; ``refused`` counts from its start."""

    running: int
    waiting: int
    refused: int
    connections: int


class Loaded(Protocol):
    """Something that serves."""

    @property
    def load(self) -> Load:
        """What it has to do now."""
