"""What commands on the whole table know of invitations."""

from dal.catalogue import AccessPattern
from dal.kinds.item_kind import ItemKind
from features.invitations import repository
from features.invitations.entity import invitation_in, is_invitation

PATTERNS = (
    repository.PATTERN,
    AccessPattern("A8", "what a link has written, and whether it is valid"),
)

KIND = ItemKind(name="invitations", noun="invitation", holds=is_invitation, decode=invitation_in)
