"""What the mutations of organisations and tickets return."""

from dataclasses import dataclass, field

from dal.organization_model import Organization, OrganizationUser, Ticket
from dal.pages import Edge
from resolvers.payloads import UserError


@dataclass(frozen=True, slots=True)
class OrganizationPayload:
    """A stored organisation."""

    organization: Organization | None = None
    user_errors: list[UserError] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class OrganizationUserPayload:
    """A stored user with its edge, ready to be inserted in a list."""

    organization_user_edge: Edge[OrganizationUser] | None = None
    user_errors: list[UserError] = field(default_factory=list)

    @property
    def organization_user(self) -> OrganizationUser | None:
        """The user itself."""
        return self.organization_user_edge.node if self.organization_user_edge else None


@dataclass(frozen=True, slots=True)
class TicketPayload:
    """A stored ticket with its edge, ready to be inserted in a list."""

    ticket_edge: Edge[Ticket] | None = None
    user_errors: list[UserError] = field(default_factory=list)

    @property
    def ticket(self) -> Ticket | None:
        """The ticket itself."""
        return self.ticket_edge.node if self.ticket_edge else None
