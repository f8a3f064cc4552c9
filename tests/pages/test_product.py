"""The page of a product: filters, addresses, data for crawlers, and hostile texts."""

import re
from html import escape
from pathlib import Path

import httpx
import pytest

from dal.dynamodb.table import Table
from dal.model import CommentSource, Reply
from dal.model.own_ids import global_id
from dal.stores import Stores
from pages.faults import _ARGUMENTS, _CODES, TOO_RARE
from tests.fakes import FaultyClient
from tests.pages.conftest import (
    COMMENT,
    SITE,
    START,
    Parsed,
    client_of,
    invalid_html,
    numbered,
    opened,
    stored,
)
from tests.putting import put_comments
from tests.server.applications import app_of


@pytest.fixture(scope="module", autouse=True)
async def kettle(table: Table) -> None:
    english = numbered("kettle", 30)
    german = [
        one._replace(language="de", comment_id=f"de-{one.comment_id}")
        for one in numbered("kettle", 10)
    ]
    await stored(table, [*english, *german])


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("", 20),
        ("?rating=5", 8),
        ("?rating=1&rating=2", 16),
        ("?language=de", 10),
        ("?language=de&rating=3", 2),
        ("?language=de&language=en&rating=3", 8),
        ("?rating=1&rating=2&rating=3&rating=4&rating=5", 20),
        ("?language=DE", 10),
        ("?language=fr", 0),
        ("?rating=&language=", None),
        ("?colour=red", 20),
        ("?from=2024-01-01&to=2024-01-01", 20),
        ("?to=2023-12-31", 0),
        ("?from=2024-01-02&language=de", 0),
        ("?from=2024-01-02&to=2023-12-31&language=de", 10),
        ("?from=&to=&order=newest&rating=5", 8),
        ("?from=0001-01-01&to=9999-12-31&order=oldest", 20),
        ("?words=2&language=de", 1),
        ("?words=", 20),
    ],
)
async def test_the_list_shows_the_filtered_comments(
    client: httpx.AsyncClient, query: str, count: int | None
) -> None:
    answer = await client.get(f"/products/kettle{query}")
    if count is None:
        assert answer.status_code == 400
    else:
        assert len(Parsed(answer.text).headings) == count


