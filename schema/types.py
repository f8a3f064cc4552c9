"""GraphQL types that several modules use: scalars, Relay's Node, Edge and Connection, user errors.

A field is annotated with the type that clients see. If it has a resolver, and is declared by
``strawberry.field``, it is annotated with the Python type that the resolver returns, which mypy
checks; ``graphql_type`` is then the type that clients see. A field without a resolver returns an
attribute of the domain object.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, ClassVar, Generic, TypeVar

import orjson
import strawberry
from strawberry.schema.types.base_scalars import DateTimeDefinition, DecimalDefinition, wrap_parser
from strawberry.types.scalar import ScalarDefinition

from dal.query.statistics import ExecutionStatistics
from resolvers import node_ids
from resolvers.orders import CurrencyCode
from resolvers.selection import DateOrder
from schema.costs import public
from schema.execution.facts import EXPLAINED, REQUESTED, by_class, facts

Row = TypeVar("Row")


_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_CODE = re.compile(r"[A-Z]{3}")


def shown_instant(instant: datetime) -> str:
    """Return an aware datetime as text, for example ``2024-12-01T00:00:00.000000Z``.

    All these texts have the same length, so clients can parse them with one pattern, and their
    order is that of the instants.
    """
    if instant.tzinfo is not UTC:
        if instant.tzinfo is None:
            raise ValueError(instant)
        instant = instant.astimezone(UTC)
    # orjson takes half the time of ``isoformat``. It omits the microseconds if there are none.
    text = orjson.dumps(instant, option=orjson.OPT_UTC_Z)[1:-1].decode()
    return text if instant.microsecond else f"{text[:-1]}.000000Z"


def _instant(text: str) -> datetime:
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError(text)
    return instant


def _decimal(text: str) -> Decimal:
    if _DECIMAL.fullmatch(text):
        return Decimal(text)
    raise ValueError(text)


def _code(text: str) -> str:
    if _CODE.fullmatch(text):
        return text
    raise ValueError(text)


SCALARS: Mapping[object, ScalarDefinition] = {
    datetime: replace(
        DateTimeDefinition,
        description="A time. Results are in UTC and have six digits after the second, such as "
        "`2024-12-01T00:00:00.000000Z`. Arguments may have any offset from UTC, such as `+01:00`, "
        "which is required, and fewer digits.",
        specified_by_url="https://www.rfc-editor.org/rfc/rfc3339",
        serialize=shown_instant,
        parse_value=wrap_parser(_instant, "DateTime"),
    ),
    Decimal: replace(
        DecimalDefinition,
        description='A decimal number as a string, such as `"12.50"`, because a JSON number may '
        "lose digits.",
        specified_by_url="https://www.w3.org/TR/xmlschema11-2/#decimal",
        parse_value=wrap_parser(_decimal, "Decimal"),
    ),
    CurrencyCode: strawberry.scalar(
        name="CurrencyCode",
        description="Three-letter ISO 4217 currency code, such as `EUR`.",
        specified_by_url="https://www.iso.org/iso-4217-currency-codes.html",
        parse_value=wrap_parser(_code, "CurrencyCode"),
    ),
}
"""The definition of each scalar, by the Python type that annotates its fields and inputs."""


def show_enum(
    kind: type[Enum], description: str, *, name: str | None = None, **values: str
) -> None:
    """Turn a Python enum into a GraphQL enum. ``values`` are the descriptions by member."""
    # If an input type has a field of this enum, Strawberry has already turned ``kind`` into a
    # GraphQL enum. The input type keeps that GraphQL enum, so describe it and do not create
    # another: the input type would not use the new one.
    shown: Any = kind if hasattr(kind, "__strawberry_definition__") else strawberry.enum(kind)
    definition = shown.__strawberry_definition__
    definition.name, definition.description = name or kind.__name__, description
    for value in definition.values:
        value.description = values[kind(value.value).name]


show_enum(
    DateOrder,
    "Sort order of a list by creation time.",
    NEWEST="Newest first.",
    OLDEST="Oldest first.",
)


@strawberry.interface(description="An object with a globally unique id.")
class Node:
    """Relay's Node interface.

    Each type that implements the interface sets ``shows`` to the domain class that it exposes.
    """

    shows: ClassVar[type]

    @classmethod
    @by_class
    def is_type_of(cls, value: object, _: object) -> bool:
        """Return whether this type exposes the domain object ``value``."""
        return isinstance(value, cls.shows)

    id: strawberry.ID = public(
        resolver=node_ids.node_id,
        description="Global object id for `node`, caches and mutations. Opaque.",
    )


@strawberry.type(
    description="Pagination flags and cursors of a page. The flags are exact, both with `first` "
    "and with `last`."
)
class PageInfo:
    """The GraphQL type of ``dal.query.pagination.PageInfo``."""

    has_next_page: bool = public(description="Whether more rows follow the page.")
    has_previous_page: bool = public(description="Whether more rows precede the page.")
    start_cursor: str | None = public(
        description="Cursor of the page's first row. Pass it as `before` to read the rows "
        "before the page. Null if the page is empty."
    )
    end_cursor: str | None = public(
        description="Cursor of the page's last row. Pass it as `after` to read the rows after "
        "the page. Null if the page is empty."
    )


@strawberry.type(description="A row of a list and its cursor.")
class Edge(Generic[Row]):
    """The GraphQL type of ``dal.query.pagination.Edge``."""

    node: Row = public(description="The row.")
    cursor: str = public(description="Cursor of the row. Pass it as `after` or `before`.")


@strawberry.type(description="One page of a list.")
class Connection(Generic[Row]):
    """The GraphQL type of ``dal.query.pagination.Page``."""

    edges: list[Edge[Row]] = strawberry.field(
        description="Rows of the page with their cursors.",
        metadata=facts(public=True, sized=REQUESTED),
    )
    nodes: list[Row] = strawberry.field(
        description="Rows of the page without cursors.",
        metadata=facts(public=True, sized=REQUESTED),
    )
    page_info: PageInfo = public(
        description="Pagination flags and cursors. The server computes a flag only if the query "
        "selects it."
    )
    total_count: int | None = public(
        description="Number of rows on all pages together. Known if the query has neither `after` "
        "nor `before`, and this page contains all rows; otherwise null, because the server would "
        "have to read the whole list."
    )
    stats: ExecutionStatistics = strawberry.field(
        name="plan",
        graphql_type=Annotated["QueryPlan", strawberry.lazy("features.plans.types")],
        description="How the server read the page.",
        metadata=EXPLAINED,
    )


USER_ERRORS = "Validation errors. Empty on success."
"""The description of ``userErrors`` in every payload."""


@strawberry.type(description="An error in a mutation's input.")
class UserError:
    """The GraphQL type of ``resolvers.mutations.UserError``."""

    field: list[str] | None = strawberry.field(
        description='Path of the invalid input field, such as `["input", "lines", "0", '
        '"quantity"]`; null if the error is not about a field.'
    )
    message: str = strawberry.field(
        description="Message in English that the client may show to the user."
    )
    code: str = strawberry.field(
        graphql_type=Annotated["UserErrorCode", strawberry.lazy("schema.errors")],
        description="Code of the error, for programs. New versions may change a message, but "
        "not a code.",
    )
    existing_id: strawberry.ID | None = strawberry.field(
        description="Global `id` of the comment or submission that the user already has on the "
        "product. Set for the code `ALREADY_COMMENTED`; otherwise null."
    )
