"""The mutations of comments: permissions, payloads, and stored items."""

from typing import Any

import pytest
from strawberry.relay.utils import to_base64

from dal.model import CommentSource
from dal.query.pagination import Slice
from dal.repositories.comments import CommentRepository, Selection
from tests.schema.conftest import ANN, BOB, MODERATOR, Answer, Run
from tests.strategies import ORDINARY

ADD = """
mutation ($input: AddCommentInput!) {
  addComment(input: $input) {
    comment { id commentId username rating language title text createdAt product { productId } }
    commentEdge { cursor node { commentId } }
    userErrors { field message code }
  }
}
"""
UPDATE = """
mutation ($input: UpdateCommentInput!) {
  updateComment(input: $input) {
    comment { id commentId rating language title text createdAt updatedAt }
    commentEdge { cursor }
    userErrors { field message code }
  }
}
"""
DELETE = """
mutation ($input: DeleteCommentInput!) {
  deleteComment(input: $input) {
    deletedId
    product { productId statistics { total average histogram { rating count } } }
    userErrors { field message code }
  }
}
"""
NEW = {"productId": "42", "rating": 4, "language": "EN-us", "title": "Good", "text": "It boils."}


async def added(run: Run, **changes: object) -> dict[str, Any]:
    answer = await run(ADD, ANN, input={**NEW, **changes})
    assert answer["errors"] == []
    assert answer["data"]["addComment"]["userErrors"] == []
    comment: dict[str, Any] = answer["data"]["addComment"]["comment"]
    return comment


def codes(answer: Answer) -> list[str]:
    return [error["extensions"]["code"] for error in answer["errors"]]


async def test_the_author_of_an_added_comment_is_the_viewer(run: Run) -> None:
    answer = await run(ADD, ANN, input=NEW)
    payload = answer["data"]["addComment"]
    comment = payload["comment"]
    assert comment["username"] == "ann"
    assert comment["language"] == "en-US"
    assert comment["product"] == {"productId": "42"}
    assert payload["commentEdge"]["node"] == {"commentId": comment["commentId"]}


async def test_the_cursor_of_a_new_edge_is_its_position_in_the_list(run: Run) -> None:
    older = await added(run)
    answer = await run(ADD, ANN, input=NEW)
    cursor = answer["data"]["addComment"]["commentEdge"]["cursor"]
    page = await run(
        'query ($after: String) { product(productId: "42")'
        " { comments(after: $after) { nodes { commentId } } } }",
        after=cursor,
    )
    nodes = page["data"]["product"]["comments"]["nodes"]
    assert nodes == [{"commentId": older["commentId"]}]


async def stored(comments: CommentRepository) -> int:
    return len((await comments.page(Selection("42"), Slice(100))).edges)


async def test_an_idempotency_key_used_for_another_comment_is_a_user_error(run: Run) -> None:
    await added(run, idempotencyKey="once")
    answer = await run(ADD, ANN, input={**NEW, "text": "Other", "idempotencyKey": "once"})
    payload = answer["data"]["addComment"]
    assert payload["comment"] is None
    assert [error["code"] for error in payload["userErrors"]] == ["IDEMPOTENCY_KEY_REUSED"]


async def test_an_update_moves_the_comment_between_filtered_lists_and_keeps_its_position(
    run: Run,
) -> None:
    comment = await added(run)
    answer = await run(UPDATE, ANN, input={"id": comment["id"], "rating": 1, "language": "de"})
    changed = answer["data"]["updateComment"]["comment"]
    assert (changed["rating"], changed["language"]) == (1, "de")
    assert (changed["title"], changed["text"]) == (NEW["title"], NEW["text"])
    assert changed["createdAt"] == comment["createdAt"]
    assert changed["updatedAt"] > comment["createdAt"]
    counts = await run(
        '{ product(productId: "42") {'
        ' old: comments(rating: 4, language: "en-US") { nodes { id } }'
        ' new: comments(rating: 1, language: "de") { nodes { id } } } }'
    )
    assert counts["data"]["product"] == {
        "old": {"nodes": []},
        "new": {"nodes": [{"id": comment["id"]}]},
    }


@pytest.mark.parametrize(
    ("incentive", "shown"), [("A voucher", "A voucher"), ("", None), (None, None)]
)
async def test_a_customer_neither_states_nor_changes_the_source_and_the_incentive(
    run: Run, comments: CommentRepository, incentive: str | None, shown: str | None
) -> None:
    fields = "source incentivized incentive"
    select = f"comment {{ id {fields} }} userErrors {{ code }}"
    new = await run(
        f"mutation ($input: AddCommentInput!) {{ addComment(input: $input) {{ {select} }} }}",
        ANN,
        input=NEW,
    )
    comment = new["data"]["addComment"]["comment"]
    assert comment.pop("id")
    assert comment == {"source": "SITE", "incentivized": False, "incentive": None}
    for name, value in (("source", "INVITATION"), ("incentive", ""), ("incentivized", False)):
        for mutation, text, base in (("ADD", ADD, NEW), ("UPDATE", UPDATE, {"id": "x"})):
            refused = await run(text, ANN, input={**base, name: value})
            assert codes(refused), (mutation, name)
    invited = ORDINARY._replace(
        comment_id="invited",
        username="ann",
        source=CommentSource.INVITATION,
        incentive=incentive,
    )
    await comments.add(invited)
    edit = {"id": to_base64("Comment", "invited"), "text": "Edited."}
    edited = await run(
        f"mutation ($input: UpdateCommentInput!) {{ updateComment(input: $input) {{ {select} }} }}",
        ANN,
        input=edit,
    )
    comment = edited["data"]["updateComment"]["comment"]
    kept = {"source": "INVITATION", "incentivized": incentive is not None, "incentive": shown}
    assert comment == {"id": edit["id"], **kept}


