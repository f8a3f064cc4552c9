"""The state of a store as JSON: one document of the base, one of the run that follows."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

import orjson

from analytics.store import Base, Following, State

BASE, FOLLOWING = "base", "following"


def encoded(part: Base | Following) -> bytes:
    """Return a part of a state as text."""
    return orjson.dumps(asdict(part))


def state_of(documents: Mapping[str, bytes | str | None]) -> State:
    """Return the state that documents tell, by their names."""
    base, following = (_decoded(documents.get(name)) for name in (BASE, FOLLOWING))
    for part in filter(None, (base, following)):
        for name in {"began", "caught_up"} & part.keys():
            part[name] = datetime.fromisoformat(part[name])
    if following is not None:
        following["shards"] = {
            shard: (sequence, done) for shard, (sequence, done) in following["shards"].items()
        }
    return State(
        None if base is None else Base(**base),
        None if following is None else Following(**following),
    )


def _decoded(text: bytes | str | None) -> dict[str, Any] | None:
    return None if text is None else orjson.loads(text)
