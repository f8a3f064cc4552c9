"""The addresses of pages: one spelling each, so that they can be shared and cached."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from starlette.datastructures import QueryParams

from server.pages.faults import PageFault

RATINGS = (1, 2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class Filters:
    """Which comments a product's page shows: any of the ratings, any of the languages.

    Empty is any, as an unchecked form is. An address has ratings first, both in ascending order.
    """

    ratings: tuple[int, ...] = ()
    languages: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: QueryParams) -> "Filters":
        """Return the filters of an address; PageFault for a rating that is none."""
        return cls(
            _distinct(_rating(value) for value in given.getlist("rating")),
            _distinct(value for value in given.getlist("language") if value),
        )

    def among(self, known: Iterable[str]) -> "Filters":
        """Return these filters with languages spelt as ``known`` spells them: ``EN`` is ``en``."""
        spelt = {language.casefold(): language for language in known}
        return Filters(
            self.ratings, _distinct(spelt.get(one.casefold(), one) for one in self.languages)
        )

    @property
    def essential(self) -> "Filters":
        """These filters without what filters nothing: all five ratings."""
        return Filters((), self.languages) if self.ratings == RATINGS else self

    def variables(self) -> dict[str, Any]:
        """Return the arguments of ``Product.comments``; null is any."""
        return {"rating": self.ratings or None, "language": self.languages or None}

    def query(self, **cursor: str) -> str:
        """Return the query string with its question mark, ``cursor`` last; empty for none."""
        pairs = [
            *(("rating", str(rating)) for rating in self.ratings),
            *(("language", language) for language in self.languages),
            *cursor.items(),
        ]
        return f"?{urlencode(pairs)}" if pairs else ""


def product_path(product_id: str) -> str:
    """Return the path of a product's page; an id may hold any character."""
    return f"/products/{quote(product_id, safe='')}"


def comment_path(comment_id: str) -> str:
    """Return the permalink of a comment."""
    return f"/comments/{quote(comment_id, safe='')}"


def local(address: str) -> str:
    """Return ``address`` when it leads nowhere but to this site, else the first page's."""
    return address if re.fullmatch(r"/(?![/\\])[!-~]*", address) else "/"


def _rating(value: str) -> int:
    if value not in map(str, RATINGS):
        raise PageFault(400, f"A rating goes from 1 to 5, and {value[:20]!r} does not.")
    return int(value)


def _distinct(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(sorted(set(values)))