async def test_a_deleted_comment_is_not_in_its_lists(run: Run) -> None:
    comment = await added(run)
    answer = await run(DELETE, ANN, input={"id": comment["id"]})
    shown = answer["data"]["deleteComment"]
    assert (shown["deletedId"], shown["userErrors"]) == (comment["id"], [])
    product = shown["product"]
    statistics = product["statistics"]
    assert (product["productId"], statistics["total"], statistics["average"]) == ("42", 0, None)
    assert [one["count"] for one in statistics["histogram"]] == [0] * 5
    again = await run(DELETE, ANN, input={"id": comment["id"]})
    assert again["data"]["deleteComment"]["deletedId"] is None
    assert [e["code"] for e in again["data"]["deleteComment"]["userErrors"]] == ["NOT_FOUND"]


@pytest.mark.parametrize(("operation", "fields"), [(UPDATE, {"rating": 1}), (DELETE, {})])
async def test_only_the_author_and_moderators_may_change_a_comment(
    run: Run, operation: str, fields: dict[str, object]
) -> None:
    comment = await added(run)
    given = {"id": comment["id"], **fields}
    assert codes(await run(operation, None, input=given)) == ["UNAUTHENTICATED"]
    assert codes(await run(operation, BOB, input=given)) == ["FORBIDDEN"]
    assert codes(await run(operation, MODERATOR, input=given)) == []


async def test_adding_a_comment_requires_a_user(run: Run, comments: CommentRepository) -> None:
    answer = await run(ADD, None, input=NEW)
    assert answer["data"] == {"addComment": None}
    assert codes(answer) == ["UNAUTHENTICATED"]
    assert await stored(comments) == 0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rating", 0),
        ("rating", 6),
        ("language", "english"),
        ("language", ""),
        ("title", "x" * 201),
        ("text", "x" * 10_001),
        ("text", "half \ud83d"),
        ("productId", ""),
        ("productId", "p" * 2_000),
        ("productId", "a\nb"),
        ("idempotencyKey", ""),
    ],
)
async def test_the_error_of_an_invalid_input_has_its_field(
    run: Run, comments: CommentRepository, field: str, value: object
) -> None:
    answer = await run(ADD, ANN, input={**NEW, field: value})
    assert answer["errors"] == []
    (error,) = answer["data"]["addComment"]["userErrors"]
    assert (error["field"], error["code"]) == (["input", field], "BAD_ARGUMENT")
    assert field in error["message"]
    assert await stored(comments) == 0


@pytest.mark.parametrize(
    ("operation", "given"),
    [
        (ADD, {"productId": "", "rating": 9, "language": "x y", "title": "x" * 201, "text": " "}),
        (UPDATE, {"id": "x", "rating": 9, "language": "x y", "title": "x" * 201, "text": " "}),
    ],
    ids=["addComment", "updateComment"],
)
async def test_all_errors_of_a_form_are_returned_at_once(
    run: Run, operation: str, given: dict[str, object]
) -> None:
    answer = await run(operation, ANN, input=given)
    (payload,) = answer["data"].values()
    assert payload["comment"] is None
    assert [error["field"] for error in payload["userErrors"]] == [["input", one] for one in given]
    assert {error["code"] for error in payload["userErrors"]} == {"BAD_ARGUMENT"}


@pytest.mark.parametrize("text", ["x" * 10_000, "\U0001f600" * 10_000, "<script>", "a\r\nb"])
async def test_any_valid_text_is_returned_unchanged(run: Run, text: str) -> None:
    assert (await added(run, text=text))["text"] == text


async def test_a_text_needs_a_visible_character(run: Run, comments: CommentRepository) -> None:
    assert (await added(run, text="a\0\u202eb"))["text"] == "ab"
    answer = await run(ADD, ANN, input={**NEW, "text": " \u202e\u200b\n"})
    (error,) = answer["data"]["addComment"]["userErrors"]
    assert (error["field"], error["code"]) == (["input", "text"], "BAD_ARGUMENT")
    assert await stored(comments) == 1


async def test_an_id_of_another_type_is_refused(run: Run) -> None:
    for bad in ("nonsense", "UHJvZHVjdDo0Mg==", ""):
        answer = await run(DELETE, ANN, input={"id": bad})
        (error,) = answer["data"]["deleteComment"]["userErrors"]
        assert (error["field"], error["code"]) == (["input", "id"], "BAD_ARGUMENT")
