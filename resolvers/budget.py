"""A bound on the work of one operation: nested lists multiply, and so would their pages."""

from dataclasses import dataclass

MAX_PAGES = 200
"""Pages and single newest comments that one operation may read."""


class TooManyPagesError(Exception):
    """The operation asks for more pages than one request may read."""


@dataclass(slots=True)
class Budget:
    """The pages that an operation may still read."""

    pages: int = MAX_PAGES

    def spend(self) -> None:
        """Take one page; TooManyPagesError when none is left."""
        if self.pages == 0:
            raise TooManyPagesError(
                f"The operation reads more than {MAX_PAGES} pages: ask for fewer lists at a time."
            )
        self.pages -= 1
