"""The greatest rate that is kept up, and what refuses beyond it."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

_STEP = 1.05
"""How exact a rate is found."""

UNREFUSED = "one transaction at a time in a server"
"""What stands in the way where nothing refuses."""


class Found(NamedTuple):
    """A rate, and the limit that is met beyond it."""

    rate: float
    limit: str


def greatest(refused: Callable[[float], Mapping[str, int] | None], least: float) -> Found:
    """Return the greatest rate that is kept up, if ``least`` is.

    ``refused`` returns None for a rate that is kept up, else how many were refused by which limit.
    """
    most = least * 2
    while (beyond := refused(most)) is None:
        least, most = most, most * 2
    while most / least > _STEP:
        middle = (least * most) ** 0.5
        found = refused(middle)
        if found is None:
            least = middle
        else:
            most, beyond = middle, found
    return Found(least, max(beyond, key=beyond.__getitem__, default=UNREFUSED))
