"""The sort orders of a product's comments on pages: their names in addresses and their texts."""

from collections.abc import Mapping
from typing import NamedTuple

from pages.i18n import gettext_noop


class ListOrder(NamedTuple):
    """An order of the API, and the texts that pages show for a list in this order."""

    order_by: str
    name: str
    filter: str
    """The words for the order in a page's title; empty for the default order."""
    further_heading: str
    further: str
    """``further_heading`` is the heading on all pages of the list except the first. ``further`` is
    in the titles of these pages."""
    onward: str
    back: str
    """``onward`` is the text of the link to the next page, ``back`` to the previous page."""


_FURTHER = (
    gettext_noop("More comments"),
    gettext_noop("more comments"),
    gettext_noop("Next page"),
    gettext_noop("Previous page"),
)

ORDERS: Mapping[str, ListOrder] = {
    "newest": ListOrder(
        "NEWEST",
        gettext_noop("Newest first"),
        "",
        gettext_noop("Older comments"),
        gettext_noop("older comments"),
        gettext_noop("Older"),
        gettext_noop("Newer"),
    ),
    "oldest": ListOrder(
        "OLDEST",
        gettext_noop("Oldest first"),
        gettext_noop("oldest first"),
        gettext_noop("Newer comments"),
        gettext_noop("newer comments"),
        gettext_noop("Newer"),
        gettext_noop("Older"),
    ),
    "highest": ListOrder(
        "HIGHEST_RATING",
        gettext_noop("Highest rating"),
        gettext_noop("highest rating first"),
        *_FURTHER,
    ),
    "lowest": ListOrder(
        "LOWEST_RATING",
        gettext_noop("Lowest rating"),
        gettext_noop("lowest rating first"),
        *_FURTHER,
    ),
    "helpful": ListOrder(
        "MOST_HELPFUL",
        gettext_noop("Most helpful"),
        gettext_noop("most helpful first"),
        *_FURTHER,
    ),
}
"""The orders by their names in addresses. The first is the default."""
