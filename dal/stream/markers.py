"""Markers: items that say that a record of a stream is applied, for who knows no shard."""

from time import time

from dal.table.index import EXPIRES
from dal.table.items import ABSENT, Action, Item, primary_key

KEPT_SECONDS = 3 * 24 * 3600
"""How long a marker is kept at least; the stream keeps its record for one day."""


def marker(stream: str, event: str) -> Item:
    """Return the marker of a stream's record, ``EVENT#<stream>#<event id>``."""
    until = {"N": str(int(time()) + KEPT_SECONDS)}
    return primary_key(f"EVENT#{stream}#{event}") | {EXPIRES: until}


def mark(stream: str, event: str) -> Action:
    """Return the write of a marker, on condition that there is none."""
    return {"Put": {"Item": marker(stream, event), **ABSENT}}
