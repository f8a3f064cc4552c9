"""The access patterns of the core, in one tuple: the purpose of each, its filters, and its index.

Queries take their names from this tuple. ``dal.composition`` adds the patterns of features, and
``make docs`` generates `docs/access-patterns.md` from all of them. Only a pattern that reads a
single list has an index. Other patterns, for example, read an item by its key, write items, or read
the lists of several patterns. The optimizer may choose another index of the same entity, if that
index costs less. The cheaper index may cover fewer filters. The executor then applies the other
filters to the rows read, and drops the rows that do not pass.
"""

from dataclasses import dataclass
from enum import StrEnum

from dal.entities.comment import (
    ALL,
    BY_AUTHOR,
    BY_LANGUAGE,
    BY_LANGUAGE_AND_RATING,
    BY_LOCALE,
    BY_RATING,
    BY_VERIFIED,
    HELPFUL,
    SEARCHED,
    WITH_PHOTOS,
)
from dal.entities.order import OPEN_ORDERS, ORDER_BY_ID, ORDERS_BY_DATE, ORDERS_BY_STATUS
from dal.entities.organization import ORGANIZATIONS_OF_USER, USERS_OF_ORGANIZATION
from dal.entities.product import LEADERS, LEADERS_BY_LANGUAGE, TITLES
from dal.entities.standing import BLOCKED_USERS
from dal.entities.submission import HELD_BY_AUTHOR, QUEUE
from dal.entities.ticket import (
    OPEN_TICKETS,
    TICKETS_BY_STATUS,
    TICKETS_OF_ORGANIZATION,
    TICKETS_OF_USER,
)
from dal.model.comment_fields import FILTERS
from dal.query.cursors import CursorKind
from dal.query.errors import NoIndexError
from dal.query.plan import Filters, Query
from dal.table.index import Index
from dal.table.ranges import UNBOUNDED, Range


class Order(StrEnum):
    """The orders of a list of comments, except the order by date.

    Of comments with the same rating, or the same number of votes, the newest comes first.
    """

    HIGHEST_RATING = "HIGHEST_RATING"
    LOWEST_RATING = "LOWEST_RATING"
    MOST_HELPFUL = "MOST_HELPFUL"

    @property
    def kind(self) -> CursorKind:
        """The kind of the list's cursors."""
        return _KINDS[self]


_KINDS = {
    Order.HIGHEST_RATING: CursorKind.RANK_H,
    Order.LOWEST_RATING: CursorKind.RANK_L,
    Order.MOST_HELPFUL: CursorKind.RANK_V,
}


@dataclass(frozen=True, slots=True)
class AccessPattern:
    """One access pattern of the API.

    ``filters`` lists the filtered fields, separated by spaces. The suffix of a field states how
    many values its filter has:

    * no suffix: one value
    * ``+``: no value (the list is then empty), or at least two values
    * ``*``: any number of values
    * ``?``: any number of values, or the query has no filter by this field

    ``bounds`` states which bounds a query sets for the positions of its rows (usually, for their
    dates): ``since``, ``before``, both, or none. ``?`` allows all four of these cases. Clients can
    also read each list in reverse order, and from a cursor.
    """

    name: str
    question: str
    index: Index | None = None
    filters: str = ""
    bounds: str = ""
    order: Order | None = None
    """The order of the rows, if ``dal.sorted_lists`` combines several lists into the pattern's
    list. Otherwise None."""

    def answers(self, filters: Filters, within: Range) -> bool:
        """Return whether a query with these filters and bounds has this access pattern."""
        fields = {one.rstrip("+*?"): one[-1] for one in self.filters.split()}
        bounds = [bound in self.bounds for bound in ("since", "before")]
        return (
            filters.keys() <= fields.keys()
            and (self.index is None or self.index.covers.items() <= filters.items())
            and all(_fits(filters.get(name), arity) for name, arity in fields.items())
            and (self.bounds == "?" or bounds == [within.low is not None, within.high is not None])
        )


def _fits(values: frozenset[str] | None, arity: str) -> bool:
    if values is None or arity == "?":
        return arity == "?"
    return arity == "*" or (len(values) != 1) == (arity == "+")


_ANY = " ".join(f"{name}?" for name in (*FILTERS, "locale", "tag", SEARCHED))

