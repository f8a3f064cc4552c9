"""Media types of GraphQL's answers, and which of them an Accept header asks for."""

from collections.abc import Sequence
from functools import lru_cache

GRAPHQL = "application/graphql-response+json"
JSON = "application/json"
HTML = "text/html"
EVENT_STREAM = "text/event-stream"

_STANDING_FOR = {JSON: ("application/*", "*/*")}
"""Ranges that ask for JSON: who names no type gets what every client can read."""

_USUAL = 200
"""Characters of headers that are worth to be kept."""


def preferred(accept: str | None, offered: Sequence[str]) -> str | None:
    """Return the type of ``offered`` that an Accept header likes best, None where it likes none.

    Of types that it likes alike the first is returned. Without a header JSON is.
    """
    accept = accept or "*/*"
    best = _usual if len(accept) <= _USUAL else _best
    return best(accept, tuple(offered))


def _best(accept: str, offered: tuple[str, ...]) -> str | None:
    qualities = _qualities(accept)
    best = max(offered, key=lambda name: _quality(qualities, name))
    return best if _quality(qualities, best) > 0 else None


_usual = lru_cache(maxsize=200)(_best)


def _quality(qualities: dict[str, float], name: str) -> float:
    ranges = (name, *_STANDING_FOR.get(name, ()))
    return next((qualities[one] for one in ranges if one in qualities), 0.0)


def _qualities(accept: str) -> dict[str, float]:
    """Return the quality of each media range: 1 where the header gives none that can be read."""
    found = {}
    for part in accept.lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        weights = [given.removeprefix("q=") for given in parameters if given.startswith("q=")]
        found[name] = _weight(weights[0]) if weights else 1.0
    return found


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1.0
