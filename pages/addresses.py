"""The addresses of pages.

The server always writes the address of a page in the same way: the parameters have a fixed order,
and default values are left out. So caches and crawlers do not store a page twice.

A product's page shows 20, 50 or 100 comments of a list: the first comments, the last comments
(``page=last``), or the comments after or before a cursor.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from starlette.datastructures import QueryParams

from pages.faults import PageFault
from pages.i18n import gettext, gettext_noop
from pages.list_filters import SWITCHES
from pages.list_orders import ORDERS

MAX_PAGE_ADDRESS = 8_000
"""Maximum bytes of a page's address. The page repeats its address in a link for each language, so a
long address would make the page much larger. The longest useful address, with an identifier and a
cursor, has 3,000 bytes."""

RATINGS = (1, 2, 3, 4, 5)

SIZE = 20
"""The default number of comments on a page. On a product's page, visitors can choose another number
from ``SIZES``."""

SIZES = (SIZE, 50, 100)

CURSORS = ("after", "before", "page", "unpublished")
"""The parameters that name a page of a list. The first page has none of them."""

ORDER_UNKNOWN = gettext_noop("%(value)s is not a sort order. Choose one of these: %(names)s.")

_RATING_UNKNOWN = gettext_noop("%(value)s is not a rating. Choose a rating from 1 to 5.")

_SIZE_UNKNOWN = gettext_noop("%(value)s is not a page size. Choose one of these: %(names)s.")

_LOCAL = re.compile(r"/(?![/\\])[!-~]*")

_PORTS = {"https": 443, "http": 80}
"""The default port of each scheme."""


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of a product's comments, the order of the list, and the size of its pages.

    An empty filter matches all values, as in a form without a checked box. An address contains, in
    this order: ratings (sorted), words, languages (sorted), days, the filters in ``SWITCHES``,
    variants, the order of the list, and the size.
    """

    ratings: tuple[int, ...] = ()
    languages: tuple[str, ...] = ()
    since: date | None = None
    until: date | None = None
    """``since`` is the first day that the filter includes, and ``until`` the last day. Days are in
    UTC, as in the dates that pages show."""
    order: str = "newest"
    """The name of the list's order: see ``list_orders``."""
    on: tuple[str, ...] = ()
    """The selected names in ``SWITCHES``, in their order."""
    together: bool = False
    """Whether the list shows the comments on all products of the product's group, which are its
    variants."""
    size: int = SIZE
    """Number of comments on a page. One of ``SIZES``."""
    words: str = ""
    """The words that the title or text of a comment must contain, as the visitor typed them."""

    @classmethod
    def of(cls, given: QueryParams) -> "Filters":
        """Return the filters in an address.

        Raise PageFault for an invalid rating, day, order or size. The API checks the languages
        and the words later. If the first day is after the last day, swap the two days.
        """
        if not given:  # most visitors
            return cls()
        since, until = (_day(given.get(name, "")) for name in ("from", "to"))
        if since and until and since > until:
            since, until = until, since
        return cls(
            _distinct(
                int(one_of(map(str, RATINGS), value, _RATING_UNKNOWN))
                for value in given.getlist("rating")
            ),
            _distinct(value for value in given.getlist("language") if value),
            since,
            until,
            one_of(ORDERS, given.get("order") or "newest", ORDER_UNKNOWN),
            tuple(name for name in SWITCHES if given.get(name)),
            given.get("variants") == "all",
            int(one_of(map(str, SIZES), given.get("show") or str(SIZE), _SIZE_UNKNOWN)),
            " ".join(given.get("words", "").split()),
        )

    @property
    def chosen(self) -> int:
        """The number of selected values that hide comments.

        The order, the variants and the size hide no comments, so they do not count.
        """
        days = bool(self.since) + bool(self.until)
        return len(self.ratings) + len(self.languages) + days + len(self.on) + bool(self.words)

    @property
    def dated(self) -> bool:
        """Whether a first or last day is chosen."""
        return bool(self.since or self.until)

    @property
    def counted(self) -> bool:
        """Whether the server has the number of comments that match these filters.

        The server does not count comments by day, by words, or by a filter in ``SWITCHES``.
        """
        return not (self.dated or self.on or self.words)

    @property
    def sized(self) -> bool:
        """Whether the visitor has chosen another size than ``SIZE``."""
        return self.size != SIZE

    def variables(self) -> dict[str, Any]:
        """Return the filter arguments and the order for the field ``comments``.

        In the arguments, None matches all values.
        """
        after = None if self.until in {None, date.max} else self.until + timedelta(days=1)
        return {
            "rating": list(self.ratings) or None,
            "language": list(self.languages) or None,
            "createdFrom": _midnight(self.since),
            "createdBefore": _midnight(after),
            **{switch.argument: name in self.on for name, switch in SWITCHES.items()},
            "contains": self.words or None,
            "orderBy": ORDERS[self.order].order_by,
        }

    @property
    def query(self) -> str:
        """The query string with its question mark; empty without parameters."""
        pairs = [("rating", str(rating)) for rating in self.ratings]
        if self.words:
            pairs.append(("words", self.words))
        pairs += [("language", language) for language in self.languages]
        pairs += [
            (name, str(day)) for name, day in (("from", self.since), ("to", self.until)) if day
        ]
        pairs += [(name, "yes") for name in self.on]
        if self.together:
            pairs.append(("variants", "all"))
        if self.order != "newest":
            pairs.append(("order", self.order))
        if self.sized:
            pairs.append(("show", str(self.size)))
        return with_query("", *pairs)


