"""The page of the widget in a frame of a shop's page, for browsers without scripts."""

from pathlib import Path

from dal.dynamodb.table import Table
from tests.pages.conftest import Parsed, client_of, invalid_html, numbered, stored
from tests.server.applications import app_of

SHOP = "https://shop.example"


async def test_pages_of_a_cors_origin_may_frame_the_widget(table: Table, tmp_path: Path) -> None:
    await stored(table, numbered("framed", 9))
    async with client_of(app_of(table, cors_origins=[SHOP])) as client:
        answer = await client.get("/widget/framed?rating=1&rating=2")
        arabic = await client.get("/widget/unheard-of?lang=ar")
    assert answer.status_code == 200
    assert f"frame-ancestors 'self' {SHOP};" in answer.headers["content-security-policy"] + ";"
    page = Parsed(answer.text)
    assert page.headings == ["6", "5", "1", "0"]
    assert "2.8 from 9 comments" in page.text
    shown = next(given for tag, given in page.elements if (tag, "width" in given) == ("svg", True))
    assert shown["width"] == "55.6", "2.78 of 5 stars"
    assert [given["href"] for _, given in page.anchors] == ["/products/framed?rating=1&rating=2"]
    assert 'dir="rtl"' in arabic.text
    for name, one in (("framed", answer), ("arabic", arabic)):
        (tmp_path / f"{name}.html").write_text(one.text)
    assert invalid_html(tmp_path) == []
