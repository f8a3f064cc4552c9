"""The language of a page is chosen by the address, the cookie or a header.

Caches distinguish it.
"""

import httpx
import pytest

from dal.dynamodb.table import Table
from pages import formats, i18n
from tests.pages.conftest import COMMENT, SITE, Parsed, numbered, stored


@pytest.fixture(scope="module", autouse=True)
async def spoken(table: Table) -> None:
    await stored(table, [COMMENT._replace(comment_id="spoken", product_id="spoken")])


@pytest.mark.parametrize(
    ("asked", "kept", "accepted", "spoken"),
    [
        (None, None, "", "en"),
        (None, None, "de-AT, en;q=0.8", "de"),
        (None, None, "en;q=0.5, fr;q=0.9", "fr"),
        (None, None, "pt, *;q=0.1", "en"),
        (None, None, "de;q=0, ja;q=0.2", "ja"),
        (None, None, "es;q=0.9, ;;,,=, de;q=x", "de"),
        (None, "ja", "de", "ja"),
        ("AR", "ja", "de", "ar"),
        ("../en", "none", "", "en"),
    ],
)
def test_the_language_is_that_of_the_address_then_the_cookie_then_the_header(
    asked: str | None, kept: str | None, accepted: str, spoken: str
) -> None:
    assert i18n.negotiated(asked, kept, accepted) == spoken


async def test_each_language_has_its_own_page(client: httpx.AsyncClient) -> None:
    english = await client.get("/products/spoken")
    tags = {english.headers["etag"]}
    for tag in i18n.LOCALES:
        headers = {"Accept-Language": tag}
        if tag != "en":
            headers["If-None-Match"] = english.headers["etag"]
        answer = await client.get("/products/spoken", headers=headers)
        direction = "rtl" if tag == "ar" else "ltr"
        assert f'<html lang="{tag}" dir="{direction}">' in answer.text
        assert "set-cookie" not in answer.headers
        tags.add(answer.headers["etag"])
    assert len(tags) == len(i18n.LOCALES)


async def test_the_language_of_the_address_is_stored_in_a_cookie(client: httpx.AsyncClient) -> None:
    asked = await client.get("/sign-in?lang=de&next=/products/spoken")
    assert '<html lang="de"' in asked.text
    assert (
        "marginalia_lang=de; HttpOnly; Max-Age=31536000; Path=/; SameSite=lax"
        in (asked.headers["set-cookie"])
    )
    again = await client.get("/products/spoken", headers={"Accept-Language": "fr"})
    assert '<html lang="de"' in again.text
    same = await client.get("/products/spoken?lang=ja", headers={"If-None-Match": "W/none"})
    repeated = await client.get(
        "/products/spoken?lang=ja", headers={"If-None-Match": same.headers["etag"]}
    )
    assert (repeated.status_code, "set-cookie" in repeated.headers) == (304, False)
    assert (await client.get("/products/spoken?lang=xx")).headers.get("set-cookie") is None


async def test_the_filter_of_languages_does_not_change_the_pages_language(
    client: httpx.AsyncClient, table: Table
) -> None:
    rows = numbered("both", 2)
    await stored(table, [rows[0], rows[1]._replace(language="de")])
    answer = await client.get("/products/both?language=de")
    assert '<html lang="en"' in answer.text
    assert answer.text.count("<article") == 1


async def test_the_links_to_other_languages_stay_on_this_site(client: httpx.AsyncClient) -> None:
    """Browsers take an address that begins with two slashes for another host."""
    answer = await client.get(f"{SITE}//evil.example/x", headers={"Accept": "text/html"})
    links = [given.get("href") or "" for _, given in Parsed(answer.text).elements]
    assert answer.status_code == 404
    assert "/evil.example/x?lang=de" in links
    assert [link for link in links if link.startswith("//")] == []


@pytest.mark.parametrize(
    ("tag", "name"),
    [
        ("de", "Deutsch"),
        ("de-AT", "Deutsch (AT)"),
        ("pt-BR", "português (Brasil)"),
        ("zh-Hant", "繁體中文"),
        ("zh-Hant-HK", "繁體中文 (HK)"),
        ("tlh-Latn", "tlh-Latn"),
    ],
)
def test_a_language_is_named_in_itself(tag: str, name: str) -> None:
    assert formats.language(tag) == name


def test_numbers_and_dates_follow_the_language() -> None:
    told = {}
    for tag in i18n.LOCALES:
        with i18n.speaking(tag):
            told[tag] = (
                formats.number(12345.5),
                formats.decimal(4.25),
                formats.day("2020-11-20T23:00:00Z"),
                formats.month("2020-11-01T00:00:00Z"),
            )
    assert told["en"] == ("12,345.5", "4.2", "20 November 2020", "November 2020")
    assert told["de"] == ("12.345,5", "4,2", "20. November 2020", "November 2020")
    assert told["ja"] == ("12,345.5", "4.2", "2020年11月20日", "2020年11月")
    assert told["ar"][2] == "20 نوفمبر 2020"
    assert i18n.spoken() == "en"


@pytest.mark.parametrize(
    ("part", "told"),
    [(0, "0%"), (4, "<1%"), (6, "1%"), (416, "42%"), (994, "99%"), (996, ">99%")],
)
def test_a_share_is_0_or_100_percent_only_if_it_is_exact(part: int, told: str) -> None:
    assert formats.share((part, 1000)) == told
    assert formats.share((1000, 1000)) == "100%"
    assert formats.share((0, 0)) == "0%"


def _tongues(page: str) -> list[str]:
    links = [given.get("href") or "" for _, given in Parsed(page).elements]
    return [link for link in links if "lang=de" in link]


async def test_the_links_to_other_languages_keep_the_filters(client: httpx.AsyncClient) -> None:
    """The response to a form omits these links, because they would lose the typed text.

    Sign-in keeps them.
    """
    following = "/sign-in?next=%2Fproducts%2Fspoken%3Frating%3D5%23write&lang=de"
    data = {"next": "/products/spoken?rating=5#write", "jwt": "a.b.c"}
    shown = await client.get("/sign-in", params=data)
    refused = await client.post("/sign-in", data=data)
    assert (refused.status_code, _tongues(refused.text)) == (422, [following])
    assert _tongues(shown.text) == [following]
    typed = await client.post("/products/spoken", data={"text": "Typed"})
    assert (typed.status_code, _tongues(typed.text)) == (422, [])
    assert "Typed" in typed.text
