"""Rules that every declaration of an entity must follow."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.dynamodb.table import Table
from dal.entities import ENTITIES
from dal.entities.comment import COMMENT
from dal.entities.order import ORDER
from dal.entities.organization import ORGANIZATION_USER
from dal.entities.product import PRODUCT_DETAILS
from dal.entities.standing import STANDING, Standing, standing_in
from dal.entities.submission import SUBMISSION
from dal.entities.ticket import TICKET
from dal.model import OrganizationUser, UserType
from dal.model.standings import Block
from dal.table.entity import Entity, Row
from dal.table.index import Index, QueryRequest
from dal.table.items import Item
from dal.table.ranges import Range
from tests.strategies import (
    FEW,
    MORE,
    comments,
    details,
    identifiers,
    instants,
    orders,
    organization_users,
    submissions,
    tickets,
)

standings = identifiers.flatmap(
    lambda name: st.builds(
        Standing,
        username=st.just(name),
        block=st.none()
        | st.builds(
            Block,
            username=st.just(name),
            reason=st.just("Spam"),
            at=instants,
            by=st.none() | identifiers,
        ),
        erasing=st.none() | st.just({"comments": "delete"}),
    )
)
BY_KEY: dict[int, st.SearchStrategy[Any]] = {id(STANDING): standings}
"""Entities that are read by key, because only some of their items are in an index."""

LISTED = [entity for entity in ENTITIES if id(entity) not in BY_KEY]

STRATEGIES: dict[int, st.SearchStrategy[Any]] = {
    id(COMMENT): comments,
    id(SUBMISSION): submissions,
    id(ORDER): orders,
    id(ORGANIZATION_USER): organization_users,
    id(PRODUCT_DETAILS): st.tuples(identifiers, details),
    id(TICKET): tickets,
}
DRAWN = st.sampled_from(LISTED).flatmap(
    lambda entity: st.tuples(st.just(entity), STRATEGIES[id(entity)])
)


def lists(entity: Entity[Any], model: Any) -> list[Index]:
    """Return the indexes that contain the item of an object."""
    values = entity.values(model)
    return [
        index
        for index in entity.indexes
        if index.holds(values) and entity.positions[index.order](model) is not None
    ]


def row_of(entity: Entity[Any], index: Index, model: Any, item: Item) -> Row:
    """Return a row as a segment of the index yields it: with the values of the index's
    partition.
    """
    values = entity.values(model)
    fixed = {name: values[name] for name in index.fields}
    position = entity.positions[index.order](model)
    assert position is not None
    return Row(position, item, fixed)


@MORE
@given(DRAWN)
def test_decode_undoes_encode(drawn: tuple[Entity[Any], Any]) -> None:
    entity, model = drawn
    assert entity.decode(entity.encode(model)) == model


@MORE
@given(standings)
def test_items_that_are_read_by_key_have_the_whole_object(standing: Standing) -> None:
    assert standing_in(STANDING.encode(standing)) == standing


@MORE
@given(DRAWN)
def test_a_row_of_any_index_contains_the_whole_object(
    drawn: tuple[Entity[Any], Any],
) -> None:
    entity, model = drawn
    item = entity.encode(model)
    for index in lists(entity, model):
        projected = {name: item[name] for name in ("PK", "SK", *index.projects)}
        shown = item if index.name is None else projected  # an index's rows lack its keys
        assert entity.decode_row(row_of(entity, index, model, shown)) == model


@MORE
@given(DRAWN, st.data())
def test_a_conditional_update_notices_every_change(
    drawn: tuple[Entity[Any], Any], data: st.DataObject
) -> None:
    entity, model = drawn
    other = data.draw(STRATEGIES[id(entity)])
    one, two = entity.encode(model), entity.encode(other)
    versions = [{name: item.get(name) for name in entity.compared} for item in (one, two)]
    if {**one, "PK": 0, "SK": 0} != {**two, "PK": 0, "SK": 0}:
        assert versions[0] != versions[1]


def test_attributes_outside_all_indexes_are_compared_too() -> None:
    admin = OrganizationUser("0", "2", UserType.ADMIN)
    one, two = (
        ORGANIZATION_USER.unchanged(ORGANIZATION_USER.encode(user))
        for user in (admin, replace(admin, type=UserType.MEMBER))
    )
    assert one != two


@pytest.mark.parametrize("entity", LISTED, ids=lambda entity: entity.indexes[0].entity)
def test_the_first_index_contains_every_item(entity: Entity[Any]) -> None:
    whole = entity.indexes[0]
    assert not whole.covers
    assert whole.shards == 1
    assert not whole.prefix


@FEW
@given(drawn=DRAWN)
async def test_indexes_of_the_engine_project_the_declared_attributes(
    each_table: Table, drawn: tuple[Entity[Any], Any]
) -> None:
    entity, model = drawn
    item = entity.encode(model)
    await each_table.put_many([item])
    for index in lists(entity, model):
        answer = await each_table.query(
            QueryRequest(
                index,
                item[index.partition_key]["S"],
                Range(low=item[index.sort_key]["S"], high=item[index.sort_key]["S"]),
                consistent=index.consistent,
            )
        )
        assert model in [
            entity.decode_row(row_of(entity, index, model, row)) for row in answer.items
        ]
