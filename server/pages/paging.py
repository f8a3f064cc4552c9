"""Where pages begin: counted from the oldest comment, so that an older page stays what it is.

Pages of 20 counted from the newest would all move on by one with each new comment. Counted from the
oldest, only the first page grows: it takes the remainder, 20 to 39 comments, or all while there are
fewer than 40. An older page is named by the cursor that it comes after.

A list that begins with the oldest is cut into twenties as it runs. So is one between dates, as
comments are not counted by these.
"""

from collections.abc import Sequence

SIZE = 20


def first_size(total: int | None) -> int:
    """Return how many comments the first page asks for when the counts say ``total``.

    It is never less than a page: counts that lag, as those of a stream may, hide no comment. None
    is a list whose first page takes no remainder.
    """
    if total is None:
        return SIZE
    return max(SIZE, total) if total < 2 * SIZE else SIZE + total % SIZE


def cursor_of_previous(cursors: Sequence[str], *, remainder: bool) -> str | None:
    """Return what the page of the last 20 of ``cursors`` comes after, None for the first page.

    ``cursors`` are those of up to 40 comments before the page that is left, in list order. With
    fewer than 40 there is no full page before those 20: they belong to a first page that takes the
    ``remainder``.
    """
    first = 2 * SIZE - 1 if remainder else SIZE
    return cursors[-SIZE - 1] if len(cursors) > first else None
