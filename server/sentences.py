"""Words of the sentences that commands print."""


def counted(count: int, what: str) -> str:
    """Return a number with its noun, for example ``1 row`` or ``2 rows``."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
