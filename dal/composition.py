"""Lists what the features of the shop add to commands that work on the whole table."""

from collections.abc import Callable, Sequence

from dal.counts.boards import BoardCorrection
from dal.counts.helpful import VoteCorrection
from dal.dynamodb.table import Table
from dal.kinds.correction import Correction
from dal.maintenance.commented_marking import Names
from dal.repositories.cases import Cases

CORRECTIONS: Sequence[Callable[[Table], Correction]] = (
    BoardCorrection,
    Cases,
    VoteCorrection,
    Names,
)
"""The corrections of ``stats verify``, in the order in which they run."""
