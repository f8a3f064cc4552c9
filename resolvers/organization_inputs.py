"""Input types of the mutations of organisations and tickets."""

import strawberry

from dal.organization_model import UserType

strawberry.enum(
    UserType,
    name="OrganizationUserType",
    description="Admins see all tickets of their organisation and add users to it.",
)


@strawberry.input
class OrganizationUserInput:
    """One of the first users of an organisation."""

    username: str
    type: UserType = UserType.MEMBER


@strawberry.input(
    description="A new organisation. The user of the JWT becomes an admin of it; staff do not."
)
class CreateOrganizationInput:
    """An organisation and its first users."""

    name: str = strawberry.field(description="Unique.")
    plan: str = strawberry.field(description="What it subscribes to; at most 200 characters.")
    users: list[OrganizationUserInput] = strawberry.field(
        default_factory=list, description="Its other first users, at most 90."
    )


@strawberry.input
class AddOrganizationUserInput:
    """A new user of an organisation."""

    organization: str
    username: str
    type: UserType = UserType.MEMBER


@strawberry.input(description="A new ticket; who opens it is the user of the JWT.")
class CreateTicketInput:
    """A ticket as its user states it."""

    organization: str = strawberry.field(description="The name of one of the user's.")
    subject: str = strawberry.field(description="At most 200 characters.")
    text: str = strawberry.field(description="At most 10,000 characters.")
    idempotency_key: str | None = strawberry.field(
        default=None,
        description="Send the same key again when no answer came: the ticket is opened once.",
    )


@strawberry.input
class CloseTicketInput:
    """Which ticket to close."""

    id: strawberry.ID
