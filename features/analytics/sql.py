"""The SQL of each question: one sqlglot expression, rendered for DuckDB or for ClickHouse.

Each store has a table of comments with the columns product_id, rating, language and created_at (in
UTC). The expressions use only functions that both engines have: sums, CASE, ABS, and DATE_TRUNC
with weeks that begin on Monday.
"""

from datetime import UTC, datetime

from sqlglot import exp, select

from dal.model import RATINGS
from dal.model.languages import prefixes_of
from features.analytics.questions import MovedBy, MoversQuestion, Period, TrendQuestion

FIRST, END = datetime(1970, 1, 5, tzinfo=UTC), datetime(2105, 12, 31, tzinfo=UTC)
"""ClickHouse tables contain the comments from FIRST (included) to END (excluded). Every ClickHouse
release supports these dates. FIRST is the first Monday after 1970-01-01: a trend by weeks also
needs the Monday before each comment, and ClickHouse supports no earlier Monday."""

_STARTS = {"DAY": "toStartOfDay", "WEEK": "toMonday", "MONTH": "toStartOfMonth"}

_SECOND = "%Y-%m-%d %H:%M:%S"

COLUMNS = ("product_id", "rating", "language", "created_at")

_PRODUCT, _RATING, _LANGUAGE, _CREATED = map(exp.column, COLUMNS)


def comments(base: str) -> exp.Subquery:
    """Return a subquery that selects all comments in the table ``base``."""
    return select(*COLUMNS).from_(base).subquery("comments")


def trend(
    relation: exp.Subquery,
    question: TrendQuestion,
    period: tuple[datetime | None, datetime | None],
) -> exp.Select:
    """Return the SQL of a trend. ``period`` is the time of the question's span.

    The SQL returns one row for each period with comments: the start of the period, and the count of
    each rating.
    """
    start = exp.DateTrunc(  # type: ignore[no-untyped-call]
        this=_CREATED.copy(), unit=exp.Literal.string(question.span.interval)
    )
    counts = [_sum(_RATING.eq(rating), 1).as_(f"count_{rating}") for rating in RATINGS]
    query = (
        select(start.as_("period"), *counts)
        .from_(relation)
        .where(_PRODUCT.eq(exp.Literal.string(question.product_id)), *_within(*period))
        .group_by(start.copy())
    )
    if question.languages is None:
        return query
    prefixes = sorted(prefixes_of(question.languages))
    wanted: list[exp.Expression] = [_LANGUAGE.eq(exp.Literal.string(one)) for one in prefixes]
    wanted += [_LANGUAGE.like(f"{one}-%") for one in prefixes]
    return query.where(exp.or_(*wanted) if wanted else "1 = 0")


def movers(
    relation: exp.Subquery, question: MoversQuestion, periods: tuple[Period, Period]
) -> exp.Select:
    """Return the SQL of the products that changed most between ``periods``.

    Each row has the product's id. It also has the number of comments and the sum of their ratings
    for both periods, for example ``earlier_count`` and ``earlier_stars``.
    """
    within = [exp.and_(*_within(one.start, one.end)) for one in periods]
    names = ("earlier", "later")
    sums = [
        _sum(inside, value).as_(f"{name}_{of}")
        for name, inside in zip(names, within, strict=True)
        for of, value in (("count", 1), ("stars", _RATING))
    ]
    totals = (
        select(_PRODUCT.copy(), *sums)
        .from_(relation)
        .where(exp.or_(*within))
        .group_by(_PRODUCT.copy())
        .subquery("totals")
    )
    count, stars, later_count, later_stars = (exp.column(one.alias) for one in sums)
    if question.by is MovedBy.VOLUME:
        move: exp.Expression = exp.Abs(this=later_count - count)
        enough: list[exp.Expression] = []
    else:
        # The difference of two averages is computed with a single division of integers, so that
        # equal changes give equal results on every engine.
        crosswise = exp.Abs(this=exp.paren(later_stars * count) - exp.paren(stars * later_count))
        move = exp.Div(this=crosswise, expression=exp.paren(later_count * count))
        enough = [one >= question.at_least for one in (count, later_count)]
    moved = select(_PRODUCT.copy(), *[one.alias for one in sums], move.as_("move")).from_(totals)
    return (
        select(_PRODUCT.copy(), *[one.alias for one in sums])
        .from_(moved.where(*enough).subquery("moved"))
        .where(exp.column("move") > 0)
        .order_by(exp.column("move").desc(), _PRODUCT.copy())
        .limit(question.limit)
    )


def _sum(condition: exp.Condition, value: int | exp.Expression) -> exp.Sum:
    counted = exp.Case().when(condition.copy(), exp.convert(value, copy=True)).else_("0")
    return exp.Sum(this=counted)


def _within(start: datetime | None, end: datetime | None) -> list[exp.Expression]:
    bounds: list[exp.Expression] = [] if start is None else [_instant(start) <= _CREATED]
    return bounds if end is None else [*bounds, _instant(end) > _CREATED]


def _instant(instant: datetime) -> exp.Cast:
    text = instant.replace(tzinfo=None, microsecond=0).isoformat(" ")
    return exp.cast(exp.Literal.string(text), exp.DataType.Type.TIMESTAMP)


def duckdb(question: exp.Query) -> str:
    """Return a question as DuckDB's SQL."""
    return question.sql(dialect="duckdb")


def clickhouse(question: exp.Query) -> str:
    """Return a question as ClickHouse's SQL.

    The SQL uses only functions that all ClickHouse releases since 18.16 have.
    """
    return question.transform(_older).sql(dialect="clickhouse")


def _older(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.DateTrunc):
        return exp.Anonymous(this=_STARTS[node.unit.name], expressions=[node.this])
    if isinstance(node, exp.Cast) and node.is_type(exp.DataType.Type.TIMESTAMP):
        # ClickHouse supports only some dates, so an instant before FIRST becomes FIRST, and an
        # instant after END becomes END. The result stays the same, because the tables contain only
        # comments from FIRST to END. The texts have equal lengths, so they sort like the instants.
        text = min(max(node.this.name, f"{FIRST:{_SECOND}}"), f"{END:{_SECOND}}")
        return exp.Anonymous(
            this="toDateTime", expressions=[*map(exp.Literal.string, (text, "UTC"))]
        )
    if isinstance(node, exp.Abs):
        return exp.Anonymous(
            this="abs", expressions=[node.this]
        )  # sqlglot writes functions in upper case, but ClickHouse's names are case-sensitive
    if isinstance(node, exp.Ordered):
        node.set("nulls_first", None)
    return node
