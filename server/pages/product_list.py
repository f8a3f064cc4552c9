"""Which of a product's comments a page shows, and the addresses around it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from server.pages import product_words
from server.pages.addresses import Filters, product_path
from server.pages.formats import product_name
from server.pages.i18n import gettext
from server.pages.operations import graphql_address
from server.pages.page_request import PageRequest
from server.pages.paging import SIZE, first_size
from server.pages.playground_choice import Choice
from server.pages.uncounted import known_counts


@dataclass(frozen=True, slots=True)
class ProductList:
    """A page of a list: of a product, as the counts describe it, by filters, after a cursor."""

    product: dict[str, Any]
    filters: Filters
    after: str | None
    known: bool
    """Whether the product's comments are counted."""

    @property
    def facets(self) -> dict[str, Any]:
        """What each value of a filter would show."""
        found: dict[str, Any] = self.product["statistics"]["facets"]
        return found

    @property
    def total(self) -> int | None:
        """How many comments pass the filters; None where that is not counted."""
        return self.facets["total"] if self.known and not self.filters.dated else None

    @property
    def path(self) -> str:
        """The product's page."""
        return product_path(self.product["productId"])

    def variables(self) -> dict[str, Any]:
        """Return those of the document that reads the page."""
        first = SIZE if self.after else first_size(None if self.filters.oldest else self.total)
        return self._narrowed() | {"first": first, "after": self.after}

    def _narrowed(self) -> dict[str, Any]:
        return {"productId": self.product["productId"], **self.filters.variables()}

    def facts(self) -> dict[str, Any]:
        """Return what the template shows of the product and of the filters."""
        name, statistics = product_name(self.product), self.product["statistics"]
        return {
            "product": self.product,
            "name": name,
            "title": product_words.title(name, statistics, self.filters, further=bool(self.after)),
            "summary": product_words.summary(name, statistics),
            "known": self.known,
            "counted": self.total is not None,
            "facets": self.facets,
            "filters": self.filters,
            "chosen": self.filters.chosen,
            "after": self.after,
            "size": SIZE,
        }

    def addresses(self, info: dict[str, Any], *, live: bool) -> dict[str, Any]:
        """Return the addresses around a page with this ``pageInfo``, None where nothing is."""
        path, query = self.path, self.filters.query
        cursor = {"after": self.after} if self.after else {}
        return {
            "path": path,
            "newest": path + query(),
            "canonical": path + self.filters.essential.query(**cursor),
            "onward": path + query(after=info["endCursor"]) if info["hasNextPage"] else None,
            "back": path + query(before=info["startCursor"]) if info["hasPreviousPage"] else None,
            "all_of_it": path + Filters(oldest=self.filters.oldest).query(),
            "orders": list(self._orders()),
            "live": graphql_address("product.live", self._narrowed()) if live else None,
        }

    def _orders(self) -> Iterator[tuple[str, str, bool]]:
        """Yield each order's name, where it leads, and whether it is the one that is shown."""
        for name, oldest in ((gettext("Newest first"), False), (gettext("Oldest first"), True)):
            address = self.path + replace(self.filters, oldest=oldest).query()
            yield name, address, self.filters.oldest is oldest

    def playground(self) -> str:
        """Return the address of the same page there."""
        product_id, first = self.product["productId"], self.variables()["first"]
        return Choice(product_id, self.filters, first, after=self.after or "").address


async def asked(request: PageRequest) -> ProductList:
    """Return what an address asks for; the counts come first, as a first page's size follows."""
    filters = Filters.of(request.http.query_params)
    counts = await request.run(
        "product.counts",
        productId=request.http.path_params["product_id"],
        rating=filters.ratings or None,
        language=filters.languages or None,
    )
    product = counts.data["product"]
    known = known_counts(product, filters.ratings, filters.languages)
    languages = product["statistics"]["facets"]["languages"]
    filters = filters.spelt(one["language"] for one in languages if one["selected"])
    return ProductList(product, filters, request.http.query_params.get("after") or None, known)
