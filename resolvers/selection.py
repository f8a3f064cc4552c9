"""Finds which fields a request selects below the current field, and which slice of a list it wants.

The current field is the field whose resolver runs. A slice is a range of a list's rows: for
example, the first 20 rows after a cursor. Results that depend only on the document are stored in
``memo``, a dictionary of the field that is kept between requests. Later requests with the same
document do not compute these results again.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, TypeAlias, TypedDict, TypeVar, get_args

import strawberry
from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    Undefined,
    value_from_ast_untyped,
)

from dal.catalogue import Order
from dal.model import rules
from dal.model.titles import is_folded
from dal.query.cursors import NOT_OF_THIS_LIST, CursorKind, decode_cursor
from dal.query.errors import InvalidCursorError
from dal.query.pagination import Slice
from dal.query.plan import PlanBasis
from dal.query.statistics import PageInstruments
from dal.table.errors import InvalidArgumentError
from resolvers.context import Context
from resolvers.info_door import raw_info
from schema.execution.facts import Effect, argument_fact
from schema.execution.selections import fields_of

MAX_ROWS = 100
"""Maximum rows of a page."""

Info = strawberry.Info[Context, None]

DEFAULT_SIZE = 20

_PARTITIONS = argument_fact(Effect.PARTITIONS)
_FURTHER = argument_fact(Effect.FURTHER)

T = TypeVar("T")

Resolver = TypeVar("Resolver", bound=Callable[..., Any])

First: TypeAlias = Annotated[
    int | None,
    strawberry.argument(
        description="Number of rows to return, from the start of the list or after `after`. "
        "Default 20 if `last` is not given. Maximum 100.",
        metadata=argument_fact(Effect.FIRST),
    ),
]
After: TypeAlias = Annotated[
    str | None,
    strawberry.argument(
        description="Return rows after this cursor. The cursor stays valid even if its row is "
        "deleted or the list's filters change.",
        metadata=argument_fact(Effect.AFTER),
    ),
]
Last: TypeAlias = Annotated[
    int | None,
    strawberry.argument(
        description="Number of rows to return, from the end of the list or before `before`. The "
        "rows stay in the list's order. Maximum 100. Cannot be combined with `first`.",
        metadata=argument_fact(Effect.LAST),
    ),
]
Before: TypeAlias = Annotated[
    str | None,
    strawberry.argument(
        description="Return rows before this cursor.", metadata=argument_fact(Effect.BEFORE)
    ),
]
CreatedFrom: TypeAlias = Annotated[
    datetime | None,
    strawberry.argument(
        description="Return rows created at or after this time.", metadata=_FURTHER
    ),
]
CreatedBefore: TypeAlias = Annotated[
    datetime | None,
    strawberry.argument(description="Return rows created before this time.", metadata=_FURTHER),
]
Ratings: TypeAlias = Annotated[
    list[int] | None,
    strawberry.argument(
        description="Ratings to include, from 1 to 5. Default: all ratings. An empty list matches "
        "no comment.",
        metadata=_PARTITIONS,
    ),
]
Languages: TypeAlias = Annotated[
    list[str] | None,
    strawberry.argument(
        description="Languages to include, as BCP 47 tags. A tag also finds longer tags: `en` "
        "finds `en-US`, `zh-Hant` finds `zh-Hant-TW`, and `en-US` does not find `en`. `no` finds "
        "`nb` and `nn`. Case does not matter. Default: all languages. An empty list matches no "
        "comment.",
        metadata=_PARTITIONS,
    ),
]
Statuses: TypeAlias = Annotated[
    list[T] | None,
    strawberry.argument(
        description="Statuses to include. Default: all statuses. An empty list matches no row.",
        metadata=_PARTITIONS,
    ),
]
VerifiedOnly: TypeAlias = Annotated[
    bool | None,
    strawberry.argument(
        description="Whether to return only comments with `verifiedPurchase`. Default false.",
        metadata=_FURTHER,
    ),
]
HasPhotos: TypeAlias = Annotated[
    bool | None,
    strawberry.argument(
        description="Whether to return only comments with photos. Default false.",
        metadata=_FURTHER,
    ),
]
Contains: TypeAlias = Annotated[
    str | None,
    strawberry.argument(
        description="Return only comments with these words in the title or text, in any order. A "
        "word may be incomplete at its end: `batt` finds `Battery`. Case and width do not matter, "
        "accents do. Words of Japanese, Chinese, Thai, Arabic and Hebrew may begin within a "
        "word. Words without a space between them, as in `wi-fi`, must follow one another. "
        "Maximum 200 characters. No index has the words: if a page would read and drop more than "
        "about 2,000 comments, it ends with the error QUERY_TOO_COSTLY.",
        metadata=argument_fact(Effect.SEARCHES),
    ),
]
ProductId: TypeAlias = Annotated[
    strawberry.ID, strawberry.argument(description="The shop's product id.")
]
Username: TypeAlias = Annotated[
    str, strawberry.argument(description="User name, as used to sign in.")
]
Input: TypeAlias = Annotated[
    T,
    strawberry.argument(
        description="Input of the mutation. The payload's `userErrors` lists every validation "
        "error."
    ),
]


class DateOrder(StrEnum):
    """The sort orders of a list that is sorted by date."""

    NEWEST = "NEWEST"
    OLDEST = "OLDEST"


class CommentOrder(StrEnum):
    """The sort orders of a product's comments."""

    NEWEST = "NEWEST"
    OLDEST = "OLDEST"
    HIGHEST_RATING = "HIGHEST_RATING"
    LOWEST_RATING = "LOWEST_RATING"
    MOST_HELPFUL = "MOST_HELPFUL"

    @property
    def order(self) -> Order | None:
        """The member of ``Order`` with the same name; None for the orders by date."""
        return Order.__members__.get(self)

    @property
    def kind(self) -> CursorKind:
        """The kind of the list's cursors."""
        order = self.order
        return CursorKind.INSTANT if order is None else order.kind


