"""Long fields take linear time: four times the text takes less than eight times as many lines.

The lines are those of Python code that the request executes.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product

import httpx

from pages.addresses import MAX_PAGE_ADDRESS
from pages.sign_in import MAX_JWT
from tests.pages.conftest import Parsed, jwt_of, opened
from tests.steps import lines

SIZE = 1_500
"""Characters of the shorter text. An address with the longer text is not too long."""

FORMS = {
    "/sign-in": ("jwt", "next"),
    "/sign-out": ("form_key", "next"),
    "/products/long": ("rating", "language", "another", "title", "text", "key"),
    "/comments/none": ("action", "form_key", "rating", "language", "title", "text"),
}

ADDRESSES = (
    "/sign-in?lang={}&next={}",
    "/?notice={}&language={}",
    "/?after={}",
    "/products?q={}",
    "/products/long?rating={}",
    "/products/long?language={}&order=oldest",
    "/products/long?from={}&to={}",
    "/products/long?after={}",
    "/products/long?before={}",
    "/playground?product={}",
    "/playground?product=long&size={}",
)

HEADERS = [
    *(
        ("Cookie", one)
        for one in ("marginalia_jwt={}", "marginalia_lang={}", 'marginalia_lang="{}"')
    ),
    ("Cookie", "x={}"),
    ("Accept-Language", "{}"),
    ("If-None-Match", "{}"),
    ("Authorization", "Bearer {}"),
]


def requests(client: httpx.AsyncClient, key: str) -> Iterator[tuple[httpx.Request, httpx.Request]]:
    """Yield pairs of requests: the second has four times the text of the first.

    ``key`` is the viewer's form key.
    """

    def form(path: str, names: Sequence[str], text: str) -> httpx.Request:
        data = {"form_key": key, **dict.fromkeys(names, text)}
        return client.build_request("POST", path, data=data)

    def address(template: str, text: str) -> httpx.Request:
        return client.build_request("GET", template.replace("{}", text))

    def header(name: str, template: str, text: str) -> httpx.Request:
        return client.build_request("GET", "/sign-in", headers={name: template.replace("{}", text)})

    forms = [partial(form, *one) for one in FORMS.items()]
    addresses = [partial(address, one) for one in ADDRESSES]
    headers = [partial(header, *one) for one in HEADERS]
    for tokens, builders in (
        (("a", "a.", '"\\', "/", "\n"), forms),
        (("a", "%22%5C", "%C3%A9"), addresses),
        (("a", "\\", "\\134", ";"), headers),
    ):
        for token, build in product(tokens, builders):
            count = SIZE // len(token)
            yield build(token * count), build(token * count * 4)


async def lines_of(client: httpx.AsyncClient, request: httpx.Request) -> int:
    with lines() as counted:
        answer = await client.send(request)
    assert answer.status_code < 500, answer.text
    return counted.count


async def test_long_fields_take_linear_time(ann: httpx.AsyncClient) -> None:
    key = (await opened(ann, "/products/long")).fields()["form_key"]
    for short, long in requests(ann, key):
        await ann.send(short)  # fills the caches
        few, many = await lines_of(ann, short), await lines_of(ann, long)
        assert many < 8 * few, f"{short.method} {short.url.path[:40]}"


async def test_a_too_long_address_is_refused(
    client: httpx.AsyncClient,
) -> None:
    path = "/products/long?rating=5"
    longest = path.ljust(MAX_PAGE_ADDRESS, "5")
    for one in (longest, "/products/".ljust(MAX_PAGE_ADDRESS, "5")):
        assert (await client.get(one)).status_code == 400
    answer = await client.get(longest + "5")
    assert answer.status_code == 414
    assert "8,000 bytes" in answer.json()["errors"][0]["message"]
    shown = await client.get(longest + "5", headers={"Accept": "text/html"})
    assert (
        shown.status_code,
        "8,000 bytes" in shown.text,
    ) == (414, True)
    assert longest not in shown.text
    answer = await client.get("/static/" + "a" * 60_000)
    assert len(answer.content) < 1_000


async def test_the_address_to_return_to_has_a_maximum_length(
    client: httpx.AsyncClient,
) -> None:
    form = {"jwt": "a.b.c", "next": "/" + "a" * MAX_PAGE_ADDRESS}
    page = Parsed((await client.post("/sign-in", data=form)).text)
    assert page.fields()["next"] == "/"


async def test_a_jwt_too_long_for_a_cookie_is_refused_with_the_maximum(
    client: httpx.AsyncClient,
) -> None:
    longest = jwt_of("ann").ljust(MAX_JWT)
    assert (await client.post("/sign-in", data={"jwt": longest})).status_code == 303
    client.cookies.clear()
    answer = await client.post("/sign-in", data={"jwt": longest + " "})
    assert answer.status_code == 422
    assert "the maximum is 4,000 characters" in Parsed(answer.text).text
