"""The addresses of pages: one spelling each, so that pages can be shared and cached.

A page of a list holds 20 comments, counted from the oldest comment, so that older pages do not
change. Counted from the newest, every page would move by one with each new comment. Counted from
the oldest, only the first page grows: it takes the remainder, 20 to 39 comments, or all comments
while there are fewer than 40. The address of an older page has the cursor that it comes after.

A list with the oldest first is cut into pages of 20 from its start. So is a list between dates,
because comments are not counted by date.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from starlette.datastructures import QueryParams

from dal.limits import MAX_PAGE_ADDRESS
from server.pages.faults import PageFault
from server.pages.i18n import gettext

RATINGS = (1, 2, 3, 4, 5)

SIZE = 20
"""Comments of a page."""

_LOCAL = re.compile(r"/(?![/\\])[!-~]*")

_PORTS = {"https": 443, "http": 80}
"""What a scheme stands for where an address names no port."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Which comments a product's page shows: any of the ratings, any of the languages, some days.

    Empty is any, as an unchecked form is. An address has ratings first, both in ascending order,
    then the days and the order.
    """

    ratings: tuple[int, ...] = ()
    languages: tuple[str, ...] = ()
    since: date | None = None
    until: date | None = None
    """The first and the last day, both included, in UTC as the pages show dates."""
    oldest: bool = False
    """Whether the oldest comes first."""

    @classmethod
    def of(cls, given: QueryParams) -> "Filters":
        """Return the filters of an address; PageFault for a rating, day or order that is none.

        Two days mean the time between them, whichever is written first.
        """
        since, until = (_day(given.get(name, "")) for name in ("from", "to"))
        if since and until and since > until:
            since, until = until, since
        return cls(
            _distinct(_rating(value) for value in given.getlist("rating")),
            _distinct(value for value in given.getlist("language") if value),
            since,
            until,
            _oldest(given.get("order", "")),
        )

    def spelt(self, languages: Iterable[str]) -> "Filters":
        """Return these filters with their languages as the API spells them: ``EN`` is ``en``."""
        return replace(self, languages=_distinct(languages))

    @property
    def chosen(self) -> int:
        """How many values are chosen; the order is none, as it leaves nothing out."""
        return len(self.ratings) + len(self.languages) + bool(self.since) + bool(self.until)

    @property
    def dated(self) -> bool:
        """Whether days bound it: comments are not counted by these."""
        return bool(self.since or self.until)

    @property
    def essential(self) -> "Filters":
        """These filters without what filters nothing: all five ratings."""
        return replace(self, ratings=()) if self.ratings == RATINGS else self

    def variables(self) -> dict[str, Any]:
        """Return the arguments of ``Product.comments`` as JSON has them; null is any."""
        after = None if self.until in {None, date.max} else self.until + timedelta(days=1)
        return {
            "rating": list(self.ratings) or None,
            "language": list(self.languages) or None,
            "createdFrom": _midnight(self.since),
            "createdBefore": _midnight(after),
            "orderBy": "OLDEST" if self.oldest else "NEWEST",
        }

    def query(self, **cursor: str) -> str:
        """Return the query string with its question mark, ``cursor`` last; empty for none."""
        pairs = [
            *(("rating", str(rating)) for rating in self.ratings),
            *(("language", language) for language in self.languages),
            *((name, str(day)) for name, day in (("from", self.since), ("to", self.until)) if day),
            *([("order", "oldest")] if self.oldest else []),
            *cursor.items(),
        ]
        return f"?{urlencode(pairs)}" if pairs else ""


def first_size(total: int | None) -> int:
    """Return how many comments the first page asks for when the counts say ``total``.

    It is never less than a page: counts that lag, as those of a stream may, hide no comment. None
    is a list whose first page takes no remainder.
    """
    if total is None:
        return SIZE
    return max(SIZE, total) if total < 2 * SIZE else SIZE + total % SIZE


def cursor_of_previous(cursors: Sequence[str], *, remainder: bool) -> str | None:
    """Return what the page of the last 20 of ``cursors`` comes after, None for the first page.

    ``cursors`` are those of up to 40 comments before the page that is left, in list order. With
    fewer than 40 there is no full page before those 20: they belong to a first page that takes the
    ``remainder``.
    """
    first = 2 * SIZE - 1 if remainder else SIZE
    return cursors[-SIZE - 1] if len(cursors) > first else None


def product_path(product_id: str) -> str:
    """Return the path of a product's page; an id may hold any character."""
    return f"/products/{quote(product_id, safe='')}"


def comment_path(comment_id: str) -> str:
    """Return the permalink of a comment."""
    return f"/comments/{quote(comment_id, safe='')}"


def author_path(username: str) -> str:
    """Return the path of an author's page; a name may hold any character."""
    return f"/authors/{quote(username, safe='')}"


def rooted(address: str, root: str) -> str:
    """Return a product's address as a page links it: a path is below the site's ``root``."""
    return root + address if address.startswith("/") else address


def picture_address(address: str | None, root: str, origins: Iterable[str]) -> str | None:
    """Return a picture's address, None where it is of an origin that pages show nothing of."""
    if address is None:
        return None
    ours = address.startswith("/") or origin_of(address) in map(origin_of, origins)
    return rooted(address, root) if ours else None


def origin_of(address: str) -> tuple[str, str | None, int | None]:
    """Return scheme, host and port of an address: however it is spelt, as browsers compare it."""
    parts = urlsplit(address)
    port = parts.port or _PORTS.get(parts.scheme)
    return parts.scheme, parts.hostname, port


def local(address: str) -> str:
    """Return ``address`` when it leads nowhere but to this site, else the first page's."""
    fits = len(address) <= MAX_PAGE_ADDRESS and _LOCAL.fullmatch(address)
    return address if fits else "/"


def _rating(value: str) -> int:
    if value not in map(str, RATINGS):
        message = gettext(
            "%(value)s is not a rating. Ratings go from 1 to 5.", value=_quoted(value)
        )
        raise PageFault(400, message)
    return int(value)


def _day(value: str) -> date | None:
    try:
        day = date.fromisoformat(value) if value else None
    except ValueError:
        day = None
    if str(day or "") != value:  # Python reads more spellings than one
        message = gettext(
            "%(value)s is not a date. Write dates like 2020-11-20.", value=_quoted(value)
        )
        raise PageFault(400, message)
    return day


def _midnight(day: date | None) -> str | None:
    return f"{day}T00:00:00Z" if day else None


def _oldest(value: str) -> bool:
    if value not in {"", "newest", "oldest"}:
        message = gettext(
            "%(value)s is not an order. Choose newest or oldest.", value=_quoted(value)
        )
        raise PageFault(400, message)
    return value == "oldest"


def _quoted(value: str) -> str:
    return repr(value[:20])


def _distinct(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(sorted(set(values)))
