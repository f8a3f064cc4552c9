"""The kinds of files with objects of the core, such as comments: the fields of each kind.

``load`` uses these declarations to parse rows, and ``export`` uses them to write rows. A new kind
needs an entry in ``dal.composition.KINDS``, with the items that its files contain.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any

from dal.dynamodb.table import Table
from dal.entities.comment import STATE, is_tombstone
from dal.entities.order import ORDER, purchases
from dal.entities.organization import encode_roster
from dal.entities.submission import stored
from dal.entities.ticket import TICKET
from dal.kinds import field_parsers
from dal.kinds.item_kind import Field, FileKind, ItemKind, Put, Thing
from dal.model import (
    Comment,
    CommentSource,
    Order,
    OrderStatus,
    Organization,
    OrganizationUser,
    ProductDetails,
    Profile,
    Reply,
    Roster,
    Ticket,
    TicketStatus,
    rules,
)
from dal.model.comment_fields import FIELDS, CommentField
from dal.model.submissions import ReviewCause
from dal.query.pagination import all_rows
from dal.repositories.organizations import OrganizationRepository
from dal.repositories.users import decode_profile, encode_profile
from dal.table.errors import InvalidArgumentError
from dal.table.items import Item
from dal.writes.overwrite import overwrite
from features.loading import parsers
from features.loading.bulk_write import BulkWriter
from features.loading.hashed_ids import imported_owner
from features.loading.loaded import (
    DECISION,
    CommentRow,
    CommentState,
    LoadedComment,
    loaded,
    state_of,
)

_INSTANT = "TIMESTAMPTZ"
_RATINGS = 'STRUCT("name" VARCHAR, rating INTEGER)[]'
_USERS_AT_ONCE = 1_000


def _owned(
    model: Callable[..., Thing], model_id: str, name: str, **absent: Any
) -> Callable[[Mapping[str, Any]], Thing]:
    """Return a function that makes a ``model`` from the values of a row.

    ``model_id`` is the model's attribute for the field ``id``, for example ``comment_id``. The
    argument ``name`` is the field with the owner's display name, for example ``author_name``. The
    value of this field becomes the attribute ``name``. The function uses the values of ``absent``
    for fields that the row lacks.
    """

    def make(values: Mapping[str, Any]) -> Thing:
        fields = {**absent, **values}
        shown = rules.name_unless(fields["username"], fields.pop(name, None))
        return model(**{model_id: fields.pop("id")}, name=shown, **fields)

    return make


def _overwriting(encode: Callable[[Thing], Sequence[Item]]) -> Callable[[Any], Put[Thing]]:
    """Return a function that returns ``Put``, which writes objects over the stored objects.

    ``encode`` returns the items of an object. Stored items that it does not return stay, for
    example other users of an organisation, and the proofs of purchase of a replaced order.
    """
    return lambda stores: lambda things: overwrite(stores.table, [encode(one) for one in things])


_BY_COLUMN = {
    column: one
    for one in sorted(FIELDS, key=lambda one: Comment._fields.index(one.name))
    for column in one.columns
}
"""The fields of comments by their columns, in the order of the columns."""

_KEPT_COLUMNS = {
    column: one for column, one in _BY_COLUMN.items() if one.kept and len(one.columns) == 1
}
"""The columns of the fields that a load keeps, without those of fields with two columns."""

_UNSTATED = {"source": CommentSource.IMPORT}
"""The values of new comments whose rows lack them, if they are not those of ``Comment``."""

_make_comment = _owned(Comment, "comment_id", "author_name", title="")
_INCENTIVE = ("incentive", "incentivized")
_OF_THE_STATE = ("state", *DECISION)


def _imported_owner(values: Mapping[str, Any]) -> str:
    """Return the id of an author whom the file identifies only by a name."""
    if not values.get("author_name"):
        raise InvalidArgumentError("username", "username is missing, and so is author_name.")
    return imported_owner("comment", values["id"])


def _incentive(text: str | None, incentivized: bool | None) -> str | None:  # noqa: FBT001 - a cell
    """Return the incentive that a row states: see ``Comment``.

    Raises InvalidArgumentError if the row names an incentive and says that there was none.
    """
    if text and incentivized is False:
        raise InvalidArgumentError(
            "incentivized",
            f"incentivized is false, but incentive is {text[:40]!r}: correct one of them.",
        )
    return text or ("" if incentivized else None)


def _comment_row(values: Mapping[str, Any]) -> CommentRow:
    """Return the comment of a row.

    A load keeps the stored state if the row's state is empty. It also keeps the stored values of
    the ``KEPT`` fields, such as ``photos``, if the file lacks their columns. So if the row has a
    state, or if the file has one of these columns, the result is a LoadedComment, which lists the
    values that replace the stored values. Otherwise the result is a Comment. A comment without a
    username belongs to an owner without an account. Raises InvalidArgumentError if the row has
    neither a username nor a name, if it has a field that its state does not allow, or if it has the
    date of a reply, but no column of replies.
    """
    fields = {name: value for name, value in values.items() if name not in _OF_THE_STATE}
    fields["username"] = values.get("username") or _imported_owner(values)
    text, at = fields.pop("reply", None), fields.pop("replied_at", None)
    if "reply" not in values and at is not None:
        raise InvalidArgumentError("reply", "reply is missing, but replied_at is not: add a reply.")
    given: dict[str, Any] = {}
    for column, one in _KEPT_COLUMNS.items():
        value = fields.pop(column, None)
        fields[one.name] = _UNSTATED.get(column, one.default) if value is None else value
        if column in values:
            given[one.name] = fields[one.name]
    if not fields.keys().isdisjoint(_INCENTIVE):
        stated = _incentive(*(fields.pop(column, None) for column in _INCENTIVE))
        given["incentive"] = fields["incentive"] = stated
    comment = _make_comment(fields)
    if text is not None:
        comment = comment._replace(reply=Reply(text, at or comment.created_at))
    if "reply" in values:
        given["reply"] = comment.reply
    state = values.get("state")
    for name in DECISION:
        allowed = _STATES_WITH[name]
        if values.get(name) is not None and state not in allowed:
            stated = f"the state is {state}" if state else "the row has no state"
            raise InvalidArgumentError(
                name,
                f"{name} is only for rows whose state is {' or '.join(allowed)}, and {stated}: "
                f"leave {name} empty, or correct the state.",
            )
    if state is not None:
        given |= {name: values[name] for name in _OF_THE_STATE if name in values}
    return LoadedComment(comment, given) if given else comment


_HELD = (CommentState.PENDING, CommentState.REJECTED)
_STATES_WITH = {
    "cause": _HELD,
    "queued_at": _HELD,
    "reason": (CommentState.REJECTED,),
    "decided_at": (CommentState.REJECTED,),
}


def _comment_cells(one: Any) -> Iterable[object]:
    """Return the cells of a comment, a submission (an unpublished comment), or a LoadedComment.

    The cells contain neither ``touched_at``, which a load sets itself, nor the number of votes,
    which a load of comments does not change. Files of the kind ``votes`` contain the votes.
    """
    if isinstance(one, LoadedComment):
        one = one.over(None, one.comment.created_at)
    values = ((column, getattr(one, field.name)) for column, field in _BY_COLUMN.items())
    cells = {column: None if value == () else value for column, value in values}
    cells |= {"incentive": one.incentive or None, "incentivized": one.incentivized}
    if one.reply:
        cells |= {"reply": one.reply.text, "replied_at": one.reply.created_at}
    decision = (getattr(one, name, None) for name in DECISION)
    return (*cells.values(), state_of(one), *decision)


def _state_field(name: str, parse: Callable[[str, object], object], **others: Any) -> Field:
    return Field(name, parse, required=False, kept=True, all_states=True, **others)


def _column(name: str, one: CommentField) -> Field:
    if Comment.__annotations__[one.name] is bool:
        return Field(name, parsers.boolean, required=False, parquet="BOOLEAN", kept=one.kept)
    if one.ratings:
        parse = parsers.ratings(one.ratings)
        return Field(name, parse, required=False, parquet=_RATINGS, kept=one.kept)
    return replace(_COLUMNS[name], kept=one.kept)


_COLUMNS = {
    one.name: one
    for one in (
        Field("id", field_parsers.identifier),
        Field("product_id", field_parsers.identifier),
        Field("username", field_parsers.identifier, or_else="author_name"),
        Field("rating", parsers.rating, parquet="INTEGER"),
        Field("language", parsers.language),
        Field("title", field_parsers.title, required=False),
        Field("text", parsers.review),
        Field("created_at", field_parsers.instant, parquet=_INSTANT),
        Field("updated_at", field_parsers.instant, required=False, parquet=_INSTANT),
        Field("author_name", parsers.name, required=False),
        Field("reply", parsers.reply, required=False),
        Field("replied_at", field_parsers.instant, required=False, parquet=_INSTANT),
        Field("helpful_before", parsers.votes, required=False, parquet="BIGINT"),
        Field(
            "photos",
            parsers.photos,
            required=False,
            parquet="STRUCT(url VARCHAR, alt VARCHAR)[]",
        ),
        Field("source", field_parsers.choice(CommentSource), required=False),
        Field("incentive", parsers.incentive, required=False),
        Field("incentivized", parsers.boolean, required=False, parquet="BOOLEAN"),
    )
}

# ``Any`` is a CommentRow: a Comment or a LoadedComment (see _comment_row).
COMMENTS: FileKind[Any] = FileKind(
    name="comments",
    fields=(
        *(_column(name, one) for name, one in _BY_COLUMN.items()),
        _state_field("state", field_parsers.choice(CommentState), strict=True),
        _state_field("cause", field_parsers.choice(ReviewCause)),
        _state_field("queued_at", field_parsers.instant, parquet=_INSTANT),
        _state_field("reason", field_parsers.title),
        _state_field("decided_at", field_parsers.instant, parquet=_INSTANT),
    ),
    make=_comment_row,
    cells=_comment_cells,
    identity=lambda row: loaded(row).comment.comment_id,
    put=lambda stores: BulkWriter(stores.table, stores.maintenance, stores.writer).put,
    after=lambda earlier, later: (
        later if isinstance(earlier, Comment) else loaded(later).after(earlier)
    ),
    contains=lambda item: STATE not in item and not is_tombstone(item),
    unpublished=lambda item: STATE in item,
    decode=stored,
)


ORDERS = FileKind(
    name="orders",
    fields=(
        Field("id", field_parsers.identifier),
        Field("username", field_parsers.identifier),
        Field("status", field_parsers.choice(OrderStatus)),
        Field("created_at", field_parsers.instant, parquet=_INSTANT),
        Field(
            "lines",
            parsers.order_lines,
            parquet="STRUCT(product_id VARCHAR, quantity INTEGER, unit_price VARCHAR)[]",
        ),
        Field("customer_name", parsers.name, required=False),
    ),
    make=_owned(Order, "order_id", "customer_name"),
    cells=attrgetter("order_id", "username", "status", "created_at", "lines", "name"),
    identity=lambda order: order.order_id,
    put=_overwriting(lambda order: [ORDER.encode(order), *purchases(order)]),
)


def _roster(values: Mapping[str, Any]) -> Roster:
    organization = Organization(values["name"], values["subscription_plan"])
    users = [OrganizationUser(organization.name, *one) for one in values["users"].items()]
    return Roster(organization, users)


def _roster_cells(roster: Roster) -> Iterable[object]:
    users = [{"username": user.username, "type": user.type} for user in roster.users]
    return (roster.organization.name, roster.organization.subscription_plan, users)


async def _with_users(table: Table, organization: Organization) -> Roster:
    """Return an organisation with its users."""
    read = partial(OrganizationRepository(table).users, organization.name)
    return Roster(organization, [user async for user in all_rows(read, _USERS_AT_ONCE)])


ORGANIZATIONS = FileKind(
    name="organizations",
    fields=(
        Field("name", field_parsers.identifier),
        Field("subscription_plan", field_parsers.title),
        Field("users", parsers.users, parquet='STRUCT(username VARCHAR, "type" VARCHAR)[]'),
    ),
    make=_roster,
    cells=_roster_cells,
    identity=lambda roster: roster.organization.name,
    put=_overwriting(encode_roster),
    complete=_with_users,
)


TICKETS = FileKind(
    name="tickets",
    fields=(
        Field("id", field_parsers.identifier),
        Field("organization", field_parsers.identifier),
        Field("username", field_parsers.identifier),
        Field("subject", field_parsers.subject),
        Field("text", parsers.body),
        Field("status", field_parsers.choice(TicketStatus)),
        Field("created_at", field_parsers.instant, parquet=_INSTANT),
        Field("author_name", parsers.name, required=False),
    ),
    make=_owned(Ticket, "ticket_id", "author_name"),
    cells=attrgetter(
        "ticket_id", "organization", "username", "subject", "text", "status", "created_at", "name"
    ),
    identity=lambda ticket: ticket.ticket_id,
    put=_overwriting(lambda ticket: [TICKET.encode(ticket)]),
)


def _profile(values: Mapping[str, Any]) -> tuple[str, Profile]:
    fields = {**values}
    return fields.pop("username"), Profile(**fields)


PROFILES: FileKind[tuple[str, Profile]] = FileKind(
    name="profiles",
    fields=(
        Field("username", field_parsers.account),
        Field("full_name", field_parsers.title, required=False),
        Field("email", parsers.email, required=False),
    ),
    make=_profile,
    cells=lambda pair: (pair[0], pair[1].full_name, pair[1].email),
    identity=lambda pair: pair[0],
    put=_overwriting(lambda pair: [encode_profile(*pair)]),
    decode=decode_profile,
)


def _product(values: Mapping[str, Any]) -> tuple[str, ProductDetails]:
    """Return the id and the details of a product.

    If the file lacks the column of the group, the group is None, and a load keeps the stored group.
    """
    fields = {**values}
    group = (fields.pop("group") or "") if "group" in fields else None
    return fields.pop("id"), ProductDetails(**fields, group=group)


def _product_after(
    earlier: tuple[str, ProductDetails], later: tuple[str, ProductDetails]
) -> tuple[str, ProductDetails]:
    product_id, details = later
    group = earlier[1].group if details.group is None else details.group
    return product_id, replace(details, group=group)


def _product_cells(pair: tuple[str, ProductDetails]) -> Iterable[object]:
    product_id, details = pair
    trade = details.gtin, details.brand, details.mpn
    return (product_id, details.title, details.picture_url, details.url, details.group, *trade)


PRODUCTS: FileKind[tuple[str, ProductDetails]] = FileKind(
    name="products",
    fields=(
        Field("id", field_parsers.identifier),
        Field("title", field_parsers.title, required=False),
        Field("picture_url", parsers.address, required=False),
        Field("url", parsers.address, required=False),
        Field("group", field_parsers.identifier, required=False, kept=True),
        Field("gtin", parsers.gtin, required=False),
        Field("brand", parsers.trade_name, required=False),
        Field("mpn", parsers.trade_name, required=False),
    ),
    make=_product,
    cells=_product_cells,
    identity=lambda pair: pair[0],
    put=lambda stores: lambda details: stores.products.put_many(dict(details)),
    after=_product_after,
)


def files_of(kinds: Sequence[ItemKind]) -> Mapping[str, FileKind[Any]]:
    """Return the kinds of files that contain items of some kinds, by name."""
    return {kind.file.name: kind.file for kind in kinds if kind.file is not None}


def with_file(kinds: Sequence[ItemKind], name: str) -> Sequence[ItemKind]:
    """Return those of ``kinds`` whose kind of file has this name."""
    return [kind for kind in kinds if name in files_of([kind])]
