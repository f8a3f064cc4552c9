"""The number of questions that an operation asks is predicted."""

from graphql import parse

from schema.build import build_schema
from schema.execution.cost import predicted
from schema.execution.selections import operations_of

SCHEMA = build_schema()


def test_each_product_of_a_list_costs_its_own_questions() -> None:
    document = parse('{ products(productIds: ["a", "b", "c"]) { trend(interval: DAY) { asOf } } }')
    (operation,) = operations_of(document)
    assert predicted(SCHEMA._schema, document, operation, SCHEMA.facts, {}).questions == 3
