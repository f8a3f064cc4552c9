"""Errors of links that do not permit a comment any more."""

from dal.errors import GrantError


class LinkRevokedError(GrantError):
    """The shop has revoked the link, cancelled its order, or erased its customer's data."""

    code = "INVITATION_REVOKED"

    def __init__(self) -> None:
        super().__init__("The shop has revoked this link.")


class LinkUsedError(GrantError):
    """The link has already written its comment on the product."""

    code = "INVITATION_USED"

    def __init__(self) -> None:
        super().__init__(
            "You have already commented on this product with this link. You can edit the comment "
            "until it is published."
        )
