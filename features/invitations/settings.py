"""The settings of invitations."""

from dataclasses import dataclass

from server.option import setting


@dataclass(frozen=True, kw_only=True)
class InvitationSettings:
    """The settings of invitations."""

    invitations: bool = setting(
        False,
        "List each order that is delivered from now on for an invitation, until 'marginalia "
        "invite' or createInvitation has made its links. The list grows if neither is used.",
    )
