"""Uploads of photos with forms to a bucket of ministack, which enforces the forms."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from botocore.loaders import Loader

from dal.dynamodb.sdk import open_s3
from dal.dynamodb.table import Table
from dal.model import Photo
from dal.stores import Stores
from dal.table.errors import InvalidArgumentError
from features.photos.bucket_check import checked
from features.photos.settings import PhotoSettings
from features.photos.uploads import MAX_UPLOAD, PhotoUploads
from resolvers.context import Context, Viewer
from resolvers.photo_files import PhotoFiles
from schema.build import build_schema
from server.findings import Level
from tests.engines import ministack

URL = "https://photos.shop.example"
CREATE = """mutation ($types: [String!]!) { createPhotoUploads(input: {contentTypes: $types}) {
  uploads { url fields { name value } photoUrl maxBytes expiresAt }
  userErrors { code field message } } }"""
ADD = """mutation ($photos: [PhotoInput!]) { addComment(input: {productId: "p", rating: 5,
  language: "en", text: "Good.", photos: $photos, idempotencyKey: "once"}) {
  comment { photos { url alt } } userErrors { code field message } } }"""

EDIT = """mutation ($id: ID!, $photos: [PhotoInput!]) { updateComment(input: {id: $id,
  photos: $photos}) { comment { photos { url } } userErrors { code } } }"""


class Shop:
    """The API with a bucket for uploads, and a client of the bucket."""

    def __init__(
        self, table: Table, uploads: PhotoUploads | None, bucket: httpx.AsyncClient
    ) -> None:
        self.stores, self.uploads, self.bucket = Stores(table), uploads, bucket
        self.schema = build_schema()

    async def run(self, document: str, user: str | None = "ana", **variables: Any) -> Any:
        viewer = None if user is None else Viewer(user)
        context = Context(
            viewer, self.stores, services={PhotoUploads: self.uploads, PhotoFiles: self.uploads}
        )
        return await self.schema.execute(document, variables, context)

    async def forms(self, *types: str, user: str = "ana") -> list[dict[str, Any]]:
        result = await self.run(CREATE, user, types=[*types])
        assert result.errors is None
        uploads: list[dict[str, Any]] = result.data["createPhotoUploads"]["uploads"]
        return uploads

    async def send(self, form: dict[str, Any], content: bytes, **changes: str) -> httpx.Response:
        """Send a form as a browser does: the fields first, the file last."""
        fields = {one["name"]: one["value"] for one in form["fields"]} | changes
        return await self.bucket.post(form["url"], data=fields, files={"file": ("a", content)})


@pytest.fixture(scope="module")
async def uploads() -> AsyncIterator[tuple[PhotoUploads, httpx.AsyncClient]]:
    with ministack("s3") as url, pytest.MonkeyPatch.context() as environment:
        for name, value in {
            "AWS_ENDPOINT_URL_S3": url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
        }.items():
            environment.setenv(name, value)
        async with httpx.AsyncClient(base_url=url) as bucket, open_s3("photos") as store:
            assert (await bucket.put("/photos")).status_code == 200
            yield await PhotoUploads.open(store, f"{URL}/"), bucket


@pytest.fixture
def shop(table: Table, uploads: tuple[PhotoUploads, httpx.AsyncClient]) -> Shop:
    return Shop(table, *uploads)


async def test_an_uploaded_file_becomes_the_photo_of_a_comment(shop: Shop) -> None:
    """A retry returns the same comment. Another upload with the form does not change the photo."""
    (form,) = await shop.forms("image/jpeg")
    assert (form["maxBytes"], form["photoUrl"][: len(URL)]) == (MAX_UPLOAD, URL)
    assert datetime.fromisoformat(form["expiresAt"]) > datetime.now(UTC)
    assert (await shop.send(form, b"first")).status_code == 204
    given = [{"url": form["photoUrl"], "alt": "Mine"}, {"url": "https://a.example/1.jpg"}]
    for _ in range(2):
        added = (await shop.run(ADD, photos=given)).data["addComment"]
        assert added["userErrors"] == []
        mine, other = added["comment"]["photos"]
        assert re.fullmatch(rf"{URL}/photos/[0-9a-f]{{32}}-[0-9a-f]+\.jpg", mine["url"])
        assert (mine["alt"], other["url"]) == ("Mine", "https://a.example/1.jpg")
    assert (await shop.send(form, b"second")).status_code == 204
    stored = await shop.bucket.get(mine["url"].replace(URL, "/photos"))
    assert (stored.content, stored.headers["content-type"]) == (b"first", "image/jpeg")


async def test_the_bucket_refuses_uploads_that_the_form_does_not_allow(shop: Shop) -> None:
    """Too large, empty, another type, key or field, a changed policy, and an expired form."""
    (form,) = await shop.forms("image/png")
    refused = {
        "large": await shop.send(form, b"x" * (MAX_UPLOAD + 1)),
        "empty": await shop.send(form, b""),
        "type": await shop.send(form, b"x", **{"Content-Type": "text/html"}),
        "key": await shop.send(form, b"x", key="photos/mine.png"),
        "policy": await shop.send(form, b"x", policy="e30="),
        "another field": await shop.send(form, b"x", **{"x-amz-meta-a": "b"}),
    }
    assert shop.uploads is not None
    url, fields = await shop.uploads._store.upload_form("uploads/late", "image/png", 9, 1)
    late = {"url": url, "fields": [{"name": name, "value": one} for name, one in fields.items()]}
    await asyncio.sleep(1.5)
    refused["expired"] = await shop.send(late, b"x")
    assert {name: answer.status_code for name, answer in refused.items()} == {
        name: 400 if name in {"large", "empty", "policy"} else 403 for name in refused
    }
    assert "EntityTooLarge" in refused["large"].text
    path = form["photoUrl"].replace(URL, "/photos")
    assert (await shop.bucket.get(path)).status_code == 404
    assert (await shop.send(form, b"x" * MAX_UPLOAD)).status_code == 204


async def test_only_the_users_own_uploads_become_photos(shop: Shop) -> None:
    (mine,) = await shop.forms("image/webp")
    (theirs,) = await shop.forms("image/webp", user="bob")
    await shop.send(theirs, b"x")
    (sent,) = await shop.forms("image/webp")
    await shop.send(sent, b"x")
    assert shop.uploads is not None
    other_spellings = (
        sent["photoUrl"].replace(URL, URL.upper().replace("HTTPS", "https")),
        sent["photoUrl"].replace(URL, f"{URL}:443"),
        sent["photoUrl"].replace(URL, f"{URL}.:"),
        sent["photoUrl"].replace("https://p", "https://%70"),
        sent["photoUrl"].replace("https://p", "https://%EF%BD%90"),  # a full-width letter
        sent["photoUrl"].replace("https://p", "https://p%C2%AD"),
        shop.uploads.form_url.replace("http://", "https://") + sent["photoUrl"][len(URL) :],
        sent["photoUrl"].replace("/uploads", "/%75ploads"),
        sent["photoUrl"].replace("/uploads", "/photos/../uploads"),
    )
    for url in (
        mine["photoUrl"],
        theirs["photoUrl"],
        f"{URL}/uploads/x",
        f"{URL}/uploads/../x",
        *other_spellings,
    ):
        added = (await shop.run(ADD, photos=[{"url": url}])).data["addComment"]
        (error,) = added["userErrors"]
        assert (error["code"], error["field"]) == ("BAD_ARGUMENT", ["input", "photos", "0", "url"])


async def test_a_refused_edit_does_not_copy_a_photo(shop: Shop) -> None:
    comment = {"productId": "q", "rating": 5, "language": "en", "text": "Mine."}
    document = (
        "mutation ($input: AddCommentInput!) { addComment(input: $input) { comment { id } } }"
    )
    added = await shop.run(document, "bob", input=comment | {"idempotencyKey": "bob"})
    (form,) = await shop.forms("image/png")
    await shop.send(form, b"x")
    given = {
        "id": added.data["addComment"]["comment"]["id"],
        "photos": [{"url": form["photoUrl"]}],
    }
    copies = "/photos?list-type=2&prefix=photos/"
    before = (await shop.bucket.get(copies)).text.count("<Key>")
    refused = await shop.run(EDIT, **given)
    assert refused.errors[0].extensions["code"] == "FORBIDDEN"
    assert (await shop.bucket.get(copies)).text.count("<Key>") == before
    (mine,) = await shop.forms("image/png", user="bob")
    await shop.send(mine, b"x")
    own = given | {"photos": [{"url": mine["photoUrl"]}]}
    edited = (await shop.run(EDIT, "bob", **own)).data["updateComment"]
    assert edited["comment"]["photos"][0]["url"].startswith(f"{URL}/photos/")
    assert (await shop.bucket.get(copies)).text.count("<Key>") == before + 1


async def test_only_users_get_forms_and_only_for_photos(shop: Shop, table: Table) -> None:
    result = await shop.run(CREATE, None, types=["image/png"])
    assert result.errors[0].extensions["code"] == "UNAUTHENTICATED"
    for types, field in (
        (["image/svg+xml"], "contentTypes.0"),
        (["image/png", "text/html"], "contentTypes.1"),
        (["image/png"] * 11, "contentTypes"),
    ):
        payload = (await shop.run(CREATE, types=types)).data["createPhotoUploads"]
        (error,) = payload["userErrors"]
        assert payload["uploads"] == []
        assert (error["code"], ".".join(error["field"][1:])) == ("BAD_ARGUMENT", field)
    forms = await shop.forms(*["image/avif"] * 10)
    assert len({json.dumps(form) for form in forms}) == 10
    without = await Shop(table, None, shop.bucket).run(CREATE, types=["image/png"])
    assert without.errors[0].extensions["code"] == "NOT_AVAILABLE"


class ReplacedFile:
    """A bucket in which each file is replaced between the read of its tag and the copy."""

    async def upload_form(
        self, key: str, content_type: str, largest: int, seconds: int
    ) -> tuple[str, dict[str, str]]:
        return "https://photos.example", {}

    async def tag(self, key: str) -> str | None:
        return "tag"

    async def copy(self, source: str, tag: str, target: str) -> bool:
        return False


async def test_a_file_that_is_replaced_before_its_copy_is_refused() -> None:
    uploads = await PhotoUploads.open(ReplacedFile(), None)
    (form,) = await uploads.forms("ann", ["image/png"])
    with pytest.raises(InvalidArgumentError) as refused:
        await uploads.published("ann", [Photo(form.photo_url, "")])
    assert refused.value.argument == "photos.0.url"


@pytest.mark.usefixtures("uploads")
@pytest.mark.parametrize(
    ("given", "endpoint", "level", "words"),
    [
        ({}, None, Level.OK, "not configured"),
        ({"upload_bucket": "photos", "upload_url": URL}, None, Level.OK, f"load them from {URL}"),
        ({"upload_bucket": "photos"}, None, Level.DANGER, "set --upload-url"),
        (
            {"upload_bucket": "photos", "upload_url": URL},
            "http://127.0.0.1:9",
            Level.DANGER,
            "cannot be used",
        ),
    ],
)
async def test_serve_check_has_a_line_for_uploads(
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, str],
    endpoint: str | None,
    level: Level,
    words: str,
) -> None:
    if endpoint is not None:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", endpoint)
    found = await checked(PhotoSettings(**given))
    assert (found.subject, found.level) == ("uploads", level)
    assert words in found.sentence


async def test_uploads_without_the_description_of_s3_are_a_danger(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A container image may lack the SDK's description of S3. Its server cannot start."""
    monkeypatch.setattr(Loader, "BUILTIN_DATA_PATH", str(tmp_path))
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    found = await checked(PhotoSettings(upload_bucket="photos"))
    assert (found.subject, found.level) == ("uploads", Level.DANGER)