@pytest.mark.parametrize("path", ["products", "comments", "authors", "widget"])
async def test_a_global_id_in_an_address_is_refused(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(f"/{path}/{global_id('Product', 'kettle')}")
    assert (answer.status_code, "is not valid" in answer.text) == (400, True)


async def test_each_chosen_filter_can_be_removed(client: httpx.AsyncClient) -> None:
    page = await opened(
        client, "/products/kettle?rating=4&rating=5&language=de&from=2024-01-01&order=oldest"
    )
    rest = "from=2024-01-01&order=oldest"
    removals = [
        given["href"] for text, given in page.anchors if "Remove the filter:" in "".join(text)
    ]
    assert [str(address).partition("?")[2] for address in removals] == [
        f"rating=5&language=de&{rest}",
        f"rating=4&language=de&{rest}",
        f"rating=4&rating=5&{rest}",
        "rating=4&rating=5&language=de&order=oldest",
    ]


@pytest.mark.parametrize(
    ("query", "offers"),
    [
        ("rating=3&language=fr", {"All languages (8)": "?rating=3"}),
        ("language=fr", {"All languages (40)": ""}),
        ("rating=3&to=2023-12-31", {"Any date (8)": "?rating=3"}),
        ("words=zinc&rating=3", {"Without these words (8)": "?rating=3"}),
    ],
)
async def test_an_empty_list_offers_wider_filters(
    client: httpx.AsyncClient, query: str, offers: dict[str, str]
) -> None:
    page = await opened(client, f"/products/kettle?{query}")
    found = {text[0]: given["href"] for text, given in page.anchors if "(" in "".join(text)}
    assert found == {text: f"/products/kettle{address}" for text, address in offers.items()}


async def test_the_selected_filters_are_checked(client: httpx.AsyncClient) -> None:
    page = await opened(client, "/products/kettle?language=DE&language=fr&rating=4")
    checked = {given["value"] for tag, given in page.elements if "checked" in given}
    assert checked == {"4", "de", "fr"}
    assert "in Deutsch or français" in page.text


async def test_selected_days_and_order_are_shown_in_their_fields(client: httpx.AsyncClient) -> None:
    query = "?language=de&from=2023-12-31&to=2024-01-01&order=oldest"
    page = await opened(client, f"/products/kettle{query}")
    assert page.headings == [f"{number}" for number in range(10)]
    fields = page.fields()
    assert (fields["from"], fields["to"]) == ("2023-12-31", "2024-01-01")
    assert fields["order"] == "oldest"
    (current,) = [
        given["href"]
        for tag, given in page.elements
        if tag == "a" and "aria-current" in given and "lang" not in given
    ]
    assert current == f"/products/kettle{query}"
    assert ", in Deutsch, from 31 December 2023 to 1 January 2024, oldest first" in page.text
    assert "Comments 10 comments match" in page.text
    assert "you filter by date." in page.text
    assert not any(given.get("class") in {"share", "count"} for _, given in page.elements)


async def test_a_search_stays_in_the_field_and_in_all_links_of_the_list(
    client: httpx.AsyncClient,
) -> None:
    page = await opened(client, "/products/kettle?words=1&rating=5&order=oldest")
    assert page.fields()["words"] == "1"
    assert "with “1”, rated 5, oldest first" in page.text
    assert "while you search." in page.text
    links = [given["href"] for _, given in page.anchors if "data-swap" in given]
    kept = [one for one in links if "words=1" in str(one)]
    assert set(links) - set(kept) == {
        "/products/kettle?rating=5&order=oldest",  # removes the search
        "/products/kettle?order=oldest",  # shows all
    }
    assert ("meta", {"name": "robots", "content": "noindex"}) in page.elements
    assert not any("data-live" in given for _, given in page.elements)


async def test_a_search_that_too_few_comments_match_links_to_the_list(
    client: httpx.AsyncClient, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stored(table, numbered("large", 90))
    monkeypatch.setattr("dal.query.optimizer.MAX_DROPPED", 5)
    answer = await client.get("/products/large?words=zinc&language=en")
    page = Parsed(answer.text)
    assert (answer.status_code, TOO_RARE in page.text) == (400, True)
    assert "/products/large?language=en" in [given["href"] for _, given in page.anchors]


@pytest.mark.parametrize(
    ("given", "canonical"),
    [
        ("", ""),
        ("?rating=5&rating=1", "?rating=1&rating=5"),
        ("?language=en&rating=2&rating=2", "?rating=2&language=en"),
        ("?language=EN&language=de", "?language=de&language=en"),
        ("?rating=5&rating=4&rating=3&rating=2&rating=1&language=de", "?language=de"),
        ("?notice=added&utm_source=mail", ""),
        ("?from=&to=&order=newest", ""),
        ("?order=oldest&rating=2", "?rating=2&order=oldest"),
        ("?rating=2&words=+2++9+", "?rating=2&words=2+9"),
        (
            "?to=2024-01-01&from=2024-02-01&order=oldest&language=de",
            "?language=de&from=2024-01-01&to=2024-02-01&order=oldest",
        ),
    ],
)
async def test_a_page_has_one_address(
    client: httpx.AsyncClient, given: str, canonical: str
) -> None:
    page = await opened(client, f"/products/kettle{given}")
    assert page.link("canonical") == f"/products/kettle{canonical}"


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ("?rating=6", 400, "from 1 to 5"),
        ("?rating=five", 400, "from 1 to 5"),
        ("?rating=%C2%B2", 400, "from 1 to 5"),
        ("?language=not%20a%20tag", 400, _ARGUMENTS["language"]),
        ("?from=yesterday", 400, "'yesterday'"),
        ("?to=20201120", 400, "2020-11-20"),
        ("?to=2023-02-29", 400, "2020-11-20"),
        ("?order=best", 400, "newest, oldest, highest, lowest, helpful"),
        ("?after=nonsense", 400, _CODES["BAD_CURSOR"]),
        ("?before=nonsense", 400, _CODES["BAD_CURSOR"]),
        ("?after=EQ", 400, _CODES["BAD_CURSOR"]),
        ("?words=%25", 400, _ARGUMENTS["contains"]),
        (f"?words={'x' * 201}", 400, _ARGUMENTS["contains"]),
    ],
)
async def test_invalid_filters_are_explained_on_the_page(
    client: httpx.AsyncClient, query: str, status: int, said: str
) -> None:
    answer = await client.get(f"/products/kettle{query}")
    assert answer.status_code == status
    assert said in Parsed(answer.text).text
    assert "Traceback" not in answer.text


