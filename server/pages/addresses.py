"""The addresses of pages: one spelling each, so that pages can be shared and cached.

Pages have 20 comments, counted from the oldest comment, so that a new comment changes only the
first page: it takes the remainder, 20 to 39 comments, or all comments if there are fewer than 40.
The address of an older page has an ``after`` cursor.

A list with the oldest first has pages of 20 from its start. So has a list between dates, because
comments are not counted by date.
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
"""The default port of each scheme."""


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of a product's comments: ratings, languages, a range of days, and the order.

    An empty filter matches all values, as an unchecked form does. In an address, ratings come
    first, then languages, both ascending, then the days and the order.
    """

    ratings: tuple[int, ...] = ()
    languages: tuple[str, ...] = ()
    since: date | None = None
    until: date | None = None
    """The first and the last day, both included, in UTC as the pages show dates."""
    oldest: bool = False
    """Whether the list shows the oldest comment first."""

    @classmethod
    def of(cls, given: QueryParams) -> "Filters":
        """Return the filters of an address; PageFault for an invalid rating, day or order.

        Two days in the wrong order are swapped.
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
        """The number of selected values. The order does not count: it hides no comment."""
        return len(self.ratings) + len(self.languages) + bool(self.since) + bool(self.until)

    @property
    def dated(self) -> bool:
        """Whether the list has a first or last day. Comments are not counted by day."""
        return bool(self.since or self.until)

    @property
    def essential(self) -> "Filters":
        """These filters without the ratings if all five are selected."""
        return replace(self, ratings=()) if self.ratings == RATINGS else self

    def variables(self) -> dict[str, Any]:
        """Return the arguments of ``Product.comments`` as JSON; null matches all values."""
        after = None if self.until in {None, date.max} else self.until + timedelta(days=1)
        return {
            "rating": list(self.ratings) or None,
            "language": list(self.languages) or None,
            "createdFrom": _midnight(self.since),
            "createdBefore": _midnight(after),
            "orderBy": "OLDEST" if self.oldest else "NEWEST",
        }

    def query(self, **cursor: str) -> str:
        """Return the query string with its question mark, ``cursor`` last; may be empty."""
        pairs = [
            *(("rating", str(rating)) for rating in self.ratings),
            *(("language", language) for language in self.languages),
            *((name, str(day)) for name, day in (("from", self.since), ("to", self.until)) if day),
            *([("order", "oldest")] if self.oldest else []),
            *cursor.items(),
        ]
        return f"?{urlencode(pairs)}" if pairs else ""


def first_size(total: int | None) -> int:
    """Return the size of the first page of a list of ``total`` comments.

    The size is at least ``SIZE``: a count that lags, as a stream's may, must not hide a comment.
    With None, the first page takes no remainder.
    """
    if total is None:
        return SIZE
    return max(SIZE, total) if total < 2 * SIZE else SIZE + total % SIZE


def cursor_of_previous(cursors: Sequence[str], *, remainder: bool) -> str | None:
    """Return the ``after`` cursor of the previous page; None for the first page.

    ``cursors`` belong to up to 40 comments before the current page, in list order. With a
    ``remainder``, fewer than 40 comments are all on the first page.
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
    """Return a product's address as a link: a path gets the site's ``root`` in front."""
    return root + address if address.startswith("/") else address


def picture_address(address: str | None, root: str, origins: Iterable[str]) -> str | None:
    """Return a picture's address; None if pages may not show pictures from its origin."""
    if address is None:
        return None
    ours = address.startswith("/") or origin_of(address) in map(origin_of, origins)
    return rooted(address, root) if ours else None


def origin_of(address: str) -> tuple[str, str | None, int | None]:
    """Return scheme, host and port of an address, normalised as browsers compare origins."""
    parts = urlsplit(address)
    port = parts.port or _PORTS.get(parts.scheme)
    return parts.scheme, parts.hostname, port


def local(address: str) -> str:
    """Return ``address`` if it is a path of this site, else ``/``. Prevents open redirects."""
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
    if str(day or "") != value:  # fromisoformat takes other formats too, such as 20201120
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
