"""Instruments that keep the plans of each page, and the number of its Queries."""

from collections.abc import Callable, Sequence
from typing import Any

from dal.query.plan import Plan
from dal.query.statistics import Purpose
from dal.table.entity import Row
from dal.table.index import QueryResponse


class ReadPage:
    """The plans and Queries of one page. The pages of a list's stages belong to the list's page."""

    def __init__(self) -> None:
        self.plans: list[tuple[Purpose, Plan]] = []
        self.queries = 0

    def planned(self, *_: Any) -> None: ...

    def begun(self, purpose: Purpose, plan: Plan) -> None:
        self.plans.append((purpose, plan))

    def read(self, segment: int, rows: Sequence[Row], response: QueryResponse) -> None:
        del segment, rows, response
        self.queries += 1

    def stage(self, place: Callable[[Row], Row]) -> "ReadPage":
        del place
        return self

    def shown(self, positions: Sequence[str], *, descending: bool) -> None: ...

    @property
    def summary(self) -> tuple[str, str, int]:
        """The access pattern and the index of the page, and the number of Queries."""
        plan = self.plans[0][1]
        return plan.access_pattern, plan.index.name or "table", self.queries


class ReadPages(list[ReadPage]):
    """The pages that ``add`` has been called for, in the order of their reads."""

    def add(self) -> ReadPage:
        """Return the instruments of the next page."""
        self.append(ReadPage())
        return self[-1]
