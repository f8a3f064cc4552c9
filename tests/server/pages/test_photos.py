"""Photos on pages: strips, links, and the fields of the form."""

import json

import httpx
import pytest

from dal.client.table import Table
from dal.model import Photo
from dal.query.pagination import Slice
from dal.repositories.comments import Selection
from dal.stores import Stores
from tests.server.applications import app_of
from tests.server.pages.conftest import COMMENT, Parsed, client_of, jwt_of, opened
from tests.strategies import comment

CDN = "https://cdn.shop.example"
STRIP = (Photo(f"{CDN}/1.jpg", "On my stove"), Photo("https://other.example/2.jpg"))
FORM = {"rating": "4", "language": "en", "title": "", "text": "It boils."}


async def test_photos_of_allowed_origins_are_shown_and_others_are_links(table: Table) -> None:
    one = comment("pictured #1", product_id="pictured", photos=STRIP)
    await Stores(table).comments.put_many([one])
    async with client_of(app_of(table, picture_origins=[CDN])) as client:
        for path in ("/products/pictured", "/comments/pictured%20%231"):
            page = await opened(client, path)
            strip, large = [
                given for tag, given in page.elements if tag == "img" and "alt" in given
            ][-2:]
            for image in (strip, large):
                assert (image["src"], image["alt"]) == (STRIP[0].url, "On my stove")
                assert image["loading"] == "lazy"
                assert {"width", "height"} <= image.keys()
            (link,) = [given for _, given in page.anchors if given["href"] == STRIP[1].url]
            assert link["rel"] == "nofollow ugc noreferrer"
            assert "Photo 2 of 2" in page.text
            (opener,) = [given for _, given in page.elements if "data-photo" in given]
            (box,) = [given for _, given in page.elements if "popover" in given]
            assert opener["popovertarget"] == box["id"] == "photos-pictured%20%231"
        policy = (await client.get("/products/pictured")).headers["content-security-policy"]
    assert f"img-src 'self' {CDN};" in policy
    assert "other.example" not in policy


async def test_json_ld_has_the_photos(table: Table) -> None:
    await Stores(table).comments.put_many([comment("ld", product_id="pictured-ld", photos=STRIP)])
    async with client_of(app_of(table)) as client:
        text = (await client.get("/products/pictured-ld")).text
    found = json.loads(
        text.partition('<script type="application/ld+json">')[2].split("</script>")[0]
    )
    assert found["review"][0]["image"] == [photo.url for photo in STRIP]


@pytest.fixture
def writer(table: Table) -> httpx.AsyncClient:
    return client_of(app_of(table, picture_origins=[CDN]), jwt_of(COMMENT.username))


async def test_the_form_adds_keeps_refuses_and_removes_photos(
    table: Table, writer: httpx.AsyncClient
) -> None:
    """Rows may be empty in between; a form without the fields keeps the photos."""

    async def send(path: str, **fields: str) -> httpx.Response:
        key = (await opened(writer, path)).fields()["form_key"]
        return await writer.post(path, data={**FORM, "form_key": key, **fields})

    async def photos() -> list[Photo]:
        (one,) = (await Stores(table).comments.page(listed, Slice(2))).nodes
        return [*one.photos]

    listed = Selection("pictured-form")
    async with writer:
        rows = {"photo-1": "", "photo-2": STRIP[0].url, "photo-2-alt": "On my stove"}
        refused = await send("/products/pictured-form", **rows, **{"photo-4": "http://a.example"})
        assert refused.status_code == 422
        page = Parsed(refused.text)
        (blamed,) = [given for _, given in page.elements if given.get("aria-invalid")]
        assert (blamed["name"], blamed["value"]) == ("photo-4", "http://a.example")
        assert "Enter an address that begins with https://." in page.text
        added = await send("/products/pictured-form", **rows)
        assert added.status_code == 303
        assert await photos() == [STRIP[0]]
        (one,) = (await Stores(table).comments.page(listed, Slice(2))).nodes
        edit = f"/comments/{one.comment_id}"
        fields = (await opened(writer, edit)).fields()
        assert (fields["photo-1"], fields["photo-1-alt"]) == (STRIP[0].url, "On my stove")
        for given, left in (({}, [STRIP[0]]), ({"photo-1": STRIP[1].url}, [STRIP[1]])):
            assert (await send(edit, action="save", **given)).status_code == 303
            assert await photos() == left
        assert (await send(edit, action="save", **{"photo-1": ""})).status_code == 303
        assert await photos() == []
