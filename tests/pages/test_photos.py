"""Photos on pages: strips, links, and fields of the form."""

import json
from dataclasses import replace

import httpx
import pytest

from dal.dynamodb.table import Table
from dal.model import Photo
from dal.query.pagination import Slice
from dal.repositories.comments import Selection
from dal.stores import Stores
from features.photos.uploads import MAX_UPLOAD, PhotoUploads
from server.app import create_app
from server.auth.authenticator import Authenticator
from server.services import services_of
from server.settings import Settings
from tests.pages.conftest import COMMENT, SECRET, Parsed, client_of, jwt_of, opened
from tests.putting import put_comments
from tests.server.applications import app_of
from tests.strategies import comment

CDN = "https://cdn.shop.example"
STRIP = (Photo(f"{CDN}/1.jpg", "On my stove"), Photo("https://other.example/2.jpg"))
FORM = {"rating": "4", "language": "en", "title": "", "text": "It boils."}


async def test_photos_of_allowed_origins_are_shown_and_others_are_linked(table: Table) -> None:
    one = comment("pictured #1", product_id="pictured", photos=STRIP)
    await put_comments(Stores(table).comments, [one])
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


async def test_json_ld_contains_the_photos(table: Table) -> None:
    await put_comments(
        Stores(table).comments, [comment("ld", product_id="pictured-ld", photos=STRIP)]
    )
    async with client_of(app_of(table)) as client:
        text = (await client.get("/products/pictured-ld")).text
    found = json.loads(
        text.partition('<script type="application/ld+json">')[2].split("</script>")[0]
    )
    assert found["review"][0]["image"] == [photo.url for photo in STRIP]


@pytest.fixture
def writer(table: Table) -> httpx.AsyncClient:
    return client_of(app_of(table, picture_origins=[CDN]), jwt_of(COMMENT.username))


async def test_the_form_adds_keeps_and_removes_photos_and_refuses_invalid_ones(
    table: Table, writer: httpx.AsyncClient
) -> None:
    """Empty rows between photos are ignored. A form without these fields keeps the photos."""

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
        assert page.text.count("https://.") == 2, "in the hint and in the error"
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


async def test_an_edit_keeps_a_photo_that_only_a_file_may_name(
    table: Table, writer: httpx.AsyncClient
) -> None:
    ours = Photo("/static/pages/photo-lamp-evening.webp", "On my desk")
    one = comment("own-photo", product_id="own-photo", username=COMMENT.username, photos=(ours,))
    await put_comments(Stores(table).comments, [one])
    async with writer:
        page = await opened(writer, "/comments/own-photo")
        (photo,) = [given for _, given in page.elements if given.get("name") == "photo-1"]
        assert (photo["value"], photo["type"]) == (ours.url, "text")
        fields = page.fields() | FORM | {"action": "save"}
        assert (await writer.post("/comments/own-photo", data=fields)).status_code == 303
        (edited,) = (await Stores(table).comments.page(Selection("own-photo"), Slice(2))).nodes
        assert (edited.text, edited.photos) == (FORM["text"], (ours,))
        other = fields | {"photo-1": "/static/pages/photo-shoes-trail.webp"}
        assert (await writer.post("/comments/own-photo", data=other)).status_code == 422


class Bucket:
    """A fake bucket that only signs forms for uploads."""

    async def upload_form(
        self, key: str, content_type: str, largest: int, seconds: int
    ) -> tuple[str, dict[str, str]]:
        return "https://bucket.s3.example/", {"key": key, "Content-Type": content_type}

    async def tag(self, key: str) -> str | None:
        return None

    async def copy(self, source: str, tag: str, target: str) -> bool:
        return False


async def test_scripts_receive_forms_for_uploads(table: Table) -> None:
    """The page needs a signed-in visitor.

    Its policy allows connections to the API and the bucket.
    """
    uploads = await PhotoUploads.open(Bucket(), "https://photos.example/shop")
    settings = Settings()
    services = services_of(settings, table, Authenticator(secret=lambda: SECRET))
    app = create_app(settings, replace(services, uploads=uploads))
    async with client_of(app, jwt_of("ann")) as client:
        page = await opened(client, "/products/uploading")
        (field,) = [given for _, given in page.elements if "data-uploads" in given]
        policy = (await client.get("/products/uploading")).headers["content-security-policy"]
        key = page.fields()["form_key"]
        types = {"types": "image/png,image/webp"}
        answer = await client.post(str(field["data-uploads"]), data={"form_key": key, **types})
        refused = await client.post(str(field["data-uploads"]), data=types)
        none = await client.post(
            str(field["data-uploads"]), data={"form_key": key, "types": "text/html"}
        )
    assert field["data-bytes"] == str(MAX_UPLOAD)
    assert "img-src 'self' https://photos.example;" in policy
    assert "connect-src 'self' https://bucket.s3.example;" in policy
    first, second = answer.json()
    assert first["fields"][1] == {"name": "Content-Type", "value": "image/png"}
    assert second["photoUrl"].startswith("https://photos.example/shop/uploads/")
    assert (refused.status_code, none.json()) == (403, [])
    async with client_of(app_of(table), jwt_of("ann")) as client:
        plain = await opened(client, "/products/uploading")
        assert not any("data-uploads" in given for _, given in plain.elements)
