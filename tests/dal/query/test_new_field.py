"""A new filter field: pages are exact with or without an index for the field."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.entities.comment import ALL, COMMENT, comment_position
from dal.model import RATINGS, Comment
from dal.query.errors import NoIndexError, TooManySegmentsError
from dal.query.plan import Filters, Query, access_paths
from dal.table.entity import Entity
from dal.table.index import BY_DATE, Index
from tests.dal.known import KnownProduct
from tests.dal.paging import PRODUCT, dense
from tests.strategies import LANGUAGES, TIES

MOODS = ("glad", "so-so", "a/b#")


def mood_of(comment: Comment) -> str:
    return comment.title


def moody(*, own_index: bool, carried: bool) -> Entity[Comment]:
    """Return the entity of comments with a mood: in an index by mood, in the rows of
    other indexes, or both.
    """
    indexes = COMMENT.indexes
    if carried:
        indexes = tuple(replace(one, projects=(*one.projects, "mood")) for one in indexes)
    if own_index:
        by_mood = Index(
            "byMood", "GSI6PK", "GSISK", "PRODUCT", ("product", "mood"), BY_DATE, (), ALL.projects
        )
        indexes = (*indexes, by_mood)
    return replace(
        COMMENT,
        fields={**COMMENT.fields, "mood": mood_of},
        indexes=indexes,
        attributes=lambda one: COMMENT.attributes(one) | {"mood": {"S": mood_of(one)}},
    )


ENTITIES = [
    moody(own_index=own_index, carried=carried)
    for own_index, carried in [(True, False), (False, True), (True, True)]
]
comments = st.lists(
    st.builds(
        dense,
        comment_id=st.uuids().map(str),
        created_at=st.sampled_from(TIES),
        rating=st.sampled_from(RATINGS),
        language=st.sampled_from(LANGUAGES),
        title=st.sampled_from(MOODS),
    ),
    unique_by=comment_position,
    max_size=30,
)
filters = st.fixed_dictionaries(
    {"product": st.just(frozenset({PRODUCT})), "mood": st.frozensets(st.sampled_from(MOODS))},
    optional={
        "rating": st.frozensets(st.sampled_from("12345")),
        "language": st.frozensets(st.sampled_from(LANGUAGES)),
    },
)


def listed(rows: list[Comment], wanted: Filters, entity: Entity[Comment]) -> list[Comment]:
    passing = [
        one
        for one in rows
        if all(entity.fields[name](one) in values for name, values in wanted.items())
    ]
    return sorted(passing, key=comment_position, reverse=True)


@given(
    entity=st.sampled_from(ENTITIES),
    rows=comments,
    asked=st.lists(filters, min_size=1, max_size=3),
    size=st.integers(1, 7),
    backward=st.booleans(),
    most_rows=st.sampled_from([None, 2]),
)
async def test_pages_filtered_by_an_uncounted_field_are_exact(
    entity: Entity[Comment],
    rows: list[Comment],
    asked: list[Filters],
    size: int,
    backward: bool,
    most_rows: int | None,
) -> None:
    """Each list is read twice. The second read uses the row locations of the first."""
    product = KnownProduct(entity, rows, most_rows=most_rows)
    by_rating = [{name: one[name] for name in one if name != "mood"} for one in asked]
    for wanted in [*asked, *by_rating, *asked]:
        walked = await product.walk(Query("?", wanted), size, backward=backward)
        assert walked == listed(rows, wanted, entity)


def test_a_filter_by_a_field_that_no_index_contains_is_refused() -> None:
    entity = replace(COMMENT, fields={**COMMENT.fields, "mood": mood_of})
    wanted = {"product": frozenset({PRODUCT}), "mood": frozenset({"glad"})}
    with pytest.raises(NoIndexError, match="mood"):
        access_paths(entity.indexes, Query("?", wanted))


def test_an_index_with_too_many_ranges_is_refused_if_no_other_index_can_answer() -> None:
    indexes = moody(own_index=False, carried=True).indexes
    glad = {"product": frozenset({PRODUCT}), "mood": frozenset({"glad"})}
    wanted = {**glad, "language": frozenset(f"l{number}" for number in range(61))}
    assert [path.index for path in access_paths(indexes, Query("?", wanted))] == [indexes[0]]
    products = {**glad, "product": frozenset(f"p{number}" for number in range(61))}
    with pytest.raises(TooManySegmentsError, match="61 partitions"):
        access_paths(indexes, Query("?", products))


def test_of_paths_with_equal_residual_filters_the_one_with_the_fewest_ranges_is_first() -> None:
    wanted = {"product": {PRODUCT}, "mood": {"glad"}, "language": {"de", "en"}}
    query = Query("?", {name: frozenset(values) for name, values in wanted.items()})
    paths = access_paths(moody(own_index=True, carried=True).indexes, query)
    assert [path.index.name for path in paths] == ["byMood", "byLang", "all"]


def test_conditional_updates_compare_every_field_that_rows_contain() -> None:
    assert "mood" in moody(own_index=False, carried=True).compared
