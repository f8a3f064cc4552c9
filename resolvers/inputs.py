"""Input types of the mutations, and the rules that their fields keep."""

import hashlib
import uuid
from typing import Any

import orjson
import strawberry

from dal import rules
from dal.model import OrderStatus

strawberry.enum(OrderStatus, description="What became of an order.")


@strawberry.input(description="A new comment; its author is the user of the JWT.")
class AddCommentInput:
    """A comment as its author states it."""

    product_id: str
    rating: int = strawberry.field(description="From 1 to 5.")
    language: str = strawberry.field(description="A BCP 47 tag such as `en` or `pt-BR`.")
    title: str = strawberry.field(default="", description="At most 200 characters.")
    text: str = strawberry.field(description="At most 10,000 characters.")
    idempotency_key: str | None = strawberry.field(
        default=None,
        description="Send the same key again when no answer came: the comment is stored once.",
    )


@strawberry.input(description="What changes; a field left out, or null, stays as it is.")
class UpdateCommentInput:
    """The new values of some fields of a comment."""

    id: strawberry.ID
    rating: int | None = None
    language: str | None = None
    title: str | None = None
    text: str | None = None


@strawberry.input
class DeleteCommentInput:
    """Which comment to delete."""

    id: strawberry.ID


@strawberry.input
class OrderLineInput:
    """So many of one product."""

    product_id: str
    quantity: int = strawberry.field(description="From 1 to 10,000.")
    unit_price: str = strawberry.field(
        description="What one costs: an amount and a currency such as `12.50 EUR`."
    )


@strawberry.input(description="A new order of the user of the JWT.")
class PlaceOrderInput:
    """An order as its user states it."""

    lines: list[OrderLineInput] = strawberry.field(
        description="From 1 to 90 lines, all in one currency."
    )
    idempotency_key: str | None = strawberry.field(
        default=None,
        description="Send the same key again when no answer came: the order is placed once.",
    )


@strawberry.input
class SetOrderStatusInput:
    """Which order becomes what."""

    id: strawberry.ID
    status: OrderStatus


@strawberry.input(description="What changes; a field left out, or null, stays as it is.")
class UpdateProfileInput:
    """The new values of some fields of the viewer's profile."""

    full_name: str | None = strawberry.field(
        default=None, description="At most 200 characters; may be empty."
    )
    email: str | None = strawberry.field(default=None, description="May be empty.")


def optional_key(value: str | None) -> str | None:
    """Return an idempotency key, checked."""
    return None if value is None else rules.identifier("idempotencyKey", value)


def new_id(idempotency_key: str | None, *owner: str) -> str:
    """Return the id of something new; every attempt under one key of its owner's gives the same."""
    key = optional_key(idempotency_key)
    if key is None:
        return uuid.uuid4().hex
    return hashlib.sha256(orjson.dumps([*owner, key])).hexdigest()[:32]


def stated(given: AddCommentInput | UpdateCommentInput) -> dict[str, Any]:
    """Return the fields that say something, checked, in canonical form and by name."""
    fields = {
        "rating": given.rating,
        "language": given.language,
        "title": given.title,
        "text": given.text,
    }
    return {name: _RULES[name](name, value) for name, value in fields.items() if value is not None}


_RULES: dict[str, Any] = {
    "rating": rules.rating,
    "language": rules.language,
    "title": rules.title,
    "text": rules.text,
}