async def test_after_the_oldest_comment_there_is_no_page(
    client: httpx.AsyncClient, table: Table
) -> None:
    await stored(table, numbered("short", 41))
    older = (await opened(client, "/products/short")).link("next")
    assert older is not None
    emptier = older.replace("/short", "/nobody-knows-it")
    answer = await client.get(emptier)
    assert answer.status_code == 404
    assert Parsed(answer.text).buttons == ["/products/nobody-knows-it"]


@pytest.mark.parametrize(
    "product_id", ["42/en", "a?b#c", "a%2Fb", "/x", "100% <b>", "الغلاية", "a b"]
)
async def test_an_id_may_contain_any_character(
    client: httpx.AsyncClient, table: Table, product_id: str
) -> None:
    comment = COMMENT._replace(comment_id=f"of {product_id}", product_id=product_id)
    await stored(table, [comment])
    found = await client.get("/products", params={"q": product_id})
    address = found.headers["location"]
    page = await opened(client, address)
    assert page.headings == ["Good"]
    assert page.link("canonical") == address
    assert page.linked["name"] == product_id
    permalink, shared, report = [
        given["href"] for tag, given in page.elements if "/comments/" in (given.get("href") or "")
    ]
    assert permalink is not None
    assert (permalink, report) == (shared, f"{shared}#report")
    assert (await opened(client, permalink)).linked["reviewBody"] == "It boils."


async def test_a_product_without_comments_is_not_for_search_engines(
    client: httpx.AsyncClient,
) -> None:
    page = await opened(client, "/products/unheard-of")
    assert page.text.count("No comments yet") == 1
    assert ("meta", {"name": "robots", "content": "noindex"}) in page.elements
    assert page.linked is None


async def test_json_ld_has_the_fields_that_review_snippets_require(
    client: httpx.AsyncClient,
) -> None:
    linked = (await opened(client, "/products/kettle")).linked
    assert (linked["@context"], linked["@type"]) == ("https://schema.org", "Product")
    assert linked["name"] == "kettle"
    assert linked["url"] == f"{SITE}/products/kettle"
    assert linked["aggregateRating"] == {
        "@type": "AggregateRating",
        "ratingValue": 3.0,
        "reviewCount": 40,
        "bestRating": 5,
        "worstRating": 1,
    }
    assert len(linked["review"]) == 20
    newest = linked["review"][0]
    assert newest["@type"] == "Review"
    assert newest["author"] == {"@type": "Person", "name": "ann"}
    assert newest["reviewRating"]["ratingValue"] == 5
    assert newest["datePublished"].startswith("2024-01-01T00:29")


async def test_the_review_on_a_permalink_contains_its_product(client: httpx.AsyncClient) -> None:
    linked = (await opened(client, "/comments/kettle-00007")).linked
    assert linked["@type"] == "Review"
    assert linked["itemReviewed"]["@type"] == "Product"
    assert linked["itemReviewed"]["name"] == "kettle"
    assert linked["itemReviewed"]["aggregateRating"]["reviewCount"] == 40
    assert linked["reviewRating"]["ratingValue"] == 3