OrderBy: TypeAlias = Annotated[
    DateOrder | None,
    strawberry.argument(description="Sort order. Default NEWEST.", metadata=_FURTHER),
]


class PageArguments(TypedDict, total=False):
    """Relay's arguments of a list. https://relay.dev/graphql/connections.htm#sec-Arguments."""

    first: First
    after: After
    last: Last
    before: Before


class _Dates(TypedDict, total=False):
    created_from: CreatedFrom
    created_before: CreatedBefore
    order_by: OrderBy


class DatedArguments(_Dates, PageArguments, total=False):
    """The arguments of a list that is sorted by date."""


def with_arguments(resolver: Resolver) -> Resolver:
    """Declare each of the arguments that a resolver takes as ``**given``.

    Strawberry makes a field's arguments from the parameters of ``__signature__``.
    """
    signature = inspect.signature(resolver)
    *named, rest = signature.parameters.values()
    (arguments,) = get_args(rest.annotation)
    for name, of in arguments.__annotations__.items():
        default = DateOrder.NEWEST if name == "order_by" else None
        further = inspect.Parameter(name, rest.KEYWORD_ONLY, default=default, annotation=of)
        named.append(further)
    resolver.__signature__ = signature.replace(parameters=named)  # type: ignore[attr-defined]
    return resolver


def selects(info: Info, *path: str) -> bool:
    """Return whether the request may select the field at ``path`` below the current field.

    ``@skip`` and ``@include`` are ignored. So True may be wrong, but False is always right.
    """
    raw = raw_info(info)
    memo: dict[object, bool] = getattr(raw, "memo", {})
    if path not in memo:
        memo[path] = _reaches(raw.field_nodes, path, raw.fragments)
    return memo[path]


def is_alone(info: Info) -> bool:
    """Return whether the operation selects only one field at its root."""
    selected = raw_info(info).operation.selection_set.selections
    return len(selected) == 1 and isinstance(selected[0], FieldNode)


@dataclass(frozen=True, slots=True, eq=False)
class ObservedPages:
    """The pages to observe while they are read: those of lists with a selected field in ``paths``.

    A feature with such fields puts this object into ``Context.services``. A path begins below the
    list, for example ``("plan", "rows")``.
    """

    paths: Sequence[Sequence[str]]
    instruments: Callable[[], PageInstruments]


def slice_of(
    info: Info,
    first: int | None = None,
    after: str | None = None,
    last: int | None = None,
    before: str | None = None,
    *,
    kind: CursorKind = CursorKind.INSTANT,
    order_by: DateOrder | CommentOrder | None = None,
    plan_by: PlanBasis | None = None,
) -> Slice:
    """Return the slice that the arguments of the current field request.

    ``order_by`` None means NEWEST. Raises InvalidArgumentError if ``first`` or ``last`` is invalid,
    or if both are given. Raises InvalidCursorError if a cursor is invalid or has another ``kind``.
    """
    raw = raw_info(info)
    memo: dict[object, Mapping[str, Any]] = getattr(raw, "memo", {})
    observed: ObservedPages | None = info.context.services.get(ObservedPages)
    key = observed or slice_of
    if key not in memo:
        memo[key] = _wanted(raw.field_nodes, raw.fragments, observed)
    further = {"reverse": order_by == DateOrder.OLDEST, "plan_by": plan_by, **memo[key]}
    return plain_slice(first, after, last, before, kind=kind, **further)


