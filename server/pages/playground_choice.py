"""What somebody chose in the playground, as its address has it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from starlette.datastructures import QueryParams

from server.pages.addresses import RATINGS, Filters
from server.pages.faults import PageFault
from server.pages.i18n import gettext
from server.pages.paging import SIZE

PATH = "/playground"

LARGEST = 100
"""Rows of a page, as in the API."""

DEEPEST = 200
"""Rows before a page that its number may skip: they are read to be counted, 100 at a time."""

BASES = {"all": "ROW_LOCATIONS", "counts": "COUNTS", "nothing": "NOTHING"}
"""What our plan may go by: the address's word, and the API's."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A list, a page of it, and what to plan that page by."""

    product: str = ""
    filters: Filters = field(default_factory=Filters)
    size: int = SIZE
    page: int = 1
    after: str = ""
    """The cursor that the page begins at, instead of a number."""
    by: str = "all"

    @classmethod
    def of(cls, given: QueryParams) -> "Choice":
        """Return the choice of an address; PageFault for what is none."""
        by = given.get("by") or "all"
        if by not in BASES:
            sentence = gettext("A plan goes by %(names)s.", names=", ".join(BASES))
            raise PageFault(400, sentence)
        after = given.get("after", "").strip()
        size = _number(given.get("size", ""), SIZE, LARGEST)
        deepest = DEEPEST // max(1, size) + 1
        return cls(
            given.get("product", "").strip(),
            Filters.of(given),
            size,
            1 if after else _number(given.get("page", ""), 1, deepest),
            after,
            by,
        )

    @property
    def before(self) -> int:
        """How many rows lie before the page by its number."""
        return (self.page - 1) * self.size

    @property
    def query(self) -> str:
        """The query string with its question mark: the same choice has one spelling."""
        stated = {
            "product": self.product,
            "size": "" if self.size == SIZE else str(self.size),
            "page": "" if self.page == 1 else str(self.page),
            "by": "" if self.by == "all" else self.by,
            "after": self.after,
        }
        return self.filters.query(**{name: value for name, value in stated.items() if value})

    @property
    def address(self) -> str:
        """The address of the playground with this choice."""
        return PATH + self.query

    def variables(self) -> dict[str, Any]:
        """Return the arguments that name the list."""
        return {"productId": self.product, **self.filters.variables()}


def beginning(product: str, languages: Sequence[str]) -> Choice:
    """Return a choice that shows what plans differ in: some ratings of one language."""
    return Choice(product, Filters((1, 4, 5), tuple(languages[:1])))


def examples(choice: Choice, languages: Sequence[str]) -> list[tuple[str, Choice]]:
    """Return choices worth a look at the same product, each with its name."""
    first = tuple(languages[:1])
    start = Choice(choice.product, by=choice.by)

    def of(ratings: tuple[int, ...], *chosen: str, oldest: bool = False) -> Choice:
        return replace(start, filters=Filters(ratings, tuple(sorted(chosen)), oldest=oldest))

    return [
        (gettext("Three ratings of a language"), of((1, 4, 5), *first)),
        (gettext("Four ratings of any language"), of((1, 2, 3, 4))),
        (gettext("Two ratings of three languages"), of((1, 2), *languages[:3])),
        (gettext("Languages that nobody wrote in"), of((1, 2), *first, "eo", "tlh", "vo")),
        (gettext("Oldest first"), of((2, 3), oldest=True)),
        (gettext("Page 8"), replace(of((1, 4, 5), *first), page=8)),
        (gettext("Nothing known"), replace(of((1, 4, 5), *first), by="nothing")),
        (gettext("All ratings"), of(RATINGS, *first)),
    ]


def _number(value: str, usual: int, most: int) -> int:
    """Return a number of an address, ``usual`` where it is empty."""
    if not value:
        return usual
    if value not in map(str, range(1, most + 1)):
        sentence = gettext(
            "%(value)s is out of reach here: choose a number from 1 to %(most)s, or go on from a "
            "cursor.",
            value=repr(value[:20]),
            most=most,
        )
        raise PageFault(400, sentence)
    return int(value)
