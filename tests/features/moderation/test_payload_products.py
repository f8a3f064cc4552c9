"""Payloads of decisions, and of edits that wait for a moderator, have the product's new counts."""

from typing import Any

import pytest
from strawberry import Schema
from strawberry.relay.utils import to_base64

from dal.stores import Stores
from dal.writes.comments import version
from features.moderation.publication import ModeratedPublication
from features.moderation.words import Moderation
from resolvers.context import Context, Viewer
from schema.build import build_schema
from tests.putting import put_comments
from tests.schema.conftest import ANN, MODERATOR
from tests.strategies import comment

RULE = Moderation(before_publishing=True)
ROWS = [comment(f"c{n}", username="ann", product_id=str(40 + n // 3)) for n in range(6)]
COUNTS = "productId statistics { total }"
SEEN = f'seen: "{version(ROWS[0]).isoformat()}"'


@pytest.fixture(scope="module")
def schema() -> Schema:
    return build_schema()


async def mutated(schema: Schema, stores: Stores, text: str, viewer: Viewer = MODERATOR) -> Any:
    """Return the payload of a mutation on a server on which every edit waits for a moderator."""
    context = Context(
        viewer, stores, services={Moderation: RULE}, publication=ModeratedPublication(RULE)
    )
    result = await schema.execute(f"mutation {{ payload: {text} }}", context_value=context)
    assert result.errors is None
    assert result.data is not None
    return result.data["payload"]


def named(number: int) -> str:
    return f'id: "{to_base64("Comment", f"c{number}")}"'


def of(product: str, total: int) -> dict[str, object]:
    return {"productId": product, "statistics": {"total": total}}


async def test_a_decision_returns_the_product_with_its_new_counts(
    schema: Schema, stores: Stores
) -> None:
    await put_comments(stores.comments, ROWS)
    reason = 'reason: "No."'
    reject = f"rejectComment(input: {{{named(0)}, {SEEN}, {reason}}}) {{ product {{ {COUNTS} }} }}"
    assert await mutated(schema, stores, reject) == {"product": of("40", 2)}
    approve = f"approveComment(input: {{{named(0)}, {SEEN}}}) {{ product {{ {COUNTS} }} }}"
    assert await mutated(schema, stores, approve) == {"product": of("40", 3)}
    edit = f'updateComment(input: {{{named(0)}, text: "New"}})'
    held = await mutated(
        schema, stores, f"{edit} {{ comment {{ id }} product {{ {COUNTS} }} }}", ANN
    )
    assert held == {"comment": None, "product": of("40", 2)}
    wrong = reject.replace(named(0), named(9))
    assert await mutated(schema, stores, wrong) == {"product": None}


async def test_decisions_return_each_product_once(schema: Schema, stores: Stores) -> None:
    await put_comments(stores.comments, ROWS)
    decisions = ", ".join(
        f'{{{named(number)}, {SEEN}, verdict: REJECT, reason: "No."}}' for number in (0, 1, 3, 9)
    )
    decide = f"decideComments(input: {{decisions: [{decisions}]}})"
    payload = await mutated(schema, stores, f"{decide} {{ ids products {{ {COUNTS} }} }}")
    assert len(payload["ids"]) == 3
    assert payload["products"] == [of("40", 1), of("41", 2)]
