"""The pages' files: the style sheet is one file, files are compressed, and browsers cache them."""

import gzip
import re
import shutil
from collections import Counter
from pathlib import Path

import brotli
import httpx
import pytest

from pages import static_files
from pages.static_files import DIGEST, STYLES
from server.http.graphiql import ROOT
from tests.pages.conftest import opened

OTHER_RELEASE = "0123456789ab"


async def test_the_style_sheet_has_every_part(client: httpx.AsyncClient) -> None:
    answer = await client.get("/static/pages/page.css")
    assert answer.headers["content-type"].startswith("text/css")
    assert set(STYLES) == {path.stem for path in (ROOT / "pages/styles").iterdir()}
    for part in STYLES:
        assert (ROOT / f"pages/styles/{part}.css").read_text("utf-8") in answer.text


@pytest.mark.parametrize(
    "address", ["/favicon.ico", "/apple-touch-icon.png", "/apple-touch-icon-precomposed.png"]
)
async def test_browsers_find_the_icon_without_a_page(
    client: httpx.AsyncClient, address: str
) -> None:
    answer = await client.get(address, headers={"Accept": "image/avif,image/png,*/*;q=0.8"})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png")
    assert answer.content == (ROOT / "pages/static/icon.png").read_bytes()
    assert answer.headers["cache-control"] == "public, max-age=86400"
    known = {"If-None-Match": answer.headers["etag"]}
    assert (await client.get(address, headers=known)).status_code == 304


async def test_the_style_sheet_repeats_no_rule(client: httpx.AsyncClient) -> None:
    sheet = (await client.get("/static/pages/page.css")).text
    rules = Counter(re.findall(r"(?m)^([^\s@/}][^{}]*\{[^{}]*\})", sheet))
    assert len(rules) > 100
    assert [rule for rule, times in rules.items() if times > 1] == []


async def test_browsers_cache_the_files_of_a_page(client: httpx.AsyncClient) -> None:
    page = await opened(client, "/playground")
    named = [
        address
        for _, given in page.elements
        for name in ("href", "src")
        if "/static/" in (address := given.get(name) or "")
    ]
    assert len({*named}) == 5
    for address in named:
        answer = await client.get(address)
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("below", ["", f"{OTHER_RELEASE}/"])
async def test_browsers_revalidate_a_file_at_another_address(
    client: httpx.AsyncClient, below: str
) -> None:
    """During an update, a page of another release may link to this file."""
    first = await client.get(f"/static/pages/{below}page.js")
    assert (first.status_code, first.headers["cache-control"]) == (200, "no-cache")
    known = {"If-None-Match": first.headers["etag"]}
    again = await client.get(f"/static/pages/{below}page.js", headers=known)
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip, deflate, br, zstd", "br"),
        ("gzip, deflate", "gzip"),
        ("br;q=0, gzip;q=0.5", "gzip"),
        ("identity", None),
    ],
)
async def test_files_are_sent_compressed(
    client: httpx.AsyncClient, accepted: str, coding: str | None
) -> None:
    """Even requests with a cookie get compressed files, because files contain no secret."""
    undone = {"br": brotli.decompress, "gzip": gzip.decompress, None: bytes}[coding]
    asked = {"Accept-Encoding": accepted, "Cookie": "marginalia_jwt=x"}
    names = ("page.css", "page.js", "products.svg")
    for path in (*(f"/static/pages/{DIGEST}/{name}" for name in names), "/widget.js"):
        async with client.stream("GET", path, headers=asked) as answer:
            sent = b"".join([chunk async for chunk in answer.aiter_raw()])
        plain = await client.get(path, headers={"Accept-Encoding": "identity"})
        assert answer.headers.get("content-encoding") == coding
        assert answer.headers["vary"] == plain.headers["vary"] == "Accept-Encoding"
        suffix = "" if coding is None else f"-{coding}"
        assert answer.headers["etag"] == f'{plain.headers["etag"][:-1]}{suffix}"'
        assert undone(sent) == plain.content
        assert coding is None or len(sent) < len(undone(sent)) / 2


@pytest.mark.parametrize("name", ["icon.svg", "icon.png"])
async def test_files_that_do_not_compress_are_sent_uncompressed(
    client: httpx.AsyncClient, name: str
) -> None:
    answer = await client.get(f"/static/pages/{name}")
    assert not {"content-encoding", "vary"} & answer.headers.keys()
    assert answer.content == (ROOT / f"pages/static/{name}").read_bytes()


@pytest.mark.parametrize(
    "file", ["../templates/home.html", "none.css", f"{OTHER_RELEASE}/", f"{DIGEST}/a/page.css", ""]
)
async def test_other_static_paths_are_not_found(client: httpx.AsyncClient, file: str) -> None:
    assert (await client.get(f"/static/pages/{file}")).status_code == 404


def test_backup_files_of_editors_are_not_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("pages/static", "pages/styles"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for left in (".DS_Store", "page.js~"):
        (tmp_path / "pages/static" / left).touch()
    (tmp_path / "pages/static/products").mkdir()
    monkeypatch.setattr(static_files, "ROOT", tmp_path)
    assert static_files._files().keys() == static_files._FILES.keys()


async def test_the_home_page_has_no_script(client: httpx.AsyncClient) -> None:
    page = await opened(client, "/")
    assert "script" not in [tag for tag, _ in page.elements]
