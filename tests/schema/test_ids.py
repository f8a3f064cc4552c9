"""Ids in arguments and inputs: global ids, and the shop's own ids."""

from tests.schema.conftest import ANN, Run


async def test_one_variable_serves_every_field_with_an_id(run: Run) -> None:
    answer = await run(
        """query ($id: ID!) {
          product(productId: $id) { productId }
          products(productIds: [$id]) { productId }
          comment(commentId: $id) { commentId }
          order(orderId: $id) { orderId }
          ticket(ticketId: $id) { ticketId }
        }""",
        ANN,
        id="42",
    )
    assert answer["errors"] == []
    assert answer["data"] == {
        "product": {"productId": "42"},
        "products": [{"productId": "42"}],
        "comment": None,
        "order": None,
        "ticket": None,
    }


async def test_an_id_may_be_a_whole_number(run: Run) -> None:
    answer = await run("{ product(productId: 42) { productId } }")
    assert answer["data"] == {"product": {"productId": "42"}}
