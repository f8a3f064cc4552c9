"""The addresses of links."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar

from dal.table.errors import InvalidArgumentError
from features.invitations.model import MOST_PRODUCTS, SCOPE, Link
from resolvers.context import NotAvailableError

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
        return [*self._divided(link)]

    def _divided(self, link: Link) -> Iterator[SignedLink]:
        jwt, products = self.sign(claims_of(link)), link.products
        if jwt is None:
            raise NotAvailableError(
                "This server cannot make links, because it has no secret to sign them."
            )
        if len(products) <= MOST_PRODUCTS and len(jwt) <= MAX_JWT:
            yield SignedLink(f"{self.site}/review?invitation={jwt}", products, link.expires_at)
            return
        if len(products) == 1:
            raise InvalidArgumentError(
                "orderId",
                f"orderId {link.order_id[:40]!r} and the other ids and names of this order are too "
                "long for a link.",
            )
        cut = MOST_PRODUCTS if len(products) > MOST_PRODUCTS else len(products) // 2
        for part in (products[:cut], products[cut:]):
            yield from self._divided(replace(link, products=part))


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
