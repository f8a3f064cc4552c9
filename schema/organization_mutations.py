"""The mutations of organisations and tickets, and their payloads."""

from __future__ import annotations

import strawberry

from resolvers import organization_payloads as payloads
from resolvers import organizations, tickets
from schema.organizations import Organization, OrganizationUser, Ticket
from schema.types import Edge
from schema.user_errors import UserError


@strawberry.type
class CreateOrganizationPayload:
    """Shows resolvers.organization_payloads.OrganizationPayload."""

    organization: Organization | None
    user_errors: list[UserError]


@strawberry.type
class AddOrganizationUserPayload:
    """Shows resolvers.organization_payloads.OrganizationUserPayload."""

    organization_user: OrganizationUser | None
    organization_user_edge: Edge[OrganizationUser] | None
    user_errors: list[UserError]


@strawberry.type
class CreateTicketPayload:
    """Shows resolvers.organization_payloads.TicketPayload."""

    ticket: Ticket | None
    ticket_edge: Edge[Ticket] | None = strawberry.field(
        description="Ready to be inserted in a list: an index may lag a write."
    )
    user_errors: list[UserError]


@strawberry.type
class CloseTicketPayload(CreateTicketPayload):
    """Shows resolvers.organization_payloads.TicketPayload."""


@strawberry.type
class OrganizationMutation:
    """Binds each mutation to its resolver."""

    create_organization: payloads.OrganizationPayload | None = strawberry.mutation(
        resolver=organizations.create_organization,
        graphql_type=CreateOrganizationPayload | None,
        description="Create an organisation, with the user of the JWT as its first admin.",
    )
    add_organization_user: payloads.OrganizationUserPayload | None = strawberry.mutation(
        resolver=organizations.add_organization_user,
        graphql_type=AddOrganizationUserPayload | None,
        description="Add a user to an organisation, as an admin of it or as staff.",
    )
    create_ticket: payloads.TicketPayload | None = strawberry.mutation(
        resolver=tickets.create_ticket,
        graphql_type=CreateTicketPayload | None,
        description="Open a ticket as a user of an organisation.",
    )
    close_ticket: payloads.TicketPayload | None = strawberry.mutation(
        resolver=tickets.close_ticket,
        graphql_type=CloseTicketPayload | None,
        description="Close a ticket as its user, as an admin of the organisation or as staff.",
    )
