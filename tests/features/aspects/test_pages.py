"""Ratings of aspects on pages: the form, cards, a product's summary, and the widget's script."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.types import ASGIApp

from dal.dynamodb.table import Table
from dal.model import AspectRating, Comment
from dal.query.pagination import Slice
from dal.repositories.comments import Selection
from dal.stores import Stores
from tests.pages.conftest import COMMENT, Parsed, client_of, invalid_html, jwt_of, opened, stored
from tests.server.applications import app_of

ADDRESS = "/products/p1"
TYPED = {"rating": "4", "language": "en", "title": "", "text": "It fits."}
FIT, CUT = AspectRating("fit", 2), AspectRating("cut", 5)


@pytest.fixture
def shop(table: Table) -> ASGIApp:
    return app_of(table, aspects="fit=Fit;de=Passform,quality")


async def comments_of(table: Table) -> Sequence[Comment]:
    page = await Stores(table).comments.page(Selection("p1"), Slice(9))
    return page.nodes


def selects(page: Parsed) -> list[str | None]:
    return [given["name"] for tag, given in page.elements if tag == "select"]


def stars(page: Parsed) -> list[str]:
    labels = [given.get("aria-label") or "" for tag, given in page.elements if tag == "svg"]
    return [one.partition(" ")[0] for one in labels if "5" in one]


async def test_a_customer_rates_aspects_by_the_form(shop: ASGIApp, table: Table) -> None:
    async with client_of(shop, jwt_of("bea")) as bea:
        page = await opened(bea, ADDRESS)
        assert selects(page) == ["language", "aspect-fit", "aspect-quality"]
        hidden = {"form_key": page.fields()["form_key"]}
        rated = TYPED | hidden | {"aspect-fit": "5", "aspect-quality": ""}
        wrong = await bea.post(ADDRESS, data=rated | {"text": ""})
        assert wrong.status_code == 422
        assert 'value="5" selected' in wrong.text
        assert (await bea.post(ADDRESS, data=rated)).status_code == 303
        (one,) = await comments_of(table)
        assert one.aspects == (AspectRating("fit", 5),)
        german = await opened(bea, f"{ADDRESS}?lang=de")
        assert "Passform" in german.text
        assert stars(german)[:2] == ["4,0", "5,0"]
        edit = rated | {"action": "save", "aspect-fit": "", "aspect-quality": "3"}
        assert (await bea.post(f"/comments/{one.comment_id}", data=edit)).status_code == 303
    (one,) = await comments_of(table)
    assert one.aspects == (AspectRating("quality", 3),)


@pytest.mark.parametrize("rating", [2, 4])
async def test_an_edit_keeps_ratings_of_renamed_aspects(
    shop: ASGIApp, table: Table, rating: int
) -> None:
    await stored(table, [COMMENT._replace(aspects=(CUT, FIT))])
    async with client_of(shop, jwt_of("ann")) as ann:
        page = await opened(ann, "/comments/c1")
        fields = TYPED | {"form_key": page.fields()["form_key"], "action": "save"}
        kept = fields | {"aspect-fit": str(rating), "aspect-quality": ""}
        assert (await ann.post("/comments/c1", data=kept)).status_code == 303
    one = await Stores(table).comments.get("c1")
    assert one is not None
    assert one.text == "It fits."
    assert {*one.aspects} == {CUT, replace(FIT, rating=rating)}


@pytest.mark.parametrize(
    ("name", "value"), [("fit", "0"), ("fit", "6"), ("fit", "five"), ("cut", "5"), ("Fit", "5")]
)
async def test_a_form_with_an_invalid_rating_writes_nothing(
    shop: ASGIApp, table: Table, name: str, value: str
) -> None:
    async with client_of(shop, jwt_of("bea")) as bea:
        page = await opened(bea, ADDRESS)
        hidden = {"form_key": page.fields()["form_key"]}
        answer = await bea.post(ADDRESS, data=TYPED | hidden | {f"aspect-{name}": value})
    assert (answer.status_code, await comments_of(table)) == (422, [])
    shown = [one for _, one in Parsed(answer.text).elements if one.get("class") == "errors"]
    assert ["data-fields" in one for one in shown] == [False], "no field of the form is marked"


async def test_pages_without_the_setting_show_no_aspects(table: Table) -> None:
    await stored(table, [COMMENT._replace(aspects=(FIT,))])
    async with client_of(app_of(table), jwt_of("bea")) as bea:
        page = await opened(bea, ADDRESS)
    assert selects(page) == ["language"]
    assert not [one for _, one in page.elements if one.get("class") == "aspects"]


async def test_every_page_with_a_card_shows_the_ratings(
    shop: ASGIApp, table: Table, tmp_path: Path
) -> None:
    await stored(table, [COMMENT._replace(aspects=(FIT,))])
    async with client_of(shop, jwt_of("mia", "merchant")) as mia:
        for place in (ADDRESS, "/comments/c1", "/authors/ann", "/widget/p1"):
            answer = await mia.get(f"{place}?lang=ar")
            shown = Parsed(answer.text)
            lists = [one for _, one in shown.elements if one.get("class") == "aspects"]
            # A product's comments have the averages above them.
            assert len(lists) == 1 + (place in {ADDRESS, "/widget/p1"}), place
            assert "Fit" in shown.text
            (tmp_path / f"{place.replace('/', '-')}.html").write_text(answer.text)
    assert invalid_html(tmp_path) == []


async def test_the_widgets_script_has_the_labels(shop: ASGIApp) -> None:
    async with client_of(shop) as client:
        script = (await client.get("/widget.js")).text
    found = re.search(r'"aspects":(\{"en":.*?\}\})', script)
    assert found is not None
    labels = json.loads(found[1])
    assert (labels["de"], labels["fr"]["fit"]) == ({"fit": "Passform", "quality": "Quality"}, "Fit")