def dated_slice(
    info: Info,
    created_from: datetime | None = None,
    created_before: datetime | None = None,
    **page: Any,
) -> tuple[tuple[datetime | None, datetime | None], Slice]:
    """Return the period and the slice that the arguments of a list by date request.

    Raises InvalidArgumentError for an invalid period, and the errors of ``slice_of``.
    """
    return rules.period(created_from, created_before), slice_of(info, **page)


def first_slice(info: Info, field: str, *, kind: CursorKind = CursorKind.INSTANT) -> Slice | None:
    """Return the slice of the list ``field``, which the request selects below the current field.

    The current resolver can then read its object and the slice in one Query. The result is None in
    these cases, and a selected ``field`` then reads its page itself:

    - The request does not select ``field``.
    - ``field`` has an invalid argument, or an argument other than ``first``, ``before`` and
      ``orderBy``.
    - ``orderBy`` is not NEWEST.
    """
    raw = raw_info(info)
    by_key: dict[str, list[FieldNode]] = {}
    for node in _under(raw.field_nodes, field, raw.fragments):
        by_key.setdefault((node.alias or node.name).value, []).append(node)
    for nodes in by_key.values():
        arguments = {
            argument.name.value: value_from_ast_untyped(argument.value, info.variable_values)
            for argument in nodes[0].arguments or ()
        }
        given = {key: value for key, value in arguments.items() if value not in (None, Undefined)}
        usual = given.get("orderBy", DateOrder.NEWEST) == DateOrder.NEWEST
        if not (usual and given.keys() <= {"first", "before", "orderBy"}):
            continue
        try:
            first, before = given.get("first"), given.get("before")
            wanted = _wanted(nodes, raw.fragments, info.context.services.get(ObservedPages))
            return plain_slice(first, None, None, before, kind=kind, **wanted)
        except (InvalidArgumentError, InvalidCursorError):
            continue
    return None


def plain_slice(
    first: int | None,
    after: str | None,
    last: int | None,
    before: str | None,
    *,
    kind: CursorKind = CursorKind.INSTANT,
    **further: Any,
) -> Slice:
    """Return the slice for Relay's four arguments. ``further`` has the other fields of the slice.

    https://relay.dev/graphql/connections.htm#sec-Arguments
    """
    if first is not None and last is not None:
        raise InvalidArgumentError("last", "Pass first or last, not both.")
    return Slice(
        limit=_size("first", first) if last is None else _size("last", last),
        backward=last is not None,
        after=_position("after", after, kind),
        before=_position("before", before, kind),
        **further,
    )


def _size(argument: str, value: int | None) -> int:
    if value is None:
        return DEFAULT_SIZE
    if not 0 <= value <= MAX_ROWS:
        raise InvalidArgumentError(
            argument, f"{argument} is {value}; it must be from 0 to {MAX_ROWS}."
        )
    return value


def _position(argument: str, cursor: str | None, kind: CursorKind) -> str | None:
    if cursor is None:
        return None
    try:
        position = decode_cursor(cursor, kind)
    except InvalidCursorError as error:
        raise InvalidCursorError(f"{argument}: {error}") from None
    if kind is CursorKind.TEXT and not is_folded(position.rpartition("\t")[0]):
        raise InvalidCursorError(f"{argument}: {NOT_OF_THIS_LIST}")
    return position


def _wanted(
    nodes: Sequence[FieldNode],
    fragments: dict[str, FragmentDefinitionNode],
    observed: ObservedPages | None,
) -> dict[str, Any]:
    """Return arguments of ``Slice``: what to compute besides the rows, and the instruments."""
    paths = () if observed is None else observed.paths
    seen = any(_reaches(nodes, path, fragments) for path in paths)
    return {
        "next_page": _reaches(nodes, ("pageInfo", "hasNextPage"), fragments),
        "previous_page": _reaches(nodes, ("pageInfo", "hasPreviousPage"), fragments),
        "total": _reaches(nodes, ("totalCount",), fragments),
        "instruments": observed.instruments if observed is not None and seen else None,
    }


def _reaches(
    nodes: Sequence[FieldNode], path: Sequence[str], fragments: dict[str, FragmentDefinitionNode]
) -> bool:
    for name in path:
        nodes = _under(nodes, name, fragments)
    return bool(nodes)


def _under(
    nodes: Sequence[FieldNode], name: str, fragments: dict[str, FragmentDefinitionNode]
) -> list[FieldNode]:
    """Return the nodes of the fields with this name below any of ``nodes``."""
    return [
        field
        for node in nodes
        if node.selection_set is not None
        for _, field in fields_of(node.selection_set.selections, fragments)
        if field.name.value == name
    ]
