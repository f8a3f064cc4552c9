"""Cases and reports as items. A report is a user's complaint about a comment.

A comment's case is open while reports of the comment wait for a moderator. The case stores the time
when it was opened, and the latest decision of a moderator on the comment. One partition contains a
comment's case, followed by the comment's reports in the order of user names. Cases and reports
store their values in the JSON attribute ``data`` (S). In the index ``byAuthor``, a case is in the
partition of the moderator who decided, and a report is in the partition of the user who reported.
While a case is open and its comment is published, the queue of reported comments lists the case.
The queue is in the index ``GSI1``.
"""

from typing import Any

from dal.entities.comment import BY_AUTHOR
from dal.entities.submission import BY_WAITING, QUEUE
from dal.table.entity import Entity, Row, packed, unpacked
from dal.table.index import Index
from dal.table.items import Item, primary_key
from dal.table.key_parts import LAST_CHARACTER, escape, format_instant, parse_instant, unescape
from dal.table.ranges import Range
from features.moderation.model import Case, Decision, QueueKind, Report, ReportReason

_CASE = "CASE"
_REPORT = "REPORT#"

REPORTED = Index(
    QUEUE.name,
    QUEUE.partition_key,
    QUEUE.sort_key,
    QUEUE.entity,
    ("state",),
    BY_WAITING,
    projects=("data",),
    shards=QUEUE.shards,
    covers={"state": frozenset({QueueKind.REPORTED})},
)

CASE_ITEMS = Range(_CASE, _REPORT + LAST_CHARACTER)
"""The sort keys of a comment's case and reports."""


def case_partition(comment_id: str) -> str:
    """Return the partition key of a comment's case and reports."""
    return f"{_CASE}#{escape(comment_id)}"


def case_key(comment_id: str) -> Item:
    """Return the primary key of a comment's case."""
    return primary_key(case_partition(comment_id), _CASE)


def commented_id(item: Item) -> str | None:
    """Return the id of the comment to which a case or report belongs; None for other items."""
    kind, _, comment_id = str(item["PK"].get("S", "")).partition("#")
    return unescape(comment_id) if kind == _CASE else None


def is_report(key: Item) -> bool:
    """Return whether a key or an item belongs to a report."""
    return commented_id(key) is not None and str(key["SK"]["S"]).startswith(_REPORT)


def is_case(key: Item) -> bool:
    """Return whether a key or an item belongs to a case."""
    return commented_id(key) is not None and key["SK"]["S"] == _CASE


def case_in(item: Item) -> Case:
    """Return the case that a table item stores."""
    return CASE.decode_row(Row("", item, {}))


def encode_report(report: Report) -> Item:
    """Return the table item of a report. A user has one report per comment."""
    at = format_instant(report.at)
    data = {
        "reason": report.reason,
        "text": report.text,
        "at": at,
        "product": report.product_id,
    }
    return {
        **primary_key(case_partition(report.comment_id), _REPORT + escape(report.username)),
        BY_AUTHOR.partition_key: {"S": f"DID#{escape(report.username)}"},
        BY_AUTHOR.sort_key: {"S": f"{_REPORT}{at}#{escape(report.comment_id)}"},
        **packed(data),
    }


def decode_report(item: Item) -> Report:
    """Return the report that a table item stores."""
    data = unpacked(item)
    return Report(
        comment_id=commented_id(item) or "",
        product_id=data["product"],
        username=unescape(item["SK"]["S"][len(_REPORT) :]),
        reason=ReportReason(data["reason"]),
        text=data["text"],
        at=parse_instant(data["at"]),
    )


def _position(case: Case) -> str | None:
    if case.opened_at is None or case.hidden:
        return None
    return f"{format_instant(case.opened_at)}#{escape(case.comment_id)}"


def _attributes(case: Case) -> Item:
    decision = case.decision
    opened: dict[str, Any] = {}
    if case.opened_at is not None:
        opened["openedAt"] = format_instant(case.opened_at)
    if case.hidden:
        opened["hidden"] = True
    if case.reported_at is not None:
        opened["reportedAt"] = format_instant(case.reported_at)
    if decision is None:
        return packed(opened)
    at = format_instant(decision.at)
    data = {
        "decision": "APPROVED" if decision.reason is None else "REJECTED",
        "by": decision.by,
        "at": at,
        "seen": format_instant(decision.seen),
        "reason": decision.reason,
    }
    item = packed(data | opened)
    if decision.by is not None:
        item |= {
            BY_AUTHOR.partition_key: {"S": f"DID#{escape(decision.by)}"},
            BY_AUTHOR.sort_key: {"S": f"DECISION#{at}#{escape(case.comment_id)}"},
        }
    return item


def _decode(row: Row) -> Case:
    data: dict[str, Any] = unpacked(row.item)
    opened_at, reported_at = data.get("openedAt"), data.get("reportedAt")
    decision = None
    if "decision" in data:
        at, seen = parse_instant(data["at"]), parse_instant(data["seen"])
        decision = Decision(data["by"], at, seen, data["reason"])
    return Case(
        commented_id(row.item) or "",
        parse_instant(opened_at) if opened_at else None,
        decision,
        data.get("hidden", False),
        parse_instant(reported_at) if reported_at else None,
    )


CASE: Entity[Case] = Entity(
    key=lambda case: case_key(case.comment_id),
    fields={"state": lambda _: QueueKind.REPORTED},
    positions={BY_WAITING: _position},
    indexes=(REPORTED,),
    attributes=_attributes,
    decode_row=_decode,
)
