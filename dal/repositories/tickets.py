"""Tickets: pages, reads by id, and conditional writes."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime

from dal.catalogue import query_of
from dal.dynamodb.errors import ConditionFailedError, ConflictError
from dal.dynamodb.table import Table
from dal.entities.organization import ORGANIZATION_USER, user_key
from dal.entities.ticket import TICKET, ticket_key, ticket_position
from dal.errors import IdempotencyKeyReusedError, NotFoundError
from dal.model import OrganizationUser, Ticket, TicketStatus
from dal.query.executor import Executor
from dal.query.pagination import Edge, Page, PageReader, Slice
from dal.query.plan import Query
from dal.table.items import ABSENT, PRESENT
from dal.table.ranges import between

_ANY_STATUS = frozenset(TicketStatus)
_OPEN = {"status": frozenset({TicketStatus.OPEN.value})}


@dataclass(frozen=True, slots=True)
class TicketSelection:
    """Selects tickets of organisations, or of a user of these organisations.

    A field that is None does not filter. ``organization`` may be a set of several organisations
    only if ``username`` is given. ``created_from`` is inclusive, ``created_before`` exclusive.
    """

    organization: str | frozenset[str]
    username: str | None = None
    statuses: Collection[TicketStatus] | None = None
    created_from: datetime | None = None
    created_before: datetime | None = None

    def query(self) -> Query:
        """Return the query of this selection.

        A filter with both statuses is the same as no filter. The index of an organisation's tickets
        has a partition for each status. So a query without a username always filters by status.
        """
        names = self.organization
        filters = {"organization": frozenset({names}) if isinstance(names, str) else names}
        statuses = _ANY_STATUS if self.statuses is None else frozenset(self.statuses)
        if self.username is not None:
            filters["username"] = frozenset({self.username})
        if self.username is None or statuses != _ANY_STATUS:
            filters["status"] = frozenset(status.value for status in statuses)
        return query_of(filters, between(self.created_from, self.created_before))


class TicketRepository:
    """Reads and writes tickets.

    Lists are eventually consistent, because their indexes are global.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        executor = Executor(table.query, TICKET.indexes)
        self._pages = PageReader(executor, TICKET.decode_row, descending=True)

    async def get(self, ticket_id: str) -> Ticket | None:
        """Return a ticket by its id; None if it does not exist (access pattern T3).

        The read is consistent.
        """
        item = await self._table.get(ticket_key(ticket_id))
        return TICKET.decode(item) if item else None

    async def page(self, selection: TicketSelection, cut: Slice) -> Page[Ticket]:
        """Return one page of the tickets of a user or an organisation (access patterns T2, T4)."""
        return await self._pages.read(selection.query(), cut)

    async def open_page(
        self,
        cut: Slice,
        created_from: datetime | None = None,
        created_before: datetime | None = None,
    ) -> Page[Ticket]:
        """Return one page of all users' open tickets (access pattern T5).

        If dates are given, the page contains only tickets that were created between them.
        """
        return await self._pages.read(query_of(_OPEN, between(created_from, created_before)), cut)

    async def with_user(
        self, organization: str, username: str, cut: Slice
    ) -> tuple[OrganizationUser | None, Page[Ticket]]:
        """Return a user and the first page of the user's tickets (access pattern T2).

        The read is one Query. The newest ticket is first. If the organisation does not have the
        user, the user is None in the result. ``cut`` must start at the beginning of the list.
        """
        query = replace(TicketSelection(organization, username).query(), head=True)
        page = await self._pages.read(query, cut)
        return (ORGANIZATION_USER.decode(page.head) if page.head else None), page

    async def create(self, ticket: Ticket) -> Edge[Ticket]:
        """Store a new ticket once. If a ticket with this id exists, return the stored ticket.

        Raises NotFoundError if the organisation does not have the user, and
        IdempotencyKeyReusedError if the stored ticket has other contents.
        """
        user = {"Key": user_key(ticket.organization, ticket.username), **PRESENT}
        new = {"Item": TICKET.encode(ticket), **ABSENT}
        try:
            await self._table.write([{"ConditionCheck": user}, {"Put": new}])
        except ConditionFailedError as error:
            if 0 in error.failed:
                raise NotFoundError("The organisation has no such user.") from None
            stored = await self.get(ticket.ticket_id)
            if stored is None or (stored.subject, stored.text) != (ticket.subject, ticket.text):
                raise IdempotencyKeyReusedError(
                    "This idempotency key was used for another ticket: "
                    "choose a new key for a new ticket."
                ) from None
            ticket = stored
        return Edge(ticket, ticket_position(ticket))

    async def close(self, ticket: Ticket) -> Edge[Ticket]:
        """Close an open ticket.

        Raises ConflictError if ``ticket`` is closed, or if the stored ticket has changed since
        ``ticket`` was read. So if several requests close a ticket in parallel, only one succeeds.
        """
        conflict = ConflictError("This ticket was closed or changed meanwhile: reload it.")
        closed = replace(ticket, status=TicketStatus.CLOSED)
        item = await self._table.get(ticket_key(ticket.ticket_id))
        if item is None or TICKET.decode(item) != ticket or ticket == closed:
            raise conflict
        try:
            # Several index keys change with the status, so Put replaces the whole item. The
            # condition compares the whole item, so that Put overwrites no other change.
            put = {"Put": {"Item": TICKET.encode(closed), **TICKET.unchanged(item)}}
            await self._table.write([put])
        except ConditionFailedError:
            raise conflict from None
        return Edge(closed, ticket_position(closed))