@dataclass(frozen=True, slots=True)
class ListPart:
    """The part of a list that a page shows. The default is the start of the list."""

    after: str = ""
    before: str = ""
    last: bool = False

    @classmethod
    def of(cls, given: QueryParams) -> "ListPart":
        """Return the part that an address names."""
        return cls(given.get("after", ""), given.get("before", ""), given.get("page") == "last")

    @property
    def chosen(self) -> dict[str, str]:
        """The address parameters of this part. The start of the list has no parameters."""
        if self.after:
            return {"after": self.after}
        if self.before:
            return {"before": self.before}
        return {"page": "last"} if self.last else {}

    def variables(self, size: int = SIZE) -> dict[str, Any]:
        """Return the pagination arguments of a connection for a page of ``size`` rows."""
        if self.before and not self.after:
            return {"last": size, "before": self.before}
        if self.last and not self.after:
            return {"last": size}
        return {"first": size, "after": self.after or None}


def pager(
    start: str, part: ListPart, info: Mapping[str, Any], shown: int, total: int | None
) -> dict[str, Any]:
    """Return the position of a page of comments in its list, and the addresses of other pages.

    ``start`` is the address of the list's first page, ``info`` the connection's ``pageInfo``, and
    ``shown`` the number of comments on the page. ``total`` is the number of comments in the list;
    None if the server does not count them.

    ``first`` is the position of the page's first comment in the list, from 1; None if it is
    unknown. The position is known on the first page, and on the last page if ``total`` is known.
    The addresses of other pages contain only a cursor. A position in an address would become wrong
    when a comment is added or deleted.
    """
    last = None if total is None or info["hasNextPage"] else total - shown + 1
    return {
        "part": part,
        "total": total,
        "first": last if info["hasPreviousPage"] else 1,
        "start": start,
        "end": with_query(start, page="last"),
        **neighbours(start, info),
    }


quoted = lru_cache(maxsize=8192)(quote)


@lru_cache(maxsize=8192)
def product_path(product_id: str) -> str:
    """Return the path of a product's page. The id may contain any character."""
    return f"/products/{quote(product_id, safe='')}"


@lru_cache(maxsize=8192)
def comment_path(comment_id: str) -> str:
    """Return the permalink of a comment."""
    return f"/comments/{quote(comment_id, safe='')}"


