"""A product's trend as a drawing: a line of the mean rating over bars of how many comments.

The drawing is stretched to the room there is, so it holds no text and no circles.
"""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from server.pages.faults import PageFault
from server.pages.formats import minute
from server.pages.page_request import PageRequest

WIDTH, HEIGHT = 1000, 100
"""Of the drawing, in units of its own."""

PATIENCE = 0.5
"""Seconds that a page waits for it."""

FEWEST = 2
"""Points that make a line."""

_BEST, _WORST = 5, 1
_EDGE = 4
"""Room above and below the line, which is as thick as its stroke."""

Point = dict[str, Any]


async def drawn(
    request: PageRequest, product_id: str, languages: Sequence[str] | None
) -> dict[str, Any] | None:
    """Return what the template draws; None where analytics is away or slow, or has too little."""
    try:
        async with asyncio.timeout(PATIENCE):
            answer = await request.run("product.trend", productId=product_id, language=languages)
    except (PageFault, TimeoutError):
        return None
    trend = answer.data["product"]["trend"]
    points: list[Point] = trend["points"]
    if len(points) < FEWEST:
        return None
    most = max(point["count"] for point in points)
    return {
        "points": points,
        "as_of": minute(trend["asOf"]),  # no more, or the page's validator changes all the time
        "most": most,
        "bars": list(_bars(points, most)),
        "lines": list(_lines(points)),
    }


def _bars(points: Sequence[Point], most: int) -> Iterator[dict[str, float]]:
    step = WIDTH / len(points)
    for place, point in enumerate(points):
        if point["count"]:
            height = HEIGHT * point["count"] / most
            yield {
                "x": round((place + 0.1) * step, 2),
                "y": round(HEIGHT - height, 2),
                "width": round(0.8 * step, 2),
                "height": round(height, 2),
            }


def _lines(points: Sequence[Point]) -> Iterator[str]:
    """Yield the path of each run of points with comments: where there is none, the line breaks."""
    step = WIDTH / len(points)
    for rated, run in groupby(enumerate(points), lambda one: one[1]["average"] is not None):
        if rated:
            places = [
                f"{(place + 0.5) * step:.2f} {_height(point['average']):.2f}"
                for place, point in run
            ]
            yield "M" + "L".join(places if len(places) > 1 else places * 2)  # a dot


def _height(average: float) -> float:
    return _EDGE + (HEIGHT - 2 * _EDGE) * (_BEST - average) / (_BEST - _WORST)
