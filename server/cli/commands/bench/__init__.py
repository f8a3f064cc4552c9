"""``marginalia bench``: measures what pages cost."""

from server.cli.commands.bench.cost import cost
from server.cli.commands.bench.growth import growth
from server.cli.commands.bench.speed import speed

__all__ = ["cost", "growth", "speed"]