@pytest.mark.parametrize(
    ("query", "ratings", "languages"),
    [
        ("", [8] * 5, {"en": 30, "de": 10}),
        ("?language=de", [2] * 5, {"en": 30, "de": 10}),
        ("?rating=5&rating=4", [8] * 5, {"en": 12, "de": 4}),
        ("?language=fr&rating=5", [0] * 5, {"en": 6, "de": 2, "fr": 0}),
    ],
)
async def test_the_count_next_to_a_filter_is_the_length_of_its_list(
    client: httpx.AsyncClient, query: str, ratings: list[int], languages: dict[str, int]
) -> None:
    page = await client.get(f"/products/kettle{query}")
    shown = re.findall(r'class="count" aria-hidden="true">(\d+)<', page.text)
    assert [int(one) for one in shown] == ratings
    assert {
        tag: int(count)
        for tag, count in re.findall(r'<bdi lang="(\w+)">[^<]+</bdi> <small>(\d+)<', page.text)
    } == languages


REGIONS = ("en", "en-GB", "en-GB", "en-US", "pt-BR", "nb-NO", "nn", "zh-Hant-TW")


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("", 8),
        ("?language=en", 4),
        ("?language=en-GB", 2),
        ("?language=en&language=en-GB", 4),
        ("?language=pt", 1),
        ("?language=no", 2),
        ("?language=nn", 1),
    ],
)
async def test_a_language_is_followed_by_its_regions_if_it_has_several(
    client: httpx.AsyncClient, table: Table, query: str, shown: int
) -> None:
    await stored(
        table,
        [
            one._replace(language=tag)
            for one, tag in zip(numbered("world", len(REGIONS)), REGIONS, strict=True)
        ],
    )
    page = await client.get(f"/products/world{query}")
    chips = re.findall(
        r'<label( class="region")?><input [^>]*value="([^"]+)"( data-parent="\w+")?[^>]*> '
        r"<span><bdi[^>]*>([^<]+)</bdi> <small>(\d+)<",
        page.text,
    )
    assert [(tag, name, int(count)) for _, tag, _, name, count in chips] == [
        ("en", "English", 4),
        ("en-GB", "English (GB)", 2),
        ("en-US", "English (US)", 1),
        ("no", "norsk", 2),
        ("nb", "norsk bokmål", 1),
        ("nn", "norsk nynorsk", 1),
        ("pt", "português", 1),
        ("zh", "中文", 1),
    ]
    regions = [tag for of_region, tag, parent, *_ in chips if of_region and parent]
    assert regions == ["en-GB", "en-US", "nb", "nn"]
    assert page.text.count('<article class="comment"') == shown


