"""The claims of links."""

from typing import Any

from features.invitations.model import SCOPE, Link


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