ACCESS_PATTERNS = (
    AccessPattern("AP1", "all comments of a product, newest first", ALL, "product", "?"),
    AccessPattern(
        "AP2",
        "a product's comments in one language, newest first",
        BY_LANGUAGE,
        "product language tag?",
        "?",
    ),
    AccessPattern(
        "AP2 (several languages)",
        "a product's comments in any of several languages",
        BY_LANGUAGE,
        "product language+ tag?",
        "?",
    ),
    AccessPattern(
        "AP2 (regions)",
        "a product's comments in one or several regions or scripts of languages",
        BY_LOCALE,
        "product locale* language? tag?",
        "?",
    ),
    AccessPattern(
        "AP3a",
        "a product's comments with one rating in one language",
        BY_LANGUAGE_AND_RATING,
        "product language rating* locale? tag?",
        "?",
    ),
    AccessPattern(
        "AP3a (several languages)",
        "a product's comments with one or several ratings in any of several languages",
        BY_LANGUAGE_AND_RATING,
        "product language+ rating* locale? tag?",
        "?",
    ),
    AccessPattern(
        "AP3b",
        "a product's comments with one rating in any language",
        BY_RATING,
        "product rating",
        "?",
    ),
    AccessPattern(
        "AP3c",
        "a product's comments with any of several ratings in any language",
        BY_RATING,
        "product rating+",
        "?",
    ),
    AccessPattern(
        "AP20",
        "buyers' comments on a product, of any ratings and languages",
        BY_VERIFIED,
        "product verified language? rating? locale? tag?",
        "?",
    ),
    AccessPattern(
        "AP23",
        "a product's comments with photos, by all users or only buyers, of any rating and language",
        WITH_PHOTOS,
        "product hasPhotos language? rating? verified? locale? tag?",
        "?",
    ),
    AccessPattern(
        "AP22",
        "a product's comments with helpful votes, most votes first",
        HELPFUL,
        f"product* voted {_ANY}",
    ),
    AccessPattern(
        "AP1 (several products)",
        "the comments of a group's products, of any ratings and languages, newest first",
        ALL,
        f"product+ {_ANY}",
        "?",
    ),
    AccessPattern(
        "AP25",
        "a product's comments with words in title or text, of any ratings and languages",
        ALL,
        f"product {_ANY} {SEARCHED}",
        "?",
    ),
    AccessPattern("most recent positive", "a product's newest comments rated 4 or 5"),
    AccessPattern("most recent negative", "a product's newest comments rated 1 or 2"),
    AccessPattern("last commented", "the time of a product's newest comment"),
    AccessPattern("AP4", "a comment by its id"),
    AccessPattern("AP5", "delete a comment, and subtract it from the counts"),
    AccessPattern("AP6", "any list of comments, after a cursor"),
    AccessPattern(
        "AP6 (dates)", "any list of comments, from a date, before a date, or between two dates"
    ),
    AccessPattern("AP6 (oldest first)", "any list of comments, oldest first"),
    *(
        AccessPattern(
            f"AP6 ({words})",
            f"the comments of products, {words}, then newest first",
            filters=f"product* {_ANY}",
            bounds="?",
            order=order,
        )
        for words, order in (
            ("highest rating first", Order.HIGHEST_RATING),
            ("lowest rating first", Order.LOWEST_RATING),
            ("most helpful first", Order.MOST_HELPFUL),
        )
    ),
    AccessPattern("AP7", "the number of a product's comments of each rating"),
    AccessPattern("AP8", "the number of a product's comments of each rating in one language"),
    AccessPattern("AP9", "the number of a product's comments"),
    AccessPattern("AP10", "the number of a product's comments in one language"),
    AccessPattern("AP9 (several products)", "the number of comments of each of several products"),
    AccessPattern("AP11", "the products with the most comments rated 5", LEADERS),
    AccessPattern(
        "AP11 (one language)",
        "the products with the most comments rated 5 in one language",
        LEADERS_BY_LANGUAGE,
        "language",
    ),
    AccessPattern(
        "AP12",
        "all comments of an author, newest first",
        BY_AUTHOR,
        "author",
        "?",
    ),
    AccessPattern("known author", "whether an author has comments"),
    AccessPattern(
        "AP13",
        "a user's comments that are not published, newest first",
        HELD_BY_AUTHOR,
        "author part",
        "?",
    ),
    AccessPattern(
        "AP14", "comments that wait for a moderator, longest waiting first", QUEUE, "state"
    ),
    AccessPattern("AP17", "an unpublished comment by its id"),
    AccessPattern("AP18", "blocked users, latest block first", BLOCKED_USERS, "standing"),
    AccessPattern("AP19", "add a comment, if the user may comment on the product"),
    AccessPattern("product details", "a product's title, picture and address"),
    AccessPattern(
        "product search",
        "products with a title in which a word, and what follows it, begin with a text",
        TITLES,
        "initial text?",
        "since before",
    ),
    AccessPattern("known product", "whether a product has details or comments"),
    AccessPattern("known user", "whether a user has a profile, orders or comments"),
    AccessPattern("A1", "a user's profile"),
    AccessPattern("A2", "a user's orders, newest first", ORDERS_BY_DATE, "user"),
    AccessPattern(
        "A2 (since a date)", "a user's orders from a date on", ORDERS_BY_DATE, "user", "since"
    ),
    AccessPattern(
        "A2 (before a date)", "a user's orders before a date", ORDERS_BY_DATE, "user", "before"
    ),
    AccessPattern(
        "A2 (between two dates)",
        "a user's orders between two dates",
        ORDERS_BY_DATE,
        "user",
        "since before",
    ),
    AccessPattern("A3", "an order with its lines", ORDER_BY_ID, "order"),
    AccessPattern("A4", "a user's orders with one status", ORDERS_BY_STATUS, "user status*"),
    AccessPattern(
        "A4 (since a date)",
        "a user's shipped orders from a date on",
        ORDERS_BY_STATUS,
        "user status*",
        "since",
    ),
    AccessPattern("A5", "everyone's open orders, newest first", OPEN_ORDERS, "status", "?"),
    AccessPattern(
        "A5'", "a user's shipped orders before a date", ORDERS_BY_STATUS, "user status*", "before"
    ),
    AccessPattern(
        "A6",
        "a user's shipped orders between two dates",
        ORDERS_BY_STATUS,
        "user status*",
        "since before",
    ),
    AccessPattern(
        "T1", "an organisation with its first users", USERS_OF_ORGANIZATION, "organization"
    ),
    AccessPattern(
        "T2",
        "a user of an organisation, with the newest tickets",
        TICKETS_OF_USER,
        "organization username",
        "?",
    ),
    AccessPattern(
        "T2 (one status)",
        "a user's tickets of one status in an organisation",
        TICKETS_BY_STATUS,
        "organization username status*",
        "?",
    ),
    AccessPattern(
        "T2 (several organisations)",
        "a user's tickets in all organisations of the user",
        TICKETS_OF_USER,
        "organization+ username",
        "?",
    ),
    AccessPattern(
        "T2 (one status of several organisations)",
        "a user's tickets of one status in all organisations of the user",
        TICKETS_BY_STATUS,
        "organization+ username status*",
        "?",
    ),
    AccessPattern("T3", "a ticket by its id"),
    AccessPattern(
        "T4",
        "an organisation's tickets, of all statuses or of one",
        TICKETS_OF_ORGANIZATION,
        "organization status*",
        "?",
    ),
    AccessPattern("T5", "everyone's open tickets, newest first", OPEN_TICKETS, "status", "?"),
    AccessPattern("T6", "the organisations of a user, by name", ORGANIZATIONS_OF_USER, "username"),
)


def query_of(
    filters: Filters,
    within: Range = UNBOUNDED,
    order: Order | None = None,
    *,
    consistent: bool = False,
    head: bool = False,
) -> Query:
    """Return a query with the name of its access pattern.

    Raises NoIndexError if no access pattern has these filters, bounds and order.
    """
    for pattern in ACCESS_PATTERNS:
        listed = pattern.index is not None or order is not None
        if listed and pattern.order is order and pattern.answers(filters, within):
            return Query(pattern.name, filters, within, consistent, head, order)
    raise NoIndexError(
        f"No access pattern has the query's filters ({', '.join(sorted(filters))}), bounds and "
        "order: add one to dal/catalogue.py."
    )
