"""With --allow-empty-text, a comment may be a rating without a text."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp

from dal.dynamodb.table import Table
from pages.comment import size_message
from tests.pages.conftest import COMMENT, client_of, jwt_of, opened, stored
from tests.server.applications import app_of

TYPED = {"rating": "4", "language": "en", "title": "", "text": ""}
WRITTEN = "comment { id text } submission { id text } userErrors { code field }"
ADD = f"mutation($input: AddCommentInput!) {{ written: addComment(input: $input) {{ {WRITTEN} }} }}"
UPDATE = ADD.replace("add", "update").replace("Add", "Update")
REFUSED = [{"code": "BAD_ARGUMENT", "field": ["input", "text"]}]


@pytest.fixture(scope="module")
def lenient(table: Table, tmp_path_factory: pytest.TempPathFactory) -> ASGIApp:
    """An application that allows empty texts. Comments with the word "spam" wait for review."""
    words: Path = tmp_path_factory.mktemp("words") / "words.txt"
    words.write_text("spam\n")
    return app_of(table, allow_empty_text=True, moderation="words", moderation_words=words)


@pytest.fixture
async def bea(lenient: ASGIApp) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(lenient, jwt_of("bea")) as client:
        yield client


async def written(client: httpx.AsyncClient, document: str, **given: object) -> dict[str, Any]:
    answer = await client.post(
        "/graphql",
        json={"query": document, "variables": {"input": given}},
        headers={"Authorization": f"Bearer {client.cookies['marginalia_jwt']}"},
    )
    payload: dict[str, Any] = answer.json()["data"]["written"]
    return payload


NEW = {"productId": "alone", "rating": 4, "language": "en"}


@pytest.mark.parametrize("blank", ["", " \u200b\n"], ids=["empty", "blank"])
async def test_the_api_accepts_an_empty_text_only_by_setting(
    ann: httpx.AsyncClient, bea: httpx.AsyncClient, blank: str
) -> None:
    added = await written(bea, ADD, **NEW, text=blank)
    assert (added["comment"]["text"], added["userErrors"]) == ("", [])
    assert (await written(ann, ADD, **NEW, text=blank))["userErrors"] == REFUSED


@pytest.mark.parametrize("nothing", ["", None], ids=["empty", "null"])
async def test_an_empty_string_or_null_removes_a_text_only_by_setting(
    ann: httpx.AsyncClient, bea: httpx.AsyncClient, nothing: str | None
) -> None:
    kept = (await written(ann, ADD, **NEW, text="It boils."))["comment"]["id"]
    assert (await written(ann, UPDATE, id=kept, text=nothing))["userErrors"] == REFUSED
    held = (await written(bea, ADD, **NEW, text="Spam!"))["submission"]["id"]
    cleared = await written(bea, UPDATE, id=held, text=nothing)
    assert (cleared["submission"], cleared["comment"]["text"]) == (None, "")
    titled = await written(bea, ADD, **NEW, title="Spam!", text="")
    assert titled["submission"]["text"] == "", "a title is reviewed without a text, too"


async def test_the_form_requires_a_text_unless_the_setting_is_on(
    ann: httpx.AsyncClient, bea: httpx.AsyncClient
) -> None:
    labels, answers = [], []
    for visitor in (ann, bea):
        page = await opened(visitor, "/products/stars")
        (area,) = [given for _, given in page.elements if given.get("id") == "text"]
        labels.append(("required" in area, page.text.count("optional")))
        hidden = {"form_key": page.fields()["form_key"]}
        answers.append(await visitor.post("/products/stars", data=TYPED | hidden))
    assert labels == [(True, 2), (False, 3)], "a title and photos are optional on both"
    refused, accepted = answers
    assert (refused.status_code, size_message("", 1) in refused.text) == (422, True)
    assert accepted.status_code == 303
    address = accepted.headers["location"].partition("?")[0]
    edit = TYPED | hidden | {"action": "save", "rating": "5"}
    assert (await bea.post(address, data=edit)).status_code == 303
    page = await opened(bea, address)
    assert page.linked["reviewRating"]["ratingValue"] == 5


async def test_pages_and_crawlers_show_ratings_without_text(
    client: httpx.AsyncClient, table: Table
) -> None:
    alone = COMMENT._replace(
        comment_id="s1", product_id="starred", username="stella", title="", text=""
    )
    await stored(table, [alone])
    for address in ("/products/starred", "/comments/s1", "/authors/stella"):
        page = await opened(client, address)
        assert "4 out of 5 stars" in str(page.elements)
        shown = [given for _, given in page.elements if given.get("data-comment") == "s1"]
        assert len(shown) == 1
    (review,) = (await opened(client, "/products/starred")).linked["review"]
    assert "reviewBody" not in review
    # Only the product's page has a description, which is that of the product.
    for address, count in {"/products/starred": 1, "/comments/s1": 0}.items():
        page = await opened(client, address)
        found = [given for _, given in page.elements if given.get("name") == "description"]
        assert len(found) == count
        assert not [given for given in found if "stella" in str(given["content"])]
        texts = [given for _, given in page.elements if given.get("class") == "text"]
        assert len(texts) == count
