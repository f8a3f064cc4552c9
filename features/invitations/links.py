"""Links: their addresses, and the right of a request with a link."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar

from dal.errors import IdempotencyKeyReusedError, NotFoundError
from dal.model import Comment, CommentSource
from dal.model.standings import Permission
from dal.table.errors import InvalidArgumentError
from dal.writes.comments import Hold, Stored, Written
from features.invitations.entity import comment_id_of, comment_key_of
from features.invitations.errors import LinkUsedError
from features.invitations.model import MOST_PRODUCTS, SCOPE, Link
from resolvers.authorization import may_write
from resolvers.context import Context, NotAvailableError, Viewer

MAX_JWT = 4_000
"""Maximum characters of a link's JWT. Longer addresses break in mail programs and proxies."""


@dataclass(frozen=True, slots=True)
class SignedLink:
    """A link with its address."""

    url: str
    products: Sequence[str]
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class LinkSigner:
    """Makes the addresses of links.

    ``sign`` returns None if the server has no secret. ``site`` is the address of the pages.
    """

    sign: Callable[[Mapping[str, Any]], str | None]
    site: str | None
    missing: ClassVar[str] = "This server does not make links."

    def signed(self, link: Link) -> list[SignedLink]:
        """Return one or more addresses for a link.

        A link with many products or long ids is divided into several. Raises NotAvailableError if
        the server has no secret, or does not know the address of its pages.
        """
        if self.site is None:
            raise NotAvailableError(
                "This server cannot make links, because it does not know the address of its pages."
            )
        jwt, products = self.sign(claims_of(link)), link.products
        if jwt is None:
            raise NotAvailableError(
                "This server cannot make links, because it has no secret to sign them."
            )
        if len(products) <= MOST_PRODUCTS and len(jwt) <= MAX_JWT:
            url = f"{self.site}/review?invitation={jwt}"
            return [SignedLink(url, products, link.expires_at)]
        if len(products) == 1:
            raise InvalidArgumentError(
                "orderId",
                f"orderId {link.order_id[:40]!r} and the other ids and names of this order are too "
                "long for a link.",
            )
        cut = MOST_PRODUCTS if len(products) > MOST_PRODUCTS else len(products) // 2
        parts = products[:cut], products[cut:]
        return [one for part in parts for one in self.signed(replace(link, products=part))]


def claims_of(link: Link) -> dict[str, Any]:
    """Return the claims of a link's JWT, without the issuer."""
    claims = {
        "scope": SCOPE,
        "sub": link.username,
        "name": link.name,
        "order": link.order_id,
        "products": link.products,
        "incentive": link.incentive,
        "iat": link.made_at.timestamp(),
        "exp": int(link.expires_at.timestamp()),
    }
    return {name: value for name, value in claims.items() if value is not None}


@dataclass(frozen=True, slots=True)
class LinkGrant:
    """The ``Grant`` of a link: one comment on each of the link's products."""

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
