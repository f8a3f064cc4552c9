"""Statistics that are null, as nobody has counted a product's comments: pages leave them out."""

from collections.abc import Collection
from typing import Any


def known_counts(
    product: dict[str, Any], ratings: Collection[int] = (), languages: Collection[str] = ()
) -> bool:
    """Return whether a product's statistics are known; where not, it gets some of no comments.

    ``ratings`` and ``languages`` are those that are chosen.
    """
    known = product["statistics"] is not None
    if not known:
        none = {"total": 0, "average": None}
        by_rating = [
            {"rating": one, "count": 0, "selected": one in ratings} for one in (5, 4, 3, 2, 1)
        ]
        chosen = [{"language": one, "count": 0, "selected": True} for one in languages]
        facets = none | {"ratings": by_rating, "languages": chosen}
        product["statistics"] = none | {"histogram": by_rating, "languages": [], "facets": facets}
        product.pop("chosen", None)
    return known
