"""Reasons: the sentences that state why the optimizer chose or rejected an index."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class ReasonCode(StrEnum):
    """Sentences that state why the optimizer chose or rejected an index.

    ``Reason`` replaces each ``{}`` by a name, a number, or several names.
    The catalogues of the HTML pages translate the sentences.
    """

    ONLY_INDEX = "The only index that can answer this query."
    LEAST_BY_COUNTS = "Lowest cost, estimated from the counts."
    LEAST_BY_LOCATIONS = "Lowest cost, estimated from the row locations of earlier reads."
    NOTHING_TO_READ = "There is nothing to read."
    NOTHING_TO_WEIGH = "One key range contains exactly these rows, so no other index is compared."
    NOTHING_KNOWN = "Without statistics: this index covers the most filters."
    MORE_RANGES = "More expensive: {} key ranges instead of {}."
    MORE_ROWS = "More expensive: about {} rows would be read and then dropped by the filter on {}."
    MORE_OF_BOTH = (
        "More expensive: {} key ranges instead of {}, and about {} rows would be read and then "
        "dropped by the filter on {}."
    )
    MORE_TO_READ = "More expensive: it reads more."
    NO_CHEAPER = "Not cheaper."
    NONE_PASSES = "No row is expected to pass the filter, so every row would be read."
    UNWEIGHED_ROWS = "Not compared: this index covers fewer filters than {}."
    UNWEIGHED_RANGES = "Not compared: this index needs at least as many key ranges as {}."
    DIVIDED = "The keys of the index contain {}, which the query does not filter by."
    HOLDS_OTHERS = "The index contains only rows whose {} is {}."
    LACKS = "The rows of the index do not contain {}."
    LAGS = "The index is eventually consistent, but this query needs a consistent read."
    TOO_MANY_RANGES = "This index needs {} key ranges; the maximum is {}."


ReasonValue: TypeAlias = str | int | Sequence[str]
"""A name, a number, or several names."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason code, and the names and numbers that fill the ``{}`` of its sentence, in order."""

    code: ReasonCode
    named: tuple[ReasonValue, ...] = ()

    def __str__(self) -> str:
        """Return the sentence."""
        return self.code.value.format(*(_listed(one, " and ") for one in self.named))

    @property
    def values(self) -> list[str]:
        """The names and numbers as texts. Several names are one text, separated by commas."""
        return [_listed(one, ", ") for one in self.named]


def _listed(value: ReasonValue, between: str) -> str:
    return str(value) if isinstance(value, str | int) else between.join(value)
