"""Why the optimizer chose an index for a page, or why not: a code, and the names and numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

Value: TypeAlias = str | int | Sequence[str]
"""A name, a number, or several names."""


class ReasonCode(StrEnum):
    """What is said; each value is the sentence, with braces for what it names and counts."""

    ONLY_INDEX = "The only index that answers."
    LEAST_BY_COUNTS = "The least cost, by how many rows there are."
    LEAST_BY_LOCATIONS = "The least cost, by where these rows stood when they were last read."
    NOTHING_TO_READ = "There is nothing to read."
    NOTHING_TO_WEIGH = "One key range with just these rows: there is nothing to weigh."
    NOTHING_KNOWN = "Nothing is known of the rows: the least is left to filter."
    MORE_RANGES = "Dearer: {} key ranges instead of {}."
    MORE_ROWS = "Dearer: about {} rows read and dropped by {}."
    MORE_OF_BOTH = "Dearer: {} key ranges instead of {} and about {} rows read and dropped by {}."
    MORE_TO_READ = "Dearer: more to read."
    NO_CHEAPER = "No cheaper."
    NONE_PASSES = "No row is expected to pass: it would read them all."
    UNWEIGHED_ROWS = "Not weighed: more is left to filter than by {}."
    UNWEIGHED_RANGES = "Not weighed: it has more key ranges than {}."
    DIVIDED = "It is divided by {}, which nobody asked for."
    HOLDS_OTHERS = "It holds only rows whose {} is {}."
    LACKS = "Its rows do not carry {}."
    LAGS = "It may lag the table, and this list must not."
    TOO_MANY_RANGES = "It takes {} key ranges; the most is {}."


@dataclass(frozen=True, slots=True)
class Reason:
    """A code with what its sentence names and counts, in that order."""

    code: ReasonCode
    named: tuple[Value, ...] = ()

    def __str__(self) -> str:
        """Return the sentence."""
        return self.code.value.format(*(_listed(one, " and ") for one in self.named))

    @property
    def values(self) -> list[str]:
        """What the sentence names and counts, as texts; several names have commas between them."""
        return [_listed(one, ", ") for one in self.named]


def _listed(value: Value, between: str) -> str:
    return str(value) if isinstance(value, str | int) else between.join(value)
