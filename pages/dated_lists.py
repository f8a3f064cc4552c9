"""Filters and pages of lists that are sorted by date: a user's orders, and support tickets.

An address contains, in this order: statuses, days, further names such as an organisation, the order
of the list, and a cursor.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import QueryParams

from pages.addresses import ORDER_UNKNOWN, Filters, ListPart, neighbours, one_of, with_query
from pages.i18n import gettext, gettext_noop
from pages.list_orders import ORDERS

_ORDERS = ("newest", "oldest")

_STATUS_UNKNOWN = gettext_noop("%(value)s is not a status. Choose one of these: %(names)s.")


@dataclass(frozen=True, slots=True)
class DatedList:
    """A list in an address: the page's path, the filters, and the part that the page shows."""

    path: str
    words: Mapping[str, str]
    """The text of each status that the list can be filtered by."""
    statuses: Sequence[str]
    filters: Filters
    """Only the days and the order."""
    part: ListPart
    others: Mapping[str, str]
    """Further parameters of the address, by name."""

    @classmethod
    def of(
        cls, path: str, given: QueryParams, words: Mapping[str, str], *others: str
    ) -> "DatedList":
        """Return the list in an address. ``others`` are the names of further parameters.

        Raise PageFault for an invalid status, day or order.
        """
        for one in given.getlist("status"):
            one_of(words, one, _STATUS_UNKNOWN)
        one_of(_ORDERS, given.get("order") or "newest", ORDER_UNKNOWN)
        dated = QueryParams([(name, given.get(name, "")) for name in ("from", "to", "order")])
        return cls(
            path,
            words,
            [one for one in words if one in given.getlist("status")],
            Filters.of(dated),
            ListPart.of(given),
            {name: given[name] for name in others if given.get(name)},
        )

    def variables(self) -> dict[str, Any]:
        """Return the arguments of the list's field."""
        dated = self.filters.variables()
        names = ("createdFrom", "createdBefore", "orderBy")
        return {
            "status": self.statuses or None,
            **{name: dated[name] for name in names},
            **self.part.variables(),
        }

    def address(self, order: str = "") -> str:
        """Return the address of the list in an order, by default its own."""
        order = order or self.filters.order
        days = {"from": self.filters.since, "to": self.filters.until}
        return with_query(
            self.path,
            *(("status", one) for one in self.statuses),
            **{name: str(day) for name, day in days.items() if day},
            **self.others,
            order="" if order == "newest" else order,
        )

    def facts(self, info: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the templates show of the list. ``info`` is the connection's ``pageInfo``."""
        order = ORDERS[self.filters.order]
        words = {one: gettext(name) for one, name in self.words.items()}
        return {
            "listed": self,
            "words": words,
            "statuses": [(one, name, one in self.statuses) for one, name in words.items()],
            "orders": [
                (gettext(ORDERS[one].name), self.address(one), one == self.filters.order)
                for one in _ORDERS
            ],
            "everything": with_query(self.path, **self.others),
            "narrowed": bool(self.statuses or self.filters.dated),
            **neighbours(self.address(), info),
            "onward_words": gettext(order.onward),
            "back_words": gettext(order.back),
        }