def ticket_path(ticket_id: str) -> str:
    """Return the path of a ticket's page."""
    return f"/tickets/{quote(ticket_id, safe='')}"


@lru_cache(maxsize=8192)
def author_path(username: str) -> str:
    """Return the path of an author's page. The name may contain any character."""
    return f"/authors/{quote(username, safe='')}"


def rooted(address: str, root: str) -> str:
    """Return a stored address as a page writes it in a link or an image.

    ``address`` is the address of a picture, or of a product's page in the shop. If ``address`` is a
    path of this site, the result begins with the site's ``root``. An absolute address does not
    change.
    """
    return root + address if address.startswith("/") else address


def picture_address(address: str | None, root: str, origins: Iterable[str]) -> str | None:
    """Return a picture's address; None without a picture, or if its origin is not allowed.

    Pages may show pictures of this site and of ``origins``.
    """
    if address is None:
        return None
    ours = address.startswith("/") or origin_of(address) in map(origin_of, origins)
    return rooted(address, root) if ours else None


def origin_text(address: str) -> str:
    """Return the origin of an absolute address, as a Content-Security-Policy names it."""
    return "{0.scheme}://{0.netloc}".format(urlsplit(address))


def origin_of(address: str) -> tuple[str, str | None, int | None]:
    """Return scheme, host and port of an address, in the form in which browsers compare origins."""
    parts = urlsplit(address)
    port = parts.port or _PORTS.get(parts.scheme)
    return parts.scheme, parts.hostname, port


def local(address: str) -> str:
    """Return ``address`` if it is a path of this site, and not too long. Otherwise return ``/``.

    Addresses such as ``/sign-in?next=…`` contain the address of the next page. Without this check,
    they could redirect visitors to another site.
    """
    fits = len(address) <= MAX_PAGE_ADDRESS and _LOCAL.fullmatch(address)
    return address if fits else "/"


def without(address: str, *names: str) -> str:
    """Return an address without the parameters ``names``."""
    path, _, query = address.partition("?")
    kept = "&".join(part for part in query.split("&") if part.partition("=")[0] not in names)
    return f"{path}?{kept}" if kept else path


def with_query(address: str, *pairs: tuple[str, str], **parameters: str | None) -> str:
    """Return ``address`` with further parameters: ``pairs``, and ``parameters`` with a value."""
    query = urlencode([*pairs, *((name, value) for name, value in parameters.items() if value)])
    return f"{address}{'&' if '?' in address else '?'}{query}" if query else address


def neighbours(start: str, info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the addresses of the next page, ``onward``, and of the previous page, ``back``.

    An address is None if there is no such page. ``start`` is the address of the list's first page,
    and ``info`` the ``pageInfo`` of the connection.
    """
    onward, back = info["hasNextPage"], info["hasPreviousPage"]
    return {
        "onward": with_query(start, after=info["endCursor"]) if onward else None,
        "back": with_query(start, before=info["startCursor"]) if back else None,
    }


def one_of(names: Iterable[str], value: str, message: str, **further: str) -> str:
    """Return a value in an address. Raise PageFault unless it is one of ``names``.

    In ``message``, the first 20 characters of the value replace ``%(value)s``, ``names`` replace
    ``%(names)s``, and ``further`` replace other placeholders.
    """
    if value not in (known := [*names]):
        stated = {"value": repr(value[:20]), "names": ", ".join(known), **further}
        raise PageFault(400, gettext(message, **stated))
    return value


def _day(value: str) -> date | None:
    try:
        day = date.fromisoformat(value) if value else None
    except ValueError:
        day = None
    if str(day or "") != value:  # fromisoformat also accepts other formats, such as 20201120
        message = gettext_noop("%(value)s is not a date. Write dates like 2020-11-20.")
        raise PageFault(400, gettext(message, value=repr(value[:20])))
    return day


def _midnight(day: date | None) -> str | None:
    return f"{day}T00:00:00Z" if day else None


def _distinct(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(sorted(set(values)))
