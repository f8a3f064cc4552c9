"""The page that shows the widget, and the HTML that a shop copies."""

from pathlib import Path

import httpx
import pytest

from dal.dynamodb.table import Table
from tests.pages.conftest import Parsed, client_of, invalid_html
from tests.server.applications import app_of


@pytest.mark.parametrize("tag", ["en", "ar"])
async def test_the_page_has_the_chosen_element_and_its_html(
    client: httpx.AsyncClient, tmp_path: Path, tag: str
) -> None:
    chosen = {"product": '"><b>&', "labels": "de-AT", "theme": "dark", "accent": "#ffd166"}
    answer = await client.get("/widget", params=chosen | {"lang": tag})
    assert answer.status_code == 200
    page = Parsed(answer.text)
    (element,) = [given for name, given in page.elements if name == "marginalia-comments"]
    assert (element["product"], element["lang"]) == ('"><b>&', "de")
    assert element["data-button"] == "#ffd166"
    assert '<marginalia-comments product="&quot;&gt;&lt;b&gt;&amp;" lang="de">' in page.text
    assert "--marginalia-button: #ffd166;" in page.text
    assert "frame-src 'self'" in answer.headers["content-security-policy"]
    (tmp_path / "page.html").write_text(answer.text)
    assert invalid_html(tmp_path) == []


async def test_invalid_choices_are_replaced_by_defaults(client: httpx.AsyncClient) -> None:
    wrong = {"product": " ", "labels": "xx", "theme": "x", "accent": "red;} *{"}
    answers = [await client.get("/widget", params=given) for given in (wrong, {})]
    assert answers[0].status_code == 200
    snippets = [one.text.partition("<code>")[2].partition("</code>")[0] for one in answers]
    assert snippets[0] == snippets[1]
    assert "lang=" not in snippets[0]


async def test_the_script_shows_photos_of_the_allowed_origins(table: Table) -> None:
    async with client_of(app_of(table, picture_origins=["https://cdn.shop.example"])) as client:
        answer = await client.get("/widget.js")
    assert '"photos":["https://cdn.shop.example"]' in answer.text
    assert answer.headers["access-control-allow-origin"] == "*"
