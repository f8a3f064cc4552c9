"""``marginalia bench``: measures what pages and loads cost."""

from server.cli.commands.bench.analytics import analytics
from server.cli.commands.bench.bill import bill
from server.cli.commands.bench.cost import cost
from server.cli.commands.bench.growth import growth
from server.cli.commands.bench.load import load
from server.cli.commands.bench.packed import packed
from server.cli.commands.bench.scale import scale
from server.cli.commands.bench.speed import speed

__all__ = ["analytics", "bill", "cost", "growth", "load", "packed", "scale", "speed"]
