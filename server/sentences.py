"""Words of the sentences that commands print."""

from collections.abc import Sequence


def counted(count: int, what: str) -> str:
    """Return a number with its noun, for example ``1 row`` or ``2 rows``."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def series(parts: Sequence[str]) -> str:
    """Return parts as one text, for example ``a``, ``a and b`` or ``a, b, and c``."""
    match parts:
        case [first, *more, last] if more:
            return f"{', '.join([first, *more])}, and {last}"
    return " and ".join(parts)
