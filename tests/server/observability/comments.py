"""Comments of one product, for plans with refills and residual filters."""

from datetime import UTC, datetime, timedelta

from dal.model import Comment

COST = {"extensions": {"cost": True}}
"""A request with this also gets its cost."""

_ONE = Comment("0", "42", "ada", 5, "en", "t", "text", datetime(2026, 1, 1, tzinfo=UTC))


def comments_of(count: int) -> list[Comment]:
    """Return comments an hour apart. The five ratings alternate."""
    return [_numbered(number, 1 + number % 5) for number in range(count)]


def scarce(count: int) -> list[Comment]:
    """Return comments rated 3. Every 16th is rated 1 in the older half, and 5 in the newer half."""
    ratings = (1, 5)
    return [
        _numbered(number, 3 if number % 16 else ratings[number >= count // 2])
        for number in range(count)
    ]


def _numbered(number: int, rating: int) -> Comment:
    made = _ONE.created_at + timedelta(hours=number)
    return _ONE._replace(comment_id=str(number), rating=rating, created_at=made)
