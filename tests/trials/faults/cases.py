"""The faults, as data: what calls of the store meet, how many of them, and beside which work."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.proxy import (
    Fault,
    half,
    hang,
    late,
    refuse,
    reset_after,
    reset_before,
    slow,
    spoilt,
    unprocessed,
)

READS, WRITES = "reads", "writes"
_BOTH = (READS, WRITES)


@dataclass
class Case:
    """A fault; ``share`` of the calls of ``operation`` (None: of all) meet one of ``faults``.

    ``part`` is what the body of such a call holds. A case without faults stops the engine.
    """

    name: str
    faults: Sequence[Fault] = ()
    share: float = 1.0
    operation: str | None = None
    part: bytes = b""
    kinds: Sequence[str] = _BOTH
    met: int = 0
    chance: random.Random = field(default_factory=lambda: random.Random(7))

    def choose(self, operation: str, body: bytes) -> Fault | None:
        """Return what a call meets; as ``tests.proxy.Choose``."""
        fits = self.operation in {None, operation} and self.part in body
        if not self.faults or not fits or self.chance.random() >= self.share:
            return None
        self.met += 1
        return self.chance.choice(self.faults)


def _cancelled(reason: str) -> Fault:
    reasons = [{"Code": reason, "Message": reason}]
    return refuse(400, "TransactionCanceledException", CancellationReasons=reasons)


def _of_writes(name: str, fault: Fault, operation: str = "TransactWriteItems") -> Case:
    return Case(name, [fault], 0.5, operation, kinds=(WRITES,))


def cases() -> list[Case]:
    """Return the faults in the order of the table; half of the calls meet most of them."""
    wrong = [spoilt(body) for body in (b"{}", b"", b"<html>Sign in</html>", b'{"Count": 1}')]
    return [
        Case("none", [slow(0)]),
        Case("throttling", [refuse(400, "ProvisionedThroughputExceededException")], 0.5),
        Case("500", [refuse(500, "InternalServerError")], 0.5),
        Case("503", [refuse(503, "ServiceUnavailable")], 0.5),
        Case("reset before", [reset_before], 0.5),
        Case("reset after", [reset_after], 0.5),
        Case("half answers", [half], 0.5),
        Case("wrong bodies", wrong, 0.5),
        Case("answers 3 s late", [late(3)], 0.3),
        Case("requests 3 s late", [slow(3)], 0.3),
        Case("0.5 s each", [slow(0.5)]),
        Case("5 s each", [slow(5)]),
        Case("no answers", [hang]),
        Case("no connection", [reset_before]),
        _of_writes("conflicts", _cancelled("TransactionConflict")),
        _of_writes("in progress", refuse(400, "TransactionInProgressException")),
        _of_writes("unprocessed", unprocessed, "BatchGetItem"),
        Case(
            "one segment fails", [reset_before], 1.0, "Query", b'"PRODUCT#fixed/1"', kinds=(READS,)
        ),
        Case("engine stopped"),
    ]
