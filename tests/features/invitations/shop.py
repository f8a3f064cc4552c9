"""A shop whose customers comment by links."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from dal.dynamodb.table import Table
from dal.stores import Stores
from features.invitations.links import LinkGrant
from features.invitations.model import Link
from resolvers.publication import Publication
from schema.build import build_schema
from tests.schema.conftest import SERVICES, Who, context_of

WRITTEN = "comment { id text source incentive verifiedPurchase authorName } submission { id text }"
ERRORS = "userErrors { code field }"
ADD = f"""mutation ($product: ID!, $text: String!, $photos: [PhotoInput!]) {{ addComment(input: {{
  productId: $product, rating: 5, language: "en", text: $text, photos: $photos
}}) {{ {WRITTEN} {ERRORS} }} }}"""
EDIT = f"""mutation ($id: ID!, $text: String!) {{ updateComment(input: {{
  id: $id, text: $text }}) {{ {WRITTEN} {ERRORS} }} }}"""
DELETE = f"mutation ($id: ID!) {{ deleteComment(input: {{ id: $id }}) {{ deletedId {ERRORS} }} }}"
OPEN = """{ invitation { id orderId expiresAt incentive entries {
  id product { productId } comment { text } submission { id text state cause } } } }"""

SCHEMA = build_schema()


def link(*products: str, order: str = "o1", username: str = "ann", **changes: Any) -> Link:
    """Return a link that was made now and is valid for 60 days."""
    made = datetime.now(UTC)
    one = Link(order, username, products, made, made + timedelta(days=60))
    return replace(one, **changes)


@dataclass
class Shop:
    """The API over a table."""

    table: Table
    publication: Publication

    def __post_init__(self) -> None:
        self.stores = Stores(self.table)

    async def run(
        self,
        document: str,
        who: Who | Link,
        services: Mapping[type, object] = SERVICES,
        **variables: Any,
    ) -> Any:
        """Return the value of the operation's only field, or the codes of its errors."""
        given = LinkGrant(who) if isinstance(who, Link) else who
        context = context_of(given, self.stores, services=services, publication=self.publication)
        done = await SCHEMA.execute(document, variables, context_value=context)
        if done.errors:
            return [(one.extensions or {})["code"] for one in done.errors]
        assert done.data is not None
        (answer,) = done.data.values()
        return answer

    async def add(self, who: Who | Link, product: str, text: str = "Good.") -> Any:
        return await self.run(ADD, who, product=product, text=text)

    async def written(self, one: Link) -> dict[str, tuple[str | None, str | None]]:
        """Return the texts of the comment and of the submission of each product of a link."""
        opened = await self.run(OPEN, one)
        return {
            entry["product"]["productId"]: tuple(
                entry[kind] and entry[kind]["text"] for kind in ("comment", "submission")
            )
            for entry in opened["entries"]
        }


def codes(payload: Any) -> list[tuple[str, list[str] | None]]:
    """Return the codes and fields of a payload's user errors."""
    return [(one["code"], one["field"]) for one in payload["userErrors"]]
