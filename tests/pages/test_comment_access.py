"""The users who see a comment in each state, on every page.

The tests find the routes. A route without a row in ``tests/fixtures/comment_access.toml`` fails.
"""

import re
from collections.abc import Iterator
from html import unescape
from string import Template
from urllib.parse import parse_qsl, urlencode

import pytest
from starlette.types import ASGIApp

from pages.routes import _ROUTES
from resolvers.context import Viewer
from tests.feature_lists import added
from tests.integration.comment_access import WHO, Cells, World, rows, shared, world
from tests.pages.conftest import client_of, jwt_of
from tests.schema.conftest import Who
from tests.server.applications import SECRET, app_of

__all__ = ["shared", "world"]

PAGES = rows("pages")
LINKED = ", JSON-LD"


@pytest.fixture(scope="module")
async def app(shared: World) -> ASGIApp:
    return app_of(shared.table, explain=True)


def test_the_table_of_access_has_a_row_for_every_route_of_the_pages() -> None:
    routes = {f"{method} {path}" for method, path, _ in _ROUTES}
    assert {name.removesuffix(LINKED).partition("?")[0] for name in PAGES} == routes


NO_OTHER_LIST = {
    "after",
    "before",
    "lang",
    "language",
    "last",
    "next",
    "order",
    "place",
    "q",
    "product",
    "rating",
    "variants",
}
"""Parameters of addresses that select rows of the same list, or no comments.

``variants`` has its own row, because its address contains the product.
"""


def lists_in(html: str) -> Iterator[str]:
    """Yield the addresses in a page that lead to other lists of comments."""
    for address in re.findall(r'(?:href|action)="(/[^"#]*)"', html):
        path, _, query = unescape(address).partition("?")
        chosen = [one for one in parse_qsl(query) if one[0] not in NO_OTHER_LIST]
        if chosen and not path.startswith(("/graphql", "/static/")):
            yield f"GET {path}?{urlencode(chosen)}"


def jwt_for(who: Who) -> str | None:
    if who is None or isinstance(who, Viewer):
        return None if who is None else jwt_of(who.user_id, *who.roles)
    (grant_jwt,) = added("grant_jwt")
    jwt: str = grant_jwt(who, SECRET)
    return jwt


@pytest.mark.parametrize("name", PAGES)
async def test_a_page_shows_a_comment_only_to_permitted_users(
    world: World, app: ASGIApp, name: str
) -> None:
    there = await world.all_states(f"mug-{next(world.numbers)}")
    method = name.partition(" ")[0]
    found: Cells = {}
    for who, viewer in WHO.items():
        jwt = jwt_for(viewer)
        async with client_of(app, jwt) as client:
            for state, given in there.items():
                address = Template(PAGES[name].given).substitute(given)
                shown = (await client.request(method, address)).text
                assert {*lists_in(shown)} <= PAGES.keys()
                if name.endswith(LINKED):
                    shown = "".join(re.findall(r"ld\+json[^>]*>(.*?)</script>", shown, re.DOTALL))
                found[who, state] = given["MARK"] in shown
    assert found == PAGES[name].cells()
