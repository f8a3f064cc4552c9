"""The demo's customers and orders: the users with a profile received what they say they bought."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from dal.model import Comment, Money, Order, OrderLine, OrderStatus, Profile
from server.demo.seeded_random import SeededRandom
from server.demo.texts import phrases

DEMO_USER = "demo"

_SEED = 20230105
_CURRENCY = "EUR"
_PRICES = ("39.90", "12.50", "24.00", "89.00", "7.95", "149.00", "19.90", "5.25")
"""Of the products 1 to 8."""

_SINCE = datetime(2024, 11, 1, tzinfo=UTC)
_DAYS = 60
_RECENT = {
    OrderStatus.PLACED: 40,
    OrderStatus.SHIPPED: 30,
    OrderStatus.DELIVERED: 20,
    OrderStatus.CANCELLED: 10,
}


def demo_profiles() -> dict[str, Profile]:
    """Return the profiles of the demo's customers by username."""
    return {
        username: Profile(
            full_name=username.replace(".", " ").replace("_", " ").replace("-", " ").title(),
            email=f"{username}@example.org",
        )
        for username in (DEMO_USER, *phrases("en")["usernames"])
    }


def demo_orders(comments: Iterable[Comment]) -> list[Order]:
    """Return the customers' orders, always the same, with ids ``demo-order-0001`` and on.

    What a customer's verified comments speak of was delivered before; other orders are recent.
    """
    random = SeededRandom(_SEED)
    customers = sorted(demo_profiles())
    made = [
        *(
            _behind(random, one)
            for one in comments
            if one.verified_purchase and one.username in customers
        ),
        *_recent(random, customers),
    ]
    return [
        Order(
            order_id=f"demo-order-{number:04}",
            username=username,
            status=status,
            created_at=created_at,
            lines=_lines(random, products),
        )
        for number, (username, status, created_at, products) in enumerate(made, 1)
    ]


_Sketch = tuple[str, OrderStatus, datetime, Sequence[int]]
"""Who ordered, what became of it, when, and which products."""


def _behind(random: SeededRandom, comment: Comment) -> _Sketch:
    """Return the order that a comment speaks of, with something else at times."""
    others = [random.number(1, len(_PRICES))] if random.chance(0.3) else []
    when = comment.created_at - timedelta(days=random.number(3, 40))
    products = dict.fromkeys([int(comment.product_id), *others])
    return comment.username, OrderStatus.DELIVERED, when, list(products)


def _recent(random: SeededRandom, customers: Sequence[str]) -> Iterator[_Sketch]:
    for username in customers:
        for _ in range(8 if username == DEMO_USER else random.number(1, 4)):
            status = random.weighted(list(_RECENT), list(_RECENT.values()))
            seconds = random.number(0, _DAYS * 86_400)
            products = dict.fromkeys(
                random.number(1, len(_PRICES)) for _ in range(random.number(1, 3))
            )
            yield username, status, _SINCE + timedelta(seconds=seconds), list(products)


def _lines(random: SeededRandom, products: Sequence[int]) -> tuple[OrderLine, ...]:
    return tuple(
        OrderLine(
            str(product),
            random.weighted((1, 2, 3), (80, 15, 5)),
            Money(Decimal(_PRICES[product - 1]), _CURRENCY),
        )
        for product in products
    )
