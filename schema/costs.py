"""The usual reads of fields, and how fields with these reads are declared."""

from functools import partial
from typing import Any

import strawberry

from resolvers.selection import DEFAULT_SIZE
from schema.execution.facts import PUBLIC, Reads, facts

PAGE, FRESH_PAGE = Reads(unit=0.5, paged=True), Reads(paged=True)
SEARCH = Reads(unit=0.5, paged=True, most_requests=8)
"""Reads of a search. A page may also read rows of products that it already shows."""
ROW = Reads(unit=0.5)
NEWEST = Reads(unit=0.5, most_requests=20)
"""Reads of the newest comment with some ratings: a planned page of one row."""
ONCE_A_PAGE = Reads(1 / DEFAULT_SIZE, 0.5, most_requests=1)
KEY, TWO_KEYS = Reads(), Reads(2)
COUNTS = Reads(most_requests=3)
"""Reads of a product's counts. Each further response has the counts in 1,000 languages."""
OF_PRODUCT = Reads(0, together=True)
"""Reads of an attribute of a product's details. One request reads all details of a product."""
WRITE = Reads(5, most_requests=20)
QUESTION = Reads(0, questions=1)
NOTHING = Reads(0)

public: Any = partial(strawberry.field, metadata=PUBLIC)
"""Declares a public field without reads."""

mutation: Any = partial(strawberry.mutation, metadata=facts(reads=WRITE))
"""Declares the field of a mutation that reads and writes as few items as most mutations do."""


def listed(count: float, most: float = 0) -> Reads:
    """Return the reads of a list that its object contains, with its usual and maximum length."""
    return Reads(0, rows=count, most=most)
