"""Links, invitations, and what a visitor has written by a link."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from dal.model import Comment, Product, own_ids, rules
from dal.model.submissions import Submission
from dal.table.errors import InvalidArgumentError

SCOPE = "comment"
"""The scope of links' JWTs."""

MOST_PRODUCTS = 20
"""Maximum products of a link."""

DEFAULT_DAYS, MOST_DAYS = 60, 400
"""The usual and the maximum number of days for which a link is valid."""

_LATER = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Link:
    """The claims of a link: which products a customer may comment on, once each."""

    order_id: str
    username: str
    products: tuple[str, ...]
    made_at: datetime
    """The claim ``iat``. A revocation ends the links that were made before it."""
    expires_at: datetime
    name: str | None = None
    incentive: str | None = None


@dataclass(frozen=True, slots=True)
class Invitation:
    """The stored state of the links of an order."""

    order_id: str
    username: str
    products: tuple[str, ...] = ()
    name: str | None = None
    delivered_at: datetime | None = None
    """The time of the delivery; None if the order was not delivered while the server filled the
    queue of due invitations."""
    invited_at: datetime | None = None
    revoked_at: datetime | None = None

    @property
    def is_due(self) -> bool:
        """Whether the queue lists the invitation."""
        ended = self.invited_at is not None or self.revoked_at is not None
        return self.delivered_at is not None and not ended

    def link(self, incentive: str | None, days: int) -> Link:
        """Return a new link, which is valid for some days.

        The link is later than the last revocation, even if the clocks of two servers differ.
        """
        made = datetime.now(UTC)
        if self.revoked_at is not None:
            made = max(made, self.revoked_at + _LATER)
        return Link(
            order_id=self.order_id,
            username=self.username,
            products=self.products,
            made_at=made,
            expires_at=made + timedelta(days=days),
            name=self.name,
            incentive=incentive,
        )

    def ends(self, link: Link) -> bool:
        """Return whether the revocation ends a link. It ends the links that were made before it."""
        return self.revoked_at is not None and link.made_at <= self.revoked_at


@dataclass(frozen=True, slots=True)
class Entry:
    """A product of a link, and the comment that was written by the link."""

    product: Product
    comment_id: str
    """The id that the comment has or will have."""
    comment: Comment | None = None
    submission: Submission | None = None


@dataclass(frozen=True, slots=True)
class OpenedLink(Link):
    """A valid link with its entries."""

    entries: Sequence[Entry] = ()


def link_of(claims: Mapping[str, Any]) -> Link:
    """Return the link in verified claims.

    Raise InvalidArgumentError with the name of a missing or malformed claim.
    """
    products = claims.get("products")
    if not isinstance(products, list) or not 0 < len(products) <= MOST_PRODUCTS:
        raise InvalidArgumentError(
            "products", f"products is not a list of 1 to {MOST_PRODUCTS} product ids."
        )
    name, incentive = claims.get("name"), claims.get("incentive")
    return Link(
        order_id=_text(own_ids.own_id, "order", claims.get("order")),
        username=_text(own_ids.account, "sub", claims.get("sub")),
        products=tuple([_text(own_ids.own_id, "products", one) for one in products]),
        made_at=_instant("iat", claims.get("iat")),
        expires_at=_instant("exp", claims.get("exp")),
        name=None if name is None else _text(rules.name, "name", name),
        incentive=None if incentive is None else _text(rules.stated_title, "incentive", incentive),
    )


def _text(rule: Callable[[str, str], str], claim: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidArgumentError(claim, f"{claim} is not a text.")
    return rule(claim, value)


def _instant(claim: str, value: object) -> datetime:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return datetime.fromtimestamp(value, UTC)
        except (OSError, OverflowError, ValueError):  # out of the range of datetime
            pass
    raise InvalidArgumentError(claim, f"{claim} is not a time in Unix seconds.")
