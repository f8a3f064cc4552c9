"""The faults as data: which requests to the store fail, how, and whether clients read or write."""

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from tests.proxy import (
    Fault,
    answer,
    error_body,
    half,
    hang,
    late,
    refuse,
    reset_after,
    reset_before,
    slow,
    spoilt,
)

READS, WRITES = "reads", "writes"
_BOTH = (READS, WRITES)


@dataclass
class Case:
    """A fault of the store.

    A fraction ``share`` of the requests for ``operations`` (if empty: all) gets one of ``faults``.

    With ``part``, only requests with this text in their body. Without faults, the engine is
    suspended, or with ``kills`` the server is killed repeatedly. ``met`` is the number of requests
    with a fault, or of kills.
    """

    name: str
    faults: Sequence[Fault] = ()
    share: float = 1.0
    operations: Collection[str] = ()
    part: bytes = b""
    kinds: Sequence[str] = _BOTH
    kills: bool = False
    clients: int = 6
    met: int = 0
    chance: random.Random = field(default_factory=lambda: random.Random(7))

    def choose(self, operation: str, body: bytes) -> Fault | None:
        """Return the fault of a request, as a ``tests.proxy.Choose`` does."""
        fits = (not self.operations or operation in self.operations) and self.part in body
        if not self.faults or not fits or self.chance.random() >= self.share:
            return None
        self.met += 1
        return self.chance.choice(self.faults)


def _cancelled(reason: str) -> Fault:
    reasons = [{"Code": reason, "Message": reason}]
    return refuse(400, "TransactionCanceledException", CancellationReasons=reasons)


def _of_writes(name: str, fault: Fault, operation: str = "TransactWriteItems") -> Case:
    return Case(name, [fault], 0.5, {operation}, kinds=(WRITES,))


def _lost_or(name: str, retry: Fault) -> Case:
    """Return a case in which responses to writes are lost, or ``retry`` is returned unexecuted."""
    operations = {"TransactWriteItems", "PutItem", "DeleteItem"}
    faults = [reset_after, retry]
    return Case(f"response lost, or {name}", faults, 0.5, operations, kinds=(WRITES,))


def cases() -> list[Case]:
    """Return the faults in the order of the table. Most affect half of the requests."""
    # ``{}`` is not among them, because it is a valid response to a write or to a read of a missing
    # item.
    wrong = [spoilt(body) for body in (b"", b"<html>Sign in</html>")]
    return [
        Case("none", [slow(0)]),
        Case("throttling", [refuse(400, "ProvisionedThroughputExceededException")], 0.5),
        Case("500", [refuse(500, "InternalServerError")], 0.5),
        Case("503", [refuse(503, "ServiceUnavailable")], 0.5),
        Case("reset before the call", [reset_before], 0.5),
        Case("reset after the call", [reset_after], 0.5),
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
        _lost_or("400 of an unknown type", refuse(400, "SomethingElseException")),
        _lost_or("403 in HTML", answer(403, b"<html>Sign in</html>", "text/html")),
        _lost_or(
            "half a failed condition", answer(400, error_body("TransactionCanceledException")[:-9])
        ),
        Case(
            "one segment fails",
            [reset_before],
            operations={"Query"},
            part=b'"PRODUCT#fixed/1"',
            kinds=(READS,),
        ),
        Case("engine stopped"),
        Case("server killed", kinds=(WRITES,), kills=True, clients=16),
    ]