@pytest.mark.parametrize("query", ["", "?rating=5&language=de"])
async def test_the_counters_are_read_once(
    client: httpx.AsyncClient, table: Table, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    """The facets and the rating in the heading use the same counters.

    The first page of the whole list also reads the most helpful comments.
    """
    await client.get(f"/products/kettle{query}")  # fills the caches of the optimizer
    calls = FaultyClient(table.service)
    monkeypatch.setattr(table, "service", calls)
    await opened(client, f"/products/kettle{query}")
    assert all(operation == "query" for operation, _ in calls.calls)
    indexes = [arguments.get("IndexName") for _, arguments in calls.calls]
    assert indexes.count(None) == 1
    assert indexes.count("byHelpful") == (0 if query else 1)
    assert len(indexes) == (2 if query else 3)


@pytest.mark.parametrize(
    ("text", "folds"),
    [("It boils.", None), ("word " * 100, "narrow"), ("word " * 400, "wide"), ("\n" * 20, "wide"),
     ("沸" * 200, "narrow"), ("沸" * 500, "wide")],
    ids=["short", "some", "long", "lines", "some-wide", "long-wide"],
)  # fmt: skip
async def test_a_long_text_is_folded_and_complete(
    client: httpx.AsyncClient, table: Table, text: str, folds: str | None
) -> None:
    product = f"fold-{len(text)}-{folds}"
    await stored(table, [COMMENT._replace(comment_id=product, product_id=product, text=text)])
    page = await client.get(f"/products/{product}")
    assert re.findall(r'details class="more (\w+)"', page.text) == ([folds] if folds else [])
    assert text in page.text
    assert "Read more" not in (await client.get(f"/comments/{product}")).text


@pytest.mark.parametrize("tag", ["en", "ar"])
async def test_readers_see_who_was_rewarded_and_which_comments_are_imported(
    client: httpx.AsyncClient, table: Table, tmp_path: Path, tag: str
) -> None:
    product = f"labels-{tag}"
    labels = [
        (CommentSource.IMPORT, None),
        (CommentSource.SITE, ""),
        (CommentSource.INVITATION, "<b>"),
    ]
    comments = [
        COMMENT._replace(
            comment_id=f"{product}-{n}", product_id=product, source=source, incentive=incentive
        )
        for n, (source, incentive) in enumerate(labels)
    ]
    await stored(table, comments)
    for number, path in enumerate((f"/products/{product}", f"/widget/{product}")):
        answer = await client.get(f"{path}?lang={tag}")
        assert answer.text.count('<span class="imported">') == 1
        assert answer.text.count('<p class="byline incentive"') == 2
        assert answer.text.count("<bdi>&lt;b&gt;</bdi>") == 1
        (tmp_path / f"{number}.html").write_text(answer.text)
    assert invalid_html(tmp_path) == []


HOSTILE = [
    "<script>alert(1)</script>",
    "</script><!--",
    "<!-- <script> -->",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }} {% raw %} &amp; &lt;",
    "\u2028 \u202e reversed 👩‍👩‍👧‍👦",
    "x" * 10_000,
]


async def test_texts_with_markup_are_shown_as_text(client: httpx.AsyncClient, table: Table) -> None:
    comments = [
        COMMENT._replace(
            comment_id=f"h{number}",
            product_id="hostile",
            title=text[:200],
            text=text,
            username=text[:60],
        )
        for number, text in enumerate(HOSTILE)
    ]
    await stored(table, comments)
    ids = [comment.comment_id for comment in comments]
    for address in ("/products/hostile", *(f"/comments/{one}" for one in ids)):
        page = await opened(client, address)
        scripts = [given for tag, given in page.elements if tag == "script"]
        assert len(scripts) == 2  # page.js and the JSON-LD
        assert not any(name.startswith("on") for _, given in page.elements for name in given)
    page = await opened(client, "/products/hostile")
    assert {review["reviewBody"] for review in page.linked["review"]} == set(HOSTILE)
    for text in HOSTILE:
        assert " ".join(text.split()) in page.text


async def test_a_server_without_explain_shows_no_plan(table: Table) -> None:
    async with client_of(app_of(table)) as client:
        page = await opened(client, "/products/kettle")
    assert page.account == {}
    assert "GraphiQL" not in page.text.partition("Write a comment")[2].partition("These pages")[0]


async def test_the_panel_shows_how_the_list_was_read(client: httpx.AsyncClient) -> None:
    page = await opened(client, "/products/kettle?rating=4&language=de")
    account = page.account
    assert account["Access pattern"] == "AP3a"
    assert account["Queries"][0] in "01"
    assert {"Index", "Rows read", "Read capacity", "Time"} < set(account)


@pytest.mark.parametrize("text", ["🦊" * 10_000, "<" * 10_000], ids=["answer", "page"])
async def test_a_page_that_would_be_too_large_is_an_error_page(
    client: httpx.AsyncClient, table: Table, text: str
) -> None:
    """HTML and JSON-LD escape ``<``, so the page is larger than the results of its documents."""
    product = f"long-{ord(text[0])}"
    long = [
        COMMENT._replace(
            comment_id=f"{product}-{n}",
            product_id=product,
            text=text,
            reply=Reply(text[:2_000], START),
        )
        for n in range(100)
    ]
    await put_comments(Stores(table).comments, long)
    largest = await client.get(f"/products/{product}?show=100")
    assert largest.status_code == 400
    assert "comments per page" in largest.text
    assert (await client.get(f"/products/{product}")).text.count(escape(text)) >= 20
