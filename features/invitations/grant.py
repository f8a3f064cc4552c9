"""The right of a request with a link: one comment on each of the link's products."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dal.errors import IdempotencyKeyReusedError, NotFoundError
from dal.model import Comment, CommentSource
from dal.model.standings import Permission
from dal.table.errors import InvalidArgumentError
from dal.writes.comments import Hold, Stored, Written
from features.invitations.entity import comment_id_of, comment_key_of
from features.invitations.errors import LinkUsedError
from features.invitations.model import Link, link_of
from resolvers.authorization import may_write
from resolvers.context import Context, Viewer


@dataclass(frozen=True, slots=True)
class LinkGrant:
    """The ``Grant`` of a link."""

    link: Link

    @property
    def author(self) -> Viewer:
        """The link's customer, without roles."""
        return Viewer(self.link.username, name=self.link.name or "")

    async def permission(self, context: Context, product_id: str | None = None) -> Permission:
        """Return what the customer may write about a product.

        Raise LinkRevokedError if the link is no longer valid.
        """
        if product_id is not None and product_id not in self.link.products:
            raise InvalidArgumentError(
                "productId",
                f"productId {product_id!r} is not a product of this link. Comment on a product of "
                "the link.",
            )
        permission = await context.stores.invitations.permission(self.link)
        may_write(permission)
        return permission

    async def add(
        self,
        context: Context,
        comment: Comment,
        key: str | None,  # noqa: ARG002 - the link has its own key
        hold: Hold,
    ) -> Written:
        """Store the link's comment on a product, with the link's incentive.

        The link's own idempotency key is kept until the link expires. So the link cannot write a
        second comment after the deletion of the first.
        """
        invited = comment._replace(source=CommentSource.INVITATION, incentive=self.link.incentive)
        try:
            return await context.stores.comments.add(
                invited,
                comment_key_of(self.link, comment.product_id),
                key_until=int(self.link.expires_at.timestamp()) + 60,  # more than clocks differ
                dated=False,
                hold=hold,
            )
        except (IdempotencyKeyReusedError, NotFoundError):
            raise LinkUsedError from None

    def may_change(self, written: Stored) -> None:
        """Raise an error unless the link has written the comment, and it is not published.

        Every comment of others looks missing.
        """
        own = {comment_id_of(self.link, product) for product in self.link.products}
        if written.comment_id not in own or written.username != self.link.username:
            raise NotFoundError("Comment not found.")
        if isinstance(written, Comment):
            raise LinkUsedError


def grant_of(claims: Mapping[str, Any]) -> LinkGrant:
    """Return the grant in verified claims.

    Raise InvalidArgumentError with the name of a missing or malformed claim.
    """
    return LinkGrant(link_of(claims))
