"""Payloads of writes of comments have the product, with counts that include the write."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from dal.dynamodb.table import Table
from dal.model import RATINGS
from tests.calls import calls_of
from tests.schema.conftest import MERCHANT, Run

_COUNTS = "product { productId statistics { total histogram { rating count } } }"
_COMMENT = f"comment {{ id }} {_COUNTS}"
READ = '{ product(productId: "%s") { comments(first: 3) { totalCount nodes { id } } } }'


def counted(ratings: dict[str, int]) -> dict[str, Any]:
    """Return the statistics of a product whose comments have these ratings."""
    rated = [*ratings.values()]
    histogram = [{"rating": one, "count": rated.count(one)} for one in reversed(RATINGS)]
    return {"total": len(rated), "histogram": histogram}


class Model:
    """The comments of two products: their ratings by global id."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.products: dict[str, dict[str, int]] = {"42": {}, "4/3": {}}

    def mutation(self) -> tuple[str, str, str | None, int | None]:
        """Return a mutation, its product, and the comment's id and new rating."""
        product = self.chance.choice([*self.products])
        rating, there = self.chance.choice(RATINGS), [*self.products[product]]
        kinds = ["add", "update", "delete", "reply", "removeReply"] if there else ["add"]
        kind = self.chance.choice(["add", *kinds])
        if kind == "add":
            given = f'productId: "{product}", rating: {rating}, language: "en", text: "Good"'
            return f"addComment(input: {{{given}}}) {{ {_COMMENT} }}", product, None, rating
        one = self.chance.choice(there)
        match kind:
            case "update":
                text = f'updateComment(input: {{id: "{one}", rating: {rating}}}) {{ {_COMMENT} }}'
                return text, product, one, rating
            case "delete":
                text = f'deleteComment(input: {{id: "{one}"}}) {{ {_COUNTS} }}'
                return text, product, one, None
            case "reply":
                name, given = "replyToComment", f'id: "{one}", text: "Thanks"'
            case _:
                name, given = "removeReply", f'id: "{one}"'
        text = f"{name}(input: {{{given}}}) {{ {_COMMENT} }}"
        return text, product, one, self.products[product][one]

    def document(self) -> Iterator[tuple[str, str, str | None, int | None]]:
        """Yield one to three mutations of different comments."""
        met = set[str | None]()
        for _ in range(self.chance.randint(1, 3)):
            one = self.mutation()
            if one[2] is None or one[2] not in met:
                met.add(one[2])
                yield one

    def apply(self, product: str, comment_id: str, rating: int | None) -> None:
        if rating is None:
            del self.products[product][comment_id]
        else:
            self.products[product][comment_id] = rating


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.soak) for n in range(1, 9))]
)
async def test_the_counts_of_a_payload_include_its_write_and_all_earlier_ones(
    run_each: Run, seed: int
) -> None:
    """A request has up to three mutations. Reads before them fill all caches of counts."""
    model = Model(seed)
    for _ in range(25):
        for product in model.products:
            await run_each(READ % product)
        sent = [*model.document()]
        text = " ".join(f"m{n}: {one[0]}" for n, one in enumerate(sent))
        answer = await run_each(f"mutation {{ {text} }}", MERCHANT)
        assert answer["errors"] == []
        for number, (_, product, comment_id, rating) in enumerate(sent):
            payload = answer["data"][f"m{number}"]
            model.apply(product, comment_id or payload["comment"]["id"], rating)
            assert payload["product"] == {
                "productId": product,
                "statistics": counted(model.products[product]),
            }


@pytest.mark.parametrize("selected", ["productId", "productId statistics { total }"])
async def test_a_payload_reads_counts_only_if_they_are_selected(
    run: Run, table: Table, selected: str
) -> None:
    calls = calls_of(table)
    given = 'productId: "42", rating: 5, language: "en", text: "Good"'
    answer = await run(
        f"mutation {{ addComment(input: {{{given}}}) {{ product {{ {selected} }} }} }}", MERCHANT
    )
    assert answer["errors"] == []
    written = next(n for n, call in enumerate(calls) if call.operation == "TransactWriteItems")
    reads = [one.operation for one in calls[written + 1 :]]
    assert reads == (["Query"] if "statistics" in selected else [])
    assert all(one.arguments["ConsistentRead"] for one in calls[written + 1 :])


@pytest.mark.parametrize(
    "text",
    [
        f'addComment(input: {{productId: "", rating: 9, language: "", text: ""}}) {{ {_COUNTS} }}',
        f'updateComment(input: {{id: "Q29tbWVudDox", rating: 1}}) {{ {_COUNTS} }}',
        f'deleteComment(input: {{id: "Q29tbWVudDox"}}) {{ {_COUNTS} }}',
        f'replyToComment(input: {{id: "Q29tbWVudDox", text: "Thanks"}}) {{ {_COUNTS} }}',
    ],
)
async def test_a_payload_with_errors_has_no_product(run: Run, text: str) -> None:
    answer = await run(f"mutation {{ m: {text} }}", MERCHANT)
    assert answer == {"data": {"m": {"product": None}}, "errors": []}
