"""How a question is written for each engine."""

from datetime import UTC, datetime

from sqlglot import exp

FIRST, END = datetime(1970, 1, 5, tzinfo=UTC), datetime(2105, 12, 31, tzinfo=UTC)
"""Of ClickHouse's dates: the first week whose Monday is one, and the last day of every release."""

_STARTS = {"DAY": "toStartOfDay", "WEEK": "toMonday", "MONTH": "toStartOfMonth"}

_SECOND = "%Y-%m-%d %H:%M:%S"


def duckdb(question: exp.Query) -> str:
    """Return it in DuckDB's SQL."""
    return question.sql(dialect="duckdb")


def clickhouse(question: exp.Query) -> str:
    """Return it in ClickHouse's SQL, by functions that releases of 2018 have and today's keep."""
    return question.transform(_older).sql(dialect="clickhouse")


def _older(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.DateTrunc):
        return exp.Anonymous(this=_STARTS[node.unit.name], expressions=[node.this])
    if isinstance(node, exp.Cast) and node.is_type(exp.DataType.Type.TIMESTAMP):
        # Bounds of texts of one width; a comment beyond these is in no table.
        text = min(max(node.this.name, f"{FIRST:{_SECOND}}"), f"{END:{_SECOND}}")
        return exp.Anonymous(
            this="toDateTime", expressions=[*map(exp.Literal.string, (text, "UTC"))]
        )
    if isinstance(node, exp.Abs):
        return exp.Anonymous(this="abs", expressions=[node.this])  # its case counts there
    if isinstance(node, exp.Ordered):
        node.set("nulls_first", None)
    return node
