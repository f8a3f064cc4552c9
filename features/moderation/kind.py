"""What exports, loads, erasures and ``stats verify`` know of reports, cases and blocks."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any

from dal.catalogue import AccessPattern
from dal.dynamodb.concurrency import batched
from dal.dynamodb.errors import ConflictError
from dal.dynamodb.table import GET_BATCH, Table
from dal.entities.comment import comment_key
from dal.entities.standing import STANDING, standing_in
from dal.entities.submission import stored
from dal.kinds import field_parsers
from dal.kinds.item_kind import Field, FileKind, ItemKind
from dal.model import Comment
from dal.table.entity import unpacked
from dal.table.errors import InvalidArgumentError
from dal.table.items import Item
from dal.table.key_parts import escape
from features.moderation import report_repository
from features.moderation.cases import correct_case, put_cases, put_reports
from features.moderation.entity import (
    CASE,
    case_in,
    commented_id,
    decode_report,
    is_case,
    is_report,
)
from features.moderation.model import Case, Decision, Report, ReportReason, Verdict

PATTERNS = (
    report_repository.PATTERN,
    AccessPattern("AP16", "the reports of a comment, and the decision on it"),
)

_INSTANT = "TIMESTAMPTZ"


def _report(values: Mapping[str, Any]) -> Report:
    fields = {"text": "", **values}
    return Report(at=fields.pop("reported_at"), **fields)


REPORT_FILE = FileKind(
    name="reports",
    fields=(
        Field("comment_id", field_parsers.identifier),
        Field("product_id", field_parsers.identifier),
        Field("username", field_parsers.account),
        Field("reason", field_parsers.choice(ReportReason)),
        Field("text", field_parsers.explanation, required=False),
        Field("reported_at", field_parsers.instant, parquet=_INSTANT),
    ),
    make=_report,
    cells=attrgetter("comment_id", "product_id", "username", "reason", "text", "at"),
    identity=lambda one: f"{escape(one.comment_id)}#{escape(one.username)}",
    put=lambda stores: partial(put_reports, stores.table),
)

_OF_DECISION = ("decided_by", "decided_at", "seen", "reason")
_DECISION_NEEDS = {
    None: (),
    Verdict.APPROVE: ("decided_at", "seen"),
    Verdict.REJECT: ("decided_at", "seen", "reason"),
}
"""The fields that a row must have for each verdict. The key None is for rows without a verdict."""


def _case(values: Mapping[str, Any]) -> Case:
    verdict = values.get("decision")
    for name in _OF_DECISION:
        needed = name in _DECISION_NEEDS[verdict]
        # A decision may have no ``decided_by``, because an erasure of the moderator removes it.
        optional = name == "decided_by" and verdict is not None
        if not optional and (values.get(name) is not None) is not needed:
            state, advice = ("empty", "fill") if needed else ("given", "empty")
            stated = f"the decision is {verdict}" if verdict else "the row has no decision"
            raise InvalidArgumentError(
                name, f"{name} is {state}, but {stated}: {advice} it, or correct the decision."
            )
    decision = None
    if verdict is not None:
        by, reason = values.get("decided_by"), values.get("reason")
        decision = Decision(by, values["decided_at"], values["seen"], reason)
    opened_at, reported_at = values.get("opened_at"), values.get("reported_at")
    return Case(values["comment_id"], opened_at, decision, reported_at=reported_at)


def _case_cells(one: Case) -> Iterable[object]:
    decision, of_case = one.decision, (one.comment_id, one.opened_at, one.reported_at)
    if decision is None:
        return (*of_case, *[None] * (1 + len(_OF_DECISION)))
    verdict = Verdict.APPROVE if decision.reason is None else Verdict.REJECT
    decided = (decision.by, decision.at, decision.seen, decision.reason)
    return (*of_case, verdict, *decided)


CASE_FILE = FileKind(
    name="cases",
    fields=(
        Field("comment_id", field_parsers.identifier),
        Field("opened_at", field_parsers.instant, required=False, parquet=_INSTANT),
        Field("reported_at", field_parsers.instant, required=False, parquet=_INSTANT),
        Field("decision", field_parsers.choice(Verdict), required=False),
        Field("decided_by", field_parsers.identifier, required=False),
        Field("decided_at", field_parsers.instant, required=False, parquet=_INSTANT),
        Field("seen", field_parsers.instant, required=False, parquet=_INSTANT),
        Field("reason", field_parsers.subject, required=False),
    ),
    make=_case,
    cells=_case_cells,
    identity=lambda one: one.comment_id,
    put=lambda stores: partial(put_cases, stores.table),
    decode=case_in,
)


async def _correct_case(table: Table, item: Item) -> None:
    if (comment_id := commented_id(item)) is not None:
        await correct_case(table, comment_id)


def _nameless_block(item: Item, _: str) -> Item:
    """Return the standing of a blocked user without the name of the moderator who blocked."""
    standing = standing_in(item)
    block = None if standing.block is None else replace(standing.block, by=None)
    return STANDING.encode(replace(standing, block=block))


def _nameless(item: Item, _: str) -> Item:
    """Return the item of a case without the name of the moderator who decided."""
    case = case_in(item)
    decision = None if case.decision is None else replace(case.decision, by=None)
    return CASE.encode(replace(case, decision=decision))


REPORTS = ItemKind(
    name="reports",
    noun="report",
    holds=is_report,
    decode=decode_report,
    erased=lambda table: partial(_correct_case, table),
    file=REPORT_FILE,
    labels={"CASE": "reports"},
)

DECISIONS = ItemKind(
    name="decisions",
    noun="moderation decision",
    holds=is_case,
    decode=lambda item: {"comment_id": commented_id(item), **unpacked(item)},
    without_name=_nameless,
    file=CASE_FILE,
)

BLOCKS = ItemKind(
    name="blocks",
    noun="moderation block",
    holds=lambda _: False,
    decode=lambda item: {"username": standing_in(item).username, **unpacked(item)["block"]},
    without_name=_nameless_block,
)
"""The standing of a user whom another user has blocked as a moderator."""


class CaseCorrection:
    """Corrects the cases of comments that a scan has found, and counts the corrections.

    A process that is killed between two writes can leave a wrong case. ``correct`` opens the cases
    of comments with reports after the latest decision, and closes the other cases. It hides the
    cases of unpublished comments. ``opened`` is the number of comments that were added to the
    queue, ``closed`` the number that were removed from the queue.
    """

    corrects = "the moderators' queue of reported comments"
    removes = "reports"

    def __init__(self, table: Table) -> None:
        self._table = table
        self.opened = 0
        self.closed = 0
        self._reported: set[str] = set()

    def scanned(self, items: Sequence[Item], comments: Sequence[Comment]) -> None:
        """Keep the ids of comments that have a case or reports."""
        del comments
        self._reported |= {one for item in items if (one := commented_id(item)) is not None}

    def suspects(self) -> Collection[str]:
        """Return the ids of comments that have a case or reports."""
        return self._reported

    def report(self) -> str:
        """Return how many cases were wrong."""
        if not (self.opened or self.closed):
            return ""
        return (
            f"{self.opened:,} reported comments were missing from the queue. They are listed now. "
            f"{self.closed:,} comments in the queue were not published or had no open report. "
            "They are not listed now."
        )

    async def correct(self, suspects: Collection[str]) -> None:
        """Correct the cases of these comments, which must include each comment with a case."""
        for some in batched(sorted(suspects), GET_BATCH):
            items = await self._table.get_many([comment_key(one) for one in some])
            for one in map(stored, items):
                if one is None:
                    continue
                # A conflict is ignored: the requests that change the case also correct it.
                with suppress(ConflictError):
                    rows = await correct_case(self._table, one.comment_id)
                    self.opened += rows > 0
                    self.closed += rows < 0
